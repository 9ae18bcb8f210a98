//! Azure's connection strings: `AccountName=…;AccountKey=…;EndpointSuffix=…`, as its portal shows them for copying.

/// What a connection string says of a storage account. No value of it is ever repeated in an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ConnectionString {
    pub(super) account: String,
    pub(super) account_key: Option<String>,
    pub(super) sas_token: Option<String>,
    /// Where the account's blobs answer, unless that is Azure's public cloud.
    pub(super) endpoint: Option<String>,
}

/// Reads a connection string.
///
/// # Errors
/// What is wrong with it, in words without its values.
pub(super) fn parse(text: &str) -> Result<ConnectionString, &'static str> {
    let mut read = ConnectionString::default();
    let (mut protocol, mut suffix) = ("https".to_owned(), None);
    for pair in text.split(';').map(str::trim).filter(|pair| !pair.is_empty()) {
        // keys of accounts end with "=" themselves
        let (name, value) = pair.split_once('=').ok_or("the connection string is no list of name=value")?;
        let value = value.trim().to_owned();
        match name.trim().to_ascii_lowercase().as_str() {
            "accountname" => read.account = value,
            "accountkey" => read.account_key = Some(value),
            "sharedaccesssignature" => read.sas_token = Some(value.trim_start_matches('?').to_owned()),
            "blobendpoint" => read.endpoint = Some(value.trim_end_matches('/').to_owned()),
            "endpointsuffix" => suffix = Some(value),
            "defaultendpointsprotocol" => protocol = value,
            "usedevelopmentstorage" => {
                return Err(
                    "the connection string names the emulator; give its AccountName, AccountKey and BlobEndpoint",
                );
            }
            // queues, tables and files are not looked at
            _ => {}
        }
    }
    if read.account_key.is_none() && read.sas_token.is_none() {
        return Err("the connection string lacks AccountKey or SharedAccessSignature");
    }
    if read.account.is_empty() {
        read.account = read.endpoint.as_deref().and_then(account_of).unwrap_or_default();
    }
    if read.account.is_empty() {
        return Err("the connection string lacks AccountName");
    }
    let suffix = suffix.filter(|suffix| suffix != PUBLIC_CLOUD || protocol != "https");
    if let (None, Some(suffix)) = (&read.endpoint, suffix) {
        read.endpoint = Some(format!("{protocol}://{}.blob.{suffix}", read.account));
    }
    Ok(read)
}

const PUBLIC_CLOUD: &str = "core.windows.net";

/// `account` of `https://account.blob.core.windows.net`.
fn account_of(endpoint: &str) -> Option<String> {
    let (_, host) = endpoint.split_once("://")?;
    let (account, _) = host.split_once(".blob.")?;
    Some(account.to_owned())
}

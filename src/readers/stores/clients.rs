//! From a store's address and settings to the client that reads it.

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::ClientConfigKey;
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::local::LocalFileSystem;
use object_store::{BackoffConfig, RetryConfig};

use super::answers::NotingConnector;
use super::connection_string::{self, ConnectionString};
use super::failure;
use super::location::{Address, StoreError};
use super::settings::{Patience, Secrets, StoreKind, StoreSettings};

/// A failed request is repeated so often at most; the next poll is not far.
const MOST_RETRIES: usize = 2;

/// Makes the client of a store. Nothing is asked yet.
pub(super) fn client(
    address: &Address,
    settings: Option<&StoreSettings>,
    secrets: &Secrets,
    patience: Patience,
) -> Result<Arc<dyn ObjectStore>, StoreError> {
    match address {
        Address::Local => Ok(Arc::new(LocalFileSystem::new())),
        Address::S3 { bucket } => s3(bucket, &settings_or_none(settings, StoreKind::S3), secrets, patience),
        Address::Azure { container, account, endpoint } => {
            let settings = settings_or_none(settings, StoreKind::Azure);
            azure(container, account.as_deref(), endpoint.as_deref(), &settings, secrets, patience)
        }
        Address::Gcs { bucket } => gcs(bucket, &settings_or_none(settings, StoreKind::Gcs), secrets, patience),
        Address::Hdfs { authority, is_view } => {
            let given = settings.and_then(|settings| settings.endpoint.as_deref());
            hdfs(authority.as_deref().or(given), *is_view)
        }
    }
}

fn settings_or_none(settings: Option<&StoreSettings>, kind: StoreKind) -> StoreSettings {
    settings.cloned().unwrap_or_else(|| StoreSettings::new(kind))
}

fn s3(
    bucket: &str,
    settings: &StoreSettings,
    secrets: &Secrets,
    patience: Patience,
) -> Result<Arc<dyn ObjectStore>, StoreError> {
    use AmazonS3ConfigKey as Key;
    let is_credential = |key: &Key| matches!(key, Key::AccessKeyId | Key::SecretAccessKey | Key::Token);
    let mut builder = if settings.access_key_id.is_none() {
        AmazonS3Builder::from_env()
    } else {
        // half a key pair of ours and half of the environment's would be no pair
        let environment = environment("AWS_").into_iter().filter(|(key, _)| !is_credential(key));
        environment.fold(AmazonS3Builder::new(), |builder, (key, value)| builder.with_config(key, value))
    };
    for (key, value) in client_settings(settings, patience) {
        builder = builder.with_config(Key::Client(key), value);
    }
    for (key, value) in [
        (Key::AccessKeyId, &settings.access_key_id),
        (Key::SecretAccessKey, &secrets.secret_access_key),
        (Key::Token, &secrets.session_token),
        (Key::Region, &settings.region),
    ] {
        if let Some(value) = value {
            builder = builder.with_config(key, value);
        }
    }
    match &settings.endpoint {
        Some(endpoint) if settings.path_style => builder = builder.with_endpoint(endpoint),
        // the library takes the endpoint as it is, and expects the bucket in its host name
        Some(endpoint) => builder = builder.with_endpoint(with_bucket(endpoint, bucket)),
        None => {}
    }
    if !settings.path_style {
        builder = builder.with_virtual_hosted_style_request(true);
    }
    let connector = NotingConnector::trusting(settings.ca_file.as_deref())?;
    let builder = builder.with_bucket_name(bucket).with_retry(retry(patience)).with_http_connector(connector);
    Ok(Arc::new(builder.build().map_err(|error| refused(&error))?))
}

/// `https://host` with the bucket before the host.
fn with_bucket(endpoint: &str, bucket: &str) -> String {
    match endpoint.split_once("://") {
        Some((scheme, host)) => format!("{scheme}://{bucket}.{host}"),
        None => format!("https://{bucket}.{endpoint}"),
    }
}

fn azure(
    container: &str,
    account: Option<&str>,
    endpoint: Option<&str>,
    settings: &StoreSettings,
    secrets: &Secrets,
    patience: Patience,
) -> Result<Arc<dyn ObjectStore>, StoreError> {
    use AzureConfigKey as Key;
    let has_key = secrets.account_key.is_some() || secrets.sas_token.is_some() || secrets.client_secret.is_some();
    let connected = if has_key { None } else { connection(secrets, account)? };
    let has_own_credentials = has_key || connected.is_some();
    let connected = connected.unwrap_or_default();
    let account = account.or(settings.account.as_deref());
    let account = account.or(Some(connected.account.as_str()).filter(|account| !account.is_empty()));
    let is_credential = |key: &Key| {
        matches!(key, Key::AccessKey | Key::SasKey | Key::Token | Key::ClientId | Key::ClientSecret | Key::AuthorityId)
    };
    let mut builder = if has_own_credentials {
        let environment = environment("AZURE_").into_iter().filter(|(key, _)| !is_credential(key));
        environment.fold(MicrosoftAzureBuilder::new(), |builder, (key, value)| builder.with_config(key, value))
    } else {
        MicrosoftAzureBuilder::from_env()
    };
    for (key, value) in client_settings(settings, patience) {
        builder = builder.with_config(Key::Client(key), value);
    }
    for (key, value) in [
        (Key::AccountName, account),
        (Key::Endpoint, settings.endpoint.as_deref().or(connected.endpoint.as_deref()).or(endpoint)),
        (Key::AccessKey, secrets.account_key.as_deref().or(connected.account_key.as_deref())),
        (Key::SasKey, secrets.sas_token.as_deref().or(connected.sas_token.as_deref())),
        (Key::AuthorityId, settings.tenant_id.as_deref()),
        (Key::ClientId, settings.client_id.as_deref()),
        (Key::ClientSecret, secrets.client_secret.as_deref()),
    ] {
        if let Some(value) = value {
            builder = builder.with_config(key, value);
        }
    }
    let connector = NotingConnector::trusting(settings.ca_file.as_deref())?;
    let builder = builder.with_container_name(container).with_retry(retry(patience)).with_http_connector(connector);
    Ok(Arc::new(builder.build().map_err(|error| refused(&error))?))
}

/// What a connection string says, the configured one or that of the environment, if it is about this account.
fn connection(secrets: &Secrets, account: Option<&str>) -> Result<Option<ConnectionString>, StoreError> {
    let of_environment = || std::env::var(CONNECTION_STRING).ok().filter(|text| !text.is_empty());
    let is_configured = secrets.connection_string.is_some();
    let Some(text) = secrets.connection_string.clone().or_else(of_environment) else { return Ok(None) };
    let refused = |words: &str| StoreError::Client { words: words.to_owned() };
    let connected = connection_string::parse(&text).map_err(refused)?;
    match account {
        Some(account) if account != connected.account && is_configured => {
            Err(refused("the connection string is that of another account than the location's"))
        }
        Some(account) if account != connected.account => Ok(None),
        _ => Ok(Some(connected)),
    }
}

/// As Azure's own tools call it.
const CONNECTION_STRING: &str = "AZURE_STORAGE_CONNECTION_STRING";

fn gcs(
    bucket: &str,
    settings: &StoreSettings,
    secrets: &Secrets,
    patience: Patience,
) -> Result<Arc<dyn ObjectStore>, StoreError> {
    use GoogleConfigKey as Key;
    let is_credential = |key: &Key| {
        matches!(key, Key::ServiceAccount | Key::ServiceAccountKey | Key::ApplicationCredentials | Key::BearerToken)
    };
    let mut builder = if secrets.service_account.is_none() {
        GoogleCloudStorageBuilder::from_env()
    } else {
        let environment = environment("GOOGLE_").into_iter().filter(|(key, _)| !is_credential(key));
        environment.fold(GoogleCloudStorageBuilder::new(), |builder, (key, value)| builder.with_config(key, value))
    };
    for (key, value) in client_settings(settings, patience) {
        builder = builder.with_config(Key::Client(key), value);
    }
    if let Some(account) = &secrets.service_account {
        builder = builder.with_service_account_key(account);
    }
    if let Some(endpoint) = &settings.endpoint {
        builder = builder.with_base_url(endpoint);
    }
    let connector = NotingConnector::trusting(settings.ca_file.as_deref())?;
    let builder = builder.with_bucket_name(bucket).with_retry(retry(patience)).with_http_connector(connector);
    Ok(Arc::new(builder.build().map_err(|error| refused(&error))?))
}

#[cfg(feature = "hdfs")]
fn hdfs(authority: Option<&str>, is_view: bool) -> Result<Arc<dyn ObjectStore>, StoreError> {
    use hdfs_native_object_store::HdfsObjectStoreBuilder;

    let scheme = if is_view { "viewfs" } else { "hdfs" };
    let builder = HdfsObjectStoreBuilder::new();
    let builder = match authority {
        Some(full) if full.contains("://") => builder.with_url(full),
        Some(authority) => builder.with_url(format!("{scheme}://{authority}")),
        // Hadoop's own configuration names the file system
        None => builder,
    };
    Ok(Arc::new(builder.build().map_err(|error| refused(&error))?))
}

#[cfg(not(feature = "hdfs"))]
fn hdfs(_authority: Option<&str>, _is_view: bool) -> Result<Arc<dyn ObjectStore>, StoreError> {
    Err(StoreError::UnsupportedScheme { scheme: "hdfs".to_owned() })
}

/// The variables of this process that the library knows, for a store whose own credentials must not be mixed with
/// those of the environment.
fn environment<K: std::str::FromStr>(prefix: &str) -> Vec<(K, String)> {
    let known = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        let key = name.starts_with(prefix).then(|| name.to_ascii_lowercase().parse().ok())??;
        (!value.is_empty()).then_some((key, value))
    };
    std::env::vars_os().filter_map(known).collect()
}

fn client_settings(settings: &StoreSettings, patience: Patience) -> Vec<(ClientConfigKey, String)> {
    let millis = |duration: std::time::Duration| format!("{}ms", duration.as_millis());
    let mut given = vec![
        (ClientConfigKey::Timeout, millis(patience.request)),
        (ClientConfigKey::ConnectTimeout, millis(patience.connect)),
        (ClientConfigKey::UserAgent, concat!("brinkwatch/", env!("CARGO_PKG_VERSION")).to_owned()),
    ];
    if settings.allow_http {
        given.push((ClientConfigKey::AllowHttp, "true".to_owned()));
    }
    if let Some(proxy) = &settings.proxy {
        given.push((ClientConfigKey::ProxyUrl, proxy.clone()));
    }
    given
}

/// The library's own default would hold a reading for three minutes.
fn retry(patience: Patience) -> RetryConfig {
    RetryConfig { backoff: BackoffConfig::default(), max_retries: MOST_RETRIES, retry_timeout: patience.retry }
}

fn refused(error: &object_store::Error) -> StoreError {
    StoreError::Client { words: failure::words(error) }
}

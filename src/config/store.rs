//! `[stores.…]`: as written, as valid, and the way from one to the other.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::check::{Checks, table_name};
use super::key::Key;
use super::secret::{BothTwins, Secret, SecretSource};

/// A kind of store that may need settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreKind {
    /// Amazon S3, and what speaks like it.
    S3,
    /// Azure Blob Storage and Data Lake Storage Gen2.
    Azure,
    /// Google Cloud Storage.
    Gcs,
    /// Hadoop's own file system.
    Hdfs,
}

impl StoreKind {
    /// The word in the configuration.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Azure => "azure",
            Self::Gcs => "gcs",
            Self::Hdfs => "hdfs",
        }
    }

    /// The kind of store that a location lies in; `None`: this machine, or one that nobody knows.
    #[must_use]
    pub fn of_location(location: &str) -> Option<Self> {
        match location.split_once(":/")?.0.to_ascii_lowercase().as_str() {
            "s3" | "s3a" | "s3n" => Some(Self::S3),
            "abfs" | "abfss" | "wasb" | "wasbs" | "az" | "azure" => Some(Self::Azure),
            "gs" => Some(Self::Gcs),
            "hdfs" | "viewfs" => Some(Self::Hdfs),
            _ => None,
        }
    }
}

/// Settings of a store, beyond what the environment's own ways give. Absent is what was not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// What it is.
    pub kind: StoreKind,
    /// Where it answers; of HDFS the name node.
    pub endpoint: Option<String>,
    /// S3: the region.
    pub region: Option<String>,
    /// S3: the public half of a key pair; with its other half.
    pub access_key_id: Option<String>,
    /// S3: the secret half of a key pair.
    pub secret_access_key: Option<SecretSource>,
    /// S3: what a temporary key pair needs besides.
    pub session_token: Option<SecretSource>,
    /// S3: the bucket stands in the path, not in the host name.
    pub path_style: bool,
    /// Azure: the storage account, for locations that do not name it.
    pub account: Option<String>,
    /// Azure: the account's key.
    pub account_key: Option<SecretSource>,
    /// Azure: account, key or signature, and endpoint in one text.
    pub connection_string: Option<SecretSource>,
    /// Azure: a shared access signature.
    pub sas_token: Option<SecretSource>,
    /// Azure: the directory of a service principal.
    pub tenant_id: Option<String>,
    /// Azure: a service principal, or a managed identity.
    pub client_id: Option<String>,
    /// Azure: the secret of a service principal.
    pub client_secret: Option<SecretSource>,
    /// Google Cloud: the file of a service account.
    pub service_account_file: Option<PathBuf>,
    /// Whether plain HTTP will do.
    pub allow_http: bool,
    /// An HTTP proxy.
    pub proxy: Option<String>,
    /// Certificates to trust beside the system's.
    pub ca_file: Option<PathBuf>,
    /// How many requests may be under way at once; 1 or more.
    pub requests_at_once: u32,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WrittenStore {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<StoreKind>,
    #[serde(skip_serializing_if = "String::is_empty")]
    endpoint: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    region: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    access_key_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret_access_key: Option<Secret>,
    #[serde(skip_serializing_if = "String::is_empty")]
    secret_access_key_file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_token: Option<Secret>,
    #[serde(skip_serializing_if = "String::is_empty")]
    session_token_file: String,
    #[serde(skip_serializing_if = "Clone::clone")]
    path_style: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    account: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    account_key: Option<Secret>,
    #[serde(skip_serializing_if = "String::is_empty")]
    account_key_file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    connection_string: Option<Secret>,
    #[serde(skip_serializing_if = "String::is_empty")]
    connection_string_file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    sas_token: Option<Secret>,
    #[serde(skip_serializing_if = "String::is_empty")]
    sas_token_file: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    tenant_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    client_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<Secret>,
    #[serde(skip_serializing_if = "String::is_empty")]
    client_secret_file: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    service_account_file: String,
    allow_http: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    proxy: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    ca_file: String,
    requests_at_once: u32,
}

impl Default for WrittenStore {
    fn default() -> Self {
        Self {
            kind: None,
            endpoint: String::new(),
            region: String::new(),
            access_key_id: String::new(),
            secret_access_key: None,
            secret_access_key_file: String::new(),
            session_token: None,
            session_token_file: String::new(),
            path_style: true,
            account: String::new(),
            account_key: None,
            account_key_file: String::new(),
            connection_string: None,
            connection_string_file: String::new(),
            sas_token: None,
            sas_token_file: String::new(),
            tenant_id: String::new(),
            client_id: String::new(),
            client_secret: None,
            client_secret_file: String::new(),
            service_account_file: String::new(),
            allow_http: false,
            proxy: String::new(),
            ca_file: String::new(),
            requests_at_once: 16,
        }
    }
}

/// Checks all stores.
pub(super) fn stores(written: BTreeMap<String, WrittenStore>, checks: &mut Checks) -> BTreeMap<String, Store> {
    let mut stores = BTreeMap::new();
    for (name, written) in written {
        table_name("stores", &name, checks);
        let store = store(&Key::of(&["stores", &name]), written, checks);
        stores.insert(name, store);
    }
    stores
}

fn store(table: &Key, written: WrittenStore, checks: &mut Checks) -> Store {
    if written.kind.is_none() {
        checks.report(table.child("kind"), "is required; write \"s3\", \"azure\", \"gcs\" or \"hdfs\"");
    }
    let kind = written.kind.unwrap_or(StoreKind::S3);
    if written.kind.is_some() {
        check_kind(table, kind, &written, checks);
    }
    check_addresses(table, kind, &written, checks);
    if written.requests_at_once == 0 {
        checks.report(table.child("requests_at_once"), "must be 1 or more");
    }
    let text = |text: String| Some(text).filter(|text| !text.is_empty());
    let mut twins = |name: &str, given: Option<Secret>, file: String| {
        let given = given.filter(|secret| !secret.expose().is_empty());
        let file = Some(file).filter(|file| !file.is_empty()).map(PathBuf::from);
        SecretSource::of_twins(given, file).unwrap_or_else(|BothTwins| {
            checks.report(table.child(name), format!("{name} and {name}_file are both given; keep one"));
            None
        })
    };
    let store = Store {
        kind,
        endpoint: text(written.endpoint),
        region: text(written.region),
        access_key_id: text(written.access_key_id),
        secret_access_key: twins("secret_access_key", written.secret_access_key, written.secret_access_key_file),
        session_token: twins("session_token", written.session_token, written.session_token_file),
        path_style: written.path_style,
        account: text(written.account),
        account_key: twins("account_key", written.account_key, written.account_key_file),
        connection_string: twins("connection_string", written.connection_string, written.connection_string_file),
        sas_token: twins("sas_token", written.sas_token, written.sas_token_file),
        tenant_id: text(written.tenant_id),
        client_id: text(written.client_id),
        client_secret: twins("client_secret", written.client_secret, written.client_secret_file),
        service_account_file: text(written.service_account_file).map(PathBuf::from),
        allow_http: written.allow_http,
        proxy: text(written.proxy),
        ca_file: text(written.ca_file).map(PathBuf::from),
        requests_at_once: written.requests_at_once,
    };
    check_credentials(table, &store, checks);
    store
}

/// A key that its kind of store does not know would be passed over in silence.
fn check_kind(table: &Key, kind: StoreKind, written: &WrittenStore, checks: &mut Checks) {
    let usual = WrittenStore::default();
    let own: [(StoreKind, &[(&str, bool)]); 3] = [
        (
            StoreKind::S3,
            &[
                ("region", !written.region.is_empty()),
                ("access_key_id", !written.access_key_id.is_empty()),
                ("secret_access_key", is_given(&written.secret_access_key)),
                ("secret_access_key_file", !written.secret_access_key_file.is_empty()),
                ("session_token", is_given(&written.session_token)),
                ("session_token_file", !written.session_token_file.is_empty()),
                ("path_style", written.path_style != usual.path_style),
            ],
        ),
        (
            StoreKind::Azure,
            &[
                ("account", !written.account.is_empty()),
                ("account_key", is_given(&written.account_key)),
                ("account_key_file", !written.account_key_file.is_empty()),
                ("connection_string", is_given(&written.connection_string)),
                ("connection_string_file", !written.connection_string_file.is_empty()),
                ("sas_token", is_given(&written.sas_token)),
                ("sas_token_file", !written.sas_token_file.is_empty()),
                ("tenant_id", !written.tenant_id.is_empty()),
                ("client_id", !written.client_id.is_empty()),
                ("client_secret", is_given(&written.client_secret)),
                ("client_secret_file", !written.client_secret_file.is_empty()),
            ],
        ),
        (StoreKind::Gcs, &[("service_account_file", !written.service_account_file.is_empty())]),
    ];
    for (owner, keys) in own.into_iter().filter(|(owner, _)| *owner != kind) {
        for (key, _) in keys.iter().filter(|(_, is_given)| *is_given) {
            let problem = format!("is a key of {} stores; this one is of kind {}", owner.label(), kind.label());
            checks.report(table.child(key), problem);
        }
    }
    let of_http = [
        ("allow_http", written.allow_http),
        ("proxy", !written.proxy.is_empty()),
        ("ca_file", !written.ca_file.is_empty()),
    ];
    for (key, _) in of_http.into_iter().filter(|(_, is_given)| *is_given && kind == StoreKind::Hdfs) {
        checks.report(table.child(key), "has no meaning for hdfs, which does not speak HTTP");
    }
}

fn is_given(secret: &Option<Secret>) -> bool {
    secret.as_ref().is_some_and(|secret| !secret.expose().is_empty())
}

fn check_addresses(table: &Key, kind: StoreKind, written: &WrittenStore, checks: &mut Checks) {
    for (key, address) in [("endpoint", &written.endpoint), ("proxy", &written.proxy)] {
        if address.contains('@') {
            let problem = "must not hold a password; a proxy with one can stand in the variable HTTPS_PROXY";
            checks.report(table.child(key), problem);
        } else if kind == StoreKind::Hdfs || address.is_empty() || address.starts_with("https://") {
            continue;
        } else if !address.starts_with("http://") {
            checks.report(table.child(key), "must begin with \"https://\" or \"http://\"");
        } else if key == "endpoint" && !written.allow_http {
            checks.report(table.child(key), "is plain HTTP; write \"https://…\", or set allow_http = true");
        }
    }
}

fn check_credentials(table: &Key, store: &Store, checks: &mut Checks) {
    if store.access_key_id.is_some() != store.secret_access_key.is_some() {
        let (given, missing) = if store.access_key_id.is_some() {
            ("access_key_id", "secret_access_key")
        } else {
            ("secret_access_key", "access_key_id")
        };
        checks.report(table.child(given), format!("is half of a key pair; give {missing} as well"));
    }
    if store.session_token.is_some() && store.access_key_id.is_none() {
        checks.report(table.child("session_token"), "belongs to a key pair; give access_key_id and secret_access_key");
    }
    if store.account_key.is_some() && store.sas_token.is_some() {
        checks.report(table.child("sas_token"), "is a second credential beside account_key; keep one");
    }
    let others =
        [("account_key", &store.account_key), ("sas_token", &store.sas_token), ("client_secret", &store.client_secret)];
    let beside = others.into_iter().find(|(_, other)| other.is_some() && store.connection_string.is_some());
    if let Some((other, _)) = beside {
        let problem = format!("is a second credential beside {other}; keep one");
        checks.report(table.child("connection_string"), problem);
    }
    if store.client_secret.is_some() && (store.tenant_id.is_none() || store.client_id.is_none()) {
        checks.report(table.child("client_secret"), "needs tenant_id and client_id beside it");
    }
}

/// The store as it could have been written.
pub(super) fn written_store(store: &Store) -> WrittenStore {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let given = |source: &Option<SecretSource>| match source {
        Some(SecretSource::Given(secret)) => Some(secret.clone()),
        _ => None,
    };
    let file = |source: &Option<SecretSource>| match source {
        Some(SecretSource::File(path)) => path.display().to_string(),
        _ => String::new(),
    };
    WrittenStore {
        kind: Some(store.kind),
        endpoint: text(&store.endpoint),
        region: text(&store.region),
        access_key_id: text(&store.access_key_id),
        secret_access_key: given(&store.secret_access_key),
        secret_access_key_file: file(&store.secret_access_key),
        session_token: given(&store.session_token),
        session_token_file: file(&store.session_token),
        path_style: store.path_style,
        account: text(&store.account),
        account_key: given(&store.account_key),
        account_key_file: file(&store.account_key),
        connection_string: given(&store.connection_string),
        connection_string_file: file(&store.connection_string),
        sas_token: given(&store.sas_token),
        sas_token_file: file(&store.sas_token),
        tenant_id: text(&store.tenant_id),
        client_id: text(&store.client_id),
        client_secret: given(&store.client_secret),
        client_secret_file: file(&store.client_secret),
        service_account_file: path(&store.service_account_file),
        allow_http: store.allow_http,
        proxy: text(&store.proxy),
        ca_file: path(&store.ca_file),
        requests_at_once: store.requests_at_once,
    }
}

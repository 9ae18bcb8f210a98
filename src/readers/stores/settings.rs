//! What a store's client is told, where the environment's own ways do not say it.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::location::StoreError;

/// The kinds of store that can have settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// As it is written in the configuration.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Azure => "azure",
            Self::Gcs => "gcs",
            Self::Hdfs => "hdfs",
        }
    }
}

/// Settings of one store. What is absent comes from the environment: variables `AWS_…`, `AZURE_…`, `GOOGLE_…`,
/// `HADOOP_…`, and the roles and identities that clouds give to machines.
#[derive(Clone)]
pub struct StoreSettings {
    /// What it is.
    pub kind: StoreKind,
    /// Where it answers; for HDFS the name node.
    pub endpoint: Option<String>,
    /// S3: the region.
    pub region: Option<String>,
    /// S3: the key pair's public half.
    pub access_key_id: Option<String>,
    /// S3: the key pair's secret half.
    pub secret_access_key: Option<StoreSecret>,
    /// S3: belongs to a temporary key pair.
    pub session_token: Option<StoreSecret>,
    /// S3: the bucket stands in the path (and not in the host name).
    pub path_style: bool,
    /// Azure: the storage account.
    pub account: Option<String>,
    /// Azure: the account's key.
    pub account_key: Option<StoreSecret>,
    /// Azure: account, key or signature, and endpoint in one text.
    pub connection_string: Option<StoreSecret>,
    /// Azure: a shared access signature, `sv=…&sig=…`.
    pub sas_token: Option<StoreSecret>,
    /// Azure: the directory of a service principal.
    pub tenant_id: Option<String>,
    /// Azure: the service principal, or a managed identity.
    pub client_id: Option<String>,
    /// Azure: the service principal's secret.
    pub client_secret: Option<StoreSecret>,
    /// Google Cloud: the JSON file of a service account.
    pub service_account_file: Option<PathBuf>,
    /// Whether plain HTTP will do.
    pub allow_http: bool,
    /// An HTTP proxy.
    pub proxy: Option<String>,
    /// Certificates to trust beside the system's.
    pub ca_file: Option<PathBuf>,
    /// How many requests may be under way at once.
    pub requests_at_once: usize,
}

/// What hides the round trips of a cloud, and no store minds.
pub(super) const REQUESTS_AT_ONCE: usize = 16;

impl StoreSettings {
    /// Settings that say nothing beyond the kind.
    #[must_use]
    pub const fn new(kind: StoreKind) -> Self {
        Self {
            kind,
            endpoint: None,
            region: None,
            access_key_id: None,
            secret_access_key: None,
            session_token: None,
            path_style: true,
            account: None,
            account_key: None,
            connection_string: None,
            sas_token: None,
            tenant_id: None,
            client_id: None,
            client_secret: None,
            service_account_file: None,
            allow_http: false,
            proxy: None,
            ca_file: None,
            requests_at_once: REQUESTS_AT_ONCE,
        }
    }
}

/// Why a secret was not read.
type SecretUnread = Box<dyn Error + Send + Sync>;

/// A secret, or a way to read it as it is now.
#[derive(Clone)]
pub struct StoreSecret(Arc<dyn Fn() -> Result<String, SecretUnread> + Send + Sync>);

impl StoreSecret {
    /// One that never changes.
    #[must_use]
    pub fn given(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::read_by(move || Ok(text.clone()))
    }

    /// One that is read anew each time, since it may have changed.
    #[must_use]
    pub fn read_by(read: impl Fn() -> Result<String, SecretUnread> + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    fn read(&self) -> Result<String, StoreError> {
        (self.0)().map_err(|source| StoreError::Secret { source })
    }
}

impl fmt::Debug for StoreSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

/// The secrets of a store, as they were read together.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Secrets {
    pub(super) secret_access_key: Option<String>,
    pub(super) session_token: Option<String>,
    pub(super) account_key: Option<String>,
    pub(super) connection_string: Option<String>,
    pub(super) sas_token: Option<String>,
    pub(super) client_secret: Option<String>,
    pub(super) service_account: Option<String>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secrets>")
    }
}

impl StoreSettings {
    /// Reads all secrets as they are now.
    pub(super) fn secrets(&self) -> Result<Secrets, StoreError> {
        let read = |secret: &Option<StoreSecret>| secret.as_ref().map(StoreSecret::read).transpose();
        let service_account = self.service_account_file.as_ref().map(std::fs::read_to_string).transpose();
        Ok(Secrets {
            secret_access_key: read(&self.secret_access_key)?,
            session_token: read(&self.session_token)?,
            account_key: read(&self.account_key)?,
            connection_string: read(&self.connection_string)?,
            sas_token: read(&self.sas_token)?,
            client_secret: read(&self.client_secret)?,
            service_account: service_account.map_err(|error| StoreError::Secret { source: error.into() })?,
        })
    }
}

/// Without what may be a secret.
impl fmt::Debug for StoreSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreSettings")
            .field("kind", &self.kind)
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .field("account", &self.account)
            .finish_non_exhaustive()
    }
}

/// How long single requests may take, so that a dead store is told as such before the reading's own deadline ends it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// One request, from connecting to the last byte of its answer.
    pub(super) request: Duration,
    /// Connecting.
    pub(super) connect: Duration,
    /// A failed request is not repeated later than this.
    pub(super) retry: Duration,
}

impl Patience {
    /// For readings that have `deadline` each.
    pub(super) fn within(deadline: Duration) -> Self {
        let third = (deadline / 3).max(Duration::from_millis(100));
        Self { request: third, connect: third.min(Duration::from_secs(5)), retry: third }
    }
}

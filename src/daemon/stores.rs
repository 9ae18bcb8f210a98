//! From the configuration to the settings of stores.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::config::{Config, SecretError, SecretSource, Store, StoreKind};
use crate::readers::stores::{self, StoreSecret, StoreSettings};

/// A secret's file that does not yield the secret.
#[derive(Debug, Error)]
#[error("stores.{store}")]
pub struct StoreSecretError {
    /// The store's name.
    pub store: String,
    /// What is wrong with the file.
    #[source]
    pub cause: SecretError,
}

/// The settings of every store, by name, for [`stores::Stores::new`]. Files of secrets are read now, so that a
/// missing one is told at once, and again by the store.
///
/// # Errors
/// At the first secret that cannot be read.
pub fn store_settings(config: &Config) -> Result<BTreeMap<String, StoreSettings>, StoreSecretError> {
    let named = |(name, store): (&String, &Store)| match settings(store) {
        Ok(settings) => Ok((name.clone(), settings)),
        Err(cause) => Err(StoreSecretError { store: name.clone(), cause }),
    };
    config.stores.iter().map(named).collect()
}

fn settings(store: &Store) -> Result<StoreSettings, SecretError> {
    let secret = |source: &Option<SecretSource>| {
        let Some(source) = source.clone() else { return Ok(None) };
        source.read()?;
        let read = move || source.read().map(|secret| secret.expose().to_owned()).map_err(Into::into);
        Ok(Some(StoreSecret::read_by(read)))
    };
    Ok(StoreSettings {
        kind: match store.kind {
            StoreKind::S3 => stores::StoreKind::S3,
            StoreKind::Azure => stores::StoreKind::Azure,
            StoreKind::Gcs => stores::StoreKind::Gcs,
            StoreKind::Hdfs => stores::StoreKind::Hdfs,
        },
        endpoint: store.endpoint.clone(),
        region: store.region.clone(),
        access_key_id: store.access_key_id.clone(),
        secret_access_key: secret(&store.secret_access_key)?,
        session_token: secret(&store.session_token)?,
        path_style: store.path_style,
        account: store.account.clone(),
        account_key: secret(&store.account_key)?,
        connection_string: secret(&store.connection_string)?,
        sas_token: secret(&store.sas_token)?,
        tenant_id: store.tenant_id.clone(),
        client_id: store.client_id.clone(),
        client_secret: secret(&store.client_secret)?,
        service_account_file: store.service_account_file.clone(),
        allow_http: store.allow_http,
        proxy: store.proxy.clone(),
        ca_file: store.ca_file.clone(),
        requests_at_once: usize::try_from(store.requests_at_once).unwrap_or(usize::MAX),
    })
}

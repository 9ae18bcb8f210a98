//! From the configuration to the place of the ledger.

use std::fs;
use std::sync::Arc;

use thiserror::Error;

use crate::config::{Config, LedgerServer, SecretError, SecretSource};
use crate::ledger::{Place, ReadPassword, Server};

/// The file of the ledger's password does not yield it.
#[derive(Debug, Error)]
#[error("ledger.password_file")]
pub struct LedgerSecretError(#[source] SecretError);

/// Where the ledger is kept; `None`: nowhere. A file with the password is read now, so that a missing one is told at
/// once, and again by each connection.
///
/// # Errors
/// When the password cannot be read.
pub fn ledger_place(config: &Config) -> Result<Option<Place>, LedgerSecretError> {
    let Some(server) = &config.ledger else { return Ok(config.state_dir.clone().map(Place::Folder)) };
    let password = password(server).map_err(LedgerSecretError)?;
    // What Prometheus calls an instance: two daemons of one machine cannot listen on one port.
    let watcher = format!("{}:{}", host_name(), config.server.listen.port());
    Ok(Some(Place::Server(Server::new(&server.url, watcher, password))))
}

fn password(server: &LedgerServer) -> Result<Option<ReadPassword>, SecretError> {
    let Some(source) = server.password.clone() else { return Ok(None) };
    if let SecretSource::File(_) = source {
        source.read()?;
    }
    Ok(Some(Arc::new(move || source.read().map(|secret| secret.expose().to_owned()).map_err(Into::into))))
}

/// The name of this machine; in Kubernetes that of the pod.
fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}

//! From the configuration to the place of the ledger.

use std::fs;
use std::io;
use std::sync::Arc;

use thiserror::Error;

use crate::config::{Config, LedgerServer, SecretError, SecretSource};
use crate::ledger::{Place, ReadPassword, Server};

/// Why nothing can be said of where the ledger is kept.
#[derive(Debug, Error)]
pub enum LedgerPlaceError {
    /// The file of its password does not yield it.
    #[error("ledger.password_file")]
    Secret(#[source] SecretError),
    /// A shared ledger knows each daemon by its machine's name, and two of one name would write over each other.
    #[error("the name of this machine, by which the ledger knows the daemon, cannot be read")]
    Name(#[source] io::Error),
}

/// Where the ledger is kept; `None`: nowhere. A file with the password is read now, so that a missing one is told at
/// once, and again by each connection.
///
/// # Errors
/// When the password or the name of this machine cannot be read.
pub fn ledger_place(config: &Config) -> Result<Option<Place>, LedgerPlaceError> {
    let Some(server) = &config.ledger else { return Ok(config.state_dir.clone().map(Place::Folder)) };
    let password = password(server).map_err(LedgerPlaceError::Secret)?;
    // What Prometheus calls an instance: two daemons of one machine cannot listen on one port.
    let name = host_name().map_err(LedgerPlaceError::Name)?;
    let watcher = format!("{name}:{}", config.server.listen.port());
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
fn host_name() -> io::Result<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname")?;
    let name = name.trim();
    if name.is_empty() { Err(io::Error::other("it is empty")) } else { Ok(name.to_owned()) }
}

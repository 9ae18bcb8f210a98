//! A configuration that was read again: what changed is changed, everything else goes on as if nothing had happened.

use std::sync::{Arc, PoisonError};

use thiserror::Error;
use tracing::{error, info};

use super::fleet::Fleet;
use super::loops::Name;
use super::{Running, TargetError, door, settings};
use crate::config::{Config, ConfigError};
use crate::measures::with_causes;
use crate::process::{clock, logging};
use crate::rounds::DiscoveryTarget;
use crate::web::{self, FileError};

/// Why a configuration was not taken. The one before stays in force, whole.
#[derive(Debug, Error)]
pub enum ReloadError {
    /// It has mistakes.
    #[error("the configuration is not valid")]
    Invalid(#[source] ConfigError),
    /// It changes what cannot change while the daemon runs.
    #[error("a restart is needed to change {0}")]
    NeedsRestart(String),
    /// A certificate or a token cannot be used.
    #[error("server")]
    Files(#[source] FileError),
    /// It asks for what cannot be built.
    #[error("the configuration asks for what cannot be had")]
    Target(#[source] Box<TargetError>),
}

impl Running {
    /// Takes over a configuration that was just read, and says in log and metrics how that went.
    ///
    /// # Errors
    /// When it is not taken; then nothing has changed.
    pub fn reload(&mut self, read: Result<Config, ConfigError>) -> Result<(), ReloadError> {
        let outcome = read.map_err(ReloadError::Invalid).and_then(|config| self.change_to(config));
        if outcome.is_ok() {
            self.loaded_at = clock::now();
        }
        self.board.set_about(&web::about_this_build(outcome.is_ok(), Some(self.loaded_at), self.shard));
        outcome.inspect_err(|cause| {
            let words = with_causes(cause);
            error!(error = words, "the configuration was read again and is not taken; the one before stays in force");
        })
    }

    fn change_to(&mut self, config: Config) -> Result<(), ReloadError> {
        if config == self.config {
            info!("the configuration was read again and is the same");
            return Ok(());
        }
        check_fixed(&self.config, &config)?;
        // All that can fail comes first.
        let access = if config.server == self.config.server {
            Arc::clone(&self.settings.load().access)
        } else {
            Arc::new(door(&config.server).map_err(ReloadError::Files)?)
        };
        let shared = Arc::clone(&self.fleet);
        let mut fleet = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let next = fleet.after(config.clone()).map_err(|cause| ReloadError::Target(Box::new(cause)))?;

        if config.log.level != self.config.log.level {
            logging::change_level(config.log.level.label());
        }
        self.settings.store(Arc::new(settings(&config, access)));
        for name in ended(&fleet, &next) {
            self.loops.end(&name);
        }
        *fleet = next;
        self.start_missing(&fleet);
        fleet.announce();
        info!(
            clusters = config.clusters.len(),
            queries = config.queries.len(),
            "the configuration was read again and is in force"
        );
        self.config = config;
        Ok(())
    }
}

/// The loops of `before` that have no place in `next`, or look through another one.
fn ended(before: &Fleet, next: &Fleet) -> Vec<Name> {
    let clusters =
        before.clients.keys().filter(|cluster| !next.clients.contains_key(*cluster)).cloned().map(Name::Cluster);
    let later = next.discoveries();
    let goes_on = |earlier: &DiscoveryTarget| {
        let same = later.iter().find(|one| one.name == earlier.name);
        same.is_some_and(|one| Arc::ptr_eq(&one.finder, &earlier.finder) && one.interval == earlier.interval)
    };
    let discoveries = before.discoveries().into_iter().filter(|one| !goes_on(one));
    clusters.chain(discoveries.map(|one| Name::Discovery(one.name))).collect()
}

/// What a running process has taken hold of.
fn check_fixed(before: &Config, next: &Config) -> Result<(), ReloadError> {
    let fixed = [
        ("server.listen", before.server.listen != next.server.listen),
        ("state_dir", before.state_dir != next.state_dir),
        ("ledger", before.ledger != next.ledger),
        ("log.format", before.log.format != next.log.format),
    ];
    let changed: Vec<&str> = fixed.into_iter().filter(|(_, is_changed)| *is_changed).map(|(key, _)| key).collect();
    if changed.is_empty() { Ok(()) } else { Err(ReloadError::NeedsRestart(changed.join(", "))) }
}

//! The composition: builds the rooms out of a configuration, starts and stops them. Nothing else knows them all.

mod access;
mod door;
mod fleet;
mod looks;
mod roster;
mod stores;
mod targets;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use arc_swap::ArcSwap;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use self::fleet::Fleet;
use crate::alerts;
use crate::commands::Ended;
use crate::commands::rules::inputs as alert_inputs;
use crate::config::{Config, effective_toml};
use crate::ledger::{FileLedger, Health, Ledger, MemoryLedger, OpenError, Opened};
use crate::metrics::snapshot::DiscoveryRound;
use crate::process::clock;
use crate::process::exit_code::ExitCode;
use crate::rounds::board::Board;
use crate::rounds::{self, AT_ONCE};
use crate::web::{self, Access, RulesFormat, Settings, Sources, WebState};

pub use door::door;
pub use looks::with_found;
pub use stores::{StoreSecretError, store_settings};
pub use targets::{TargetError, check_clients, cluster_reader, cluster_targets, query_settings, source_filter};

/// How long requests in flight and rounds may take to end. Well under the grace of an init system.
const GRACE: Duration = Duration::from_millis(1500);

/// A daemon at work.
#[derive(Debug)]
pub struct Running {
    /// Where it listens, with the port that the system gave.
    pub address: SocketAddr,
    stop: CancellationToken,
    /// Its writer ends when nobody holds it any more.
    ledger: Arc<dyn Ledger>,
    tasks: JoinSet<()>,
    server: tokio::task::JoinHandle<()>,
}

/// Starts the daemon. The port is taken first, and HTTP answers before any cluster or store is asked for anything, so
/// that a Kafka that is away costs no health check.
///
/// # Errors
/// When the address cannot be listened on, another daemon keeps the same ledger, or the configuration asks for what cannot be built (see [`TargetError`]).
pub async fn start(config: Config) -> anyhow::Result<Running> {
    let listen = config.server.listen;
    let listener = TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?;
    let address = listener.local_addr().context("the listening address is not known")?;

    let cannot_be_had = || Ended::with(ExitCode::Configuration, "the configuration asks for what cannot be had");
    let access = door(&config.server).with_context(cannot_be_had)?;
    let fleet = Fleet::new(config.clone()).with_context(cannot_be_had)?;
    let mut tasks = JoinSet::new();
    let (ledger, health) = open_ledger(&config, &mut tasks).await?;
    let board = Arc::new(Board::default());
    board.set_ledger(rounds::published_health(health));
    board.set_about(&web::about_this_build(true, Some(clock::now())));
    let (clusters, discoveries) = (fleet.clusters(), fleet.discoveries());
    for targets in &clusters {
        board.publish(rounds::before_first_round(&targets.borrow()));
    }
    for discovery in &discoveries {
        board.set_discovery(DiscoveryRound::waiting(&discovery.name));
    }
    let stop = CancellationToken::new();
    let settings = Arc::new(ArcSwap::from_pointee(settings(&config, access)));
    let state = WebState::new(Sources {
        board: Arc::clone(&board),
        ledger: Arc::downgrade(&ledger),
        clock: Arc::new(clock::now),
        settings,
        stopping: stop.clone(),
    });
    let server = tokio::spawn(web::serve(listener, state, stop.clone()));
    info!(address = %address, clusters = clusters.len(), discoveries = discoveries.len(), "listening");

    let places = Arc::new(Semaphore::new(AT_ONCE));
    for targets in clusters {
        let (ledger, board, places) = (Arc::clone(&ledger), Arc::clone(&board), Arc::clone(&places));
        tasks.spawn(rounds::run(targets, ledger, board, places, clock::Clock::default(), stop.clone()));
    }
    let fleet = Arc::new(Mutex::new(fleet));
    for discovery in discoveries {
        let (fleet, board, name) = (Arc::clone(&fleet), Arc::clone(&board), discovery.name.clone());
        let take =
            move |paths: &BTreeSet<String>| fleet.lock().unwrap_or_else(PoisonError::into_inner).take(&name, paths);
        tasks.spawn(rounds::discover(discovery, take, board, stop.clone()));
    }
    Ok(Running { address, stop, ledger, tasks, server })
}

/// The ledger as configured, with its writer at work.
async fn open_ledger(config: &Config, tasks: &mut JoinSet<()>) -> Result<(Arc<dyn Ledger>, Health), OpenError> {
    let Some(folder) = &config.state_dir else {
        return Ok((Arc::new(MemoryLedger::default()), Health { persistent: false, up: true }));
    };
    let Opened { ledger, health, writer } = FileLedger::open(folder).await?;
    tasks.spawn(writer);
    Ok((Arc::new(ledger), health))
}

/// What the configuration decides of the answers.
fn settings(config: &Config, access: Access) -> Settings {
    let inputs = alert_inputs(config);
    let file = alerts::rendered(&inputs, &alerts::Format::Prometheus);
    let object = alerts::rendered(&inputs, &alerts::Format::PrometheusRule(alerts::ObjectMeta::default()));
    let rules = move |format| match format {
        RulesFormat::Prometheus => file.clone(),
        RulesFormat::PrometheusRule => object.clone(),
    };
    let brokers = config.clusters.iter().map(|(name, cluster)| (name.clone(), cluster.bootstrap_servers.clone()));
    Settings { access, brokers: brokers.collect(), config: effective_toml(config), rules: Arc::new(rules) }
}

impl Running {
    /// Waits until a part of the daemon ends by itself, which only a fault makes it do.
    ///
    /// # Errors
    /// Always: names the part.
    pub async fn fault(&mut self) -> anyhow::Error {
        let none_left = self.tasks.is_empty();
        tokio::select! {
            served = &mut self.server => match served {
                Ok(()) => anyhow::anyhow!("the web server ended"),
                Err(cause) => anyhow::Error::new(cause).context("the web server crashed"),
            },
            Some(ended) = self.tasks.join_next(), if !none_left => match ended {
                Ok(()) => anyhow::anyhow!("a loop or the ledger's writer ended"),
                Err(cause) => anyhow::Error::new(cause).context("a loop or the ledger's writer crashed"),
            },
        }
    }

    /// Stops everything: polls are cancelled, requests in flight may finish, and what is not done after the grace is
    /// dropped.
    pub async fn stop(mut self) {
        self.stop.cancel();
        drop(self.ledger);
        let all = async {
            while self.tasks.join_next().await.is_some() {}
            if !self.server.is_finished() && (&mut self.server).await.is_err() {
                warn!("the web server crashed while it was stopped");
            }
        };
        if timeout(GRACE, all).await.is_err() {
            warn!(grace_ms = GRACE.as_millis(), "not everything ended in time; what is left is dropped");
            self.tasks.abort_all();
            self.server.abort();
        }
    }
}

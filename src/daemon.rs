//! The composition: builds the rooms out of a configuration, starts and stops them. Nothing else knows them all.

mod access;
mod door;
mod fleet;
mod kept;
mod ledger;
mod looks;
mod loops;
mod reload;
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
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use self::fleet::Fleet;
use self::loops::{Loops, Name};
use crate::alerts;
use crate::commands::Ended;
use crate::commands::rules::inputs as alert_inputs;
use crate::config::{Config, effective_toml};
use crate::ledger::{DatabaseLedger, Health, Ledger, MemoryLedger, Opened};
use crate::measures::Moment;
use crate::metrics::snapshot::DiscoveryRound;
use crate::process::clock;
use crate::rounds::board::Board;
use crate::rounds::{self, AT_ONCE};
use crate::shard::Shard;
use crate::web::{self, Access, RulesFormat, Settings, Sources, WebState};

pub use door::door;
pub use ledger::{LedgerPlaceError, ledger_place};
pub use looks::{LookedThrough, with_found};
pub use reload::ReloadError;
pub use stores::{StoreSecretError, store_settings};
pub use targets::{TargetError, check_clients, cluster_reader, cluster_targets, query_settings, source_filter};

/// How long requests in flight and rounds may take to end. Well under the grace of an init system.
const GRACE: Duration = Duration::from_millis(1500);

/// What is kept of it for requests in flight, should rounds not end.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// A daemon at work.
#[derive(Debug)]
pub struct Running {
    /// Where it listens, with the port that the system gave.
    pub address: SocketAddr,
    config: Config,
    shard: Shard,
    loaded_at: Moment,
    board: Arc<Board>,
    fleet: Arc<Mutex<Fleet>>,
    /// Told when a cluster is to be watched that was not.
    grown: Arc<Notify>,
    settings: Arc<ArcSwap<Settings>>,
    places: Arc<Semaphore>,
    stop: CancellationToken,
    /// Nothing more is answered.
    close: CancellationToken,
    /// Its writer ends when nobody holds it any more.
    ledger: Arc<dyn Ledger>,
    loops: Loops,
    server: tokio::task::JoinHandle<()>,
    asked: mpsc::Receiver<web::ReloadAsked>,
}

/// What a daemon's keeper has to see to.
#[derive(Debug)]
pub enum Happening {
    /// A part ended by itself, which only a fault makes it do.
    Fault(anyhow::Error),
    /// Somebody asked by HTTP that the configuration be read again, and waits to hear how that went.
    ReloadAsked(web::ReloadAsked),
}

/// Starts the daemon. The port is taken first, and HTTP answers before any cluster or store is asked for anything, so
/// that a Kafka that is away costs no health check. Commands on pages end with `options`; only queries of `shard` are watched.
///
/// # Errors
/// When the address cannot be listened on, another daemon keeps the same ledger, or the configuration asks for what cannot be built (see [`TargetError`]).
pub async fn start(config: Config, options: Vec<String>, shard: Shard) -> anyhow::Result<Running> {
    let listen = config.server.listen;
    let listener = TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?;
    let address = listener.local_addr().context("the listening address is not known")?;

    let access = door(&config.server).with_context(Ended::unobtainable)?;
    let fleet = Fleet::new(config.clone(), shard).with_context(Ended::unobtainable)?;
    let (stop, close) = (CancellationToken::new(), CancellationToken::new());
    let mut loops = Loops::new(stop.clone());
    let (ledger, health) = open_ledger(&config, &mut loops).await?;
    let (board, loaded_at) = (Arc::new(Board::default()), clock::now());
    board.set_ledger(rounds::published_health(health));
    board.set_about(&web::about_this_build(true, Some(loaded_at), shard));
    for targets in fleet.clusters().values() {
        board.publish(rounds::before_first_round(&targets.borrow()));
    }
    for discovery in fleet.discoveries() {
        board.set_discovery(DiscoveryRound::waiting(&discovery.name));
    }
    let settings = Arc::new(ArcSwap::from_pointee(settings(&config, Arc::new(access))));
    let (ask, asked) = mpsc::channel(1);
    let state = WebState::new(Sources {
        board: Arc::clone(&board),
        ledger: Arc::downgrade(&ledger),
        shard,
        options,
        clock: Arc::new(clock::now),
        settings: Arc::clone(&settings),
        reload: ask,
        stopping: stop.clone(),
    });
    let server = tokio::spawn(web::serve(listener, state, close.clone()));
    let (clusters, discoveries) = (config.clusters.len(), config.discoveries.len());
    info!(address = %address, clusters, discoveries, shard = %shard, "listening");

    let mut running = Running {
        address,
        config,
        shard,
        loaded_at,
        board,
        fleet: Arc::new(Mutex::new(fleet)),
        grown: Arc::default(),
        settings,
        places: Arc::new(Semaphore::new(AT_ONCE)),
        stop,
        close,
        ledger,
        loops,
        server,
        asked,
    };
    let fleet = Arc::clone(&running.fleet);
    running.start_missing(&fleet.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(running)
}

/// The ledger as configured, with its writer at work.
async fn open_ledger(config: &Config, loops: &mut Loops) -> anyhow::Result<(Arc<dyn Ledger>, Health)> {
    let Some(place) = ledger_place(config).with_context(Ended::unobtainable)? else {
        return Ok((Arc::new(MemoryLedger::default()), Health { persistent: false, up: true }));
    };
    let Opened { ledger, health, writer } = DatabaseLedger::open(place).await?;
    loops.keep(writer);
    Ok((Arc::new(ledger), health))
}

/// What the configuration decides of the answers.
fn settings(config: &Config, access: Arc<Access>) -> Settings {
    let inputs = alert_inputs(config);
    let file = alerts::rendered(&inputs, &alerts::Format::Prometheus);
    let object = alerts::rendered(&inputs, &alerts::Format::PrometheusRule(alerts::ObjectMeta::default()));
    let rules = move |format| match format {
        RulesFormat::Prometheus => file.clone(),
        RulesFormat::PrometheusRule => object.clone(),
    };
    let brokers = config.clusters.iter().map(|(name, cluster)| (name.clone(), cluster.bootstrap_servers.clone()));
    Settings {
        access,
        brokers: brokers.collect(),
        config: effective_toml(config),
        rules: Arc::new(rules),
        enable_reload: config.server.enable_reload,
    }
}

impl Running {
    /// Starts the loops of the fleet that do not run.
    fn start_missing(&mut self, fleet: &Fleet) {
        for (cluster, targets) in fleet.clusters() {
            let name = Name::Cluster(cluster.clone());
            if self.loops.is_running(&name) {
                continue;
            }
            let (ledger, board, places) = (Arc::clone(&self.ledger), Arc::clone(&self.board), Arc::clone(&self.places));
            let done = Arc::clone(&self.board);
            let work = |stop| async move {
                board.publish(rounds::before_first_round(&targets.borrow()));
                rounds::run(targets, ledger, board, places, clock::Clock::default(), stop).await;
            };
            self.loops.start(name, work, move || done.take_down(&cluster));
        }
        for discovery in fleet.discoveries() {
            let name = Name::Discovery(discovery.name.clone());
            if self.loops.is_running(&name) {
                continue;
            }
            let (fleet, board, discovered) = (Arc::clone(&self.fleet), Arc::clone(&self.board), discovery.name.clone());
            let (seen, grown) = (Arc::clone(&self.board), Arc::clone(&self.grown));
            let take = move |paths: &BTreeSet<String>| {
                let mut fleet = fleet.lock().unwrap_or_else(PoisonError::into_inner);
                let before = fleet.clusters();
                let taken = fleet.take(&discovered, paths);
                for (_, targets) in fleet.clusters().iter().filter(|(cluster, _)| !before.contains_key(*cluster)) {
                    // Before the look counts as ended: readiness waits for its first round.
                    seen.publish(rounds::before_first_round(&targets.borrow()));
                    grown.notify_one();
                }
                taken
            };
            let (done, named) = (Arc::clone(&self.board), discovery.name.clone());
            let work = |stop| async move {
                board.set_discovery(DiscoveryRound::waiting(&discovery.name));
                rounds::discover(discovery, take, board, stop).await;
            };
            self.loops.start(name, work, move || done.take_discovery_down(&named));
        }
    }

    /// Waits for the next thing that its keeper has to see to.
    pub async fn next(&mut self) -> Happening {
        loop {
            tokio::select! {
                served = &mut self.server => return Happening::Fault(match served {
                    Ok(()) => anyhow::anyhow!("the web server ended"),
                    Err(cause) => anyhow::Error::new(cause).context("the web server crashed"),
                }),
                fault = self.loops.fault() => return Happening::Fault(fault),
                Some(asked) = self.asked.recv() => return Happening::ReloadAsked(asked),
                () = self.grown.notified() => {}
            }
            let fleet = Arc::clone(&self.fleet);
            self.start_missing(&fleet.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Waits until a part of the daemon ends by itself, which only a fault makes it do. For daemons whose configuration
    /// is not read again.
    ///
    /// # Errors
    /// Always: names the part.
    pub async fn fault(&mut self) -> anyhow::Error {
        loop {
            if let Happening::Fault(fault) = self.next().await {
                return fault;
            }
        }
    }

    /// Whether the threads that answer take on work: what a watchdog wants to know. Kafka, stores and the disk have no
    /// say in it, since a restart would mend none of them.
    pub async fn is_alive(&self) -> bool {
        let board = Arc::clone(&self.board);
        timeout(GRACE, tokio::spawn(async move { board.is_ready() })).await.is_ok()
    }

    /// Stops everything: readiness ends, polls are cancelled, then nothing more is asked of us; requests in flight may
    /// finish, and what is not done after the grace is dropped.
    pub async fn stop(mut self) {
        self.stop.cancel();
        drop(self.ledger);
        drop(self.asked);
        let end = Instant::now() + GRACE;
        let all = async {
            // Meanwhile whoever asks is told that we are stopping. Polls that take longer may still end.
            drop(timeout_at(end - LAST_ANSWERS, self.loops.ended()).await);
            self.close.cancel();
            self.loops.ended().await;
            if !self.server.is_finished() && (&mut self.server).await.is_err() {
                warn!("the web server crashed while it was stopped");
            }
        };
        if timeout_at(end, all).await.is_err() {
            warn!(grace_ms = GRACE.as_millis(), "not everything ended in time; what is left is dropped");
            self.loops.abort();
            self.server.abort();
        }
    }
}

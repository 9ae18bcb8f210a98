//! The loops that run: rounds over clusters, looks of discoveries, the ledger's writer. Each can be told to end alone;
//! one that ends without being told is a fault.

use std::collections::BTreeMap;

use anyhow::anyhow;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// A loop that follows the configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Name {
    /// The rounds over a cluster.
    Cluster(String),
    /// The looks of a discovery.
    Discovery(String),
}

/// All loops.
#[derive(Debug)]
pub(super) struct Loops {
    /// Each says at its end whether it was told to end.
    tasks: JoinSet<bool>,
    stop: CancellationToken,
    running: BTreeMap<Name, One>,
    /// Those that were told to end and may not have ended yet.
    ending: BTreeMap<Name, oneshot::Receiver<()>>,
}

#[derive(Debug)]
struct One {
    stop: CancellationToken,
    ended: oneshot::Receiver<()>,
}

impl Loops {
    /// None yet. All end with `stop`.
    pub(super) fn new(stop: CancellationToken) -> Self {
        Self { tasks: JoinSet::new(), stop, running: BTreeMap::new(), ending: BTreeMap::new() }
    }

    /// Runs what ends only with the daemon.
    pub(super) fn keep(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            work.await;
            stop.is_cancelled()
        });
    }

    /// Starts a loop, as soon as an earlier one of that name has ended. When it is told to end while the daemon goes on,
    /// `after` cleans up behind it.
    pub(super) fn start<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        name: Name,
        work: impl FnOnce(CancellationToken) -> F,
        after: impl FnOnce() + Send + 'static,
    ) {
        let before = self.ending.remove(&name);
        let (all, stop) = (self.stop.clone(), self.stop.child_token());
        let (tell, ended) = oneshot::channel::<()>();
        let work = work(stop.clone());
        self.running.insert(name, One { stop: stop.clone(), ended });
        self.tasks.spawn(async move {
            if let Some(before) = before {
                // Only its end is waited for: nothing is ever sent.
                drop(before.await);
            }
            work.await;
            if stop.is_cancelled() && !all.is_cancelled() {
                after();
            }
            drop(tell);
            stop.is_cancelled()
        });
    }

    /// Whether a loop of that name was started and not told to end.
    pub(super) fn is_running(&self, name: &Name) -> bool {
        self.running.contains_key(name)
    }

    /// Tells a loop to end. It does so soon, and is not waited for.
    pub(super) fn end(&mut self, name: &Name) {
        if let Some(One { stop, ended }) = self.running.remove(name) {
            stop.cancel();
            self.ending.insert(name.clone(), ended);
        }
    }

    /// Waits until one ends that was not told to.
    pub(super) async fn fault(&mut self) -> anyhow::Error {
        loop {
            match self.tasks.join_next().await {
                Some(Ok(true)) => {}
                Some(Ok(false)) => return anyhow!("a loop or the ledger's writer ended"),
                Some(Err(cause)) => return anyhow::Error::new(cause).context("a loop or the ledger's writer crashed"),
                None => std::future::pending().await,
            }
        }
    }

    /// Waits until all have ended.
    pub(super) async fn ended(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    /// Drops what still runs.
    pub(super) fn abort(&mut self) {
        self.tasks.abort_all();
    }
}

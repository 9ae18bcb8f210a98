//! The first step of a round: every checkpoint of the cluster, side by side.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use super::targets::QueryTarget;
use crate::checkpoint::CheckpointReading;
use crate::measures::{Moment, Reason, Unread};
use crate::process::clock::Clock;

/// How many checkpoints are read at once over all clusters. Each store keeps a much lower limit of its own, so that the
/// queries of one that hangs wait for each other, and leave places here for everyone else's.
pub const AT_ONCE: usize = 256;

/// How one read of a checkpoint went.
#[derive(Clone, Debug)]
pub struct CheckpointPoll {
    /// The sources of this cluster, or why nothing was read.
    pub outcome: Result<CheckpointReading, Unread>,
    /// A reading that holds no position to judge by (an unknown version, both newest entries bad): it still says what
    /// is wrong.
    pub unusable: Option<CheckpointReading>,
    /// When it was begun.
    pub attempted_at: Moment,
    /// How long it took, without the wait for a free place.
    pub took: Duration,
}

/// Reads the checkpoints of the named queries side by side, each with its own deadline: a late store costs its own
/// query this round, and nobody else.
pub(super) async fn read_all(
    queries: &[&QueryTarget],
    places: &Arc<Semaphore>,
    deadline: Duration,
    clock: &Clock,
) -> Vec<CheckpointPoll> {
    join_all(queries.iter().map(|query| read_one(query, places, deadline, clock))).await
}

async fn read_one(query: &QueryTarget, places: &Semaphore, deadline: Duration, clock: &Clock) -> CheckpointPoll {
    let waited = timeout(deadline, places.acquire()).await;
    let attempted_at = clock.now();
    let started = Instant::now();
    let outcome = match waited {
        Ok(_place) => within(query, deadline).await,
        Err(_) => Err(Unread::new(Reason::Overrun, "other checkpoints kept every place for reading busy")),
    };
    let (outcome, unusable) = match outcome.map(|reading| (reading.unread(), reading)) {
        Ok((None, reading)) => (Ok(query.sources.apply(reading)), None),
        Ok((Some(unread), reading)) => (Err(unread), Some(reading)),
        Err(unread) => (Err(unread), None),
    };
    CheckpointPoll { outcome, unusable, attempted_at, took: started.elapsed() }
}

/// The reader keeps its deadline itself; this one only guards against a reader that does not.
async fn within(query: &QueryTarget, deadline: Duration) -> Result<CheckpointReading, Unread> {
    let grace = deadline + Duration::from_secs(1);
    match timeout(grace, query.checkpoint.read(deadline)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Unread::new(Reason::TimedOut, format!("no answer within {} s", grace.as_secs()))),
    }
}

//! When a cluster's rounds run: one loop per cluster, one round at a time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::board::Board;
use super::news::{Change, change};
use super::publish::{cluster_round, remembered_round};
use super::remembering::{
    began, hear, is_heard, let_go, notes, published_health, settle, take_over, untold, unwritten,
};
use super::rights;
use super::round::{Found, once};
use super::short_lived;
use super::state::ClusterState;
use super::targets::ClusterTarget;
use crate::ledger::Ledger;
use crate::process::clock::Clock;

/// Runs rounds over one cluster until `stop` is cancelled. Each is remembered by the ledger, then hung on the board, so
/// that what was ever visible is remembered. A round that is cut off by `stop` is thrown away: half a round is not an
/// answer.
///
/// A round goes over the newest `targets`, and a change of them begins a round at once: a query that was only just found
/// is told soon, and one that left does not stay on the page.
pub async fn run(
    mut targets: watch::Receiver<Arc<ClusterTarget>>,
    ledger: Arc<dyn Ledger>,
    board: Arc<Board>,
    places: Arc<Semaphore>,
    clock: Clock,
    stop: CancellationToken,
) {
    let mut target = Arc::clone(&targets.borrow_and_update());
    let loaded = ledger.load(&target.name).await;
    board.set_ledger(published_health(loaded.remembered.health));
    let mut state = began(clock, &target, loaded);
    board.publish(remembered_round(&target, &state));
    let mut ticks = rhythm(target.poll_interval);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => {}
            () = change_of(&mut targets) => {
                let newest = Arc::clone(&targets.borrow_and_update());
                if newest.poll_interval != target.poll_interval {
                    ticks = rhythm(newest.poll_interval);
                }
                target = newest;
                let_go(&mut state, &target);
            }
        }
        if untold(&state, &target) {
            take_over(&mut state, &target, ledger.load(&target.name).await);
        }
        let heard = hear(&mut state, ledger.acknowledgements(&target.name).await);
        let found = tokio::select! {
            () = stop.cancelled() => return,
            found = once(&target, &mut state, &places, deadline(target.poll_interval)) => found,
        };
        log_transitions(&target, &state, &found);
        if let Ok(reading) = &found.cluster {
            rights::tell(&target.name, &state.missing_rights, &reading.missing_rights);
            state.missing_rights = reading.missing_rights.clone();
            short_lived::tell(&target, &mut state, reading, &found.verdicts);
        }
        let mut notes = notes(&target, &found, heard);
        if ledger.keeps_memories() && is_heard(&state) {
            notes.memories = unwritten(&state);
        }
        let pieces = notes.memories.clone();
        let remembered = ledger.remember(notes).await;
        board.set_ledger(published_health(remembered.health));
        settle(&mut state, remembered, pieces);
        let round = cluster_round(&target, &mut state, found);
        board.publish(round);
    }
}

fn rhythm(poll_interval: Duration) -> Interval {
    let mut ticks = interval_at(Instant::now(), poll_interval);
    // After a suspended machine or a long round: go on from now, never catch up.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Never, when nobody can change them any more.
async fn change_of(targets: &mut watch::Receiver<Arc<ClusterTarget>>) {
    if targets.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// A round ends before the next one is due; and however slow the rhythm, one that takes a minute has failed.
fn deadline(poll_interval: Duration) -> Duration {
    poll_interval.mul_f64(0.9).min(Duration::from_secs(60))
}

/// What of a round's time one reading of a checkpoint may take.
#[must_use]
pub fn reading_deadline(poll_interval: Duration) -> Duration {
    deadline(poll_interval) / 3
}

/// A failure is logged when it begins and when it ends; the counters carry the rest.
fn log_transitions(target: &ClusterTarget, state: &ClusterState, found: &Found) {
    let cluster = target.name.as_str();
    let now = found.cluster.as_ref().err();
    match change(state.cluster_polls.total, state.cluster_polls.failure.as_ref(), now) {
        Some(Change::Down(unread)) => {
            warn!(kafka_cluster = cluster, reason = %unread.reason, error = %unread.detail, "the cluster cannot be read");
        }
        Some(Change::Up) => info!(kafka_cluster = cluster, "the cluster can be read"),
        Some(Change::Still(unread)) => {
            debug!(kafka_cluster = cluster, reason = %unread.reason, error = %unread.detail, "the cluster still cannot be read");
        }
        None => {}
    }
    for (query, poll) in target.queries.iter().zip(&found.checkpoints) {
        let before = state.checkpoint_polls.get(&query.name);
        let (total, failure) = before.map_or((0, None), |polls| (polls.total, polls.failure.as_ref()));
        let location = query.checkpoint.location();
        match change(total, failure, poll.outcome.as_ref().err()) {
            Some(Change::Down(unread)) => warn!(
                kafka_cluster = cluster, query = %query.name, checkpoint = location, reason = %unread.reason,
                error = %unread.detail, "the checkpoint cannot be read"
            ),
            Some(Change::Up) => {
                info!(kafka_cluster = cluster, query = %query.name, checkpoint = location, "the checkpoint can be read");
            }
            Some(Change::Still(unread)) => debug!(
                kafka_cluster = cluster, query = %query.name, checkpoint = location, reason = %unread.reason,
                error = %unread.detail, "the checkpoint still cannot be read"
            ),
            None => {}
        }
    }
}

#[cfg(test)]
pub(super) mod tests;

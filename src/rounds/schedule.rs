//! When a cluster's rounds run: one loop per cluster, one round at a time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::board::Board;
use super::publish::{cluster_round, remembered_round};
use super::remembering::{hear, notes, published_health, take_over, written_memories};
use super::rights;
use super::round::{Found, once};
use super::state::ClusterState;
use super::targets::ClusterTarget;
use crate::ledger::Ledger;
use crate::measures::Unread;

/// Runs rounds over one cluster until `stop` is cancelled. Each is remembered by the ledger, then hung on the board, so
/// that what was ever visible is remembered. A round that is cut off by `stop` is thrown away: half a round is not an
/// answer.
pub async fn run(
    target: ClusterTarget,
    ledger: Arc<dyn Ledger>,
    board: Arc<Board>,
    places: Arc<Semaphore>,
    stop: CancellationToken,
) {
    let mut state = ClusterState::default();
    take_over(&mut state, &target, ledger.load(&target.name).await);
    board.publish(remembered_round(&target, &state));
    let mut ticks = interval_at(Instant::now(), target.poll_interval);
    // After a suspended machine or a long round: go on from now, never catch up.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => {}
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
        }
        let mut notes = notes(&target, &found, heard);
        if ledger.keeps_memories() {
            notes.memories = written_memories(&state);
        }
        let remembered = ledger.remember(notes).await;
        state.gaps_unresolved = remembered.unresolved;
        board.set_ledger(published_health(remembered.health));
        let round = cluster_round(&target, &mut state, found);
        board.publish(round);
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
            None => {}
        }
    }
}

#[derive(Debug, PartialEq)]
enum Change<'a> {
    Down(&'a Unread),
    Up,
}

/// A poll that fails for another reason than the one before is news as well.
fn change<'a>(polls_before: u64, before: Option<&Unread>, now: Option<&'a Unread>) -> Option<Change<'a>> {
    match (before, now) {
        (None, Some(unread)) => Some(Change::Down(unread)),
        (Some(old), Some(new)) if old.reason != new.reason => Some(Change::Down(new)),
        (Some(_), Some(_)) => None,
        (Some(_), None) => Some(Change::Up),
        (None, None) => (polls_before == 0).then_some(Change::Up),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::Reason;

    #[test]
    fn a_failure_is_told_when_it_begins_changes_and_ends() {
        let away = Unread::new(Reason::Unreachable, "connection refused");
        let denied = Unread::new(Reason::Denied, "authentication failed");
        assert_eq!(change(0, None, None), Some(Change::Up), "the first good poll");
        assert_eq!(change(7, None, None), None);
        assert_eq!(change(0, None, Some(&away)), Some(Change::Down(&away)));
        assert_eq!(change(7, Some(&away), Some(&away)), None);
        assert_eq!(change(7, Some(&away), Some(&denied)), Some(Change::Down(&denied)));
        assert_eq!(change(7, Some(&denied), None), Some(Change::Up));
    }

    #[test]
    fn a_round_ends_before_the_next_one_is_due() {
        assert_eq!(deadline(Duration::from_secs(30)), Duration::from_secs(27));
        assert_eq!(deadline(Duration::from_secs(600)), Duration::from_secs(60));
    }
}

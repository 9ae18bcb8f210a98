//! When a place is looked through for checkpoints: one loop per discovery, slow, and beside the rounds.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::board::Board;
use super::known::Known;
use super::news::{Change, change};
use super::state::count;
use crate::measures::Unread;
use crate::metrics::snapshot::DiscoveryRound;
use crate::process::clock::Clock;
use crate::readers::CheckpointFinder;

/// A look that takes longer has failed, however slow the rhythm.
const LONGEST_LOOK: Duration = Duration::from_secs(300);
/// When something has vanished, the second look comes after so long.
const SECOND_LOOK: Duration = Duration::from_secs(10);

/// One place to look through.
#[derive(Clone, Debug)]
pub struct DiscoveryTarget {
    /// The name under which the configuration knows it.
    pub name: String,
    /// Looks through it.
    pub finder: Arc<dyn CheckpointFinder>,
    /// From the start of one look to the start of the next.
    pub interval: Duration,
}

/// What became of the checkpoints that a discovery knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// So many are watched.
    pub watched: usize,
    /// So many are not: their names are taken.
    pub refused: usize,
}

/// Looks until `stop` is cancelled. After each look `take` is told the checkpoints that are believed in; a look that
/// fails leaves them as they are, and says so.
pub async fn discover(
    target: DiscoveryTarget,
    mut take: impl FnMut(&BTreeSet<String>) -> Taken,
    board: Arc<Board>,
    stop: CancellationToken,
) {
    let clock = Clock::default();
    let mut known = Known::default();
    let mut round = DiscoveryRound::waiting(&target.name);
    let mut next = Instant::now();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(next.saturating_duration_since(Instant::now())) => {}
        }
        let (attempted_at, started) = (clock.now(), Instant::now());
        let granted = known.granted();
        let looked = tokio::select! {
            () = stop.cancelled() => return,
            looked = target.finder.look(&granted, deadline(target.interval)) => looked,
        };
        let failure = looked.and_then(|looked| known.take(&looked)).err();
        log_transition(&target, &round, failure.as_ref());
        count(&mut round.polls, attempted_at, clock.now(), started.elapsed(), failure.as_ref());
        if failure.is_none() || !known.paths().is_empty() {
            let taken = take(known.paths());
            round.watched = u64::try_from(taken.watched).ok();
            round.refused = u64::try_from(taken.refused).ok();
        }
        let requests = target.finder.requests().by_operation();
        round.requests = requests.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
        let rest = if known.is_in_doubt() { target.interval.min(SECOND_LOOK) } else { target.interval };
        round.next_look = Some(attempted_at.plus(rest));
        board.set_discovery(round.clone());
        // After a suspended machine or a long look: go on from now, never catch up.
        next = (started + rest).max(Instant::now());
    }
}

fn deadline(interval: Duration) -> Duration {
    interval.mul_f64(0.9).min(LONGEST_LOOK)
}

fn log_transition(target: &DiscoveryTarget, before: &DiscoveryRound, now: Option<&Unread>) {
    let (discovery, location) = (target.name.as_str(), target.finder.location_of(""));
    match change(before.polls.total, before.polls.failure.as_ref(), now) {
        Some(Change::Down(unread)) => warn!(
            discovery, location, reason = %unread.reason, error = %unread.detail,
            "the place cannot be looked through; the checkpoints that are known go on being watched"
        ),
        Some(Change::Up) => info!(discovery, location, "the place can be looked through"),
        Some(Change::Still(unread)) => debug!(
            discovery, location, reason = %unread.reason, error = %unread.detail, "the place still cannot be looked through"
        ),
        None => {}
    }
}

#[cfg(test)]
mod tests;

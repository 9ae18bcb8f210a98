//! What a cluster's loop keeps from one round to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::judgement::QueryMemory;
use crate::measures::{Moment, TopicName, Unread};
use crate::metrics::snapshot::Polls;
use crate::process::clock::Clock;
use crate::retention::Right;

/// Kept between the rounds of one cluster.
#[derive(Debug, Default)]
pub struct ClusterState {
    /// Tells the time of each step of a round.
    pub clock: Clock,
    /// What the judgement remembers, by query.
    pub memories: BTreeMap<String, QueryMemory>,
    /// Gap records that nobody has settled, by query and topic; absent while the ledger does not answer.
    pub gaps_unresolved: Option<BTreeMap<String, BTreeMap<TopicName, u64>>>,
    /// Topics that a query's checkpoint ever named, by query.
    pub topics: BTreeMap<String, BTreeSet<TopicName>>,
    /// Rights that were missing when the cluster last answered.
    pub missing_rights: BTreeMap<Right, BTreeSet<TopicName>>,
    /// How the polls of the cluster went.
    pub cluster_polls: Polls,
    /// How the polls of each checkpoint went, by query.
    pub checkpoint_polls: BTreeMap<String, Polls>,
}

/// Counts one poll.
pub(super) fn count(
    polls: &mut Polls,
    attempted_at: Moment,
    ended_at: Moment,
    took: Duration,
    failure: Option<&Unread>,
) {
    polls.total += 1;
    polls.last_attempt = Some(attempted_at);
    polls.duration = Some(took);
    polls.up = failure.is_none();
    polls.failure = failure.cloned();
    match failure {
        None => polls.last_success = Some(ended_at),
        Some(unread) => *polls.failures.entry(unread.reason).or_default() += 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::Reason;

    #[test]
    fn a_failed_poll_keeps_the_time_of_the_last_good_one() {
        let (first, second) = (Moment::from_millis(1_000), Moment::from_millis(31_000));
        let mut polls = Polls::default();
        count(&mut polls, first, first.plus(Duration::from_millis(20)), Duration::from_millis(20), None);
        let away = Unread::new(Reason::Unreachable, "connection refused");
        count(&mut polls, second, second, Duration::from_millis(5), Some(&away));
        assert!(!polls.up);
        assert_eq!(polls.total, 2);
        assert_eq!(polls.failures.get(&Reason::Unreachable), Some(&1));
        assert_eq!(polls.last_success, Some(Moment::from_millis(1_020)));
        assert_eq!(polls.last_attempt, Some(second));
        assert_eq!(polls.failure, Some(away));
    }
}

//! What a cluster's loop keeps from one round to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::judgement::{Doubts, QueryMemory};
use crate::ledger::Written;
use crate::measures::{Moment, TopicName, Unread};
use crate::metrics::snapshot::{History, Polls};
use crate::process::clock::Clock;
use crate::retention::Right;

/// Kept between the rounds of one cluster.
#[derive(Debug, Default)]
pub struct ClusterState {
    /// Tells the time of each step of a round.
    pub clock: Clock,
    /// What the judgement remembers, by query.
    pub memories: BTreeMap<String, QueryMemory>,
    /// What of it the ledger has.
    pub written: Written,
    /// How often the ledger was opened when that was true.
    pub opened: u64,
    /// Queries of which the ledger has told what it remembers, be it nothing. Until then nothing is put in its place.
    pub told: BTreeSet<String>,
    /// Acknowledgements that are in the memories already.
    pub heard: BTreeSet<i64>,
    /// Gap records that nobody has settled, by query and topic; absent while the ledger does not answer.
    pub gaps_unresolved: Option<BTreeMap<String, BTreeMap<TopicName, u64>>>,
    /// Topics that a query's checkpoint ever named, by query.
    pub topics: BTreeMap<String, BTreeSet<TopicName>>,
    /// What the round before doubted, by query.
    pub doubts: BTreeMap<String, Doubts>,
    /// Rights that were missing when the cluster last answered.
    pub missing_rights: BTreeMap<Right, BTreeSet<TopicName>>,
    /// Topics whose retention was named as too short to be watched.
    pub short_lived: BTreeSet<TopicName>,
    /// How the polls of the cluster went.
    pub cluster_polls: Polls,
    /// How the polls of each checkpoint went, by query.
    pub checkpoint_polls: BTreeMap<String, Polls>,
    /// What headroom and lag of each query were, by query.
    pub histories: BTreeMap<String, Arc<History>>,
}

impl ClusterState {
    /// A process that begins with what an earlier one remembered of these queries.
    #[must_use]
    pub fn remembering(clock: Clock, memories: BTreeMap<String, QueryMemory>) -> Self {
        let mut state = Self { clock, ..Self::default() };
        memories.into_iter().for_each(|(query, memory)| state.remember(query, memory));
        state
    }

    /// Takes over what the ledger remembers of a query.
    pub(super) fn remember(&mut self, query: String, memory: QueryMemory) {
        self.topics.entry(query.clone()).or_default().extend(memory.topics.keys().cloned());
        self.written.insert(&query, &memory);
        self.memories.insert(query, memory);
    }

    /// Takes over what another daemon remembers of a query: under our name nothing of it is written.
    pub(super) fn adopt(&mut self, query: String, memory: QueryMemory) {
        self.remember(query.clone(), memory);
        self.written.retain(|known| *known != query);
    }

    /// Forgets the queries that are no longer there. The ledger keeps what it knows of them, should they come back.
    pub(super) fn keep(&mut self, here: impl Fn(&String) -> bool) {
        self.memories.retain(|name, _| here(name));
        self.written.retain(&here);
        self.told.retain(|name| here(name));
        self.topics.retain(|name, _| here(name));
        self.checkpoint_polls.retain(|name, _| here(name));
        self.histories.retain(|name, _| here(name));
    }
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

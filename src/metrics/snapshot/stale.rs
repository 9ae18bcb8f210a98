//! What is still told of a round that is too old: what was measured goes, what stays true is kept.
//!
//! A round that was not read says so itself. This is for a round that hangs: no newer verdict comes, and the last one
//! must neither freeze nor, by vanishing, look like getting well.

use std::borrow::Cow;
use std::sync::Arc;

use super::{ClusterRound, QueryRound};
use crate::judgement::{
    Condition, PartitionProblem, PartitionState, PartitionVerdict, QueryState, QueryVerdict, TopicVerdict,
};
use crate::measures::{Reason, Unread};
use crate::retention::{ClusterReading, TopicSight};

const WHY: &str = "no round finished in time; what was measured before is too old to be told";

impl ClusterRound {
    /// The round as it is told once it is too old: `up` is 0, offsets, lag, ratios and forecasts are gone; deadlines,
    /// retention, losses, latched states, events, counters and poll times stay.
    #[must_use]
    pub fn aged(&self) -> Self {
        let mut round = self.clone();
        round.polls.up = false;
        round.polls.failure.get_or_insert_with(|| Unread::new(Reason::Overrun, WHY));
        round.reading = aged_reading(&self.reading);
        round.queries = self.queries.iter().map(|(name, query)| (name.clone(), aged_query(query))).collect();
        round
    }
}

fn aged_reading(reading: &ClusterReading) -> ClusterReading {
    let mut aged = reading.clone();
    aged.ages.clear();
    for sight in aged.topics.values_mut() {
        if let TopicSight::Seen(topic) = sight {
            topic.partitions.clear();
        }
    }
    aged
}

fn aged_query(query: &QueryRound) -> QueryRound {
    let mut aged = query.clone();
    aged.polls.up = false;
    aged.polls.failure.get_or_insert_with(|| Unread::new(Reason::Overrun, WHY));
    aged.restarts = None;
    aged.verdict = query.verdict.as_deref().map(|verdict| Arc::new(aged_verdict(verdict)));
    aged
}

fn aged_verdict(verdict: &QueryVerdict) -> QueryVerdict {
    let mut aged = verdict.clone();
    if verdict.state == QueryState::Superseded {
        return aged;
    }
    // States are ordered worst first: old news never makes a verdict better.
    if verdict.state > QueryState::Unknown {
        aged.state = QueryState::Unknown;
        aged.reason = Cow::Borrowed(WHY);
    }
    aged.conditions.insert(Condition::Unknown);
    aged.partitions.values_mut().for_each(age_partition);
    aged.topics.values_mut().for_each(age_topic);
    aged
}

/// States that stay until something else is seen.
fn stays(state: PartitionState) -> bool {
    matches!(
        state,
        PartitionState::Lost
            | PartitionState::Recreated
            | PartitionState::BeyondEnd
            | PartitionState::Gone
            | PartitionState::Unverified
    )
}

fn problem_stays(problem: PartitionProblem) -> bool {
    matches!(
        problem,
        PartitionProblem::Lost
            | PartitionProblem::PossiblyLost
            | PartitionProblem::Recreated
            | PartitionProblem::BeyondEnd
            | PartitionProblem::Unverified
            | PartitionProblem::Gone
            | PartitionProblem::GoneCaughtUp
    )
}

fn age_partition(partition: &mut PartitionVerdict) {
    if !stays(partition.state) {
        partition.state = PartitionState::Unknown;
        partition.reason = Cow::Borrowed(WHY);
    }
    partition.problems.retain(|problem| problem_stays(*problem));
    partition.committed = None;
    partition.planned = None;
    partition.earliest = None;
    partition.latest = None;
    partition.headroom = None;
    partition.lag = None;
    partition.ratio = None;
    partition.forecast = None;
}

fn age_topic(topic: &mut TopicVerdict) {
    topic.lag = None;
    topic.committed = None;
    topic.headroom = None;
    topic.ratio = None;
    topic.forecast = None;
    let mut unknown = 0;
    for (state, count) in &mut topic.states {
        if !stays(*state) {
            unknown += std::mem::take(count);
        }
    }
    topic.states.insert(PartitionState::Unknown, unknown);
    for (problem, count) in &mut topic.problems {
        if !problem_stays(*problem) {
            *count = 0;
        }
    }
    topic.problems.insert(PartitionProblem::Unknown, unknown);
}

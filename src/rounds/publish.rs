//! A finished round, as the plain values that hang on the board.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::round::Found;
use super::state::{ClusterState, count};
use super::targets::{ClusterTarget, QueryTarget};
use crate::measures::TopicName;
use crate::metrics::snapshot::{ClusterRound, Polls, QueryRound, TopicTotals, Totals};

/// Counts the polls of the round and puts together what is told of it.
pub(super) fn cluster_round(target: &ClusterTarget, state: &mut ClusterState, found: Found) -> ClusterRound {
    count(&mut state.cluster_polls, found.started_at, found.finished_at, found.took, found.cluster.as_ref().err());
    let mut queries = BTreeMap::new();
    for ((query, poll), verdict) in target.queries.iter().zip(found.checkpoints).zip(found.verdicts) {
        let polls = state.checkpoint_polls.entry(query.name.clone()).or_default();
        count(polls, poll.attempted_at, found.finished_at, poll.took, poll.outcome.as_ref().err());
        let mut told = waiting_query(query);
        told.polls = polls.clone();
        let gaps = state.gaps_unresolved.as_ref();
        told.gaps_unresolved = gaps.map(|gaps| gaps.get(&query.name).cloned().unwrap_or_default());
        told.verdict = Some(Arc::new(verdict));
        queries.insert(query.name.clone(), told);
    }
    ClusterRound {
        finished_at: Some(found.finished_at),
        polls: state.cluster_polls.clone(),
        reading: found.cluster.unwrap_or_default(),
        queries,
        ..before_first_round(target)
    }
}

/// What is known of a cluster once the ledger was asked, before its first round of this process has ended.
pub(super) fn remembered_round(target: &ClusterTarget, state: &ClusterState) -> ClusterRound {
    let mut round = before_first_round(target);
    for (name, query) in &mut round.queries {
        let memory = state.memories.get(name);
        let topics = memory.iter().flat_map(|memory| &memory.topics).map(|(name, topic)| {
            let totals = TopicTotals { lost: topic.lost_total.clone(), last_loss_at: topic.last_loss_at.clone() };
            (TopicName::clone(name), totals)
        });
        let events = memory.map(|memory| memory.event_totals.clone()).unwrap_or_default();
        query.remembered = Some(Totals { events, topics: topics.collect() });
        let gaps = state.gaps_unresolved.as_ref();
        query.gaps_unresolved = gaps.map(|gaps| gaps.get(name).cloned().unwrap_or_default());
    }
    round
}

/// What is known of a cluster before anybody was asked.
#[must_use]
pub fn before_first_round(target: &ClusterTarget) -> ClusterRound {
    ClusterRound {
        requests: by_name(target.brokers.requests()),
        queries: target.queries.iter().map(|query| (query.name.clone(), waiting_query(query))).collect(),
        ..ClusterRound::waiting(&target.name, target.poll_interval, target.stale_after)
    }
}

fn by_name(requests: impl IntoIterator<Item = (&'static str, u64)>) -> BTreeMap<String, u64> {
    requests.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

fn waiting_query(query: &QueryTarget) -> QueryRound {
    QueryRound {
        settings: query.settings.clone(),
        publishing: query.publishing,
        risk_critical: query.risk_critical,
        polls: Polls::default(),
        requests: by_name(query.checkpoint.requests().by_operation()),
        remembered: None,
        ..QueryRound::waiting(query.checkpoint.location())
    }
}

//! A finished round, as the plain values that hang on the board.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::round::Found;
use super::state::{ClusterState, count};
use super::targets::{ClusterTarget, QueryTarget};
use crate::metrics::snapshot::{ClusterRound, Polls, QueryRound};

/// Counts the polls of the round and puts together what is told of it.
pub(super) fn cluster_round(target: &ClusterTarget, state: &mut ClusterState, found: Found) -> ClusterRound {
    count(&mut state.cluster_polls, found.started_at, found.finished_at, found.took, found.cluster.as_ref().err());
    let mut queries = BTreeMap::new();
    for ((query, poll), verdict) in target.queries.iter().zip(found.checkpoints).zip(found.verdicts) {
        let polls = state.checkpoint_polls.entry(query.name.clone()).or_default();
        count(polls, poll.attempted_at, found.finished_at, poll.took, poll.outcome.as_ref().err());
        let mut told = waiting_query(query);
        told.polls = polls.clone();
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

/// What is known of a cluster before its first round has ended.
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
        ..QueryRound::waiting(query.checkpoint.location())
    }
}

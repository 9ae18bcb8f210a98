//! A finished round, as the plain values that hang on the board.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::checkpoints::CheckpointPoll;
use super::round::Found;
use super::state::{ClusterState, count};
use super::targets::{ClusterTarget, QueryTarget};
use crate::judgement::{Outcome, QueryVerdict, Restart, predict};
use crate::measures::{Moment, TopicName, Unread};
use crate::metrics::snapshot::{
    ClusterRound, History, Polls, QueryRound, Restarts, TopicTotals, Totals, total_lag, worst_headroom,
};
use crate::retention::{ClusterReading, TopicSight};

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
        told.restarts = Some(restarts(query, &poll, found.cluster.as_ref()));
        told.history = noted(state, &query.name, found.finished_at, &verdict);
        told.verdict = Some(Arc::new(verdict));
        queries.insert(query.name.clone(), told);
    }
    let reading = found.cluster.unwrap_or_default();
    ClusterRound {
        finished_at: Some(found.finished_at),
        size_rules: size_rules(&reading, &queries),
        polls: state.cluster_polls.clone(),
        reading,
        queries,
        ..before_first_round(target)
    }
}

/// What a restart would do, by what this round read.
fn restarts(query: &QueryTarget, poll: &CheckpointPoll, cluster: Result<&ClusterReading, &Unread>) -> Restarts {
    let restart = |fail_on_data_loss| match (&poll.outcome, cluster) {
        (Ok(reading), Ok(cluster)) => predict(reading, cluster, &query.settings, fail_on_data_loss),
        (Err(unread), _) => Restart::unknown(format!("the checkpoint was not read: {unread}")),
        (_, Err(unread)) => Restart::unknown(format!("the cluster was not read: {unread}")),
    };
    let strict = query.settings.fail_on_data_loss;
    let configured = restart(strict);
    // Where nothing stands in the way there is nothing for the option to decide, and most queries are well.
    let same = !strict || configured.outcome == Outcome::Starts;
    let forced = if same { configured.clone() } else { restart(false) };
    Restarts { configured, forced }
}

/// The query's history with what this round read. The one that hangs on the board stays as it is.
fn noted(state: &mut ClusterState, query: &str, at: Moment, verdict: &QueryVerdict) -> Arc<History> {
    let history = state.histories.entry(query.to_owned()).or_default();
    Arc::make_mut(history).note(at, worst_headroom(verdict), total_lag(verdict));
    Arc::clone(history)
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

/// Topics that keep a record for a shorter time than their time limit says: there size is seen to cut the log.
fn size_rules(reading: &ClusterReading, queries: &BTreeMap<String, QueryRound>) -> BTreeSet<TopicName> {
    let mut topics = BTreeSet::new();
    for verdict in queries.values().filter_map(|query| query.verdict.as_ref()) {
        for (name, topic) in &verdict.topics {
            let Some(TopicSight::Seen(seen)) = reading.topics.get(name) else { continue };
            let limits = seen.limits.as_ref().and_then(|limits| limits.as_ref().ok());
            let limit = limits.and_then(|limits| limits.retention_ms).map(Moment::from_millis).map(Moment::seconds);
            let unlimited = limit.is_some_and(|limit| limit < 0.0);
            let shorter = |kept: f64| kept.is_finite() && (unlimited || limit.is_some_and(|limit| kept < limit * 0.95));
            if topic.retention_seconds.is_some_and(shorter) {
                topics.insert(TopicName::clone(name));
            }
        }
    }
    topics
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
        store: query.store.clone(),
        settings: query.settings.clone(),
        publishing: query.publishing,
        risk_critical: query.risk_critical,
        polls: Polls::default(),
        requests: by_name(query.checkpoint.requests().by_operation()),
        remembered: None,
        ..QueryRound::waiting(query.checkpoint.location())
    }
}

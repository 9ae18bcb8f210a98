//! One pass over one cluster, in the order that keeps its numbers honest.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::checkpoints::{CheckpointPoll, read_all};
use super::closer;
use super::doubts::{self, Unsettled};
use super::findings::{Before, findings};
use super::state::ClusterState;
use super::targets::{ClusterTarget, QueryTarget};
use crate::judgement::{Entry, Isolation, QueryMemory, QueryVerdict, Questions, Sighting, judge, questions};
use crate::ledger::Finding;
use crate::measures::{Moment, TopicName, Unread};
use crate::readers::WantedTopic;
use crate::retention::ClusterReading;

/// What one round found.
#[derive(Debug)]
pub struct Found {
    /// When the round was begun.
    pub started_at: Moment,
    /// When its last answer was in: the "now" of its verdicts.
    pub finished_at: Moment,
    /// How long it took.
    pub took: Duration,
    /// What the brokers said.
    pub cluster: Result<ClusterReading, Unread>,
    /// How each checkpoint's read went, in the order of the targets.
    pub checkpoints: Vec<CheckpointPoll>,
    /// What is to be said of each query, in the order of the targets.
    pub verdicts: Vec<QueryVerdict>,
    /// What was found lost, as records for the ledger.
    pub findings: Vec<Finding>,
}

/// Goes once over the cluster: checkpoints, topics, doubt checked again, ages, judgement. Every step has its share of
/// `deadline`, so that a round ends before the next one is due, whatever hangs.
pub async fn once(
    target: &ClusterTarget,
    state: &mut ClusterState,
    places: &Arc<Semaphore>,
    deadline: Duration,
) -> Found {
    let started_at = state.clock.now();
    let started = Instant::now();
    let queries: Vec<&QueryTarget> = target.queries.iter().collect();

    // Checkpoints first, latest second: a query only moves forward, so lag may be slightly too high but never
    // negative, and a committed offset beyond the end is a finding and not a race.
    let mut checkpoints = read_all(&queries, places, deadline / 3, &state.clock).await;
    let topics = topics_of(&queries, &checkpoints, state);
    let mut cluster = target.brokers.topics(&topics, state.clock.now(), deadline / 3).await;

    let mut histories = BTreeMap::new();
    let mut unsettled = Unsettled::new();
    if let Ok(cluster) = &mut cluster {
        let mut asked = ask(&target.queries, state, &checkpoints, cluster);
        let again = doubts::read_again(target, state, places, &asked, &mut checkpoints, deadline / 12).await;
        if let Some(failed) = again {
            // Newer positions may lie beyond an end that was read before them.
            asked = ask(&target.queries, state, &checkpoints, cluster);
            if doubts::ask_ends_again(target, &asked, cluster, deadline / 12).await {
                asked = ask(&target.queries, state, &checkpoints, cluster);
            }
            unsettled = doubts::unsettled(target, state, &asked, &failed);
        } else {
            state.doubts.clear();
        }
        histories = closer::look(target, state, asked, &checkpoints, cluster, deadline / 6).await;
    }

    let finished_at = state.clock.now();
    let (verdicts, findings) = judge_all(target, state, &checkpoints, &histories, &unsettled, &cluster, finished_at);
    Found { started_at, finished_at, took: started.elapsed(), cluster, checkpoints, verdicts, findings }
}

/// The topics that the readings name, with those that a query's earlier readings named: its checkpoint may be out of
/// reach now, or no longer name a topic of which the judgement still holds a position.
fn topics_of(queries: &[&QueryTarget], checkpoints: &[CheckpointPoll], state: &mut ClusterState) -> Vec<WantedTopic> {
    let mut stable: BTreeMap<TopicName, bool> = BTreeMap::new();
    for (query, poll) in queries.iter().zip(checkpoints) {
        let known = state.topics.entry(query.name.clone()).or_default();
        if let Ok(reading) = &poll.outcome {
            known.extend(reading.sources.iter().flat_map(|source| source.topics.keys().cloned()));
        }
        let committed_only = query.settings.isolation == Isolation::ReadCommitted;
        for topic in known.iter() {
            *stable.entry(TopicName::clone(topic)).or_default() |= committed_only;
        }
    }
    stable.into_iter().map(|(name, stable)| WantedTopic { name, stable }).collect()
}

/// What each query's judgement would like to know beside what was read.
fn ask(
    queries: &[QueryTarget],
    state: &ClusterState,
    checkpoints: &[CheckpointPoll],
    cluster: &ClusterReading,
) -> Vec<(usize, Questions)> {
    let nothing = QueryMemory::default();
    let mut asked = Vec::new();
    for (at, (query, poll)) in queries.iter().zip(checkpoints).enumerate() {
        let Ok(reading) = &poll.outcome else { continue };
        let memory = state.memories.get(&query.name).unwrap_or(&nothing);
        asked.push((at, questions(&query.settings, reading, cluster, memory)));
    }
    asked
}

fn judge_all(
    target: &ClusterTarget,
    state: &mut ClusterState,
    checkpoints: &[CheckpointPoll],
    histories: &BTreeMap<usize, Vec<Entry>>,
    unsettled: &Unsettled,
    cluster: &Result<ClusterReading, Unread>,
    now: Moment,
) -> (Vec<QueryVerdict>, Vec<Finding>) {
    let mut verdicts = Vec::with_capacity(target.queries.len());
    let mut found = Vec::new();
    for (at, (query, poll)) in target.queries.iter().zip(checkpoints).enumerate() {
        let doubted = unsettled.get(&at).zip(cluster.as_ref().ok()).zip(state.topics.get(&query.name));
        let own = doubted.map(|(((doubts, why), cluster), topics)| doubts.hide(cluster, topics, why));
        let sighting = Sighting {
            now,
            checkpoint: poll.outcome.as_ref(),
            cluster: own.as_ref().unwrap_or(cluster).as_ref(),
            history: histories.get(&at).map_or(&[], Vec::as_slice),
            superseded: query.superseded,
        };
        let memory = state.memories.remove(&query.name).unwrap_or_default();
        let before = Before::of(&memory);
        let (mut verdict, memory) = judge(&query.settings, &sighting, memory);
        if let Some(reading) = &poll.unusable {
            verdict.problems.clone_from(&reading.problems);
            verdict.restartable = reading.restartable;
        }
        found.extend(findings(&query.name, &target.name, &before, &memory, &verdict, now));
        state.memories.insert(query.name.clone(), memory);
        verdicts.push(verdict);
    }
    (verdicts, found)
}

#[cfg(test)]
mod tests;

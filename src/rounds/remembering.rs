//! Between the rounds of a cluster and the ledger.

use std::collections::{BTreeMap, BTreeSet};

use tracing::{error, info};

use super::round::Found;
use super::state::ClusterState;
use super::targets::ClusterTarget;
use crate::ledger::{Acknowledgement, Health, Loaded, NotedEvent, RoundNotes};
use crate::metrics::exposition::LedgerHealth;

/// Whether a query is there of which nothing is remembered yet.
pub(super) fn newcomers(state: &ClusterState, target: &ClusterTarget) -> bool {
    target.queries.iter().any(|query| !state.memories.contains_key(&query.name))
}

/// Forgets the queries that are no longer there. The ledger keeps what it knows of them, should they come back.
pub(super) fn let_go(state: &mut ClusterState, target: &ClusterTarget) {
    let here: BTreeSet<&String> = target.queries.iter().map(|query| &query.name).collect();
    state.memories.retain(|name, _| here.contains(name));
    state.topics.retain(|name, _| here.contains(name));
    state.checkpoint_polls.retain(|name, _| here.contains(name));
}

/// Takes over what the ledger remembers of the cluster's queries, but of those that this process has seen itself.
pub(super) fn take_over(state: &mut ClusterState, target: &ClusterTarget, loaded: Loaded) {
    let mut memories = loaded.memories;
    for query in &target.queries {
        if state.memories.contains_key(&query.name) {
            continue;
        }
        let Some(memory) = memories.remove(&query.name) else { continue };
        state.topics.entry(query.name.clone()).or_default().extend(memory.topics.keys().cloned());
        state.memories.insert(query.name.clone(), memory);
    }
    state.gaps_unresolved = loaded.remembered.unresolved;
}

/// Releases what people acknowledged since the last round. Answers with the numbers of what was heard.
pub(super) fn hear(state: &mut ClusterState, said: Vec<Acknowledgement>) -> Vec<i64> {
    let mut heard = Vec::with_capacity(said.len());
    for acknowledgement in said {
        let Acknowledgement { id, query, topic, partition } = acknowledgement;
        if let Some(memory) = state.memories.get_mut(&query) {
            memory.acknowledge(topic.as_deref(), partition);
            info!(query, topic, partition, "a state was acknowledged");
        }
        heard.push(id);
    }
    heard
}

/// What the judgement remembers of each query, as text.
pub(super) fn written_memories(state: &ClusterState) -> BTreeMap<String, String> {
    let mut memories = BTreeMap::new();
    for (query, memory) in &state.memories {
        match serde_json::to_string(memory) {
            Ok(memory) => drop(memories.insert(query.clone(), memory)),
            Err(cause) => error!(query, error = %cause, "the query's memory cannot be written down"),
        }
    }
    memories
}

/// What this round leaves behind, memories apart.
pub(super) fn notes(target: &ClusterTarget, found: &Found, acknowledged: Vec<i64>) -> RoundNotes {
    let events = target.queries.iter().zip(&found.verdicts).flat_map(|(query, verdict)| {
        verdict.events.iter().map(|event| NotedEvent {
            query: query.name.clone(),
            kafka_cluster: target.name.clone(),
            event: event.clone(),
        })
    });
    RoundNotes {
        cluster: target.name.clone(),
        at: found.finished_at,
        memories: BTreeMap::new(),
        findings: found.findings.clone(),
        events: events.collect(),
        acknowledged,
    }
}

/// The ledger's health as it is published.
#[must_use]
pub fn published_health(health: Health) -> LedgerHealth {
    LedgerHealth { persistent: health.persistent, up: health.up }
}

//! Between the rounds of a cluster and the ledger.

use std::collections::BTreeSet;

use tracing::{error, info};

use super::round::Found;
use super::state::ClusterState;
use super::targets::ClusterTarget;
use crate::ledger::{Acknowledgement, Health, Loaded, NotedEvent, Piece, Remembered, RoundNotes, Written};
use crate::metrics::exposition::LedgerHealth;
use crate::process::clock::Clock;

/// Whether a query is there of which the ledger has not told yet: then it is asked once more.
pub(super) fn untold(state: &ClusterState, target: &ClusterTarget) -> bool {
    target.queries.iter().any(|query| !state.told.contains(&query.name))
}

/// Forgets the queries that are no longer there.
pub(super) fn let_go(state: &mut ClusterState, target: &ClusterTarget) {
    let here: BTreeSet<&String> = target.queries.iter().map(|query| &query.name).collect();
    state.keep(|name| here.contains(name));
}

/// A process that begins with what the ledger remembers of the cluster's queries.
pub(super) fn began(clock: Clock, target: &ClusterTarget, loaded: Loaded) -> ClusterState {
    let mut state = ClusterState { clock, opened: loaded.remembered.opened, ..ClusterState::default() };
    take_over(&mut state, target, loaded);
    state
}

/// Takes over what the ledger remembers of the cluster's queries, but of those of which it has told before. As long as it
/// has told nothing of a query, what this process has seen of that query is not much: it goes on as if it began now.
pub(super) fn take_over(state: &mut ClusterState, target: &ClusterTarget, loaded: Loaded) {
    let Loaded { is_known, mut memories, adopted, mut heard, remembered } = loaded;
    state.gaps_unresolved = remembered.unresolved;
    if !is_known {
        return;
    }
    for query in &target.queries {
        if !state.told.insert(query.name.clone()) {
            continue;
        }
        state.heard.extend(heard.remove(&query.name).unwrap_or_default());
        let Some(memory) = memories.remove(&query.name) else { continue };
        if adopted.contains(&query.name) {
            state.adopt(query.name.clone(), memory);
        } else {
            state.remember(query.name.clone(), memory);
        }
    }
}

/// Releases what people acknowledged since the last round. Answers with the numbers of what was heard: a word about a query
/// that is watched elsewhere is left to whoever watches it, or will; and one about a query of which the ledger has not told
/// yet waits for the memory that it is meant for.
pub(super) fn hear(state: &mut ClusterState, said: Vec<Acknowledgement>) -> Vec<i64> {
    let mut heard = Vec::with_capacity(said.len());
    for acknowledgement in said {
        let Acknowledgement { id, query, topic, partition } = acknowledgement;
        if state.heard.remove(&id) {
            heard.push(id);
        } else if state.told.contains(&query)
            && let Some(memory) = state.memories.get_mut(&query)
        {
            memory.acknowledge(topic.as_deref(), partition);
            info!(query, topic, partition, "a state was acknowledged");
            heard.push(id);
        }
    }
    heard
}

/// Whether the ledger answered when it was last told or asked. It takes things in turn, so what it was brought before that
/// has been dealt with. While it has not answered, pieces wait in its queue already: those of each further round would
/// wait there too, for as long as a disk hangs.
pub(super) const fn is_heard(state: &ClusterState) -> bool {
    state.gaps_unresolved.is_some()
}

/// What of the memories the ledger lacks. A query of which it has not told is left alone: it may know more than we do.
pub(super) fn unwritten(state: &ClusterState) -> Vec<Piece> {
    let mut pieces = state.written.changes(&state.memories).unwrap_or_else(|cause| {
        error!(error = %cause, "what is remembered of the queries cannot be written down");
        Vec::new()
    });
    pieces.retain(|piece| state.told.contains(&piece.query));
    pieces
}

/// Takes note of what the ledger says after a round. What it did not take is brought again.
pub(super) fn settle(state: &mut ClusterState, remembered: Remembered, pieces: Vec<Piece>) {
    if remembered.health.up && remembered.opened != state.opened {
        (state.opened, state.written) = (remembered.opened, Written::default());
    } else if remembered.health.up {
        state.written.accept(pieces);
    }
    state.gaps_unresolved = remembered.unresolved;
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
        memories: Vec::new(),
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

#[cfg(test)]
mod tests;

//! PURE. Position, bounds and memory → verdicts and events.
//!
//! The judgement is one function of (now, settings, readings, memory): two people who read its tables get the same
//! verdicts. Numbers that were not read are absent; unknown input never makes a verdict better.

mod memory;
mod questions;
mod settings;
mod sighting;
mod states;
mod verdict;

pub use memory::{
    CheckpointMemory, Doubt, Identity, Latch, LatchKind, PartitionMemory, QueryMemory, Sample, TopicMemory,
};
pub use questions::{Questions, questions};
pub use settings::{Isolation, QuerySettings, Subscribe, Watch};
pub use sighting::{Entry, Sighting};
pub use states::{Certainty, Condition, EventKind, PartitionProblem, PartitionState, QueryState};
pub use verdict::{Deadline, Event, LostRange, PartitionVerdict, QueryVerdict, TopicVerdict};

/// Judges one query on one cluster, for one round.
#[must_use]
pub fn judge(_settings: &QuerySettings, _sighting: &Sighting<'_>, _memory: QueryMemory) -> (QueryVerdict, QueryMemory) {
    todo!("shape only")
}

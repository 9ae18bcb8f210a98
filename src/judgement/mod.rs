//! PURE. Position, bounds and memory → verdicts and events.
//!
//! The judgement is one function of (now, settings, readings, memory): two people who read its tables get the same
//! verdicts. Numbers that were not read are absent; unknown input never makes a verdict better.

// In reading order: the words, what comes in, what is remembered, then the steps of a judgement.
mod states;
mod settings;
mod sighting;
mod verdict;
mod memory;
mod fingerprint;
mod older;
mod questions;
mod judge;
mod lineage;
mod needs;
mod movement;
mod identity;
mod suspicion;
mod partition;
mod rows;
mod last_sight;
mod latches;
mod numbers;
mod doubts;
mod estimates;
mod loss;
mod progress;
mod query;
mod topic;
mod notes;
mod restart;

pub use doubts::Doubts;
pub use judge::judge;
pub use memory::{
    CheckpointMemory, Doubt, Identity, Keeps, Latch, LatchKind, PartitionMemory, QueryMemory, Replaced, TopicMemory,
};
pub use questions::{Questions, questions};
pub use restart::{Outcome, Restart, SkippedRange, predict};
pub use settings::{Isolation, QuerySettings, Subscribe, Watch};
pub use sighting::{Entry, Sighting};
pub use states::{Certainty, Condition, EventKind, PartitionProblem, PartitionState, QueryState};
pub use verdict::{Event, LostRange, PartitionVerdict, QueryVerdict, TopicVerdict};

pub use crate::retention::{Deadline, Sample};

#[cfg(test)]
mod tests;

//! PURE. Position, bounds and memory → verdicts and events.
//!
//! The judgement is one function of (now, settings, readings, memory): two people who read its tables get the same
//! verdicts. Numbers that were not read are absent; unknown input never makes a verdict better.

mod settings;
mod states;
mod verdict;

pub use settings::{Isolation, QuerySettings, Subscribe, Watch};
pub use states::{Certainty, Condition, EventKind, PartitionProblem, PartitionState, QueryState};
pub use verdict::{Deadline, Event, LostRange, PartitionVerdict, QueryVerdict, TopicVerdict};

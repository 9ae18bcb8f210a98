//! PURE. From "what is gone" to "proved continuous": where a new query has to start, whether the sink is whole, how much
//! retention an outage needs, and which ways on fit.
//!
//! Nothing in here restarts anything or writes anything. It reckons, and says what to run.

// In reading order: how a command is written, what people say of times and versions, then one question per file.
mod shell;
mod when;
mod spark;
mod starting;
mod changes;
mod sink;
mod verify;
mod size;
mod paths;

pub use changes::{changes, moved};
pub use paths::{Way, WayOn, ways};
pub use shell::{Subject, line, word};
pub use sink::{Sink, SinkMistake, SinkRow, read_sink};
pub use size::{Keeps, Observed, Outage, Sized, could_be_down, size};
pub use spark::{Form, SparkVersion};
pub use starting::{Anchor, Because, PartitionStart, Plan, Range, Refusal, Request, Written, plan, write};
pub use verify::{Disagreement, Evidence, Finding, OnRecord, Proof, Standing, verify};
pub use when::{WhenError, when};

#[cfg(test)]
mod tests;

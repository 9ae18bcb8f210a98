//! PURE. What Spark wrote in a checkpoint, and where a restart would resume.
//!
//! A reader lists and fetches; nothing in here does. The two steps are [`wanted`] (which files decide) and [`read`]
//! (what they say). Both are total: whatever bytes come in, the answer is a reading with named problems, never a panic.

mod reading;

pub use reading::{
    BatchTimes, CheckpointReading, Listing, LogEntry, Position, Problem, ProblemKind, SourceKind, SourceReading, Start,
};

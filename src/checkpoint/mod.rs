//! PURE. What Spark wrote in a checkpoint, and where a restart would resume.
//!
//! A reader lists and fetches; nothing in here does. The steps are [`wanted`] (which files decide),
//! [`wants_initial_offsets`] (whether `sources/` decides too) and [`read`] (what they all say). Each is total: whatever
//! bytes come in, the answer is a reading with named problems, never a panic.
//!
//! The rule in short. `offsets/N` holds the exclusive end of batch N, and a file `commits/N` says that batch N is done.
//! With the newest batch committed a restart resumes from its entry, otherwise from the entry before, and the newest is
//! only planned. With no such entry it resumes from `sources/<id>/0`. A partition that the planned entry has and
//! the other one lacks starts at earliest.

mod reading;
mod names;
mod text;
mod kafka_map;
mod kafka;
mod offset_log;
mod commit_log;
mod initial;
mod metadata;
mod history;
mod older;
mod findings;
mod logs;
mod times;
mod oddities;
mod sources;
mod read;
mod roots;
#[cfg(test)]
mod tests;

pub use offset_log::MOST_SOURCES;
pub use older::{OlderEntry, OlderSource, older_entry};
pub use read::{needs_second_look, read, wanted, wants_initial_offsets};
pub use reading::{
    BatchTimes, CheckpointReading, Listing, LogEntry, Position, Problem, ProblemKind, SourceKind, SourceReading, Start,
};
pub use roots::{Root, Versioning, is_pipeline, is_root, may_hold_roots, roots};

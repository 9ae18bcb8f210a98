//! What must outlive the process: the memory of the judgement, and a record of every gap.
//!
//! One file of SQLite, or nothing but memory. A round is remembered in one transaction, before it is published: so
//! whatever was ever visible is in the file, and loss is counted once, however often the daemon is killed. Of the memory
//! only those pieces are written that changed: a fleet at rest writes nothing. When the
//! file cannot be written, the daemon watches on, says so, and keeps what it found until it can be written.

// In reading order: the words, the merging of ranges, the seam, then the file behind it.
mod gap;
mod merge;
mod pieces;
mod seam;
mod memory;
mod times;
mod schema;
mod rows;
mod shelf;
mod transaction;
mod lock;
mod writer;
mod desk;

pub use desk::{Acknowledge, Desk, DeskError, Settlement};
pub use gap::{Gap, RecoveryPath, RecoveryStatus};
pub use memory::{Book, MemoryLedger};
pub use merge::merged;
pub use pieces::{Piece, Pieces, Written};
pub use schema::SchemaError;
pub use seam::{Acknowledgement, Finding, Health, Ledger, Loaded, NotedEvent, Remembered, RoundNotes};
pub use writer::{FILE_NAME, FileLedger, OpenError, Opened};

#[cfg(test)]
mod tests;

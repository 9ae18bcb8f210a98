//! What must outlive the process: the memory of the judgement, and a record of every gap.
//!
//! One file of SQLite for one daemon, PostgreSQL for many, or nothing but memory. A round is remembered in one transaction, before it is published: so
//! whatever was ever visible is in the ledger, and loss is counted once, however often the daemon is killed. Of the memory
//! only those pieces are written that changed: a fleet at rest writes nothing. When the
//! ledger cannot be written, the daemon watches on, says so, and keeps what it found until it can be written.
//!
//! Daemons that share a database share its gaps, merged under a lock, and what people say of them. Each remembers for
//! itself, under its own name; a query that moves to another daemon is taken over with the newest memory of it.

// In reading order: the words, the merging of ranges, the seam, then the databases behind it.
mod gap;
mod merge;
mod pieces;
mod seam;
mod memory;
mod times;
mod place;
mod statement;
mod database;
mod schema;
mod rows;
mod shelf;
mod watchers;
mod transaction;
mod lock;
mod files;
mod writer;
mod desk;
mod handle;

pub use database::Told;
pub use desk::{Acknowledge, Desk, DeskError, Settlement};
pub use gap::{Gap, RecoveryPath, RecoveryStatus};
pub use handle::{DatabaseLedger, OpenError, Opened};
pub use memory::{Book, MemoryLedger};
pub use merge::merged;
pub use pieces::{Piece, Pieces, Written};
pub use place::{FILE_NAME, Place, ReadPassword, Server};
pub use schema::SchemaError;
pub use seam::{Acknowledgement, Finding, Health, Ledger, Loaded, NotedEvent, Remembered, RoundNotes};

#[cfg(test)]
mod tests;

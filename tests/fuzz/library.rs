//! The rooms of Brinkwatch that read what others wrote, and nothing else: the very same files, without librdkafka,
//! OpenSSL and SQLite. So the targets are built within a minute, and coverage counts only what is looked at. That
//! these rooms stand alone is what makes it possible.

extern crate self as brinkwatch;

pub mod targets;

#[path = "../../src/measures.rs"]
pub mod measures;

#[path = "../../src/checkpoint/mod.rs"]
pub mod checkpoint;

#[path = "../../src/readers/stores/location.rs"]
#[expect(dead_code, reason = "addresses are for the clients of stores, which are not built here")]
mod location;

/// As in the whole crate.
pub mod readers {
    /// As in the whole crate.
    pub mod stores {
        pub use crate::location::{StoreError, shown};
    }
}

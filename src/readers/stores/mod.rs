//! Checkpoints in file systems and object stores. Everything goes through [`object_store`], and only its listing and
//! fetching half is used.

mod location;
mod settings;
mod answers;
mod failure;
mod connection_string;
mod clients;
mod renewal;
mod shared;
mod local;
mod memory;
mod checkpoint_store;
mod opening;
mod glob;
mod discovery;
#[cfg(test)]
mod tests;

pub use checkpoint_store::{CheckpointFiles, CheckpointStore, RequestCounts};
pub use discovery::{Prefix, Search};
pub use location::{StoreError, shown};
pub use opening::{PlaceKey, Stores};
pub use settings::{StoreKind, StoreSecret, StoreSettings};

//! Checkpoints in file systems and object stores. Everything goes through [`object_store`], and only its listing and
//! fetching half is used.

mod checkpoint_store;
mod local;
mod location;
#[cfg(test)]
mod tests;

pub use checkpoint_store::{CheckpointFiles, CheckpointStore, RequestCounts};
pub use location::StoreError;

//! What is watched of what was found.

mod roster;
mod shards;
mod sources;

//! What is watched of what was found.

mod roster;
mod sources;

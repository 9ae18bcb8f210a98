//! What is watched of what was found.

mod roster;

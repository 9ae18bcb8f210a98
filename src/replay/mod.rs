//! What was observed, written down, and judged again.
//!
//! A scenario is a JSON file of steps; each step holds what changed since the one before, and is one round. [`parse`]
//! reads it strictly; [`play`] sends it through the very rounds and judgement that the daemon uses, with readers that
//! read the scenario in place of a store and of brokers. A [`Recorder`] stands between the rounds and real readers, and
//! writes down what they say.

mod mistake;
mod json;
mod scenario;
mod kafka;
mod parse;
mod world;
mod lookups;
mod readers;
mod play;
mod anonymous;
mod written;
mod recorder;
#[cfg(test)]
mod tests;

pub use mistake::ScenarioError;
pub use parse::parse;
pub use play::{PlayError, Played, Setup, play};
pub use recorder::Recorder;
pub use scenario::{Scenario, Setting, Step};

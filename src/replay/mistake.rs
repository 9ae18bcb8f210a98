//! What is wrong with a scenario: where, which key, and why.

use thiserror::Error;

/// The first mistake of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {}{reason}", if key.is_empty() { String::new() } else { format!("{key}: ") })]
pub struct ScenarioError {
    /// Counted from 1.
    pub line: usize,
    /// The way to it, such as `steps[2].kafka.topics.orders`; empty for the file as a whole.
    pub key: String,
    /// What is wrong, and what would be right.
    pub reason: String,
}

//! How one discovery does.

use std::collections::BTreeMap;

use super::Polls;
use crate::measures::Moment;

/// What is told of one `[discovery.…]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiscoveryRound {
    /// Its name in the configuration.
    pub discovery: String,
    /// How its looks went.
    pub polls: Polls,
    /// How many of the checkpoints that it knows are watched, superseded ones included; absent before the first look
    /// that showed something.
    pub watched: Option<u64>,
    /// How many of them are not, since their names are taken.
    pub refused: Option<u64>,
    /// Requests to its store by operation since the process started.
    pub requests: BTreeMap<String, u64>,
    /// When the next look is due; absent before the first one has ended.
    pub next_look: Option<Moment>,
}

impl DiscoveryRound {
    /// What is known before the first look.
    #[must_use]
    pub fn waiting(discovery: &str) -> Self {
        Self { discovery: discovery.to_owned(), ..Self::default() }
    }

    /// Whether a look has ended, well or badly.
    #[must_use]
    pub const fn has_looked(&self) -> bool {
        self.polls.last_attempt.is_some()
    }
}

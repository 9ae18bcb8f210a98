//! Lines of a discovery: its looks, and what came of them.

use super::cluster::{PollMetrics, polls};
use super::writer::{Blocks, Labels};
use crate::metrics::catalogue::{
    DISCOVERY_POLL_DURATION, DISCOVERY_POLL_FAILURES_TOTAL, DISCOVERY_POLL_LAST_ATTEMPT, DISCOVERY_POLL_LAST_SUCCESS,
    DISCOVERY_POLLS_TOTAL, DISCOVERY_QUERIES, DISCOVERY_REFUSED_CHECKPOINTS, DISCOVERY_STORE_REQUESTS_TOTAL,
    DISCOVERY_UP,
};
use crate::metrics::snapshot::DiscoveryRound;

const LOOKS: PollMetrics = PollMetrics {
    up: &DISCOVERY_UP,
    total: &DISCOVERY_POLLS_TOTAL,
    failures: &DISCOVERY_POLL_FAILURES_TOTAL,
    duration: &DISCOVERY_POLL_DURATION,
    last_success: &DISCOVERY_POLL_LAST_SUCCESS,
    last_attempt: &DISCOVERY_POLL_LAST_ATTEMPT,
};

/// The lines about one discovery. Before its first look has ended it is neither up nor down.
#[must_use]
pub fn discovery(round: &DiscoveryRound) -> Blocks {
    let mut blocks = Blocks::default();
    let labels = Labels::none().and("discovery", &round.discovery);
    if round.has_looked() {
        polls(&mut blocks, &LOOKS, &labels, &round.polls);
    }
    blocks.put_some(&DISCOVERY_QUERIES, &labels, round.watched);
    blocks.put_some(&DISCOVERY_REFUSED_CHECKPOINTS, &labels, round.refused);
    for (operation, count) in &round.requests {
        blocks.put(&DISCOVERY_STORE_REQUESTS_TOTAL, &labels.and("operation", operation), *count);
    }
    blocks
}

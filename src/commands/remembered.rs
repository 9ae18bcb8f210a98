//! What the ledger of a daemon remembers: only that tells a topic that was made anew while its log looks healthy.

use std::io::{self, Write};

use crate::ledger::{Desk, DeskError, Place};
use crate::process::clock::Clock;
use crate::rounds::{ClusterState, ClusterTarget};

/// The state to begin with. A ledger that is not there has nothing to say; one that cannot be read is told.
///
/// # Errors
/// When that cannot be told.
pub(super) async fn state(place: Option<&Place>, target: &ClusterTarget) -> anyhow::Result<ClusterState> {
    let Some(place) = place else { return Ok(ClusterState::default()) };
    match memories(place, &target.name).await {
        Ok(mut memories) => {
            memories.retain(|name, _| target.queries.iter().any(|query| query.name == *name));
            return Ok(ClusterState::remembering(Clock::default(), memories));
        }
        Err(DeskError::NotThere { .. }) => {}
        Err(cause) => {
            let cause = anyhow::Error::new(cause);
            writeln!(
                io::stderr(),
                "brinkwatch: checked without the ledger at {place}, so that a topic which was made anew may look healthy: \
                 {cause:#}"
            )?;
        }
    }
    Ok(ClusterState::default())
}

async fn memories(
    place: &Place,
    cluster: &str,
) -> Result<std::collections::BTreeMap<String, crate::judgement::QueryMemory>, DeskError> {
    Desk::open_to_read(place).await?.memories(cluster).await
}

//! One look at what the daemon would find, for commands that end.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;

use super::fleet::Fleet;
use super::targets::TargetError;
use crate::config::Config;
use crate::measures::Unread;
use crate::shard::Shard;

/// The configuration as if what its discoveries find now were written in it, superseded checkpoints as retired; and the
/// discoveries that did not show everything.
///
/// # Errors
/// When the configuration asks for what cannot be built.
pub async fn with_found(config: Config, deadline: Duration) -> Result<(Config, Vec<(String, Unread)>), TargetError> {
    let mut fleet = Fleet::new(config.clone(), Shard::whole())?;
    let nothing = BTreeSet::new();
    let discoveries = fleet.discoveries();
    let looks = join_all(discoveries.iter().map(|one| one.finder.look(&nothing, deadline))).await;
    let mut unread = Vec::new();
    for (discovery, looked) in discoveries.iter().zip(looks) {
        match looked {
            Ok(looked) => {
                fleet.take(&discovery.name, &looked.paths);
                unread.extend(looked.unread.into_iter().map(|(_, why)| (discovery.name.clone(), why)));
            }
            Err(why) => unread.push((discovery.name.clone(), why)),
        }
    }
    let mut config = config;
    config.queries.extend(fleet.found_queries());
    Ok((config, unread))
}

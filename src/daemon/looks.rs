//! One look at what the daemon would find, for commands that end.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;

use super::fleet::Fleet;
use super::targets::TargetError;
use crate::config::Config;
use crate::measures::Unread;
use crate::shard::Shard;

/// What the discoveries of a configuration find now.
#[derive(Debug)]
pub struct LookedThrough {
    /// The configuration as if that were written in it, superseded checkpoints as retired.
    pub config: Config,
    /// The discoveries that did not show everything, each with the reason.
    pub unread: Vec<(String, Unread)>,
    /// The discoveries that showed everything, and have nothing.
    pub empty: Vec<String>,
}

/// Looks once through every place where checkpoints are to be found.
///
/// # Errors
/// When the configuration asks for what cannot be built.
pub async fn with_found(config: Config, deadline: Duration) -> Result<LookedThrough, TargetError> {
    let mut fleet = Fleet::new(config.clone(), Shard::whole())?;
    let nothing = BTreeSet::new();
    let discoveries = fleet.discoveries();
    let looks = join_all(discoveries.iter().map(|one| one.finder.look(&nothing, deadline))).await;
    let (mut unread, mut empty) = (Vec::new(), Vec::new());
    for (discovery, looked) in discoveries.iter().zip(looks) {
        match looked {
            Ok(looked) => {
                fleet.take(&discovery.name, &looked.paths);
                if looked.paths.is_empty() && looked.unread.is_empty() {
                    empty.push(discovery.name.clone());
                }
                unread.extend(looked.unread.into_iter().map(|(_, why)| (discovery.name.clone(), why)));
            }
            Err(why) => unread.push((discovery.name.clone(), why)),
        }
    }
    let mut config = config;
    config.queries.extend(fleet.found_queries());
    Ok(LookedThrough { config, unread, empty })
}

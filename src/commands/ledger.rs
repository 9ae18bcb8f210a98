//! The ledger that commands look at: the daemon's.

use anyhow::Context;

use super::Ended;
use crate::config::Config;
use crate::daemon::ledger_place;
use crate::ledger::Place;

/// Where the ledger of this configuration is kept; `None`: nowhere.
///
/// # Errors
/// When the password of its database, or the name of this machine, cannot be read.
pub(super) fn place(config: &Config) -> anyhow::Result<Option<Place>> {
    ledger_place(config).with_context(Ended::unobtainable)
}

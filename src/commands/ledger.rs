//! The ledger that commands look at: the daemon's.

use anyhow::Context;

use super::Ended;
use crate::config::Config;
use crate::daemon::ledger_place;
use crate::ledger::Place;
use crate::process::exit_code::ExitCode;

/// Where the ledger of this configuration is kept; `None`: nowhere.
///
/// # Errors
/// When the password of its database cannot be read.
pub(super) fn place(config: &Config) -> anyhow::Result<Option<Place>> {
    let cannot_be_had = || Ended::with(ExitCode::Configuration, "the configuration asks for what cannot be had");
    ledger_place(config).with_context(cannot_be_had)
}

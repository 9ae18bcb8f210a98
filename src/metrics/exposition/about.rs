//! What the process says of itself, apart from its polls.

use super::writer::{Blocks, Labels};
use crate::measures::Moment;
use crate::metrics::catalogue::{
    BUILD_INFO, CONFIG_LAST_RELOAD_SUCCESS, CONFIG_LAST_RELOAD_SUCCESSFUL, LEDGER_PERSISTENT, SHARD_ORDINAL, SHARDS,
};

/// What is known of the process without asking anybody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The program's version.
    pub version: &'static str,
    /// The commit it was built from, or `unknown`.
    pub revision: &'static str,
    /// The compiler that built it.
    pub rustc: &'static str,
    /// Whether the last load of the configuration worked.
    pub config_ok: bool,
    /// When the configuration was last loaded without a mistake.
    pub config_loaded_at: Option<Moment>,
}

/// The lines about the process. Memory of past rounds lives in the process only, and the fleet is not cut into shards:
/// both are said, so that rules about them hold from the first version on.
#[must_use]
pub fn about(about: &About) -> Blocks {
    let mut blocks = Blocks::default();
    let none = Labels::none();
    let build = none.and("version", about.version).and("revision", about.revision).and("rustc", about.rustc);
    blocks.put(&BUILD_INFO, &build, true);
    blocks.put(&CONFIG_LAST_RELOAD_SUCCESSFUL, &none, about.config_ok);
    blocks.put_some(&CONFIG_LAST_RELOAD_SUCCESS, &none, about.config_loaded_at.map(Moment::seconds));
    blocks.put(&LEDGER_PERSISTENT, &none, false);
    blocks.put(&SHARD_ORDINAL, &none, 0_u64);
    blocks.put(&SHARDS, &none, 1_u64);
    blocks
}

//! What the process says of itself, apart from its polls.

use super::writer::{Blocks, Labels};
use crate::measures::Moment;
use crate::metrics::catalogue::{
    BUILD_INFO, CONFIG_LAST_RELOAD_SUCCESS, CONFIG_LAST_RELOAD_SUCCESSFUL, LEDGER_PERSISTENT, LEDGER_UP, SHARD_ORDINAL,
    SHARDS,
};
use crate::shard::Shard;

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
    /// Which of the fleet's queries are its own.
    pub shard: Shard,
}

/// How the ledger does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerHealth {
    /// Whether it outlives the process.
    pub persistent: bool,
    /// Whether it was last written without an error.
    pub up: bool,
}

/// The lines about the ledger.
#[must_use]
pub fn ledger(health: LedgerHealth) -> Blocks {
    let mut blocks = Blocks::default();
    blocks.put(&LEDGER_PERSISTENT, &Labels::none(), health.persistent);
    blocks.put(&LEDGER_UP, &Labels::none(), health.up);
    blocks
}

/// The lines about the process. A fleet that is not cut into shards is told as one of one, so that rules about them always
/// hold.
#[must_use]
pub fn about(about: &About) -> Blocks {
    let mut blocks = Blocks::default();
    let none = Labels::none();
    let build = none.and("version", about.version).and("revision", about.revision).and("rustc", about.rustc);
    blocks.put(&BUILD_INFO, &build, true);
    blocks.put(&CONFIG_LAST_RELOAD_SUCCESSFUL, &none, about.config_ok);
    blocks.put_some(&CONFIG_LAST_RELOAD_SUCCESS, &none, about.config_loaded_at.map(Moment::seconds));
    blocks.put(&SHARD_ORDINAL, &none, u64::from(about.shard.ordinal()));
    blocks.put(&SHARDS, &none, u64::from(about.shard.count()));
    blocks
}

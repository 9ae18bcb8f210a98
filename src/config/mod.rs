//! What the operator asked for.
//!
//! Layers, weakest first: compiled defaults, a TOML file, environment variables `BRINKWATCH__…`, the command line.
//! Each layer is taken apart into single settings (`layers`), each setting is tried alone against the shape of the
//! file (`sieve`, `typed`, `written`), the good ones are merged, and the whole is checked (`check`) into [`Config`].
//! So one look shows every mistake, with its key and its layer. The other rooms see [`Config`] only.

mod key;
mod mistake;
mod secret;
mod duration;
mod layers;
mod typed;
mod security;
mod server;
mod ledger;
mod store;
mod template;
mod discovery;
mod written;
mod sieve;
mod valid;
mod check;
mod effective;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use layers::Leaf;
use typed::Typed;
use written::Written;

pub use discovery::{Discovery, Versions};
pub use effective::effective_toml;
pub use key::Key;
pub use ledger::LedgerServer;
pub use mistake::{ConfigError, Layer, Mistake};
pub use secret::{BothTwins, Secret, SecretError, SecretSource};
pub use security::{Mechanism, Sasl, Tls};
pub use server::{ClientAuth, Server, ServerTls, TlsVersion};
pub use store::{Store, StoreKind};
pub use template::{NameParts, NameTemplate};
pub use valid::{
    AlertSettings, CleanupPolicy, Cluster, Config, Log, LogFormat, LogLevel, Property, Query, QueryAlerts,
    RetentionOverride, SourceKind, SourceSetting, Threshold, Thresholds,
};

/// Where the file layer comes from.
#[derive(Clone, Copy, Debug)]
pub enum ConfigFile<'a> {
    /// There is none.
    Absent,
    /// A file to read.
    Path(&'a Path),
    /// Text that is already here, with a name for mistakes.
    Text {
        /// What mistakes call it.
        name: &'a str,
        /// The TOML text.
        text: &'a str,
    },
}

impl<'a> From<Option<&'a Path>> for ConfigFile<'a> {
    fn from(path: Option<&'a Path>) -> Self {
        path.map_or(Self::Absent, Self::Path)
    }
}

/// Reads, merges and checks all layers. `environment` may hold any variables, `overrides` are the command line's
/// pairs of key and text.
///
/// # Errors
/// Every mistake of every layer.
pub fn load(
    file: ConfigFile<'_>,
    environment: impl IntoIterator<Item = (String, String)>,
    overrides: &[(String, String)],
) -> Result<Config, ConfigError> {
    let mut unusable = Vec::new();
    let mut leaves = Vec::new();
    match file_leaves(file) {
        Ok(more) => leaves.extend(more),
        Err(mistake) => unusable.push(mistake),
    }
    leaves.extend(layers::of_environment(environment));
    let (more, no_keys) = layers::of_command_line(overrides);
    leaves.extend(more);
    unusable.extend(no_keys);

    let (good, mut checks) = sieve::sieve(leaves);
    // What could not be read at all may hold what the merged configuration seems to lack.
    if !unusable.is_empty() {
        return Err(ConfigError::new([unusable, checks.into_mistakes()].concat()));
    }
    let written = merge(good)?;
    let config = check::config(written, &mut checks);
    let mistakes = checks.into_mistakes();
    if mistakes.is_empty() { Ok(config) } else { Err(ConfigError::new(mistakes)) }
}

fn file_leaves(file: ConfigFile<'_>) -> Result<Vec<Leaf>, Mistake> {
    match file {
        ConfigFile::Absent => Ok(Vec::new()),
        ConfigFile::Text { name, text } => layers::of_file(name, text),
        ConfigFile::Path(path) => {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(path).map_err(|error| Mistake {
                key: Key::default(),
                problem: format!("cannot be read: {error}"),
                layer: Layer::File(name.clone()),
            })?;
            layers::of_file(&name, &text)
        }
    }
}

/// Merges settings of which each fits alone, the later over the earlier.
fn merge(leaves: Vec<Leaf>) -> Result<Written, ConfigError> {
    let builder = leaves.into_iter().fold(config::Config::builder(), |builder, leaf| builder.add_source(leaf));
    let whole =
        |problem: String| ConfigError::new(vec![Mistake { key: Key::default(), problem, layer: Layer::Default }]);
    let merged = builder.build().map_err(|error| whole(error.to_string()))?;
    Written::deserialize(Typed::new(merged.cache)).map_err(|misfit| whole(misfit.to_string()))
}

/// The file to read: the given one, else `brinkwatch.toml` here, else the system's, else none.
#[must_use]
pub fn find_file(given: Option<&Path>) -> Option<PathBuf> {
    let usual = ["brinkwatch.toml", "/etc/brinkwatch/brinkwatch.toml"];
    given.map(Path::to_owned).or_else(|| usual.into_iter().map(PathBuf::from).find(|path| path.exists()))
}

/// The variables of this process, for [`load`]. What is not Unicode is kept as well as it can be, so that a setting
/// with such a value is refused rather than overlooked.
#[must_use]
pub fn process_environment() -> Vec<(String, String)> {
    let text = |raw: OsString| raw.to_string_lossy().into_owned();
    std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect()
}

//! `brinkwatch config`: look at the configuration without starting anything.

mod finding;
mod live;

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand};

use super::Ended;
use crate::config::{self, Config, ConfigError};
use crate::daemon::{check_clients, door};
use crate::process::exit_code::ExitCode;
use crate::web::FileError;

/// Where the configuration comes from: for every command that needs one.
#[derive(Args, Clone, Default)]
pub struct ConfigSource {
    /// Configuration file [default: brinkwatch.toml here if it exists, else /etc/brinkwatch/brinkwatch.toml if it
    /// exists, else none]
    #[arg(long, value_name = "PATH")]
    pub config: Option<PathBuf>,
    /// A single setting, stronger than file and environment, such as server.listen=127.0.0.1:9917; may be given
    /// several times
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub set: Vec<(String, String)>,
}

impl ConfigSource {
    /// Loads the file, the variables `BRINKWATCH__…` of this process, and what the command line sets.
    ///
    /// # Errors
    /// Every mistake of every layer.
    pub fn load(&self) -> Result<Config, ConfigError> {
        let file = config::find_file(self.config.as_deref());
        config::load(file.as_deref().into(), config::process_environment(), &self.set)
    }

    /// The options with which another command reads the same file, wherever it is run on this machine. Environment and
    /// `--set` stay out: they may hold secrets.
    #[must_use]
    pub fn for_commands(&self) -> Vec<String> {
        let file = config::find_file(self.config.as_deref());
        let whole = file.map(|path| std::path::absolute(&path).unwrap_or(path));
        whole.map(|path| vec!["--config".to_owned(), path.display().to_string()]).unwrap_or_default()
    }

    /// The file that [`ConfigSource::load`] reads, in words for the log.
    #[must_use]
    pub fn described(&self) -> String {
        config::find_file(self.config.as_deref())
            .map_or_else(|| "no file".to_owned(), |path| path.display().to_string())
    }
}

/// Without the values of `--set`, which may be secrets.
impl fmt::Debug for ConfigSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&str> = self.set.iter().map(|(key, _)| key.as_str()).collect();
        f.debug_struct("ConfigSource").field("config", &self.config).field("set", &keys).finish()
    }
}

pub(super) fn key_and_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE, such as poll_interval=1m")?;
    Ok((key.trim().to_owned(), value.to_owned()))
}

/// Check the configuration, or print the one in force
#[derive(Args, Clone, Debug)]
#[command(
    long_about = "Check the configuration, or print the one in force, without starting anything. Layers, weakest \
                  first: defaults, the file, environment variables such as BRINKWATCH__SERVER__LISTEN, --set.",
    after_help = "Example:\n  brinkwatch config check\n\nExit code: 0 valid, 78 not valid."
)]
pub struct ConfigArgs {
    /// What to do with it.
    #[command(subcommand)]
    pub action: ConfigAction,
}

/// What to do with the configuration.
#[derive(Clone, Debug, Subcommand)]
pub enum ConfigAction {
    /// Say whether the configuration is valid: every mistake at once, with its key and who wrote it
    ///
    /// With --live every checkpoint is read and every cluster asked, once: what cannot be reached, which right is
    /// missing, and which topic keeps its records for less than ten poll intervals, or than max_outage and one batch
    /// interval. One line for each checkpoint, cluster and topic, worst first. Only reads.
    #[command(
        after_help = "Examples:\n  brinkwatch config check --config brinkwatch.toml\n  brinkwatch config check --live\n\n\
                      Exit code: 0 valid, 78 not valid. With --live also 1 a topic is missing or keeps its records for \
                      too short a time, or a discovery finds nothing, 3 something could not be read or a right is missing, even beside findings."
    )]
    Check(CheckConfigArgs),
    /// Print the configuration in force as TOML, defaults included, secrets left out
    #[command(after_help = "Example:\n  brinkwatch config show --set poll_interval=1m")]
    Show(ConfigSource),
}

/// What `brinkwatch config check` takes.
#[derive(Args, Clone, Debug)]
pub struct CheckConfigArgs {
    /// Where the configuration comes from
    #[command(flatten)]
    pub source: ConfigSource,
    /// Connect as well: read each checkpoint, ask each cluster
    #[arg(long)]
    pub live: bool,
    /// How long one pass over a cluster may take
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = humantime::parse_duration,
        default_value = "30s",
        requires = "live"
    )]
    pub timeout: Duration,
}

/// Runs `brinkwatch config`.
///
/// # Errors
/// A [`ConfigError`] with every mistake; or `out` cannot be written.
pub async fn run(args: &ConfigArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.action {
        ConfigAction::Check(args) => {
            let config = args.source.load()?;
            super::ledger::place(&config)?;
            let mut not_tried: Vec<anyhow::Error> =
                check_clients(&config).with_context(Ended::unobtainable)?.into_iter().map(Into::into).collect();
            match door(&config.server) {
                // It may be there only where the daemon runs.
                Err(error @ FileError::Unreadable { .. }) => not_tried.push(error.into()),
                outcome => drop(outcome.context("server").with_context(Ended::unobtainable)?),
            }
            for error in not_tried {
                writeln!(io::stderr(), "brinkwatch: not tried here: {error:#}")?;
            }
            let clusters = counted(config.clusters.len(), "cluster", "clusters");
            let queries = counted(config.queries.len(), "query", "queries");
            let discoveries = match config.discoveries.len() {
                0 => String::new(),
                number => format!(", {}", counted(number, "discovery", "discoveries")),
            };
            writeln!(out, "configuration is valid: {clusters}, {queries}{discoveries}")?;
            if args.live {
                return live::run(config, args.timeout, out).await;
            }
        }
        ConfigAction::Show(source) => write!(out, "{}", config::effective_toml(&source.load()?))?,
    }
    Ok(ExitCode::Fine)
}

fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

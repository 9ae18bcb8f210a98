//! `brinkwatch run`: the daemon.

use std::path::PathBuf;

use clap::Args;
use tracing::info;

use super::config::load;
use crate::config::Config;
use crate::process::signals::StopSignals;
use crate::process::{exit_code, logging};
use crate::{config, daemon};

/// Watch the configured queries until stopped.
///
/// HTTP answers at once, whatever Kafka or a store does. SIGTERM or SIGINT stops in order within two seconds; a second
/// one stops at once. Exit code 1: a failure at run time, such as a port that is taken; 78: an invalid configuration.
///
/// Example: brinkwatch run --config /etc/brinkwatch/brinkwatch.toml
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub struct RunArgs {
    /// The configuration file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Listen here instead of the configured `server.listen`.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Override one key of the configuration.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

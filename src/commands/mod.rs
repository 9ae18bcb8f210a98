//! One file per subcommand.

pub mod check;
pub mod config;
pub mod demo;
pub mod discover;
pub mod gaps;
pub mod inspect;
pub mod metrics;
pub mod output;
pub mod record;
pub mod replay;
pub mod rules;
pub mod run;
pub mod times;

use std::io::{self, Write};

use clap::{Parser, Subcommand};

use crate::config::ConfigError;
use crate::process::exit_code::ExitCode;

/// Watches Spark Structured Streaming checkpoints against Kafka retention, and speaks before data is lost.
#[derive(Debug, Parser)]
#[command(name = "brinkwatch", version, arg_required_else_help = true)]
pub struct CommandLine {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Hold checkpoints against their brokers: each partition, and what a restart would do
    Check(check::CheckArgs),
    /// Check the configuration, or print the one in force
    Config(config::ConfigArgs),
    /// Watch simulated queries in trouble, with nothing to install
    Demo(demo::DemoArgs),
    /// Find checkpoints below a place, and print them as configuration
    ///
    /// Only directories are listed. Nothing below a checkpoint is looked at. Of several versions of one query's
    /// checkpoint (orders_v1 and orders_v2, or a pipeline's numbered directories) the newest counts; the others are
    /// shown as comments.
    Discover(discover::DiscoverArgs),
    /// Look at the records of lost offsets, and settle them
    Gaps(gaps::GapsArgs),
    /// Print what a checkpoint says, without asking Kafka
    ///
    /// Where a restart would resume in each partition, what the open batch plans, what is wrong with the files, and
    /// whether Spark would start from them. The checkpoint is only read.
    Inspect(inspect::InspectArgs),
    /// Print every metric as Markdown: labels, unit, worse side, meaning
    Metrics,
    /// Write down what is observed of a query, for replay
    Record(record::RecordArgs),
    /// Judge again what was written down: a scenario, step by step
    Replay(replay::ReplayArgs),
    /// Print alert rules for Prometheus, with the configuration's thresholds
    Rules(rules::RulesArgs),
    /// Watch the configured queries until stopped
    Run(run::RunArgs),
}

/// Runs a command. Errors go to stderr, as one chain of causes.
pub async fn run(command_line: CommandLine) -> ExitCode {
    let mut out = io::stdout();
    let ended = match command_line.command {
        Command::Check(args) => check::run(&args, &mut out).await,
        Command::Config(args) => config::run(&args, &mut out),
        Command::Demo(args) => demo::run(args, &mut out).await,
        Command::Discover(args) => discover::run(&args, &mut out).await,
        Command::Gaps(args) => gaps::run(&args, &mut out).await,
        Command::Inspect(args) => inspect::run(args, &mut out).await,
        Command::Metrics => metrics::run(&mut out),
        Command::Record(args) => record::run(&args, &mut out).await,
        Command::Replay(args) => replay::run(&args, &mut out).await,
        Command::Rules(args) => rules::run(args, &mut out),
        Command::Run(args) => run::run(args).await,
    };
    end(ended, &mut out)
}

/// The exit code of a command that ended; an error goes to stderr.
pub fn end(ended: anyhow::Result<ExitCode>, out: &mut dyn Write) -> ExitCode {
    match ended.and_then(|code| Ok(out.flush().map(|()| code)?)) {
        Ok(code) => code,
        // the reader of our output has seen enough
        Err(error) if is_broken_pipe(&error) => ExitCode::Fine,
        Err(error) => {
            // when even stderr is gone, the exit code still speaks
            if let Some(mistakes) = error.downcast_ref::<ConfigError>() {
                // each mistake begins its own line with its key
                drop(writeln!(io::stderr(), "{mistakes}"));
                return ExitCode::Configuration;
            }
            drop(writeln!(io::stderr(), "brinkwatch: {error:#}"));
            error.downcast_ref::<Ended>().map_or(ExitCode::Finding, |ended| ended.code)
        }
    }
}

/// Gives an error the exit code that it ends the command with.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    code: ExitCode,
    what: &'static str,
}

impl Ended {
    /// For [`anyhow::Context`]: what failed, and the exit code of that.
    #[must_use]
    pub const fn with(code: ExitCode, what: &'static str) -> Self {
        Self { code, what }
    }
}

impl std::error::Error for Ended {}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.what)
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let is_pipe = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(is_pipe)
            || cause
                .downcast_ref::<serde_json::Error>()
                .is_some_and(|e| e.io_error_kind() == Some(io::ErrorKind::BrokenPipe))
    })
}

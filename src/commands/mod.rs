//! One file per subcommand.

pub mod check;
pub mod config;
pub mod demo;
pub mod discover;
pub mod gaps;
pub mod inspect;
mod ledger;
mod look;
pub mod metrics;
pub mod output;
pub mod record;
mod remembered;
pub mod replay;
pub mod rules;
pub mod run;
pub mod size;
pub mod starting_offsets;
pub mod targets;
pub mod times;
pub mod verify;

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
    ///
    /// Takes names of configured queries, or none for all of them; or one checkpoint and one cluster given by hand,
    /// without any configuration. Only reads. A contradiction that healthy clusters show for moments is looked at three
    /// times within two seconds before it is claimed.
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
    #[command(after_help = "Example:\n  brinkwatch metrics > metrics.md")]
    Metrics,
    /// Write down what is observed of a query, for replay
    ///
    /// Goes over the query's cluster in its usual rhythm and prints a scenario: the checkpoint's files and what the
    /// brokers said, round by round. SIGINT ends it early, with what was recorded until then.
    Record(record::RecordArgs),
    /// Judge again what was written down: a scenario, step by step
    Replay(replay::ReplayArgs),
    /// Print alert rules for Prometheus, with the configuration's thresholds
    Rules(rules::RulesArgs),
    /// Watch the configured queries until stopped
    Run(run::RunArgs),
    /// See whether retention survives an outage, and which retention would
    ///
    /// For one query, for several, or for all that are configured; the tightest first. The rate at which records arrive
    /// is that of the last hours, as many as the outage is long. A limit by size is reckoned from what the log holds;
    /// while it was never seen at work, only a lower bound is known, unless --record-bytes says how large a record is
    /// on disk.
    ///
    /// The column "from now" says how long the query could be down from this moment, with what it has unread: until the
    /// proved deadline. Only reads.
    Size(size::SizeArgs),
    /// Print where a new query has to start, as Spark's startingOffsets
    ///
    /// For a query that starts with a new checkpoint. The value goes to standard output, complete over all partitions
    /// of all topics: Spark refuses a list with one too few or one too many. New partitions are -2 (earliest), and what
    /// the brokers no longer have is clamped to what they do have. What that skips, what it reads twice and what is
    /// gone goes to standard error: in offsets, which are upper bounds of records, and in time.
    ///
    /// Only reads. Nothing is started and no checkpoint is written.
    StartingOffsets(starting_offsets::StartingOffsetsArgs),
    /// Prove that nothing is missing: sink, checkpoint, brokers and gap records, partition by partition
    ///
    /// Read the sink out first, while the query is stopped:
    ///
    ///   SELECT topic, partition, MIN(offset) AS min_offset, MAX(offset) AS max_offset,
    ///          COUNT(DISTINCT offset) AS count FROM sink GROUP BY topic, partition
    ///
    /// MAX(offset) is needed. With MIN and COUNT holes inside are found as well; with COUNT(*), records
    /// that are there twice too. The file is CSV with a header line, a JSON array, or a JSON object a
    /// line.
    ///
    /// Continuous means: every offset below the checkpoint's is in the sink or on record as a gap, and
    /// every offset from there on is in Kafka or on record. Only reads.
    #[command(verbatim_doc_comment)]
    Verify(verify::VerifyArgs),
}

/// Runs a command. Errors go to stderr, as one chain of causes.
pub async fn run(command_line: CommandLine) -> ExitCode {
    let mut out = io::stdout();
    let ended = match command_line.command {
        Command::Check(args) => check::run(&args, &mut out).await,
        Command::Config(args) => config::run(&args, &mut out).await,
        Command::Demo(args) => demo::run(args, &mut out).await,
        Command::Discover(args) => discover::run(&args, &mut out).await,
        Command::Gaps(args) => gaps::run(&args, &mut out).await,
        Command::Inspect(args) => inspect::run(args, &mut out).await,
        Command::Metrics => metrics::run(&mut out),
        Command::Record(args) => record::run(&args, &mut out).await,
        Command::Replay(args) => replay::run(&args, &mut out).await,
        Command::Rules(args) => rules::run(args, &mut out),
        Command::Run(args) => run::run(args).await,
        Command::Size(args) => size::run(&args, &mut out).await,
        Command::StartingOffsets(args) => starting_offsets::run(&args, &mut out).await,
        Command::Verify(args) => verify::run(&args, &mut out).await,
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

    /// For [`anyhow::Context`]: a configuration that makes sense, and that nothing can be built from here.
    #[must_use]
    pub const fn unobtainable() -> Self {
        Self::with(ExitCode::Configuration, "the configuration asks for what cannot be had")
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

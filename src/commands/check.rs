//! `brinkwatch check`: checkpoint against broker, once, and what a restart would do.

mod answer;
mod json;
mod table;

use std::io::{self, Write};
use std::time::Duration;

use clap::Args;

use self::answer::QueryAnswer;
use super::config::ConfigSource;
use super::ledger;
use super::look::{again, look};
use super::output::OutputFormat;
use super::remembered;
use super::targets::{Asked, ByHand};
use crate::process::exit_code::ExitCode;

/// What `brinkwatch check` takes.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  brinkwatch check orders\n  brinkwatch check --checkpoint /data/checkpoints/orders \
                        --bootstrap-servers broker1:9092 --output json\n\n\
                        Exit code: 0 nothing found, 1 a finding (loss, risk, a checkpoint that would not start), \
                        3 something could not be read, or changed while it was read, even beside findings."
)]
pub struct CheckArgs {
    /// Names of configured queries; none: all
    #[arg(value_name = "QUERY", conflicts_with = "checkpoint")]
    pub queries: Vec<String>,
    /// Where the configuration comes from
    #[command(flatten)]
    pub source: ConfigSource,
    /// One checkpoint and one cluster, in place of the configuration
    #[command(flatten)]
    pub by_hand: ByHand,
    /// How long one pass over a cluster may take
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, default_value = "30s")]
    pub timeout: Duration,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// Checks, writes the answer, and returns the exit code.
///
/// # Errors
/// When the arguments name nothing that can be checked, or the answer cannot be written.
pub async fn run(args: &CheckArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let asked = Asked { queries: &args.queries, source: &args.source, by_hand: &args.by_hand, timeout: args.timeout };
    let (config, is_complete) = asked.config().await?;
    let targets = asked.targets_of(&config)?;
    let place = ledger::place(&config)?;
    let looks = targets.iter().map(|target| async {
        let state = remembered::state(place.as_ref(), target).await?;
        let found = look(target, state, args.timeout).await;
        let again = again(target, &found, args.timeout).await;
        anyhow::Ok((found, again))
    });
    let found = futures::future::try_join_all(looks).await?;
    let answers: Vec<QueryAnswer> =
        targets.iter().zip(&found).flat_map(|(target, looked)| answer::of(&asked, &config, target, looked)).collect();
    match args.output {
        OutputFormat::Json => {
            serde_json::to_writer_pretty(&mut *out, &json::document(&answers))?;
            writeln!(out)?;
        }
        output => table::write(&answers, output, out)?,
    }
    for answer in &answers {
        for unread in answer.unread() {
            writeln!(io::stderr(), "brinkwatch: {} on {}: {unread}", answer.query, answer.kafka_cluster)?;
        }
    }
    Ok(if is_complete { exit_code_of(&answers) } else { ExitCode::NotRead })
}

/// What could not be read outweighs a finding: whoever asks must not take "1" for a complete answer.
fn exit_code_of(answers: &[QueryAnswer]) -> ExitCode {
    if answers.iter().any(QueryAnswer::is_incomplete) {
        return ExitCode::NotRead;
    }
    if answers.iter().any(QueryAnswer::is_finding) { ExitCode::Finding } else { ExitCode::Fine }
}

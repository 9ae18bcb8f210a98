//! `brinkwatch check`: checkpoint against broker, once, and what a restart would do.

mod answer;
mod table;
mod targets;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use tokio::sync::Semaphore;
use tokio::time::sleep;

use super::output::{Format, OutputArgs};
use crate::judgement::PartitionState;
use crate::process::exit_code;
use crate::rounds::{AT_ONCE, ClusterState, ClusterTarget, Found, once};

/// Hold checkpoints against their brokers now: per partition, and what a restart would do.
///
/// Names of configured queries, or none for all of them; or one checkpoint and one cluster given by hand, without any
/// configuration. Reads only. A contradiction that healthy clusters show for moments is looked at three times within
/// two seconds before it is claimed.
///
/// Exit code: 0 nothing found; 1 a finding (loss, risk, a checkpoint that would not start); 3 something could not be
/// read, even beside findings; 2 usage; 78 an invalid configuration.
///
/// Examples:
///   brinkwatch check orders
///   brinkwatch check --checkpoint /data/checkpoints/orders --bootstrap-servers broker1:9092 --output json
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub struct CheckArgs {
    /// Names of configured queries; none: all.
    #[arg(value_name = "QUERY", conflicts_with = "checkpoint")]
    pub queries: Vec<String>,
    /// The configuration file.
    #[arg(long, value_name = "FILE", conflicts_with = "checkpoint")]
    pub config: Option<PathBuf>,
    /// A checkpoint's location, in place of a configured query.
    #[arg(long, value_name = "LOCATION", requires = "bootstrap_servers")]
    pub checkpoint: Option<String>,
    /// First brokers to ask, with commas between them.
    #[arg(long, value_name = "HOST:PORT,…", requires = "checkpoint")]
    pub bootstrap_servers: Option<String>,
    /// A property of the Kafka client, such as security.protocol=SSL; may be repeated.
    #[arg(short = 'X', value_name = "PROPERTY=VALUE", requires = "checkpoint")]
    pub properties: Vec<String>,
    /// How the query names its topics: unknown, subscribe, pattern or assign. The checkpoint does not tell.
    #[arg(long, value_name = "HOW", requires = "checkpoint")]
    pub subscribe: Option<String>,
    /// What the job sets as failOnDataLoss. The checkpoint does not tell; both values are answered.
    #[arg(long, value_name = "TRUE|FALSE", requires = "checkpoint")]
    pub fail_on_data_loss: Option<bool>,
    /// What the job sets as kafka.isolation.level: read_uncommitted or read_committed.
    #[arg(long, value_name = "LEVEL", requires = "checkpoint")]
    pub isolation_level: Option<String>,
    /// How long one pass over a cluster may take.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = humantime::parse_duration)]
    pub timeout: Duration,
    /// How the answer is written.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// How often a contradiction is looked at, and how far apart.
const LOOKS: u32 = 3;
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// Checks, writes the answer, and returns the exit code.
///
/// # Errors
/// When the arguments name nothing that can be checked, or the answer cannot be written.
pub async fn run(
    args: &CheckArgs,
    environment: impl IntoIterator<Item = (String, String)>,
    out: &mut dyn Write,
) -> anyhow::Result<u8> {
    let mut targets = targets::of(args, environment)?;
    for query in targets.iter_mut().flat_map(|target| &mut target.queries) {
        query.settings.confirm_polls = query.settings.confirm_polls.min(LOOKS);
        query.settings.confirm_time = query.settings.confirm_time.min(BETWEEN_LOOKS * (LOOKS - 1));
    }
    let found = futures::future::join_all(targets.iter().map(|target| look(target, args.timeout))).await;
    let answers: Vec<answer::QueryAnswer> =
        targets.iter().zip(&found).flat_map(|(target, found)| answer::of(target, found)).collect();
    write_answers(&answers, args.output.format, out).context("cannot write the answer")?;
    Ok(exit_code_of(&answers))
}

/// One round; and as long as a contradiction waits for confirmation, another one.
async fn look(target: &ClusterTarget, timeout: Duration) -> Found {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut state = ClusterState::default();
    let mut found = once(target, &mut state, &places, timeout).await;
    for _ in 1..LOOKS {
        if !waits_for_confirmation(&found) {
            break;
        }
        sleep(BETWEEN_LOOKS).await;
        found = once(target, &mut state, &places, timeout).await;
    }
    found
}

fn waits_for_confirmation(found: &Found) -> bool {
    let partitions = found.verdicts.iter().flat_map(|verdict| verdict.partitions.values());
    partitions.into_iter().any(|partition| partition.state == PartitionState::Unconfirmed)
}

fn write_answers(answers: &[answer::QueryAnswer], format: Format, out: &mut dyn Write) -> anyhow::Result<()> {
    match format {
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, &answer::document(answers))?;
            writeln!(out)?;
            Ok(())
        }
        _ => table::write(answers, format, out),
    }
}

/// What could not be read outweighs a finding: whoever asks must not take "1" for a complete answer.
fn exit_code_of(answers: &[answer::QueryAnswer]) -> u8 {
    if answers.iter().any(answer::QueryAnswer::is_incomplete) {
        return exit_code::UNREAD;
    }
    if answers.iter().any(answer::QueryAnswer::is_finding) { exit_code::FINDING } else { exit_code::FINE }
}

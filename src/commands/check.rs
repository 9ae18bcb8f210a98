//! `brinkwatch check`: checkpoint against broker, once, and what a restart would do.

mod answer;
mod json;
mod table;
mod targets;

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::sync::Semaphore;
use tokio::time::sleep;

use self::answer::QueryAnswer;
use super::config::{ConfigSource, key_and_value};
use super::output::OutputFormat;
use crate::judgement::PartitionState;
use crate::process::exit_code::ExitCode;
use crate::rounds::{AT_ONCE, ClusterState, ClusterTarget, Found, once};

/// Hold checkpoints against their brokers: each partition, and what a restart would do
///
/// Takes names of configured queries, or none for all of them; or one checkpoint and one cluster given by hand, without
/// any configuration. Only reads. A contradiction that healthy clusters show for moments is looked at three times
/// within two seconds before it is claimed.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  brinkwatch check orders\n  brinkwatch check --checkpoint /data/checkpoints/orders \
                        --bootstrap-servers broker1:9092 --output json\n\n\
                        Exit code: 0 nothing found, 1 a finding (loss, risk, a checkpoint that would not start), \
                        3 something could not be read, even beside findings."
)]
pub struct CheckArgs {
    /// Names of configured queries; none: all
    #[arg(value_name = "QUERY", conflicts_with = "checkpoint")]
    pub queries: Vec<String>,
    /// Where the configuration comes from
    #[command(flatten)]
    pub source: ConfigSource,
    /// A checkpoint's location, in place of a configured query
    #[arg(long, value_name = "LOCATION", requires = "bootstrap_servers")]
    pub checkpoint: Option<String>,
    /// First brokers to ask, with commas between them
    #[arg(long, value_name = "HOST:PORT,…", requires = "checkpoint")]
    pub bootstrap_servers: Option<String>,
    /// A property of the Kafka client, such as security.protocol=SSL; may be given several times
    #[arg(short = 'X', value_name = "PROPERTY=VALUE", requires = "checkpoint", value_parser = key_and_value)]
    pub properties: Vec<(String, String)>,
    /// How the query names its topics: unknown, subscribe, pattern or assign. The checkpoint does not tell
    #[arg(long, value_name = "HOW", requires = "checkpoint")]
    pub subscribe: Option<String>,
    /// What the job sets as failOnDataLoss. The checkpoint does not tell; both values are answered
    #[arg(long, value_name = "TRUE|FALSE", requires = "checkpoint")]
    pub fail_on_data_loss: Option<bool>,
    /// What the job sets as kafka.isolation.level: read_uncommitted or read_committed
    #[arg(long, value_name = "LEVEL", requires = "checkpoint")]
    pub isolation_level: Option<String>,
    /// How long one pass over a cluster may take
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, default_value = "30s")]
    pub timeout: Duration,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// How often a contradiction is looked at, and how far apart.
const LOOKS: u32 = 3;
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// Checks, writes the answer, and returns the exit code.
///
/// # Errors
/// When the arguments name nothing that can be checked, or the answer cannot be written.
pub async fn run(args: &CheckArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let (mut targets, is_complete) = targets::of(args).await?;
    for query in targets.iter_mut().flat_map(|target| &mut target.queries) {
        query.settings.confirm_polls = query.settings.confirm_polls.min(LOOKS);
        query.settings.confirm_time = query.settings.confirm_time.min(BETWEEN_LOOKS * (LOOKS - 1));
    }
    let found = futures::future::join_all(targets.iter().map(|target| look(target, args.timeout))).await;
    let answers: Vec<QueryAnswer> =
        targets.iter().zip(&found).flat_map(|(target, found)| answer::of(target, found)).collect();
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

/// One round; and as long as a contradiction waits for confirmation, another one.
async fn look(target: &ClusterTarget, timeout: Duration) -> Found {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut state = ClusterState::default();
    let mut found = once(target, &mut state, &places, timeout).await;
    for _ in 1..LOOKS {
        if !waits_for_confirmation(&found) && !may_be_in_writing(&found) {
            break;
        }
        sleep(BETWEEN_LOOKS).await;
        found = once(target, &mut state, &places, timeout).await;
    }
    found
}

/// A newest file that does not parse is believed when it is seen in two rounds running.
fn may_be_in_writing(found: &Found) -> bool {
    found.checkpoints.iter().zip(&found.verdicts).any(|(poll, verdict)| {
        poll.outcome.as_ref().is_ok_and(|reading| reading.problems.len() > verdict.problems.len())
    })
}

fn waits_for_confirmation(found: &Found) -> bool {
    let partitions = found.verdicts.iter().flat_map(|verdict| verdict.partitions.values());
    partitions.into_iter().any(|partition| partition.state == PartitionState::Unconfirmed)
}

/// What could not be read outweighs a finding: whoever asks must not take "1" for a complete answer.
fn exit_code_of(answers: &[QueryAnswer]) -> ExitCode {
    if answers.iter().any(QueryAnswer::is_incomplete) {
        return ExitCode::NotRead;
    }
    if answers.iter().any(QueryAnswer::is_finding) { ExitCode::Finding } else { ExitCode::Fine }
}

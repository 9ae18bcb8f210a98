//! `brinkwatch verify`: prove that nothing is missing, or name what is.

mod print;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;

use self::print::Answer;
use super::Ended;
use super::config::ConfigSource;
use super::ledger;
use super::look::{Position, ensure_unchanged, look, only};
use super::output::OutputFormat;
use super::targets::{Asked, ByHand, ensure_known};
use crate::checkpoint::CheckpointReading;
use crate::config::Config;
use crate::ledger::{Desk, DeskError, Gap, RecoveryStatus};
use crate::measures::{Offset, TopicName, TopicPartition, Unread};
use crate::process::exit_code::ExitCode;
use crate::recovery::{Disagreement, Evidence, OnRecord, Sink, Standing, read_sink, verify};
use crate::rounds::ClusterState;

/// What `brinkwatch verify` takes.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  brinkwatch verify orders --sink-offsets sink.csv --started-from starting-offsets.json\n\n\
                  Exit code: 0 continuous, 1 not, 2 the file makes no sense or there is no such query, 3 something could \
                  not be read, even beside findings, 78 invalid configuration."
)]
pub struct VerifyArgs {
    /// The name of a configured query
    #[arg(value_name = "QUERY", conflicts_with = "checkpoint", required_unless_present = "checkpoint")]
    pub query: Option<String>,
    /// What the sink holds; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub sink_offsets: PathBuf,
    /// The startingOffsets that the checkpoint was begun with: below them the sink owes nothing
    #[arg(long, value_name = "FILE")]
    pub started_from: Option<PathBuf>,
    /// Take the gap records of this query as well: of the one that this one goes on for; may be given several times
    #[arg(long, value_name = "QUERY")]
    pub gaps_of: Vec<String>,
    /// The cluster, where the query reads several
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// Where the configuration comes from
    #[command(flatten)]
    pub source: ConfigSource,
    /// One checkpoint and one cluster, in place of the configuration
    #[command(flatten)]
    pub by_hand: ByHand,
    /// How long one pass over the cluster may take
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, default_value = "30s")]
    pub timeout: Duration,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// Holds everything against each other, and returns the exit code.
///
/// # Errors
/// When the file makes no sense, there is no such query, or something was not read.
pub async fn run(args: &VerifyArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let sink = sink(&args.sink_offsets)?;
    let began = args.started_from.as_deref().map(began).transpose()?.unwrap_or_default();
    let queries: Vec<String> = args.query.iter().cloned().collect();
    let asked = Asked { queries: &queries, source: &args.source, by_hand: &args.by_hand, timeout: args.timeout };
    let (config, _) = asked.config().await?;
    let target = only(asked.targets_of(&config)?, args.cluster.as_deref())?;
    let query = target.queries.first().context("a target has a query")?;

    let mut state = ClusterState::default();
    let topics = sink.keys().map(|at| TopicName::clone(&at.topic)).collect();
    state.topics.insert(query.name.clone(), topics);
    let found = look(&target, state, args.timeout).await;
    let not_read = |what: &'static str, unread: &Unread| {
        anyhow!("{what}: {unread}").context(Ended::with(ExitCode::NotRead, "not everything could be read"))
    };
    let cluster = found.cluster.as_ref().map_err(|unread| not_read("the cluster", unread))?;
    let poll = found.checkpoints.first().context("a look has a poll for each query")?;
    let reading = poll.outcome.as_ref().map_err(|unread| not_read("the checkpoint", unread))?;
    let gaps = on_record(args, &config, &query.name, &target.name).await?;
    let checkpoint = standings(reading);
    let proofs = verify(&Evidence {
        sink: &sink,
        checkpoint: &checkpoint,
        cluster,
        gaps: gaps.as_deref().unwrap_or_default(),
        began: &began,
        lag_floor: query.settings.lag_floor,
    });
    ensure_unchanged(&target, &found, Position::Counts, args.timeout).await?;
    let answer = Answer {
        query: &query.name,
        kafka_cluster: &target.name,
        checked_at: found.finished_at,
        committed_batch: reading.newest_committed,
        proofs: &proofs,
        gaps_known: gaps.is_some(),
        subject: asked.subject(&query.name, &config),
    };
    print::write(&answer, args.output, out)?;
    let any = |what| proofs.iter().flat_map(|proof| &proof.findings).any(|finding| finding.what == what);
    Ok(match () {
        () if any(Disagreement::Unread) => ExitCode::NotRead,
        () if proofs.iter().all(|proof| proof.findings.is_empty()) => ExitCode::Fine,
        () => ExitCode::Finding,
    })
}

/// Every mistake is told, each in a line of its own.
fn sink(file: &Path) -> anyhow::Result<Sink> {
    let bytes = read(file)?;
    read_sink(&bytes).map_err(|mistakes| {
        let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        anyhow!("\n  {}", lines.join("\n  "))
            .context(Ended::with(ExitCode::Usage, "what the sink holds cannot be told from the file"))
    })
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = if file == Path::new("-") {
        io::stdin().read_to_end(&mut bytes).map(|_| ())
    } else {
        fs::read(file).map(|read| bytes = read)
    };
    read.with_context(|| file.display().to_string()).context(Ended::with(ExitCode::NotRead, "a file was not read"))?;
    Ok(bytes)
}

/// The numbers of `startingOffsets`. What began at earliest or latest is no number, and tells nothing.
fn began(file: &Path) -> anyhow::Result<BTreeMap<TopicPartition, Offset>> {
    let bytes = read(file)?;
    let written: BTreeMap<String, BTreeMap<i32, i64>> = serde_json::from_slice(&bytes)
        .with_context(|| format!("{} holds no startingOffsets", file.display()))
        .context(Ended::with(ExitCode::Usage, "where the checkpoint began cannot be told from the file"))?;
    let numbers = written.iter().flat_map(|(topic, partitions)| {
        let topic = TopicName::from(topic.as_str());
        let known = partitions.iter().filter_map(|(number, offset)| Some((*number, Offset::new(*offset)?)));
        known.map(move |(number, offset)| (TopicPartition::new(&topic, number), offset)).collect::<Vec<_>>()
    });
    Ok(numbers.collect())
}

/// Where several sources read one partition, the one that is furthest behind counts.
fn standings(reading: &CheckpointReading) -> BTreeMap<TopicPartition, Standing> {
    let mut standings: BTreeMap<TopicPartition, Standing> = BTreeMap::new();
    for (topic, partitions) in reading.sources.iter().flat_map(|source| &source.topics) {
        for (number, position) in partitions {
            let found = Standing { committed: position.committed, planned: position.planned };
            let known = standings.entry(TopicPartition::new(topic, *number)).or_insert(found);
            if found.committed < known.committed {
                *known = found;
            }
        }
    }
    standings
}

/// The gap records of the query on this cluster, and of those that it goes on for; absent where no ledger is kept.
async fn on_record(
    args: &VerifyArgs,
    config: &Config,
    query: &str,
    cluster: &str,
) -> anyhow::Result<Option<Vec<OnRecord>>> {
    let gaps = match &ledger::place(config)? {
        Some(place) => match async { Desk::open_to_read(place).await?.gaps().await }.await {
            Ok(gaps) => Some(gaps),
            Err(DeskError::NotThere { .. }) => None,
            Err(error) => return Err(error).context(Ended::with(ExitCode::NotRead, "the gap records were not read")),
        },
        None => None,
    };
    for name in &args.gaps_of {
        ensure_known(&args.source, name, gaps.as_deref().unwrap_or_default(), args.timeout).await?;
    }
    let is_wanted = |gap: &&Gap| {
        gap.kafka_cluster == cluster && (gap.stream_name == query || args.gaps_of.contains(&gap.stream_name))
    };
    let known = |gap: &Gap| {
        Some(OnRecord {
            at: TopicPartition { topic: gap.topic.as_str().into(), partition: gap.partition },
            from: Offset::new(gap.from)?,
            to: Offset::new(gap.to)?,
            missing: matches!(gap.recovery_status, RecoveryStatus::Open | RecoveryStatus::Accepted),
        })
    };
    Ok(gaps.map(|gaps| gaps.iter().filter(is_wanted).filter_map(known).collect()))
}

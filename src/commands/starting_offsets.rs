//! `brinkwatch starting-offsets`: where a new query has to start, in the words that Spark takes.

mod known;
mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;

use self::known::{Known, remembered};
use super::Ended;
use super::config::ConfigSource;
use super::ledger;
use super::look::{Position, ensure_unchanged, look, only, times_of};
use super::targets::{Asked, ByHand};
use crate::judgement::{Condition, Isolation, PartitionState, QueryVerdict, Subscribe};
use crate::measures::{Moment, TopicName, TopicPartition};
use crate::process::clock;
use crate::process::exit_code::ExitCode;
use crate::recovery::{Anchor, Form, Request, SparkVersion, plan, when, write};
use crate::retention::ClusterReading;
use crate::rounds::{ClusterState, ClusterTarget};

/// What `brinkwatch starting-offsets` takes.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  brinkwatch starting-offsets orders --at committed > starting-offsets.json\n\n\
                        Exit code: 0 printed, 1 Spark would refuse it, 2 no such query or time, 3 something could not be \
                        read, or changed while it was read, 78 invalid configuration.")]
pub struct StartingOffsetsArgs {
    /// The name of a configured query
    #[arg(value_name = "QUERY", conflicts_with = "checkpoint", required_unless_present = "checkpoint")]
    pub query: Option<String>,
    /// Where to start: committed (where the query stands), earliest, latest, last-batch (the time of the last committed
    /// batch), last-known (where the query stood before its checkpoint was wiped, from the daemon's ledger), or a time:
    /// 2026-11-30T02:53:08Z, seconds or milliseconds since 1970, "2h ago"
    #[arg(long, value_name = "WHERE")]
    pub at: String,
    /// The version of Spark that will read it
    #[arg(long, value_name = "VERSION", default_value = "3.5")]
    pub spark: SparkVersion,
    /// Print startingOffsetsByTimestamp: the time for every partition, which Spark looks up when it starts
    #[arg(long, conflicts_with = "timestamp")]
    pub by_timestamp: bool,
    /// Print startingTimestamp: one time for all
    #[arg(long)]
    pub timestamp: bool,
    /// A topic that the query reads and its checkpoint does not name; may be given several times
    #[arg(long = "topic", value_name = "TOPIC")]
    pub topics: Vec<String>,
    /// The source whose option it is, by its id in the checkpoint; needed where the query has several
    #[arg(long, value_name = "ID")]
    pub kafka_source: Option<String>,
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
}

/// Reckons, prints the value, and reports what it costs.
///
/// # Errors
/// When there is no such query, something was not read, or Spark would refuse the answer.
pub async fn run(args: &StartingOffsetsArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let now = clock::now();
    let queries: Vec<String> = args.query.iter().cloned().collect();
    let asked = Asked { queries: &queries, source: &args.source, by_hand: &args.by_hand, timeout: args.timeout };
    let (config, _) = asked.config().await?;
    let target = only(asked.targets_of(&config)?, args.cluster.as_deref())?;
    let name = target.queries.first().map(|query| query.name.clone()).unwrap_or_default();
    let place = ledger::place(&config)?;
    let memory = remembered(place.as_ref(), &name, &target.name, args.at == "last-known").await?;

    let mut state = ClusterState::default();
    let mut topics: BTreeSet<TopicName> = args.topics.iter().map(|topic| TopicName::from(topic.as_str())).collect();
    let by_hand = topics.clone();
    if let Some(memory) = &memory {
        topics.extend(memory.topics.keys().cloned());
        topics.extend(memory.replaced.iter().flat_map(|replaced| replaced.positions.keys().cloned()));
        state.memories.insert(name.clone(), memory.clone());
    }
    state.topics.insert(name.clone(), topics);
    let found = look(&target, state, args.timeout).await;
    let cluster = found.cluster.as_ref().map_err(|unread| not_read("the cluster", unread))?;
    let known = Known::of(args, &found, memory.as_ref())?;
    let anchor = anchor(args, &known, &target, cluster, now).await?;
    let verdict = found.verdicts.first().context("a look has a verdict for each query")?;
    ensure_same_cluster(verdict, &anchor)?;

    let settings = target.queries.first().map(|query| query.settings.clone()).unwrap_or_default();
    let topics: BTreeSet<TopicName> = known.topics.iter().chain(&by_hand).cloned().collect();
    let request = Request {
        anchor: &anchor,
        positions: &known.positions,
        cluster,
        topics: &topics,
        made_again: &made_again(verdict),
        assigned: settings.subscribe == Subscribe::Assign,
        pattern: settings.subscribe == Subscribe::Pattern,
        committed_only: settings.isolation == Isolation::ReadCommitted,
    };
    let refused = || Ended::with(ExitCode::Finding, "Spark would refuse it");
    let plan = plan(&request).with_context(refused)?;
    let written = write(&plan, &anchor, args.form(), args.spark).with_context(refused)?;
    let ends = report::ends(&plan);
    let times = times_of(&target, cluster, ends, now, args.timeout).await;
    let position = match args.at.as_str() {
        "committed" | "last-batch" => Position::Counts,
        _ => Position::DoesNotCount,
    };
    ensure_unchanged(&target, &found, position, args.timeout).await?;
    writeln!(out, "{}", written.value)?;
    out.flush()?;
    report::write(&report::Report {
        plan: &plan,
        written: &written,
        known: &known,
        times: &times,
        settings: &settings,
    })
    .lines()
    .try_for_each(|line| writeln!(io::stderr(), "{line}"))?;
    Ok(ExitCode::Fine)
}

impl StartingOffsetsArgs {
    const fn form(&self) -> Form {
        match (self.by_timestamp, self.timestamp) {
            (true, _) => Form::ByTimestamp,
            (_, true) => Form::Timestamp,
            _ => Form::Offsets,
        }
    }
}

/// What the start is reckoned from. A time is asked of the brokers here.
async fn anchor(
    args: &StartingOffsetsArgs,
    known: &Known,
    target: &ClusterTarget,
    cluster: &ClusterReading,
    now: Moment,
) -> anyhow::Result<Anchor> {
    let time = match args.at.as_str() {
        "committed" | "last-known" => return Ok(Anchor::Position),
        "earliest" => return Ok(Anchor::Earliest),
        "latest" => return Ok(Anchor::Latest),
        "last-batch" => known.last_batch.ok_or_else(|| {
            anyhow!("no batch of it is committed, or nothing tells when it was")
                .context(Ended::with(ExitCode::NotRead, "the time of the last batch is not known"))
        })?,
        text => when(text, now).context(Ended::with(ExitCode::Usage, "it is not known where to start"))?,
    };
    let topics = cluster.topics.iter().filter_map(|(name, sight)| Some((name, sight.seen()?)));
    let partitions = topics.flat_map(|(name, topic)| {
        topic.partitions.keys().map(move |number| (TopicPartition::new(name, *number), time))
    });
    let asked: Vec<(TopicPartition, Moment)> = partitions.collect();
    let first = target.brokers.first_since(&asked, args.timeout).await;
    let offsets = first.into_iter().map(|(at, found)| (at, found.map(|found| found.map(|(offset, _)| offset))));
    Ok(Anchor::Time(time, offsets.collect::<BTreeMap<_, _>>()))
}

fn made_again(verdict: &QueryVerdict) -> BTreeSet<TopicName> {
    let recreated = verdict.partitions.iter().filter(|(_, partition)| partition.state == PartitionState::Recreated);
    recreated.map(|(at, _)| TopicName::clone(&at.topic)).collect()
}

fn ensure_same_cluster(verdict: &QueryVerdict, anchor: &Anchor) -> anyhow::Result<()> {
    if !matches!(anchor, Anchor::Position) || !verdict.conditions.contains(&Condition::ClusterMismatch) {
        return Ok(());
    }
    let why = anyhow!("{}; choose earliest, latest or a time", verdict.reason);
    Err(why.context(Ended::with(ExitCode::Finding, "the query's positions belong to another cluster")))
}

fn not_read(what: &str, unread: &crate::measures::Unread) -> anyhow::Error {
    anyhow!("{what}: {unread}").context(Ended::with(ExitCode::NotRead, "not everything could be read"))
}

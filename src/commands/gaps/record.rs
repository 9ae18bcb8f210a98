//! `gaps record`: write a gap down by hand, or whatever a look finds lost now.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use clap::builder::PossibleValuesParser;

use super::ended;
use super::print::print_all;
use crate::commands::Ended;
use crate::commands::config::ConfigSource;
use crate::commands::look::{Position, ensure_unchanged, look};
use crate::commands::output::OutputFormat;
use crate::commands::targets::{Asked, ByHand};
use crate::config::Config;
use crate::judgement::{Certainty, PartitionVerdict};
use crate::ledger::{Desk, Gap, Place, RecoveryStatus};
use crate::measures::{Moment, TopicPartition};
use crate::process::clock;
use crate::process::exit_code::ExitCode;
use crate::retention::{ClusterReading, TopicSight};
use crate::rounds::ClusterState;

/// What is written down.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  brinkwatch gaps record orders --found --evidence 'INC-4711' --by anna\n  \
                        brinkwatch gaps record orders --topic orders --partition 3 --from 120 --to 500 --evidence INC-1")]
pub struct RecordArgs {
    /// Where the configuration comes from.
    #[command(flatten)]
    pub source: ConfigSource,
    /// The query's name
    pub query: String,
    /// Everything that the brokers no longer have and the query has not read, as it is now
    #[arg(long, conflicts_with_all = ["topic", "partition", "from", "to"], required_unless_present = "topic")]
    pub found: bool,
    /// The topic
    #[arg(long, requires_all = ["partition", "from", "to"])]
    pub topic: Option<String>,
    /// The partition
    #[arg(long, requires = "topic", value_parser = clap::value_parser!(i32).range(0..))]
    pub partition: Option<i32>,
    /// First offset that is missing
    #[arg(long, value_name = "OFFSET", requires = "topic", value_parser = clap::value_parser!(i64).range(0..))]
    pub from: Option<i64>,
    /// First offset behind it that is not
    #[arg(long, value_name = "OFFSET", requires = "topic", value_parser = clap::value_parser!(i64).range(1..))]
    pub to: Option<i64>,
    /// How sure
    #[arg(long, default_value = "certain", value_parser = PossibleValuesParser::new(["certain", "possible"]))]
    pub certainty: String,
    /// The cluster, where the query reads several
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// What shows it
    #[arg(long)]
    pub evidence: String,
    /// Who says so
    #[arg(long, value_name = "NAME", default_value = "by hand")]
    pub by: String,
    /// How long one pass over the cluster may take
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, default_value = "30s")]
    pub timeout: Duration,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

pub(super) async fn record(args: &RecordArgs, place: &Place, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let queries = [args.query.clone()];
    let asked = Asked { queries: &queries, source: &args.source, by_hand: &ByHand::default(), timeout: args.timeout };
    let (config, _) = asked.config().await?;
    let query = config.queries.get(&args.query).context("a query that is asked for is known")?;
    let cluster = args.cluster.clone().unwrap_or_else(|| query.cluster.clone());
    let gaps = if args.found {
        found(args, &asked, &config, &cluster).await?
    } else {
        vec![by_hand(args, &cluster, place).await?]
    };
    let mut held: Vec<Gap> = Vec::new();
    if !gaps.is_empty() {
        let mut desk = ended(Desk::open_or_make(place).await)?;
        for gap in &gaps {
            held.extend(ended(desk.record(gap).await)?);
        }
    }
    held.sort_by_key(|gap| gap.id);
    held.dedup_by_key(|gap| gap.id);
    match args.output {
        OutputFormat::Table if held.is_empty() => writeln!(out, "nothing is lost now, so nothing is recorded")?,
        OutputFormat::Table => {
            for gap in &held {
                let id = gap.id.map_or_else(|| "without a number".to_owned(), |id| id.to_string());
                writeln!(out, "gap {id}: {}/{} [{}, {})", gap.topic, gap.partition, gap.from, gap.to)?;
            }
        }
        output => print_all(&held, output, out)?,
    }
    Ok(ExitCode::Fine)
}

async fn by_hand(args: &RecordArgs, cluster: &str, place: &Place) -> anyhow::Result<Gap> {
    let usage = || Ended::with(ExitCode::Usage, "nothing is recorded");
    let (Some(topic), Some(partition), Some(from), Some(to)) = (&args.topic, args.partition, args.from, args.to) else {
        return Err(anyhow!("give --topic, --partition, --from and --to, or --found")).with_context(usage);
    };
    if from >= to {
        return Err(anyhow!("--from {from} is not below --to {to}, which is exclusive")).with_context(usage);
    }
    let certainty = if args.certainty == "possible" { Certainty::Possible } else { Certainty::Certain };
    // The daemon's own record of the same loss bears the topic's id; with another one the two would be counted twice.
    let remembered = match Desk::open_to_read(place).await {
        Ok(mut desk) => desk.remembered(&args.query).await.ok(),
        Err(_) => None,
    };
    let topic_id = remembered.and_then(|mut memories| memories.remove(cluster)?.topics.get(topic.as_str())?.topic_id);
    let at = TopicPartition { topic: topic.as_str().into(), partition };
    let range = (from, to, certainty);
    Ok(gap(args, cluster, &at, topic_id.map(|id| format!("{id:?}")), range, clock::now()))
}

/// What a look finds lost.
async fn found(args: &RecordArgs, asked: &Asked<'_>, config: &Config, cluster: &str) -> anyhow::Result<Vec<Gap>> {
    let not_read = || Ended::with(ExitCode::NotRead, "what is lost could not be read");
    let targets = asked.targets_of(config)?;
    let target = targets.iter().find(|target| target.name == cluster);
    let target = target.ok_or_else(|| anyhow!("the query does not read cluster {cluster}")).with_context(not_read)?;
    let looked = look(target, ClusterState::default(), args.timeout).await;
    let reading = looked.cluster.as_ref().map_err(|unread| anyhow!("{unread}")).with_context(not_read)?;
    let verdict = looked.verdicts.first().context("a look has a verdict for each query")?;
    if let Some(unread) = &verdict.unreadable {
        return Err(anyhow!("{unread}")).with_context(not_read);
    }
    ensure_unchanged(target, &looked, Position::Counts, args.timeout).await?;
    let mut gaps = Vec::new();
    for (at, partition) in &verdict.partitions {
        let id = topic_id(reading, at);
        gaps.extend(lost(partition).map(|range| gap(args, cluster, at, id.clone(), range, looked.finished_at)));
    }
    Ok(gaps)
}

fn topic_id(reading: &ClusterReading, at: &TopicPartition) -> Option<String> {
    let id = reading.topics.get(&at.topic).and_then(TopicSight::seen)?.topic_id?;
    Some(format!("{id:?}"))
}

/// What is possibly lost lies first: an open batch may have read it.
fn lost(partition: &PartitionVerdict) -> impl Iterator<Item = (i64, i64, Certainty)> + use<> {
    let from = partition.committed.map_or(0, |committed| committed.get());
    let count = |number: Option<u64>| i64::try_from(number.unwrap_or(0)).unwrap_or(0);
    let certain_from = from + count(partition.possibly_lost);
    let ranges = [
        (from, certain_from, Certainty::Possible),
        (certain_from, certain_from + count(partition.lost), Certainty::Certain),
    ];
    ranges.into_iter().filter(|(from, to, _)| from < to)
}

fn gap(
    args: &RecordArgs,
    cluster: &str,
    at: &TopicPartition,
    topic_id: Option<String>,
    (from, to, certainty): (i64, i64, Certainty),
    now: Moment,
) -> Gap {
    Gap {
        id: None,
        stream_name: args.query.clone(),
        kafka_cluster: cluster.to_owned(),
        topic: at.topic.to_string(),
        topic_id,
        partition: at.partition,
        from,
        to,
        certainty,
        detected_at: now,
        first_missing_at: None,
        last_missing_at: None,
        recovery_path: None,
        recovery_status: RecoveryStatus::Open,
        evidence: args.evidence.clone(),
        recorded_by: args.by.clone(),
    }
}

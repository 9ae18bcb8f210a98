//! `brinkwatch size`: would retention survive an outage, and which would.

mod print;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::time::Duration;

use clap::Args;

use self::print::Row;
use super::config::ConfigSource;
use super::look::{look, unseen};
use super::output::OutputFormat;
use super::targets::{Asked, ByHand, unknown_topic};
use crate::judgement::QueryVerdict;
use crate::measures::{Moment, Offset, TopicName, TopicPartition};
use crate::process::exit_code::ExitCode;
use crate::readers::FirstSince;
use crate::recovery::{Observed, Outage, could_be_down, size};
use crate::retention::{Policy, SetBy, TopicReading, TopicSight};
use crate::rounds::{ClusterState, ClusterTarget, QueryTarget};

/// What `brinkwatch size` takes.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  brinkwatch size orders --outage 72h\n\n\
                        Exit code: 0 everything survives, 1 something does not, 2 no such query or topic, 3 something could not be \
                        told or read, 78 invalid configuration.")]
pub struct SizeArgs {
    /// Names of configured queries; none: all
    #[arg(value_name = "QUERY", conflicts_with = "checkpoint")]
    pub queries: Vec<String>,
    /// How long the query is down [default: each query's max_outage]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub outage: Option<Duration>,
    /// Only this topic
    #[arg(long)]
    pub topic: Option<String>,
    /// How many bytes a record takes on disk, on average
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    pub record_bytes: Option<u64>,
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

/// Reckons it, prints it, and returns the exit code.
///
/// # Errors
/// When there is no such query, or the answer cannot be written.
pub async fn run(args: &SizeArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let asked = Asked { queries: &args.queries, source: &args.source, by_hand: &args.by_hand, timeout: args.timeout };
    let (config, is_complete) = asked.config().await?;
    let targets = asked.targets_of(&config)?;
    let mut read = BTreeSet::new();
    let mut rows: Vec<Row> = Vec::new();
    for (of_cluster, topics) in futures::future::join_all(targets.iter().map(|target| of_cluster(args, target))).await {
        rows.extend(of_cluster);
        read.extend(topics);
    }
    // "Everything survives" must not be said of a name that was mistyped.
    if let Some(topic) = args.topic.as_ref().filter(|_| rows.is_empty()) {
        return Err(unknown_topic(topic, read.iter()));
    }
    rows.sort_by_key(Row::tightness);
    print::write(&rows, args.output, out)?;
    let survives = |row: &Row| row.answer.as_ref().ok().and_then(|sized| sized.survives);
    Ok(match () {
        () if !is_complete || rows.iter().any(|row| survives(row).is_none()) => ExitCode::NotRead,
        () if rows.iter().any(|row| survives(row) == Some(false)) => ExitCode::Finding,
        () => ExitCode::Fine,
    })
}

/// The answers, and every topic that is read on the cluster.
async fn of_cluster(args: &SizeArgs, target: &ClusterTarget) -> (Vec<Row>, BTreeSet<String>) {
    let found = look(target, ClusterState::default(), args.timeout).await;
    let (mut rows, mut read) = (Vec::new(), BTreeSet::new());
    for ((query, poll), verdict) in target.queries.iter().zip(&found.checkpoints).zip(&found.verdicts) {
        let row = |topic: &str, why: String| Row::unread(query, &target.name, topic, why);
        let cluster = match (&found.cluster, &poll.outcome) {
            (Err(unread), _) => {
                rows.push(row("", format!("the cluster was not read: {unread}")));
                continue;
            }
            (_, Err(unread)) => {
                rows.push(row("", format!("the checkpoint was not read: {unread}")));
                continue;
            }
            (Ok(cluster), Ok(_)) => cluster,
        };
        read.extend(verdict.topics.keys().map(ToString::to_string));
        let length = args.outage.unwrap_or(query.settings.max_outage);
        let names =
            verdict.topics.keys().filter(|name| args.topic.as_deref().is_none_or(|topic| topic == name.as_ref()));
        for name in names {
            match cluster.topics.get(name) {
                Some(TopicSight::Seen(topic)) => {
                    let since = since(args, target, name, topic, found.finished_at.minus(length)).await;
                    rows.push(sized(args, query, target, verdict, (name, topic), &since, (length, found.finished_at)));
                }
                sight => rows.push(row(name, unseen(sight).unwrap_or_default())),
            }
        }
    }
    (rows, read)
}

/// What the log had got to before so much time.
async fn since(
    args: &SizeArgs,
    target: &ClusterTarget,
    name: &TopicName,
    topic: &TopicReading,
    from: Moment,
) -> BTreeMap<TopicPartition, FirstSince> {
    let asked: Vec<(TopicPartition, Moment)> =
        topic.partitions.keys().map(|number| (TopicPartition::new(name, *number), from)).collect();
    target.brokers.first_since(&asked, args.timeout).await
}

fn sized(
    args: &SizeArgs,
    query: &QueryTarget,
    target: &ClusterTarget,
    verdict: &QueryVerdict,
    (name, topic): (&TopicName, &TopicReading),
    since: &BTreeMap<TopicPartition, FirstSince>,
    (length, now): (Duration, Moment),
) -> Row {
    let policy = Policy::of(topic.limits.as_ref());
    let outage = Outage {
        length,
        interval: verdict.expected_interval,
        clock_skew: query.settings.clock_skew,
        record_bytes: args.record_bytes,
    };
    let mut partitions = Vec::new();
    for (number, bounds) in &topic.partitions {
        let bounds = match bounds {
            Ok(bounds) => bounds,
            Err(unread) => return Row::unread(query, &target.name, name, format!("partition {number}: {unread}")),
        };
        let first = since.get(&TopicPartition::new(name, *number)).and_then(|found| found.as_ref().ok());
        partitions.push(Observed {
            earliest: bounds.earliest,
            latest: bounds.latest,
            oldest: bounds.oldest.map(|(_, at)| at),
            since: first.map(|first| counted_from(*first, bounds.latest, now.minus(length), now)),
        });
    }
    let deadline = verdict.topics.get(name).and_then(|topic| topic.deadline);
    Row {
        query: query.name.clone(),
        kafka_cluster: target.name.clone(),
        topic: name.to_string(),
        outage: length,
        policy,
        set_by: set_by(topic),
        answer: Ok(size(policy, &partitions, &outage, now)),
        from_now: could_be_down(deadline, now),
    }
}

/// Who set `retention.ms` and `retention.bytes`.
fn set_by(topic: &TopicReading) -> [Option<SetBy>; 2] {
    let limits = topic.limits.as_ref().and_then(|limits| limits.as_ref().ok());
    limits.map_or([None; 2], |limits| [limits.retention_ms_set_by, limits.retention_bytes_set_by])
}

/// From where to count, and from when. A log that is younger than the outage is counted from its first record; nothing
/// since then means that nothing came.
fn counted_from(first: Option<(Offset, Moment)>, latest: Offset, from: Moment, now: Moment) -> (Offset, Moment) {
    match first {
        Some((offset, written)) => (offset, written.min(now).max(from)),
        None => (latest, from),
    }
}

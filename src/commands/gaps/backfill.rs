//! `gaps backfill`: what to fetch from where it came from: ranges, the time in which it was written, and SQL to fill in.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::Write;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;

use super::ended;
use super::export::literal;
use crate::commands::Ended;
use crate::commands::config::ConfigSource;
use crate::commands::look::{look, times_of};
use crate::commands::output::{Align, Rows};
use crate::commands::targets::{Asked, ByHand, ensure_known};
use crate::commands::times::rfc3339;
use crate::ledger::{Desk, Gap, Place};
use crate::measures::{Moment, Offset, TopicPartition};
use crate::process::exit_code::ExitCode;
use crate::rounds::{ClusterState, ClusterTarget};

/// What is to be filled.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  brinkwatch gaps backfill 17 --into lake.orders --from lake.orders_archive --key order_id"
)]
pub struct BackfillArgs {
    /// Where the configuration comes from.
    #[command(flatten)]
    pub source: ConfigSource,
    /// The gap's number, or a query's name for all its gaps that nobody has settled
    #[arg(value_name = "ID|QUERY")]
    pub what: String,
    /// The table that lacks the records
    #[arg(long, value_name = "TABLE", default_value = "SINK_TABLE")]
    pub into: String,
    /// The table, or whatever stands for it, that still has them
    #[arg(long, value_name = "TABLE", default_value = "ORIGIN_TABLE")]
    pub from: String,
    /// The columns that tell one record from another; with commas between them
    #[arg(long, value_name = "COLUMNS", default_value = "KEY", value_delimiter = ',')]
    pub key: Vec<String>,
    /// The origin's column that tells when a record was written
    #[arg(long, value_name = "COLUMN", default_value = "written_at")]
    pub time: String,
    /// How long one pass over the cluster may take
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, default_value = "30s")]
    pub timeout: Duration,
}

/// From when to when the records of a gap were written, as far as it is known.
type Window = (Option<Moment>, Option<Moment>);

pub(super) async fn backfill(args: &BackfillArgs, place: &Place, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let gaps = chosen(args, place).await?;
    if gaps.is_empty() {
        writeln!(out, "no gap of {} is open", args.what)?;
        return Ok(ExitCode::Fine);
    }
    let windows = windows(args, &gaps).await;
    write!(out, "{}", text(args, &gaps, &windows))?;
    Ok(ExitCode::Fine)
}

async fn chosen(args: &BackfillArgs, place: &Place) -> anyhow::Result<Vec<Gap>> {
    let mut desk = ended(Desk::open_to_read(place).await)?;
    if let Ok(id) = args.what.parse::<i64>() {
        return Ok(vec![ended(desk.gap(id).await)?]);
    }
    let gaps = ended(desk.gaps().await)?;
    ensure_known(&args.source, &args.what, &gaps, args.timeout).await?;
    let open = |gap: &Gap| gap.stream_name == args.what && gap.is_open();
    Ok(gaps.into_iter().filter(open).collect())
}

/// What the record does not tell is looked up, where the brokers can be asked. That they cannot is no error: the ranges
/// hold all the same.
async fn windows(args: &BackfillArgs, gaps: &[Gap]) -> Vec<Window> {
    let mut looked = BTreeMap::new();
    for gap in gaps.iter().filter(|gap| gap.first_missing_at.is_none() || gap.last_missing_at.is_none()) {
        let key = (gap.stream_name.clone(), gap.kafka_cluster.clone());
        if let Entry::Vacant(place) = looked.entry(key) {
            let found = look_up(args, gap, gaps).await;
            if let Err(error) = &found {
                // Standard error may be gone; the answer is not.
                drop(writeln!(std::io::stderr(), "brinkwatch: no look-ups by time: {error:#}"));
            }
            place.insert(found.unwrap_or_default());
        }
    }
    let window = |gap: &Gap| {
        let key = (gap.stream_name.clone(), gap.kafka_cluster.clone());
        let found = looked.get(&key).and_then(|found: &BTreeMap<i64, Window>| found.get(&gap.id?)).copied();
        let (first, last) = found.unwrap_or_default();
        (gap.first_missing_at.or(first), gap.last_missing_at.or(last))
    };
    gaps.iter().map(window).collect()
}

/// The last missing record is older than the first one that is left; the first one is not older than the batch that ended
/// before it.
async fn look_up(args: &BackfillArgs, of: &Gap, gaps: &[Gap]) -> anyhow::Result<BTreeMap<i64, Window>> {
    let queries = [of.stream_name.clone()];
    let asked = Asked { queries: &queries, source: &args.source, by_hand: &ByHand::default(), timeout: args.timeout };
    let (config, _) = asked.config().await?;
    let targets: Vec<ClusterTarget> = asked.targets_of(&config)?;
    let target =
        targets.iter().find(|target| target.name == of.kafka_cluster).context("its cluster is not configured")?;
    let found = look(target, ClusterState::default(), args.timeout).await;
    let cluster = found.cluster.as_ref().map_err(|unread| anyhow!("{unread}"))?;
    let mine: Vec<&Gap> =
        gaps.iter().filter(|gap| gap.stream_name == of.stream_name && gap.kafka_cluster == of.kafka_cluster).collect();
    let end = |gap: &Gap| {
        let at = TopicPartition { topic: gap.topic.as_str().into(), partition: gap.partition };
        Some((at, Offset::new(gap.to)?))
    };
    let wanted: Vec<(TopicPartition, Offset)> = mine.iter().filter_map(|gap| end(gap)).collect();
    let times = times_of(target, cluster, wanted, found.finished_at, args.timeout).await;
    let reading = found.checkpoints.first().and_then(|poll| poll.outcome.as_ref().ok());
    let committed_at = |gap: &Gap| {
        let reading = reading?;
        let at = TopicPartition { topic: gap.topic.as_str().into(), partition: gap.partition };
        let stands =
            reading.sources.iter().find_map(|source| source.topics.get(&at.topic)?.get(&at.partition)?.committed);
        let newest = reading.batches.iter().find(|times| Some(times.batch) == reading.newest_committed)?;
        newest.planned_at.filter(|_| stands.is_some_and(|stands| stands.get() == gap.from))
    };
    let window = |gap: &&Gap| {
        let last = end(gap).and_then(|key| times.get(&key).copied());
        Some((gap.id?, (committed_at(gap), last)))
    };
    Ok(mine.iter().filter_map(window).collect())
}

fn text(args: &BackfillArgs, gaps: &[Gap], windows: &[Window]) -> String {
    let mut text = String::new();
    let mut rows = Rows::new(&[
        ("gap", Align::Right),
        ("query", Align::Left),
        ("topic", Align::Left),
        ("partition", Align::Right),
        ("from", Align::Right),
        ("to (exclusive)", Align::Right),
        ("rows, at most", Align::Right),
        ("written from", Align::Left),
        ("written to", Align::Left),
    ]);
    let time = |at: Option<Moment>| at.and_then(rfc3339).unwrap_or_else(|| "not known".to_owned());
    for (gap, (first, last)) in gaps.iter().zip(windows) {
        rows.push(vec![
            gap.id.map(|id| id.to_string()).unwrap_or_default(),
            gap.stream_name.clone(),
            gap.topic.clone(),
            gap.partition.to_string(),
            gap.from.to_string(),
            gap.to.to_string(),
            (gap.to - gap.from).to_string(),
            time(*first),
            time(*last),
        ]);
    }
    let mut table = Vec::new();
    if rows.write_table(&mut table).is_ok() {
        text.push_str(&String::from_utf8_lossy(&table));
    }
    let most: i64 = gaps.iter().map(|gap| gap.to - gap.from).sum();
    let first = windows.iter().map(|(first, _)| *first).min().flatten();
    let last = if windows.iter().any(|(_, last)| last.is_none()) {
        None
    } else {
        windows.iter().filter_map(|(_, last)| *last).max()
    };
    text.push_str(&format!("\n{}\n", sql(args, gaps, most, first, last)));
    text
}

/// A skeleton: names in capitals are to be filled in.
fn sql(args: &BackfillArgs, gaps: &[Gap], most: i64, first: Option<Moment>, last: Option<Moment>) -> String {
    let bound = |operator: &str, at: Option<Moment>, unknown: &str| match at.and_then(rfc3339) {
        Some(time) => format!("{} {operator} TIMESTAMP {}", args.time, literal(&time)),
        None => format!("/* {unknown} */ TRUE"),
    };
    let from = bound(">=", first, "the first record's time is not known");
    let to = bound("<=", last, "the last record's time is not known");
    let range = |gap: &Gap| {
        format!(
            "(topic = {} AND partition = {} AND offset >= {} AND offset < {})",
            literal(&gap.topic),
            gap.partition,
            gap.from,
            gap.to
        )
    };
    let ranges = gaps.iter().map(range).collect::<Vec<_>>().join("\n      OR ");
    let on = args.key.iter().map(|key| format!("sink.{key} = origin.{key}")).collect::<Vec<_>>().join(" AND ");
    format!(
        "-- At most {most} rows. An offset may hold no record (compaction, transactions), never more than one.\n\
         -- Look first: the times are estimates, so widen them rather than trust them.\n\
         SELECT COUNT(*) FROM {from_table}\n\
         WHERE {from}\n  AND {to};\n\n\
         -- Where the origin keeps Kafka's own numbers, take exactly these:\n\
         --   WHERE {ranges_commented}\n\n\
         -- Doing it twice is harmless, as long as the key is one.\n\
         MERGE INTO {into} AS sink\n\
         USING (\n  SELECT * FROM {from_table}\n  WHERE {from}\n    AND {to}\n) AS origin\n\
         ON {on}\n\
         WHEN NOT MATCHED THEN INSERT *;\n",
        into = args.into,
        from_table = args.from,
        ranges_commented = ranges.replace('\n', "\n--   "),
    )
}

/// Used where a gap is asked for and the ledger is not there.
pub(super) fn no_ledger() -> anyhow::Error {
    anyhow!("state_dir is empty, so a daemon keeps its memory in its process only")
        .context(Ended::with(ExitCode::NotRead, "there is no ledger"))
}

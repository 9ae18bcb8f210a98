//! `inspect`: what a checkpoint says, without Kafka.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use serde::Serialize;

use super::Ended;
use super::config::ConfigSource;
use super::output::{Align, OutputFormat, Rows, printable};
use super::times::rfc3339;
use crate::checkpoint::{CheckpointReading, Position, SourceKind, SourceReading, Start};
use crate::daemon::store_settings;
use crate::process::exit_code::ExitCode;
use crate::readers::CheckpointReader;
use crate::readers::stores::Stores;

/// Print what a checkpoint says, without asking Kafka
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  brinkwatch inspect /data/checkpoints/orders --output json\n\n\
                  Exit code: 0 read, 3 not read.")]
pub struct InspectArgs {
    /// Where the checkpoint lies, as the job writes it: a path, s3a://…, abfss://…, gs://…, hdfs://…
    #[arg(value_name = "CHECKPOINT")]
    pub checkpoint: String,
    /// Read with the settings of [stores.NAME] in the configuration; without, the environment tells the credentials
    #[arg(long, value_name = "NAME")]
    pub store: Option<String>,
    /// Where the settings of that store come from.
    #[command(flatten)]
    pub config: ConfigSource,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
    /// How long reading may take
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, default_value = "30s")]
    pub timeout: Duration,
}

/// Reads the checkpoint and prints it.
///
/// # Errors
/// When the location makes no sense, the checkpoint can not be read, or the output can not be written.
pub async fn run(args: InspectArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let settings = match args.store {
        Some(_) => store_settings(&args.config.load()?).context(Ended::with(ExitCode::Configuration, "not usable"))?,
        None => BTreeMap::new(),
    };
    run_in(&mut Stores::new(settings, args.timeout), &args, out).await
}

/// The same with stores that are made already.
///
/// # Errors
/// As [`run`].
pub async fn run_in(stores: &mut Stores, args: &InspectArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let store = stores
        .open(&args.checkpoint, args.store.as_deref())
        .context(Ended::with(ExitCode::Usage, "this location can not be opened"))?;
    let reading = store.read(args.timeout).await.context(Ended::with(ExitCode::NotRead, "checkpoint not read"))?;
    print(&Inspected::new(store.location(), &reading), args.output, out)?;
    match reading.unread() {
        None => Ok(ExitCode::Fine),
        // its problems were printed all the same
        Some(unread) => Err(unread).context(Ended::with(ExitCode::NotRead, "no position can be told")),
    }
}

fn print(inspected: &Inspected<'_>, output: OutputFormat, out: &mut dyn Write) -> anyhow::Result<()> {
    match output {
        OutputFormat::Json => {
            serde_json::to_writer_pretty(&mut *out, inspected)?;
            writeln!(out)?;
        }
        OutputFormat::Table => {
            inspected.write_summary(out)?;
            let rows = inspected.rows();
            if !rows.is_empty() {
                writeln!(out)?;
                rows.write_table(out)?;
            }
        }
        OutputFormat::Csv => inspected.rows().write_csv(out)?,
        OutputFormat::Markdown => inspected.rows().write_markdown(out)?,
    }
    Ok(())
}

/// The JSON form, version 1. Unknown is null.
#[derive(Debug, Serialize)]
pub struct Inspected<'a> {
    version: u32,
    checkpoint: &'a str,
    query_id: Option<&'a str>,
    offset_log_version: Option<u32>,
    newest_planned_batch: Option<u64>,
    newest_committed_batch: Option<u64>,
    batch_open: bool,
    restartable: Option<bool>,
    last_commit_at: Option<String>,
    planned_at: Option<String>,
    problems: Vec<InspectedProblem<'a>>,
    sources: Vec<InspectedSource<'a>>,
}

#[derive(Debug, Serialize)]
struct InspectedProblem<'a> {
    problem: &'static str,
    file: Option<&'a str>,
    detail: &'a str,
}

#[derive(Debug, Serialize)]
struct InspectedSource<'a> {
    index: usize,
    id: &'a str,
    kind: &'static str,
    #[serde(flatten)]
    kafka: Option<InspectedKafka<'a>>,
}

#[derive(Debug, Serialize)]
struct InspectedKafka<'a> {
    committed_from: Option<&'a str>,
    planned_from: Option<&'a str>,
    topics: BTreeMap<&'a str, BTreeMap<i32, InspectedPosition>>,
}

#[derive(Debug, Serialize)]
struct InspectedPosition {
    committed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<&'static str>,
    planned: Option<i64>,
}

impl<'a> Inspected<'a> {
    /// Puts a reading into the form that is printed.
    #[must_use]
    pub fn new(checkpoint: &'a str, reading: &'a CheckpointReading) -> Self {
        let problems = reading.problems.iter().map(|problem| InspectedProblem {
            problem: problem.kind.label(),
            file: problem.file.as_deref(),
            detail: &problem.detail,
        });
        Self {
            version: 1,
            checkpoint,
            query_id: reading.query_id.as_deref(),
            offset_log_version: reading.offset_log_version,
            newest_planned_batch: reading.newest_planned.map(|batch| batch.0),
            newest_committed_batch: reading.newest_committed.map(|batch| batch.0),
            batch_open: reading.batch_open,
            restartable: reading.restartable,
            last_commit_at: reading.last_commit_at.and_then(rfc3339),
            planned_at: reading.planned_at.and_then(rfc3339),
            problems: problems.collect(),
            sources: reading.sources.iter().map(source).collect(),
        }
    }

    fn write_summary(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let unknown = || "-".to_owned();
        let batch = |batch: Option<u64>| batch.map_or_else(unknown, |batch| batch.to_string());
        let at = |time: &Option<String>| time.as_ref().map_or_else(String::new, |time| format!(" at {time}"));
        let restartable = self.restartable.map_or("cannot tell", |yes| if yes { "yes" } else { "no" });
        writeln!(out, "checkpoint    {}", printable(self.checkpoint))?;
        writeln!(out, "query         {}", self.query_id.map_or_else(unknown, printable))?;
        writeln!(out, "planned       batch {}{}", batch(self.newest_planned_batch), at(&self.planned_at))?;
        writeln!(out, "committed     batch {}{}", batch(self.newest_committed_batch), at(&self.last_commit_at))?;
        writeln!(out, "open batch    {}", if self.batch_open { "yes" } else { "no" })?;
        writeln!(out, "restartable   {restartable}")?;
        for problem in &self.problems {
            let file = problem.file.map_or_else(String::new, |file| format!(" ({})", printable(file)));
            writeln!(out, "problem       {}{file}: {}", problem.problem, printable(problem.detail))?;
        }
        for source in self.sources.iter().filter(|source| source.kafka.is_none()) {
            writeln!(out, "source        {} is of kind {}", printable(source.id), source.kind)?;
        }
        Ok(())
    }

    fn rows(&self) -> Rows {
        let mut rows = Rows::new(&[
            ("source", Align::Left),
            ("topic", Align::Left),
            ("partition", Align::Right),
            ("committed", Align::Right),
            ("start", Align::Left),
            ("planned", Align::Right),
            ("committed_from", Align::Left),
            ("planned_from", Align::Left),
        ]);
        let number = |number: Option<i64>| number.map(|number| number.to_string()).unwrap_or_default();
        for (source, kafka) in self.sources.iter().filter_map(|source| Some((source, source.kafka.as_ref()?))) {
            for (topic, partitions) in &kafka.topics {
                for (partition, position) in partitions {
                    rows.push(vec![
                        source.id.to_owned(),
                        (*topic).to_owned(),
                        partition.to_string(),
                        number(position.committed),
                        position.start.unwrap_or_default().to_owned(),
                        number(position.planned),
                        kafka.committed_from.unwrap_or_default().to_owned(),
                        kafka.planned_from.unwrap_or_default().to_owned(),
                    ]);
                }
            }
        }
        rows
    }
}

fn source(source: &SourceReading) -> InspectedSource<'_> {
    let kind = match source.kind {
        SourceKind::Kafka => "kafka",
        SourceKind::Other => "other",
        SourceKind::NoOffsetYet => "no_offset_yet",
    };
    let topics = || {
        let of_topic =
            |partitions: &BTreeMap<i32, Position>| partitions.iter().map(|(p, at)| (*p, position(at))).collect();
        source.topics.iter().map(|(topic, partitions)| (topic.as_ref(), of_topic(partitions))).collect()
    };
    let kafka = (source.kind == SourceKind::Kafka).then(|| InspectedKafka {
        committed_from: source.committed_from.as_deref(),
        planned_from: source.planned_from.as_deref(),
        topics: topics(),
    });
    InspectedSource { index: source.index, id: &source.id, kind, kafka }
}

fn position(position: &Position) -> InspectedPosition {
    InspectedPosition {
        committed: position.committed.map(|offset| offset.get()),
        start: position.start.map(|start| match start {
            Start::Earliest => "earliest",
            Start::Latest => "latest",
        }),
        planned: position.planned.map(|offset| offset.get()),
    }
}

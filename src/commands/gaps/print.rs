//! Gaps in each form of output. The names of the columns are those of the table `streaming_gaps`.

use std::io::Write;

use serde::Serialize;

use crate::commands::output::{Align, OutputFormat, Rows, printable};
use crate::commands::times::rfc3339;
use crate::ledger::{Gap, RecoveryPath};

/// The JSON contract.
#[derive(Serialize)]
struct Listed<'a> {
    version: u32,
    gaps: Vec<Told<'a>>,
}

#[derive(Serialize)]
struct Told<'a> {
    id: Option<i64>,
    stream_name: &'a str,
    kafka_cluster: &'a str,
    topic: &'a str,
    topic_id: Option<&'a str>,
    partition: i32,
    missing_from_offset: i64,
    missing_to_offset_exclusive: i64,
    certainty: &'static str,
    detected_at: Option<String>,
    estimated_first_missing_at: Option<String>,
    estimated_last_missing_at: Option<String>,
    recovery_path: Option<&'static str>,
    recovery_status: &'static str,
    evidence: &'a str,
    recorded_by: &'a str,
}

pub(super) fn print_all(gaps: &[Gap], output: OutputFormat, out: &mut dyn Write) -> anyhow::Result<()> {
    match output {
        OutputFormat::Json => json(gaps, out)?,
        OutputFormat::Table if gaps.is_empty() => writeln!(out, "no gaps")?,
        OutputFormat::Table => rows(gaps).write_table(out)?,
        OutputFormat::Csv => rows(gaps).write_csv(out)?,
        OutputFormat::Markdown => rows(gaps).write_markdown(out)?,
    }
    Ok(())
}

pub(super) fn print_one(gap: &Gap, output: OutputFormat, out: &mut dyn Write) -> anyhow::Result<()> {
    if output != OutputFormat::Table {
        return print_all(std::slice::from_ref(gap), output, out);
    }
    let (told, offsets) = (told(gap), gap.to - gap.from);
    let range = format!("[{}, {}), {offsets} offsets at most", gap.from, gap.to);
    let lines: [(&str, Option<&str>); 12] = [
        ("query", Some(told.stream_name)),
        ("cluster", Some(told.kafka_cluster)),
        ("topic", Some(told.topic)),
        ("topic id", told.topic_id),
        ("missing", Some(&range)),
        ("certainty", Some(told.certainty)),
        ("detected", told.detected_at.as_deref()),
        ("first missing record, estimated", told.estimated_first_missing_at.as_deref()),
        ("last missing record, estimated", told.estimated_last_missing_at.as_deref()),
        ("recovery", told.recovery_path),
        ("evidence", Some(told.evidence)),
        ("recorded by", Some(told.recorded_by)),
    ];
    writeln!(out, "gap {}, partition {}: {}", gap.id.unwrap_or_default(), told.partition, told.recovery_status)?;
    for (name, value) in lines {
        writeln!(out, "  {name}: {}", printable(value.unwrap_or("-")))?;
    }
    Ok(())
}

pub(super) fn json(gaps: &[Gap], out: &mut dyn Write) -> anyhow::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Listed { version: 1, gaps: gaps.iter().map(told).collect() })?;
    writeln!(out)?;
    Ok(())
}

fn told(gap: &Gap) -> Told<'_> {
    Told {
        id: gap.id,
        stream_name: &gap.stream_name,
        kafka_cluster: &gap.kafka_cluster,
        topic: &gap.topic,
        topic_id: gap.topic_id.as_deref(),
        partition: gap.partition,
        missing_from_offset: gap.from,
        missing_to_offset_exclusive: gap.to,
        certainty: gap.certainty.label(),
        detected_at: rfc3339(gap.detected_at),
        estimated_first_missing_at: gap.first_missing_at.and_then(rfc3339),
        estimated_last_missing_at: gap.last_missing_at.and_then(rfc3339),
        recovery_path: gap.recovery_path.map(RecoveryPath::word),
        recovery_status: gap.recovery_status.word(),
        evidence: &gap.evidence,
        recorded_by: &gap.recorded_by,
    }
}

fn rows(gaps: &[Gap]) -> Rows {
    let mut rows = Rows::new(&[
        ("id", Align::Right),
        ("stream_name", Align::Left),
        ("topic", Align::Left),
        ("partition", Align::Right),
        ("missing_from_offset", Align::Right),
        ("missing_to_offset_exclusive", Align::Right),
        ("certainty", Align::Left),
        ("detected_at", Align::Left),
        ("recovery_path", Align::Left),
        ("recovery_status", Align::Left),
        ("recorded_by", Align::Left),
    ]);
    for gap in gaps {
        rows.push(vec![
            gap.id.map(|id| id.to_string()).unwrap_or_default(),
            gap.stream_name.clone(),
            gap.topic.clone(),
            gap.partition.to_string(),
            gap.from.to_string(),
            gap.to.to_string(),
            gap.certainty.label().to_owned(),
            rfc3339(gap.detected_at).unwrap_or_default(),
            gap.recovery_path.map_or("", RecoveryPath::word).to_owned(),
            gap.recovery_status.word().to_owned(),
            gap.recorded_by.clone(),
        ]);
    }
    rows
}

/// Every column of the table, with the type that Spark gives it.
pub(super) const FIELDS: [(&str, &str); 16] = [
    ("id", "BIGINT"),
    ("stream_name", "STRING"),
    ("kafka_cluster", "STRING"),
    ("topic", "STRING"),
    ("topic_id", "STRING"),
    ("partition", "INT"),
    ("missing_from_offset", "BIGINT"),
    ("missing_to_offset_exclusive", "BIGINT"),
    ("certainty", "STRING"),
    ("detected_at", "TIMESTAMP"),
    ("estimated_first_missing_at", "TIMESTAMP"),
    ("estimated_last_missing_at", "TIMESTAMP"),
    ("recovery_path", "STRING"),
    ("recovery_status", "STRING"),
    ("evidence", "STRING"),
    ("recorded_by", "STRING"),
];

/// The values of [`FIELDS`].
pub(super) fn fields(gap: &Gap) -> [Option<String>; 16] {
    [
        gap.id.map(|id| id.to_string()),
        Some(gap.stream_name.clone()),
        Some(gap.kafka_cluster.clone()),
        Some(gap.topic.clone()),
        gap.topic_id.clone(),
        Some(gap.partition.to_string()),
        Some(gap.from.to_string()),
        Some(gap.to.to_string()),
        Some(gap.certainty.label().to_owned()),
        rfc3339(gap.detected_at),
        gap.first_missing_at.and_then(rfc3339),
        gap.last_missing_at.and_then(rfc3339),
        gap.recovery_path.map(|path| path.word().to_owned()),
        Some(gap.recovery_status.word().to_owned()),
        Some(gap.evidence.clone()),
        Some(gap.recorded_by.clone()),
    ]
}

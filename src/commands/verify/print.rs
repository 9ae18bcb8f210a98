//! The answer of `verify` in each form.

use std::io::Write;

use serde_json::json;

use crate::commands::output::{Align, OutputFormat, Rows, printable};
use crate::commands::times::rfc3339;
use crate::measures::{BatchId, Moment, Offset};
use crate::recovery::{Disagreement, Proof, Subject, line};

/// Raised when a field changes its meaning or goes away.
const VERSION: u32 = 1;

/// What is printed.
pub(super) struct Answer<'a> {
    pub query: &'a str,
    pub kafka_cluster: &'a str,
    pub checked_at: Moment,
    pub committed_batch: Option<BatchId>,
    pub proofs: &'a [Proof],
    pub gaps_known: bool,
    pub subject: Subject,
}

pub(super) fn write(answer: &Answer<'_>, output: OutputFormat, out: &mut dyn Write) -> anyhow::Result<()> {
    match output {
        OutputFormat::Json => {
            serde_json::to_writer_pretty(&mut *out, &document(answer))?;
            writeln!(out)?;
        }
        OutputFormat::Csv => rows(answer).write_csv(out)?,
        OutputFormat::Markdown => {
            rows(answer).write_markdown(out)?;
            words(answer, out)?;
        }
        OutputFormat::Table => {
            rows(answer).write_table(out)?;
            words(answer, out)?;
        }
    }
    Ok(())
}

fn document(answer: &Answer<'_>) -> serde_json::Value {
    let partition = |proof: &Proof| {
        json!({
            "topic": proof.at.topic.as_ref(),
            "partition": proof.at.partition,
            "continuous": proof.findings.is_empty(),
            "sink_min_offset": proof.sink.and_then(|row| row.min).map(Offset::get),
            "sink_max_offset": proof.sink.map(|row| row.max.get()),
            "sink_count": proof.sink.and_then(|row| row.count),
            "committed": proof.standing.committed.map(Offset::get),
            "planned": proof.standing.planned.map(Offset::get),
            "earliest": proof.bounds.map(|(earliest, _)| earliest.get()),
            "latest": proof.bounds.map(|(_, latest)| latest.get()),
            "offsets_on_record": proof.on_record,
            "findings": proof.findings.iter().map(|finding| json!({
                "finding": finding.what.label(),
                "from": finding.range.map(|(from, _)| from.get()),
                "to": finding.range.map(|(_, to)| to.get()),
                "detail": finding.words,
            })).collect::<Vec<_>>(),
        })
    };
    json!({
        "version": VERSION,
        "query": answer.query,
        "kafka_cluster": answer.kafka_cluster,
        "checked_at": rfc3339(answer.checked_at),
        "continuous": is_continuous(answer),
        "gap_records_known": answer.gaps_known,
        "partitions": answer.proofs.iter().map(partition).collect::<Vec<_>>(),
    })
}

/// Not known where a part of it was not read.
fn is_continuous(answer: &Answer<'_>) -> Option<bool> {
    let mut findings = answer.proofs.iter().flat_map(|proof| &proof.findings);
    if findings.clone().any(|finding| finding.what != Disagreement::Unread) {
        return Some(false);
    }
    if findings.next().is_some() { None } else { Some(true) }
}

fn rows(answer: &Answer<'_>) -> Rows {
    let mut rows = Rows::new(&[
        ("topic", Align::Left),
        ("partition", Align::Right),
        ("sink_max", Align::Right),
        ("committed", Align::Right),
        ("earliest", Align::Right),
        ("latest", Align::Right),
        ("on_record", Align::Right),
        ("says", Align::Left),
    ]);
    let mut sorted: Vec<&Proof> = answer.proofs.iter().collect();
    sorted.sort_by_key(|proof| proof.findings.is_empty());
    for proof in sorted {
        let offset = |offset: Option<Offset>| offset.map(|offset| offset.to_string()).unwrap_or_default();
        let says: Vec<String> = proof.findings.iter().map(|finding| finding.what.label().replace('_', " ")).collect();
        rows.push(vec![
            proof.at.topic.to_string(),
            proof.at.partition.to_string(),
            offset(proof.sink.map(|row| row.max)),
            offset(proof.standing.committed),
            offset(proof.bounds.map(|(earliest, _)| earliest)),
            offset(proof.bounds.map(|(_, latest)| latest)),
            proof.on_record.to_string(),
            if says.is_empty() { "continuous".to_owned() } else { says.join(", ") },
        ]);
    }
    rows
}

fn words(answer: &Answer<'_>, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out)?;
    for proof in answer.proofs {
        for finding in &proof.findings {
            let range = finding.range.map(|(from, to)| format!(" [{from}, {to})")).unwrap_or_default();
            let what = finding.what.label().replace('_', " ");
            let at = proof.at.to_string();
            writeln!(out, "{}: {what}{range}: {}", printable(&at), printable(&finding.words))?;
        }
    }
    if !answer.gaps_known {
        writeln!(out, "no gap records are known: state_dir is empty, or no daemon has kept a ledger there")?;
    }
    let batch = answer.committed_batch.map_or_else(|| "no batch".to_owned(), |batch| format!("batch {batch}"));
    match is_continuous(answer) {
        Some(true) => {
            let on_record: u64 = answer.proofs.iter().map(|proof| proof.on_record).sum();
            let but = if on_record > 0 {
                format!(", but for {on_record} offsets that are on record as gaps")
            } else {
                String::new()
            };
            writeln!(out, "{} is continuous up to {batch}{but}", answer.query)
        }
        Some(false) => {
            writeln!(out, "{} is not proved continuous up to {batch}", answer.query)?;
            writeln!(out, "  $ {}", printable(&line(&answer.subject.command(&["check"], &[]))))
        }
        None => writeln!(out, "whether {} is continuous up to {batch} cannot be told", answer.query),
    }
}

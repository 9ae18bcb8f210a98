//! The table of `check`: one line of verdict per query, its partitions worst first, and what a restart would do.

use std::io::Write;

use super::answer::QueryAnswer;
use crate::commands::output::{Align, OutputFormat, Rows, printable};
use crate::commands::times::deadline;
use crate::judgement::{PartitionVerdict, Restart};
use crate::measures::{Offset, TopicPartition};
use crate::recovery::line;

const COLUMNS: [(&str, Align); 14] = [
    ("query", Align::Left),
    ("cluster", Align::Left),
    ("topic", Align::Left),
    ("partition", Align::Right),
    ("state", Align::Left),
    ("committed", Align::Right),
    ("planned", Align::Right),
    ("earliest", Align::Right),
    ("latest", Align::Right),
    ("headroom", Align::Right),
    ("lag", Align::Right),
    ("lost", Align::Right),
    ("left", Align::Right),
    ("deadline", Align::Left),
];

/// Writes rows for people or for a spreadsheet. CSV holds nothing but the rows.
///
/// # Errors
/// When the output cannot be written.
pub(super) fn write(answers: &[QueryAnswer], output: OutputFormat, out: &mut dyn Write) -> std::io::Result<()> {
    let mut rows = Rows::new(&COLUMNS);
    for answer in answers {
        for (at, partition) in answer.worst_first() {
            rows.push(cells(answer, at, partition));
        }
    }
    match output {
        OutputFormat::Csv => return rows.write_csv(out),
        OutputFormat::Markdown => rows.write_markdown(out)?,
        OutputFormat::Table | OutputFormat::Json => rows.write_table(out)?,
    }
    for answer in answers {
        writeln!(out)?;
        words(answer, out)?;
    }
    Ok(())
}

fn cells(answer: &QueryAnswer, at: &TopicPartition, partition: &PartitionVerdict) -> Vec<String> {
    let offset = |offset: Option<Offset>| offset.map(|offset| offset.to_string()).unwrap_or_default();
    let lost = match (partition.lost, partition.possibly_lost) {
        (Some(lost), Some(possibly)) if possibly > 0 => format!("{lost} to {}", lost + possibly),
        (lost, _) => lost.map(|lost| lost.to_string()).unwrap_or_default(),
    };
    vec![
        answer.query.clone(),
        answer.kafka_cluster.clone(),
        at.topic.to_string(),
        at.partition.to_string(),
        partition.state.label().to_owned(),
        offset(partition.committed),
        offset(partition.planned),
        offset(partition.earliest),
        offset(partition.latest),
        partition.headroom.map(|headroom| headroom.to_string()).unwrap_or_default(),
        partition.lag.map(|lag| lag.to_string()).unwrap_or_default(),
        lost,
        // Rounded down: 19.9 % must not read as 20 %.
        partition.ratio.map(|ratio| format!("{:.0} %", (ratio * 100.0).floor())).unwrap_or_default(),
        partition.deadline.and_then(deadline).unwrap_or_default(),
    ]
}

fn words(answer: &QueryAnswer, out: &mut dyn Write) -> std::io::Result<()> {
    let verdict = &answer.verdict;
    let reason = printable(&verdict.reason);
    writeln!(out, "{} on {}: {}: {reason}", answer.query, answer.kafka_cluster, verdict.state.label())?;
    for unread in answer.unread() {
        writeln!(out, "  {}", printable(&unread))?;
    }
    restart(&answer.restart, answer.fail_on_data_loss, out)?;
    restart(&answer.restart_otherwise, !answer.fail_on_data_loss, out)?;
    for problem in &verdict.problems {
        let file = problem.file.as_deref().unwrap_or("checkpoint");
        writeln!(out, "  {}: {}: {}", printable(file), problem.kind.label(), printable(&problem.detail))?;
    }
    for recovery in answer.recoveries() {
        let fits = if recovery.fits { "fits" } else { "does not fit" };
        writeln!(out, "  {} {fits}: {}", recovery.way.label().replace('_', " "), printable(&recovery.why))?;
        if let Some(command) = recovery.command {
            writeln!(out, "    $ {}", printable(&line(&command)))?;
        }
    }
    Ok(())
}

fn restart(restart: &Restart, fail_on_data_loss: bool, out: &mut dyn Write) -> std::io::Result<()> {
    let class = restart.error_class.map(|class| format!(" ({class})")).unwrap_or_default();
    let outcome = restart.outcome.label().replace('_', " ");
    let detail = printable(&restart.detail);
    writeln!(out, "  a restart with failOnDataLoss={fail_on_data_loss}: {outcome}{class}: {detail}")
}

//! `brinkwatch metrics`: every metric, as Markdown.

use std::io::Write;

use crate::metrics::catalogue::{
    KAFKA_METRICS, Metric, OWN_METRICS, PARTITION_METRICS, QUERY_METRICS, QUERY_TOPIC_METRICS, Stability,
};
use crate::process::exit_code::ExitCode;

/// Writes the catalogue.
///
/// # Errors
/// When `out` cannot be written to.
pub fn run(out: &mut impl Write) -> anyhow::Result<ExitCode> {
    for (title, metrics) in [
        ("Per query and topic", QUERY_TOPIC_METRICS),
        ("Per query", QUERY_METRICS),
        ("Per partition of a query", PARTITION_METRICS),
        ("Per topic, whoever reads it", KAFKA_METRICS),
        ("About the watcher", OWN_METRICS),
    ] {
        writeln!(out, "### {title}\n")?;
        writeln!(out, "| metric | labels | kind, unit | worse | meaning |")?;
        writeln!(out, "|---|---|---|---|---|")?;
        for metric in metrics {
            writeln!(out, "{}", row(metric))?;
        }
        writeln!(out)?;
    }
    writeln!(out, "The process collector's own `process_*` metrics stand beside these.")?;
    Ok(ExitCode::Fine)
}

fn row(metric: &Metric) -> String {
    let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
    let remark = match metric.stability {
        Stability::Stable => "",
        Stability::Experimental => " Experimental.",
    };
    format!(
        "| `{}` | {} | {}, {} | {} | {}{remark} |",
        metric.name,
        labels.join(", "),
        metric.kind.word(),
        metric.unit.word(),
        metric.worse.word(),
        metric.help,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_one_row() {
        let mut out = Vec::new();
        run(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        for metric in crate::metrics::catalogue::all() {
            assert_eq!(text.matches(&format!("| `{}` |", metric.name)).count(), 1, "{}", metric.name);
        }
    }

    #[test]
    fn a_row_says_unit_side_and_meaning() {
        let row = row(&crate::metrics::catalogue::CLUSTER_UP);
        assert!(
            row.ends_with(
                "_cluster_up` | `kafka_cluster` | gauge, 0 or 1 | min | 1 when the last poll of the \
                               cluster worked and is not older than stale_after, else 0. |"
            ),
            "{row}"
        );
    }
}

//! The rows of `replay`: one for each step and partition.

use std::io::{self, Write};

use super::Played;
use crate::commands::output::{Align, OutputFormat, Rows};
use crate::commands::times::rfc3339;
use crate::measures::Offset;

const COLUMNS: [(&str, Align); 12] = [
    ("at", Align::Left),
    ("checkpoint", Align::Left),
    ("query state", Align::Left),
    ("partition", Align::Left),
    ("state", Align::Left),
    ("committed", Align::Right),
    ("headroom", Align::Right),
    ("lag", Align::Right),
    ("lost", Align::Right),
    ("alerts", Align::Left),
    ("events", Align::Left),
    ("reason", Align::Left),
];

/// Writes all steps.
///
/// # Errors
/// When the output cannot be written.
pub(super) fn write(played: &Played, output: OutputFormat, out: &mut dyn Write) -> io::Result<()> {
    let mut rows = Rows::new(&COLUMNS);
    for (name, steps) in played {
        for step in steps {
            let verdict = &step.verdict;
            let alerts: Vec<String> =
                step.alerts.iter().map(|(alert, severity)| format!("{alert} {}", severity.label())).collect();
            let events: Vec<&str> = verdict.events.iter().map(|event| event.kind.label()).collect();
            let row = |partition: String, state: &str, numbers: [String; 4], reason: &str| {
                let mut cells =
                    vec![rfc3339(step.at).unwrap_or_default(), name.clone(), verdict.state.label().to_owned()];
                cells.extend([partition, state.to_owned()]);
                cells.extend(numbers);
                cells.extend([alerts.join(", "), events.join(", "), reason.to_owned()]);
                cells
            };
            if verdict.partitions.is_empty() {
                rows.push(row(String::new(), "", <[String; 4]>::default(), &verdict.reason));
            }
            for (at, one) in &verdict.partitions {
                let numbers = [
                    one.committed.map(Offset::get).map(|number| number.to_string()),
                    one.headroom.map(|number| number.to_string()),
                    one.lag.map(|number| number.to_string()),
                    one.lost.map(|number| number.to_string()),
                ];
                rows.push(row(at.to_string(), one.state.label(), numbers.map(Option::unwrap_or_default), &one.reason));
            }
        }
    }
    match output {
        OutputFormat::Csv => rows.write_csv(out),
        OutputFormat::Markdown => rows.write_markdown(out),
        OutputFormat::Table | OutputFormat::Json => rows.write_table(out),
    }
}

//! What a start costs: skipped, read twice, gone. In offsets, which are upper bounds of records, and in time.

use std::collections::BTreeMap;

use super::known::Known;
use crate::commands::output::{Align, Rows};
use crate::commands::times::rfc3339;
use crate::judgement::{QuerySettings, Subscribe};
use crate::measures::{Moment, Offset, TopicPartition};
use crate::recovery::{Because, PartitionStart, Plan, Range, Written};

/// What the report is made of.
pub(super) struct Report<'a> {
    pub plan: &'a Plan,
    pub written: &'a Written,
    pub known: &'a Known,
    pub times: &'a BTreeMap<(TopicPartition, Offset), Moment>,
    pub settings: &'a QuerySettings,
}

/// The ends of every range whose time is wanted. Of a range that is gone only the end is still in the log.
pub(super) fn ends(plan: &Plan) -> Vec<(TopicPartition, Offset)> {
    let mut ends = Vec::new();
    for start in &plan.starts {
        let mut add = |offset: Offset| ends.push((start.at.clone(), offset));
        if let Some((_, to)) = start.gone {
            add(to);
        }
        for (from, to) in start.skipped.into_iter().chain(start.repeated) {
            add(from);
            add(to);
        }
    }
    ends.sort();
    ends.dedup();
    ends
}

/// The report, line by line.
pub(super) fn write(report: &Report<'_>) -> String {
    let mut text = String::new();
    let starts = &report.plan.starts;
    let told: Vec<&PartitionStart> = starts.iter().filter(|start| is_worth_a_row(start)).collect();
    if !told.is_empty() {
        let mut rows = Rows::new(&COLUMNS);
        told.iter().for_each(|start| rows.push(row(report, start)));
        let mut table = Vec::new();
        if rows.write_table(&mut table).is_ok() {
            text.push_str(&String::from_utf8_lossy(&table));
        }
    }
    let plain = starts.len() - told.len();
    let line = |text: &mut String, words: &str| {
        text.push_str(words);
        text.push('\n');
    };
    if plain > 0 {
        line(&mut text, &format!("{plain} of {} partitions go on exactly where the query stood", starts.len()));
    }
    line(&mut text, &format!("positions from {}", report.known.from));
    for (what, meaning) in [
        ("gone", "unread, and no longer in Kafka"),
        ("skipped", "unread, still in Kafka, and passed over"),
        ("read twice", "read before, and read again"),
    ] {
        let sum: u64 = starts.iter().filter_map(|start| range(start, what)).map(|(from, to)| to.above(from)).sum();
        if sum > 0 {
            line(&mut text, &format!("{what}: at most {sum} records ({meaning})"));
        }
    }
    for start in starts.iter().filter(|start| start.because == Because::BeyondEnd) {
        let stood = start.stood.map(|offset| offset.to_string()).unwrap_or_default();
        line(
            &mut text,
            &format!(
                "{} stood at {stood}, beyond the end: the log was cut or made again. If it was made again, --at earliest \
                 reads all of it, and this does not",
                start.at
            ),
        );
    }
    for (at, stood) in &report.plan.left_out {
        line(&mut text, &format!("{at} stood at {stood}, and the broker does not have it: it is left out"));
    }
    if report.settings.subscribe == Subscribe::Pattern {
        line(&mut text, "the query matches a pattern: topics that its checkpoint does not know need --topic");
    }
    line(&mut text, &format!("give it to the source as option {}, with a new checkpoint", report.written.option));
    for (option, value) in &report.written.beside {
        line(&mut text, &format!("and beside it {option}={value}: some partition holds no record that young"));
    }
    text
}

const COLUMNS: [(&str, Align); 8] = [
    ("partition", Align::Left),
    ("start", Align::Right),
    ("stood at", Align::Right),
    ("why", Align::Left),
    ("gone", Align::Right),
    ("skipped", Align::Right),
    ("read twice", Align::Right),
    ("written (estimated)", Align::Left),
];

fn is_worth_a_row(start: &PartitionStart) -> bool {
    start.because != Because::Asked
        || start.gone.is_some()
        || start.skipped.is_some()
        || start.repeated.is_some()
        || start.stood.is_none()
}

fn row(report: &Report<'_>, start: &PartitionStart) -> Vec<String> {
    let many = |what| range(start, what).map(|(from, to)| to.above(from).to_string()).unwrap_or_default();
    vec![
        start.at.to_string(),
        start.start.map_or_else(|| format!("-2 (earliest, now {})", start.begins), |offset| offset.to_string()),
        start.stood.map(|offset| offset.to_string()).unwrap_or_default(),
        because(start.because).to_owned(),
        many("gone"),
        many("skipped"),
        many("read twice"),
        window(report, start),
    ]
}

fn range(start: &PartitionStart, what: &str) -> Option<Range> {
    match what {
        "gone" => start.gone,
        "skipped" => start.skipped,
        _ => start.repeated,
    }
}

const fn because(because: Because) -> &'static str {
    match because {
        Because::Asked => "as asked",
        Because::New => "new to the query",
        Because::Aged => "clamped: below the log's start",
        Because::BeyondEnd => "clamped: beyond the log's end",
        Because::MadeAgain => "the topic was made again",
        Because::NothingThatYoung => "no record that young: the end",
    }
}

/// From when to when the records of all ranges were written, as far as look-ups tell. What is gone began where the last
/// batch ended.
fn window(report: &Report<'_>, start: &PartitionStart) -> String {
    let time = |offset: Offset| report.times.get(&(start.at.clone(), offset)).copied();
    let mut froms = Vec::new();
    let mut tos = Vec::new();
    if let Some((_, to)) = start.gone {
        froms.extend(report.known.last_batch);
        tos.extend(time(to));
    }
    for (from, to) in start.skipped.into_iter().chain(start.repeated) {
        froms.extend(time(from));
        tos.extend(time(to));
    }
    let words = |at: Option<Moment>, unknown: &str| at.and_then(rfc3339).unwrap_or_else(|| unknown.to_owned());
    if froms.is_empty() && tos.is_empty() {
        return String::new();
    }
    format!("{} to {}", words(froms.into_iter().min(), "?"), words(tos.into_iter().max(), "now"))
}

//! Synthetic checkpoints. Real ones are read in `tests/corpus.rs`.

mod bad_input;
mod log_forms;
mod properties;
mod resume_rule;
mod roots;
mod source_matching;
mod times;

use std::collections::BTreeMap;

use super::{CheckpointReading, Listing, LogEntry, SourceKind, Start, read, wanted, wants_initial_offsets};
use crate::measures::Moment;

const METADATA: (&str, &str) = ("metadata", r#"{"id":"943e4fff-ba4f-4018-99d0-a50c4477be0a"}"#);
const COMMIT: &str = "v1\n{\"nextBatchWatermarkMs\":0}";

/// A listing of these files, all written at once at an unknown time.
fn listing(files: &BTreeMap<String, Vec<u8>>) -> Listing {
    let mut listing = Listing::default();
    for (path, bytes) in files {
        add(&mut listing, path, u64::try_from(bytes.len()).unwrap(), None);
    }
    listing
}

fn add(listing: &mut Listing, path: &str, size: u64, modified: Option<Moment>) {
    let name = path.rsplit('/').next().unwrap().to_owned();
    let entry = LogEntry { name, size, modified };
    match path.split('/').collect::<Vec<_>>().as_slice() {
        ["metadata"] => listing.metadata = Some(entry),
        ["offsets", _] => listing.offsets.push(entry),
        ["commits", _] => listing.commits.push(entry),
        ["sources", id, "0"] => _ = listing.sources.insert((*id).to_owned(), entry),
        _ => panic!("no place for {path}"),
    }
}

/// Reads as a reader does: only what is wanted, and `sources/` only when that decides.
fn read_as_a_reader_does(files: &BTreeMap<String, Vec<u8>>) -> CheckpointReading {
    let all = listing(files);
    let mut listing = Listing { sources: BTreeMap::new(), ..all.clone() };
    let fetch = |path: &String| Some((path.clone(), files.get(path)?.clone()));
    let mut contents: BTreeMap<_, _> = wanted(&listing).iter().filter_map(fetch).collect();
    if wants_initial_offsets(&listing, &contents) {
        contents.extend(all.sources.keys().map(|id| format!("sources/{id}/0")).filter_map(|path| fetch(&path)));
        listing.sources = all.sources;
    }
    read(&listing, &contents)
}

fn files<P: AsRef<str>, C: AsRef<[u8]>>(files: &[(P, C)]) -> BTreeMap<String, Vec<u8>> {
    files.iter().map(|(path, bytes)| (path.as_ref().to_owned(), bytes.as_ref().to_vec())).collect()
}

/// A version 1 entry with these offsets.
fn v1(lines: &str) -> String {
    format!("v1\n{{\"batchWatermarkMs\":0,\"batchTimestampMs\":1700000000000,\"conf\":{{}}}}\n{lines}")
}

/// A version 2 entry with these offsets.
fn v2(lines: &str) -> String {
    let metadata = r#"{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{},"sourceMetadataInfo":{}}"#;
    format!("v2\n{metadata}\n{lines}")
}

/// Initial offsets as Spark writes them.
fn initial(json: &str) -> String {
    format!("\0v1\n{json}")
}

/// A reading in a few words, such as
/// `planned 4, committed 3, open, restartable; [problems] 0: offsets/3 -> offsets/4, orders/0 30 -> 40`.
fn in_words(reading: &CheckpointReading) -> String {
    let number = |number: Option<String>| number.unwrap_or_else(|| "-".to_owned());
    let mut words = format!(
        "planned {}, committed {}{}, {}",
        number(reading.newest_planned.map(|batch| batch.to_string())),
        number(reading.newest_committed.map(|batch| batch.to_string())),
        if reading.batch_open { ", open" } else { "" },
        reading.restartable.map_or("cannot tell", |yes| if yes { "restartable" } else { "not restartable" }),
    );
    let problems: Vec<String> = reading
        .problems
        .iter()
        .map(|problem| match &problem.file {
            Some(file) => format!("{} {file}", problem.kind.label()),
            None => problem.kind.label().to_owned(),
        })
        .collect();
    if !problems.is_empty() {
        words.push_str(&format!("; [{}]", problems.join(", ")));
    }
    for source in &reading.sources {
        match source.kind {
            SourceKind::Other => words.push_str(&format!("; {}: other", source.id)),
            SourceKind::NoOffsetYet => words.push_str(&format!("; {}: no offset yet", source.id)),
            SourceKind::Kafka => {
                let from = number(source.committed_from.clone());
                let to = source.planned_from.as_ref().map_or_else(String::new, |file| format!(" -> {file}"));
                words.push_str(&format!("; {}: {from}{to}", source.id));
            }
        }
        for (topic, partitions) in &source.topics {
            for (partition, position) in partitions {
                let committed = number(position.committed.map(|offset| offset.to_string()));
                let start = match position.start {
                    Some(Start::Earliest) => " earliest",
                    Some(Start::Latest) => " latest",
                    None => "",
                };
                let dropped = if position.dropped { " dropped" } else { "" };
                let planned = position.planned.map_or_else(String::new, |offset| format!(" -> {offset}"));
                words.push_str(&format!(", {topic}/{partition} {committed}{start}{dropped}{planned}"));
            }
        }
    }
    words
}

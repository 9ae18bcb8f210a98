//! The walls between the rooms, read out of the source tree.

#![expect(clippy::unwrap_used, reason = "a test that cannot read the source tree has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Rooms without IO, without a clock, without a log.
const PURE: [&str; 8] = ["measures", "shard", "checkpoint", "retention", "judgement", "recovery", "metrics", "alerts"];

/// Which rooms each room may name. `daemon` and `commands` compose, and may name all.
const ARROWS: [(&str, &[&str]); 15] = [
    ("measures", &[]),
    ("shard", &[]),
    ("checkpoint", &["measures"]),
    ("retention", &["measures"]),
    ("judgement", &["measures", "checkpoint", "retention"]),
    ("recovery", &["measures", "checkpoint", "retention", "judgement"]),
    ("readers", &["measures", "checkpoint", "retention"]),
    ("ledger", &["measures", "judgement"]),
    ("rounds", &["measures", "checkpoint", "retention", "judgement", "readers", "ledger", "metrics", "process"]),
    ("metrics", &["measures", "shard", "checkpoint", "retention", "judgement"]),
    ("alerts", &["measures", "judgement", "metrics"]),
    (
        "web",
        &[
            "measures",
            "shard",
            "checkpoint",
            "retention",
            "judgement",
            "recovery",
            "ledger",
            "metrics",
            "alerts",
            "rounds",
            "process",
        ],
    ),
    ("config", &["measures", "judgement", "metrics"]),
    (
        "replay",
        &[
            "measures",
            "checkpoint",
            "retention",
            "judgement",
            "readers",
            "ledger",
            "rounds",
            "metrics",
            "alerts",
            "process",
        ],
    ),
    ("process", &["measures"]),
];

/// Files that may exceed the limit, each with its reason.
const LONG_FILES: [(&str, &str); 0] = [];
const LINE_LIMIT: usize = 400;

struct Source {
    path: String,
    room: String,
    text: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let relative = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                let room = relative.split(['/', '.']).next().unwrap().to_owned();
                found.push(Source { path: relative, room, text: fs::read_to_string(&path).unwrap() });
            }
        }
    }
    assert!(found.len() > 20, "the source tree was not found");
    found
}

/// The file without comments, and without what stands behind `#[cfg(test)]` at its end.
fn code(source: &Source) -> String {
    let body = source.text.split("#[cfg(test)]\nmod ").next().unwrap();
    body.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn is_test(source: &Source) -> bool {
    source.path.ends_with("tests.rs") || source.path.contains("/tests/")
}

#[test]
fn pure_rooms_do_no_io_and_ask_no_clock() {
    const FORBIDDEN: [&str; 16] = [
        "tokio",
        "std::fs",
        "std::net",
        "std::env",
        "std::process",
        "std::thread",
        "tracing",
        "rdkafka",
        "object_store",
        "axum",
        "SystemTime",
        "Instant",
        "Utc::now",
        "clock::",
        "futures::",
        "println!",
    ];
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| PURE.contains(&source.room.as_str()) && !is_test(source)) {
        let code = code(source);
        found.extend(
            FORBIDDEN.iter().filter(|word| code.contains(**word)).map(|word| format!("{}: {word}", source.path)),
        );
    }
    assert!(found.is_empty(), "a pure room reaches outside:\n{}", found.join("\n"));
}

#[test]
fn arrows_between_rooms_point_one_way() {
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.into_iter().collect();
    let rooms = [
        "measures",
        "checkpoint",
        "retention",
        "judgement",
        "recovery",
        "readers",
        "ledger",
        "rounds",
        "metrics",
        "alerts",
        "web",
        "config",
        "replay",
        "commands",
        "daemon",
        "process",
    ];
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|source| !is_test(source)) {
        let Some(may_name) = allowed.get(source.room.as_str()) else { continue };
        let code = code(source);
        for room in rooms {
            let named = code.contains(&format!("crate::{room}::")) || code.contains(&format!("crate::{room};"));
            if named && room != source.room && !may_name.contains(&room) {
                wrong.push(format!("{} names {room}", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "an arrow points the wrong way:\n{}", wrong.join("\n"));
}

#[test]
fn unsafe_code_lives_in_one_module() {
    let holders: Vec<String> = sources()
        .into_iter()
        .filter(|source| {
            code(source)
                .lines()
                .any(|line| line.contains("unsafe {") || line.contains("unsafe fn") || line.contains("unsafe impl"))
        })
        .map(|source| source.path)
        .collect();
    assert!(holders.iter().all(|path| path.starts_with("readers/kafka/librdkafka")), "unsafe code in {holders:?}");
}

#[test]
fn only_readers_talk_to_stores_and_brokers() {
    let strangers: Vec<String> = sources()
        .into_iter()
        .filter(|source| source.room != "readers" && !is_test(source))
        .filter(|source| {
            let code = code(source);
            code.contains("object_store::") || (code.contains("rdkafka::") && !source.path.starts_with("commands/demo"))
        })
        .map(|source| source.path)
        .collect();
    assert!(strangers.is_empty(), "outside the readers, these name a store or a broker: {strangers:?}");
}

#[test]
fn readers_never_write() {
    const WRITES: [&str; 13] = [
        ".put(",
        ".put_opts(",
        ".put_multipart(",
        ".delete(",
        ".copy(",
        ".rename(",
        ".copy_if_not_exists(",
        ".commit(",
        "create_topics",
        "delete_records",
        "FutureProducer",
        "BaseProducer",
        "AdminClient",
    ];
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| source.room == "readers" && !is_test(source)) {
        let code = code(source);
        found.extend(WRITES.iter().filter(|word| code.contains(**word)).map(|word| format!("{}: {word}", source.path)));
    }
    assert!(found.is_empty(), "a reader could write:\n{}", found.join("\n"));
}

#[test]
fn a_metric_name_is_written_once() {
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| !source.path.starts_with("metrics/catalogue") && !is_test(source)) {
        found.extend(
            code(source)
                .lines()
                .filter(|line| line.contains("\"brinkwatch_") && !line.contains("\"brinkwatch_scenario\""))
                .map(|line| format!("{}: {}", source.path, line.trim())),
        );
    }
    assert!(found.is_empty(), "metric names outside the catalogue:\n{}", found.join("\n"));
}

#[test]
fn files_stay_short_enough_to_read() {
    let excused: BTreeMap<&str, &str> = LONG_FILES.into_iter().collect();
    let long: Vec<String> = sources()
        .iter()
        .map(|source| (source, source.text.lines().count()))
        .filter(|(source, lines)| *lines > LINE_LIMIT && !excused.contains_key(source.path.as_str()))
        .map(|(source, lines)| format!("{}: {lines} lines", source.path))
        .collect();
    assert!(long.is_empty(), "files over {LINE_LIMIT} lines:\n{}", long.join("\n"));
}

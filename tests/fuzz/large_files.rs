//! Files that are far too large, far too deep or full of the wrong things: what reading them may cost in time and memory,
//! and that something is told of each.

use std::fmt::Write as _;
use std::time::Duration;

use brinkwatch::checkpoint::CheckpointReading;
use tokio::time::Instant;

use crate::targets::{COMMIT, ENTRY, METADATA, reading};

/// Far above what any of them takes, far below what one that grows with the square of its input would.
const LONG: Duration = Duration::from_secs(20);

fn v1(lines: &str) -> Vec<u8> {
    format!("v1\n{{\"batchTimestampMs\":1700000000000}}\n{lines}").into_bytes()
}

fn v2(lines: &str) -> Vec<u8> {
    format!("v2\n{{\"batchTimestampMs\":1700000000000}}\n{lines}").into_bytes()
}

/// Many times something that its number makes different.
fn many(number: usize, separator: &str, one: impl Fn(usize) -> String) -> String {
    let mut all = String::new();
    for index in 0..number {
        let separator = if index == 0 { "" } else { separator };
        write!(all, "{separator}{}", one(index)).unwrap();
    }
    all
}

fn partitions(number: usize) -> String {
    format!("{{{}}}", many(number, ",", |partition| format!("\"{partition}\":{}", partition + 7)))
}

/// Reads a checkpoint whose only entry, which is committed, is this one. `reading` holds the memory against the size.
fn committed(entry: &[u8]) -> CheckpointReading {
    in_time(|| reading(&[("metadata", METADATA), ("offsets/0", entry), ("commits/0", COMMIT)]))
}

fn in_time(read: impl FnOnce() -> CheckpointReading) -> CheckpointReading {
    let began = Instant::now();
    let told = read();
    assert!(began.elapsed() < LONG, "it took {:?}", began.elapsed());
    told
}

#[track_caller]
fn check(told: &CheckpointReading, problem: &str, words: &str) {
    let found = told.problems.iter().find(|found| found.kind.label() == problem);
    let detail = &found.unwrap_or_else(|| panic!("{problem} is not among {:?}", told.problems)).detail;
    assert!(detail.contains(words), "{detail}");
    assert!(told.sources.iter().all(|source| source.topics.is_empty()), "nothing is guessed");
}

#[test]
fn ten_thousand_partitions_in_one_line_are_read() {
    let told = committed(&v1(&format!("{{\"orders\":{}}}", partitions(10_000))));
    assert_eq!(told.problems, []);
    let orders = &told.sources[0].topics["orders"];
    assert_eq!(orders.len(), 10_000);
    let is_right = |(partition, position): (&i32, &brinkwatch::checkpoint::Position)| {
        position.committed.map(|offset| offset.get()) == Some(i64::from(*partition) + 7)
    };
    assert!(orders.iter().all(is_right));
}

#[test]
fn as_many_topics_and_partitions_as_a_cluster_bears_are_read_and_more_are_told() {
    let most = committed(&v1(&format!("{{\"orders\":{}}}", partitions(200_000))));
    assert_eq!((most.problems.len(), most.sources[0].topics["orders"].len()), (0, 200_000));
    for number in [200_001, 300_000] {
        let told = committed(&v1(&format!("{{\"orders\":{}}}", partitions(number))));
        check(&told, "unsupported_version", "more than 200000 partitions");
    }
    let topics = |number| v1(&format!("{{{}}}", many(number, ",", |topic| format!("\"t{topic}\":{{\"0\":1}}"))));
    let most = committed(&topics(10_000));
    assert_eq!((most.problems.len(), most.sources[0].topics.len()), (0, 10_000));
    for number in [10_001, 40_000] {
        check(&committed(&topics(number)), "unsupported_version", "more than 10000 topics");
    }
    // in several lines as well
    let lines = many(3, "\n", |_| format!("{{\"orders\":{}}}", partitions(100_000)));
    check(&committed(&v1(&lines)), "unsupported_version", "more than 200000 partitions");
}

#[test]
fn a_thousand_sources_are_read_and_more_are_told() {
    let line = |index: usize| format!("{{\"t{index}\":{{\"0\":1}}}}");
    let most = committed(&v1(&many(1000, "\n", line)));
    assert_eq!((most.problems.len(), most.sources.len()), (0, 1000));
    for lines in [many(1001, "\n", line), many(1_000_000, "\n", |_| "-".to_owned())] {
        check(&committed(&v1(&lines)), "unsupported_version", "more than 1000 sources");
    }
    let named = many(500_000, "\n", |index| format!("{index}:-"));
    check(&committed(&v2(&named)), "unsupported_version", "more than 1000 sources");
    let same = many(500_000, "\n", |_| "1:-".to_owned());
    check(&committed(&v2(&same)), "unsupported_version", "more than 1000 sources");
}

#[test]
fn one_file_that_all_sources_share_does_not_become_many_times_its_size() {
    let start = format!("\0v1\n{{\"orders\":{}}}", partitions(50_000));
    let union = v1(&many(1000, "\n", |_| "{\"orders\":{\"0\":60000}}".to_owned()));
    let told = in_time(|| reading(&[("metadata", METADATA), ("offsets/0", &union), ("sources/0/0", start.as_bytes())]));
    check(&told, "unsupported_version", "more than 200000 partitions in all sources together");
}

#[test]
fn many_odd_partitions_are_told_in_one_sentence() {
    let topic = "o".repeat(249);
    let negative = many(100_000, ",", |partition| format!("\"{partition}\":-2"));
    let told = committed(&v1(&format!("{{\"{topic}\":{{{negative}}}}}")));
    assert_eq!(told.problems.len(), 1);
    assert!(told.problems[0].detail.ends_with(" and 99999 more"), "{}", told.problems[0].detail);
}

#[test]
fn deep_json_is_another_sources_offset_or_a_named_problem() {
    let arrays = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let objects = format!("{}1{}", "{\"a\":".repeat(500_000), "}".repeat(500_000));
    for deep in [&arrays, &objects] {
        check(&committed(&v1(deep)), "no_kafka_source", "shaped like Kafka's");
        check(&committed(&v1(&format!("{{\"orders\":{{\"0\":{deep}}}}}"))), "no_kafka_source", "shaped like Kafka's");
        let half = &deep[..deep.len() - 1];
        let told = in_time(|| {
            let files = [("metadata", METADATA), ("offsets/0", ENTRY), ("offsets/1", &v1(half)), ("commits/0", COMMIT)];
            reading(&files)
        });
        assert_eq!(told.problems[0].kind.label(), "newest_offsets_malformed");
        let start = format!("\0v1\n{deep}");
        check(
            &in_time(|| reading(&[("metadata", METADATA), ("sources/0/0", start.as_bytes())])),
            "initial_offsets_malformed",
            "no Kafka offset",
        );
        let told = committed(&[b"v1\n{\"conf\":", deep.as_bytes(), b"}\n{\"orders\":{\"0\":5}}"].concat());
        assert_eq!((told.problems.len(), told.sources[0].topics.len()), (0, 1), "nobody looks into it");
        let told = in_time(|| reading(&[("metadata", deep.as_bytes()), ("offsets/0", ENTRY), ("commits/0", COMMIT)]));
        assert_eq!(told.problems[0].kind.label(), "metadata_malformed");
    }
}

#[test]
fn four_mebibytes_of_one_thing_are_told_at_once() {
    const SIZE: usize = 4 * 1024 * 1024;
    for (piece, problem) in [
        ("\0", "newest_offsets_empty"),
        (" ", "newest_offsets_empty"),
        ("\n", "newest_offsets_empty"),
        ("v", "newest_offsets_malformed"),
        ("v1\n", "newest_offsets_malformed"),
        ("\r", "newest_offsets_empty"),
        ("9", "newest_offsets_malformed"),
        ("\u{feff}", "newest_offsets_malformed"),
        ("\u{1b}[31m", "newest_offsets_malformed"),
    ] {
        let told = committed(piece.repeat(SIZE / piece.len()).as_bytes());
        assert_eq!(told.problems[0].kind.label(), problem, "{piece:?}");
    }
    let digits = "9".repeat(SIZE);
    check(&committed(&v1(&format!("{{\"orders\":{{\"0\":{digits}}}}}"))), "newest_offsets_malformed", "no offset");
    check(&committed(&v1(&format!("{{\"{digits}\":{{\"0\":1}}}}"))), "no_kafka_source", "shaped like Kafka's");
    let told = committed(format!("v1\n{{\"batchTimestampMs\":\"{digits}\"}}\n-").as_bytes());
    assert_eq!(told.problems[0].kind.label(), "newest_offsets_malformed");
}

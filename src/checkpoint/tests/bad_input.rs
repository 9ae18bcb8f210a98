//! Files that nobody's Spark wrote, or not to their end: a named problem each time.

use super::*;
use crate::checkpoint::ProblemKind;

const BEFORE: &str = r#"{"orders":{"0":30}}"#;

/// What comes of this entry as the newest and open one, beside a good one before it.
fn newest(entry: &[u8]) -> CheckpointReading {
    let before = v1(BEFORE);
    read_as_a_reader_does(&files(&[
        ("metadata", METADATA.1.as_bytes()),
        ("offsets/3", before.as_bytes()),
        ("offsets/4", entry),
        ("commits/3", COMMIT.as_bytes()),
    ]))
}

#[track_caller]
fn check(entry: impl AsRef<[u8]>, expected: &str) {
    let entry = entry.as_ref();
    let shown = String::from_utf8_lossy(entry).into_owned();
    assert_eq!(in_words(&newest(entry)), format!("planned 4, committed 3, open, {expected}"), "{shown}");
}

#[test]
fn numbers_that_no_offset_can_be_are_told_and_not_taken_for_another_source() {
    let told = "cannot tell; [newest_offsets_malformed offsets/4]; 0: offsets/3, orders/0 30";
    for offsets in [
        r#"{"orders":{"0":9223372036854775808}}"#,
        r#"{"orders":{"0":99999999999999999999999}}"#,
        r#"{"orders":{"0":-9223372036854775809}}"#,
        r#"{"orders":{"0":1e999}}"#,
        r#"{"orders":{"0":40.0}}"#,
        r#"{"orders":{"0":40,"1":1.5}}"#,
        r#"{"orders":{"0":4e1}}"#,
        r#"{"orders":{"2147483648":40}}"#,
    ] {
        check(v1(offsets), told);
    }
    // alone, or beside a good source, too
    for lines in [r#"{"orders":{"0":1.5}}"#, "{\"clicks\":{\"0\":5}}\n{\"orders\":{\"0\":9223372036854775808}}"] {
        let all = files(&[("metadata", METADATA.1), ("offsets/0", &v1(lines)), ("commits/0", COMMIT)]);
        let expected = "planned 0, committed 0, cannot tell; [newest_offsets_malformed offsets/0]";
        assert_eq!(in_words(&read_as_a_reader_does(&all)), expected, "{lines}");
    }
    let start = initial(r#"{"orders":{"0":9223372036854775808}}"#);
    assert_eq!(
        in_words(&read_as_a_reader_does(&files(&[METADATA, ("sources/0/0", &start)]))),
        "planned -, committed -, cannot tell; [initial_offsets_malformed sources/0/0]; 0: no offset yet"
    );
}

#[test]
fn negative_numbers_are_told() {
    check(
        v1(r#"{"orders":{"0":-1}}"#),
        "restartable; [negative_offset offsets/4]; 0: offsets/3 -> offsets/4, orders/0 30",
    );
    for number in ["-3", "-9223372036854775808"] {
        check(
            v1(&format!(r#"{{"orders":{{"0":{number},"1":7}}}}"#)),
            "cannot tell; [newest_offsets_malformed offsets/4]; 0: offsets/3, orders/0 30",
        );
    }
}

#[test]
fn what_is_given_twice_is_told_and_neither_is_taken() {
    let told = "cannot tell; [newest_offsets_malformed offsets/4]; 0: offsets/3, orders/0 30";
    for offsets in [
        r#"{"orders":{"0":40,"0":50}}"#,
        r#"{"orders":{"0":40,"00":50}}"#,
        r#"{"orders":{"0":40},"orders":{"1":50}}"#,
        r#"{"orders":{"0":40},"orders":{"0":40}}"#,
    ] {
        check(v1(offsets), told);
    }
    let twice = r#"{"batchTimestampMs":1,"batchTimestampMs":2}"#;
    check(
        format!("v1\n{twice}\n{BEFORE}"),
        "not restartable; [newest_offsets_malformed offsets/4]; 0: offsets/3, orders/0 30",
    );
}

#[test]
fn marks_zeros_and_ends_of_lines_are_taken_as_spark_takes_them() {
    let malformed = "not restartable; [newest_offsets_malformed offsets/4]; 0: offsets/3, orders/0 30";
    let empty = "not restartable; [newest_offsets_empty offsets/4]; 0: offsets/3, orders/0 30";
    let good = v1(r#"{"orders":{"0":40}}"#);
    check(good.replace('\n', "\r\n"), "restartable; 0: offsets/3 -> offsets/4, orders/0 30 -> 40");
    check(format!("\u{feff}{good}"), malformed);
    check(format!("\0{good}"), malformed);
    check(format!("{good}\0"), malformed);
    check(good.replace("\"0\":40", "\"0\":4\0"), malformed);
    check([0; 4096], empty);
    check(" \r\n\t\0", empty);
    check(good.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>(), malformed);
    // zeros in the place of what was not written to disk
    let torn = [&good.as_bytes()[..good.len() - 4], [0; 4].as_slice()].concat();
    check(torn, malformed);
}

#[test]
fn a_file_that_ends_anywhere_before_its_end_is_told() {
    let told = |reading: &CheckpointReading, kinds: &[ProblemKind]| {
        reading.problems.iter().any(|problem| kinds.contains(&problem.kind)) && reading.restartable != Some(true)
    };
    let entry = v1("{\"orders\":{\"0\":40,\"1\":7}}\n{\"clicks\":{\"0\":5}}");
    let named = v2("orders_src:{\"orders\":{\"0\":40}}");
    let kinds = [ProblemKind::NewestOffsetsEmpty, ProblemKind::NewestOffsetsMalformed];
    for whole in [&entry, &named] {
        for end in 0..whole.len() {
            let cut = &whole.as_bytes()[..end];
            let reading = read_as_a_reader_does(&files(&[
                ("metadata", METADATA.1.as_bytes()),
                ("offsets/3", whole.as_bytes()),
                ("offsets/4", cut),
                ("commits/3", COMMIT.as_bytes()),
            ]));
            assert!(told(&reading, &kinds), "{:?}", String::from_utf8_lossy(cut));
        }
    }
    let start = initial(r#"{"orders":{"0":5}}"#);
    for end in 0..start.len() {
        let reading = read_as_a_reader_does(&files(&[METADATA, ("sources/0/0", &start[..end])]));
        assert!(told(&reading, &[ProblemKind::InitialOffsetsMalformed]), "{:?}", &start[..end]);
    }
    for end in 0..METADATA.1.len() {
        let reading = read_as_a_reader_does(&files(&[("metadata", &METADATA.1[..end])]));
        assert!(told(&reading, &[ProblemKind::MetadataMalformed]), "{:?}", &METADATA.1[..end]);
    }
    // with its version line a commit is whole to Spark
    for end in 0..2 {
        let before = v1(BEFORE);
        let reading = read_as_a_reader_does(&files(&[
            METADATA,
            ("offsets/4", &before),
            ("commits/3", COMMIT),
            ("commits/4", &COMMIT[..end]),
        ]));
        assert!(told(&reading, &[ProblemKind::NewestCommitEmpty, ProblemKind::UnsupportedVersion]), "{end}");
    }
}

#[test]
fn ids_that_name_no_directory_are_told() {
    let before = v2("a:{\"orders\":{\"0\":30}}");
    let long = "a".repeat(256);
    for id in ["", "a/b", "a\0b", "\u{1b}[31ma", long.as_str()] {
        let reading = read_as_a_reader_does(&files(&[
            METADATA,
            ("offsets/3", &before),
            ("offsets/4", &v2(&format!("{id}:{{\"orders\":{{\"0\":40}}}}"))),
            ("commits/3", COMMIT),
        ]));
        let expected = "planned 4, committed 3, open, not restartable; [newest_offsets_malformed offsets/4]; a: offsets/3, orders/0 30";
        assert_eq!(in_words(&reading), expected, "{id:?}");
    }
}

#[test]
fn what_is_told_repeats_only_the_start_of_a_file() {
    let long = "x\u{1b}".repeat(5000);
    let number = "9".repeat(100_000);
    let with_quotes = long.replace('\u{1b}', "\\u001b");
    for entry in [
        long.clone(),
        format!("v{long}\n\n{BEFORE}"),
        format!("v1\n{{\"batchTimestampMs\":\"{with_quotes}\"}}\n{BEFORE}"),
        v1(&format!("{{\"orders\":{{\"0\":{number}}}}}")),
    ] {
        let reading = newest(entry.as_bytes());
        assert!(!reading.problems.is_empty());
        for problem in &reading.problems {
            assert!(problem.detail.len() < 1000 && !problem.detail.contains(char::is_control), "{}", problem.detail);
        }
    }
}

//! The text forms, one by one: what Spark accepts and what it refuses.

use crate::checkpoint::initial::{self, Initial};
use crate::checkpoint::kafka::{self, KafkaMap, Line, Tally};
use crate::checkpoint::offset_log::{self, Entry};
use crate::checkpoint::text::{self, BadFile};
use crate::measures::Moment;

const ORDERS: &str = r#"{"orders":{"0":120,"1":98}}"#;
const METADATA: &str = r#"{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{}}"#;

fn parsed(entry: &str) -> Entry {
    offset_log::parse(entry.as_bytes()).unwrap()
}

fn ids(entry: &Entry) -> Vec<&str> {
    entry.lines.iter().map(|(id, _)| id.as_str()).collect()
}

fn line(text: &str) -> Result<Line, BadFile> {
    kafka::line(text, &mut Tally::default())
}

fn map(text: &str) -> KafkaMap {
    kafka::map(text, &mut Tally::default()).unwrap().unwrap()
}

fn initial_of(bytes: &[u8]) -> Initial {
    initial::parse(bytes, &mut Tally::default())
}

fn orders() -> Line {
    Line::Kafka(map(ORDERS))
}

#[test]
fn version_1_is_read_line_by_line() {
    let entry = parsed(&format!("v1\n{METADATA}\n{ORDERS}\n-"));
    assert_eq!(entry.version, 1);
    assert_eq!(entry.batch_timestamp, Some(Moment::from_millis(1_700_000_000_000)));
    assert_eq!(entry.lines, [("0".to_owned(), orders()), ("1".to_owned(), Line::NotYet)]);
}

#[test]
fn version_2_is_read_by_id_whatever_the_order_of_lines() {
    let entry = parsed(&format!("v2\n{METADATA}\nord:{ORDERS}\n10:5\n9:{{\"logOffset\":3}}"));
    assert_eq!(entry.version, 2);
    assert_eq!(ids(&entry), ["9", "10", "ord"]);
    assert_eq!(entry.line("ord"), Some(&orders()));
    for bad in ["v2\n\nord:5".to_owned(), format!("v2\n{METADATA}\n{{}}"), format!("v2\n{METADATA}\n:5")] {
        assert!(matches!(offset_log::parse(bad.as_bytes()), Err(BadFile::Malformed(_))), "{bad}");
    }
    let twice = parsed(&format!("v2\n{METADATA}\n1:5\n1:{ORDERS}"));
    assert_eq!(twice.lines, [("1".to_owned(), orders())]);
}

#[test]
fn spark_is_lenient_about_line_ends_and_the_metadata_line() {
    let plain = parsed(&format!("v1\n{METADATA}\n{ORDERS}"));
    assert_eq!(parsed(&format!("v1\n{METADATA}\n{ORDERS}\n")), plain);
    assert_eq!(parsed(&format!("v1\r\n{METADATA}\r\n{ORDERS}\r\n")), plain);
    assert_eq!(parsed(&format!("v01\n{METADATA}\n{ORDERS}")), plain);
    // continuous mode leaves the line empty; old versions had fewer keys, newer ones may have more
    for metadata in ["", " ", "{}", r#"{"batchWatermarkMs":0,"another":{"key":[1]}}"#, r#"{"batchTimestampMs":0}"#] {
        let entry = parsed(&format!("v1\n{metadata}\n{ORDERS}"));
        assert_eq!((entry.batch_timestamp, entry.lines), (None, plain.lines.clone()), "{metadata}");
    }
}

#[test]
fn lines_end_as_they_do_in_java() {
    let all = |text| text::lines(text).collect::<Vec<_>>();
    assert_eq!(all(""), Vec::<&str>::new());
    assert_eq!(all("a"), ["a"]);
    assert_eq!(all("a\n"), ["a"]);
    assert_eq!(all("a\r\n\r\nb\rc\n\n"), ["a", "", "b", "c", ""]);
}

#[test]
fn a_version_line_is_strict() {
    for (line, expected) in [("v1", Ok(1)), ("v2", Ok(2)), ("v+1", Ok(1))] {
        assert_eq!(text::version(line, 2), expected);
    }
    for line in ["", "1", "v", "v0", "v-1", "v1 ", " v1", "V1", "\u{feff}v1", "v99999999999"] {
        assert!(matches!(text::version(line, 2), Err(BadFile::Malformed(_))), "{line}");
    }
    assert!(matches!(text::version("v3", 2), Err(BadFile::Unsupported(_))));
}

#[test]
fn bytes_that_are_no_text_are_told_apart() {
    assert_eq!(offset_log::parse(b""), Err(BadFile::Empty));
    assert!(matches!(offset_log::parse(&[0xAC, 0xED, 0, 5]), Err(BadFile::Unsupported(_))));
    assert!(matches!(offset_log::parse(b"v1\n\n\xff\xfe"), Err(BadFile::Malformed(_))));
}

#[test]
fn kafka_offsets_are_told_from_those_of_other_sources() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let not_kafka = [
        "4",
        r#"{"offset":15,"timestamp":3000}"#,
        r#"{"0":{"value":12,"runTimeMs":1700000000000}}"#,
        r#"{"0":3,"1":3}"#,
        "[1,2]",
        r#"{"logOffset":0}"#,
        r#"{"sourceVersion":1,"reservoirId":"x","reservoirVersion":5,"index":-1,"isStartingVersion":false}"#,
        r#"{"version":1,"snapshot_id":7,"position":0,"scan_all_files":false}"#,
        r#"{"topic":[8,12]}"#,
        r#"{"metadata":{"streamName":"s","batchId":"0"},"shardId-000000000000":{"iteratorType":"x"}}"#,
        r#"{"seqNum":9,"sourceVersion":1,"lastBackfillStartTimeMs":1}"#,
        r#"{"a topic":{"0":1}}"#,
        r#"{"":{"0":1}}"#,
        r#"{"..":{"0":1}}"#,
        r#"{"orders":{}}"#,
        r#"{"orders":{"-1":5}}"#,
        r#"{"orders":{"0":"5"}}"#,
        "no JSON at all",
        &deep,
    ];
    for text in not_kafka {
        assert_eq!(line(text), Ok(Line::Other), "{}", text::shortened(text));
    }
    let kafka = [
        ORDERS,
        r#"{"hub-a":{"0":120,"1":98}}"#,
        r#"{"a":{"0":1},"b":{"0":2}}"#,
        r#"{"/mapr/stream:orders":{"0":1}}"#,
        r#" {"orders" : {"0" : 1}} "#,
        r#"{"orders":{"2147483647":9223372036854775807}}"#,
    ];
    for text in kafka {
        assert!(matches!(line(text), Ok(Line::Kafka(_))), "{text}");
    }
    assert_eq!(line("-"), Ok(Line::NotYet));
    assert_eq!(line("{}"), Ok(Line::EmptyMap));
    for text in [r#"{"orders":{"0":12"#, "[1,", ""] {
        line(text).unwrap_err();
    }
}

#[test]
fn numbers_keep_all_their_digits() {
    let numbers = map(r#"{"orders":{"0":9007199254740993}}"#);
    assert_eq!(numbers["orders"][&0], 9_007_199_254_740_993);
}

#[test]
fn the_first_byte_of_initial_offsets_is_dropped_whatever_it_is() {
    let expected = Initial::Kafka(map(r#"{"orders":{"0":5}}"#));
    assert_eq!(initial_of(b"\x00v1\n{\"orders\":{\"0\":5}}"), expected);
    // 2.1.0 wrote the length of the JSON
    assert_eq!(initial_of(b"\x12{\"orders\":{\"0\":5}}"), expected);
    for other in ["v1\n4", "v1\n{\"orders\":[8,12]}", "v1\n{\"path\":\"x\"}", "x"] {
        assert_eq!(initial_of(other.as_bytes()), Initial::Other, "{other}");
    }
    assert!(matches!(initial_of(b"\x00v2\n{\"orders\":{\"0\":5}}"), Initial::Bad(BadFile::Unsupported(_))));
}

#[test]
fn the_fingerprint_follows_the_positions_and_not_the_text() {
    let print = |offsets: &str| parsed(&format!("v1\n\n{offsets}")).fingerprint();
    assert_eq!(print(r#"{"a":{"0":1,"1":2},"b":{"0":3}}"#), print(r#"{"b": {"0":3}, "a":{"1":2,"0":1}}"#));
    assert_ne!(print(r#"{"a":{"0":1}}"#), print(r#"{"a":{"0":2}}"#));
    assert_ne!(print(r#"{"a":{"0":1}}"#), print(r#"{"b":{"0":1}}"#));
    // it is compared with what an older release remembered: it must never change
    assert_eq!(print(ORDERS), 14_984_037_758_651_788_823);
}

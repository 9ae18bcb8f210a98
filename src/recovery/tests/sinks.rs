//! What people read out of their sinks, and what is wrong with it.

use super::{at, offset};
use crate::recovery::{Sink, SinkRow, read_sink};

fn row(max: i64, min: Option<i64>, count: Option<u64>) -> SinkRow {
    SinkRow { max: offset(max), min: min.map(offset), count }
}

#[test]
fn a_file_is_csv_or_json_as_tools_write_them() {
    let check = |text: &str, expected: &[(i32, SinkRow)]| {
        let expected: Sink = expected.iter().map(|(partition, row)| (at(*partition), *row)).collect();
        assert_eq!(read_sink(text.as_bytes()), Ok(expected), "{text:?}");
    };
    let plain = [(0, row(119, None, None)), (1, row(97, None, None))];
    check("topic,partition,max_offset\norders,0,119\norders,1,97\n", &plain);
    check("topic,partition,max_offset\r\norders,0,119\r\norders,1,97\r\n", &plain);
    check("\u{feff}\"topic\",\"partition\",\"MAX(offset)\"\n\"orders\",\"0\",\"119\"\n\"orders\",\"1\",\"97\"", &plain);
    check("partition, last_offset ,topic\n 0, 119,orders\n1,97 ,orders\n", &plain);
    check(
        r#"[{"topic":"orders","partition":0,"max_offset":119},{"topic":"orders","partition":1,"max_offset":97}]"#,
        &plain,
    );
    check(
        "{\"topic\":\"orders\",\"partition\":\"0\",\"max(offset)\":\"119\"}\n{\"topic\":\"orders\",\"partition\":1,\"max(offset)\":97}\n",
        &plain,
    );
    let counted = [(0, row(119, Some(3), Some(117)))];
    check("topic,partition,min_offset,max_offset,count\norders,0,3,119,117\n", &counted);
    check("topic,partition,min(offset),max(offset),count(DISTINCT offset)\norders,0,3,119,117\n", &counted);
    check("topic,partition,max_offset,count(1),else\norders,0,119,,x\n", &[(0, row(119, None, None))]);
    let highest = [(0, row(i64::MAX, None, None))];
    check("topic,partition,max_offset\norders,0,9223372036854775807\n", &highest);
    check(r#"{"topic":"orders","partition":0,"max_offset":9223372036854775807}"#, &highest);
}

#[test]
fn whatever_is_wrong_in_a_file_is_named_with_its_row() {
    let check = |text: &[u8], expected: &[&str]| {
        let mistakes: Vec<String> = read_sink(text).unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(mistakes, expected, "{:?}", String::from_utf8_lossy(text));
    };
    check(b"", &["the file holds no row"]);
    check(b"[]", &["the file holds no row"]);
    check(b"topic,partition,max_offset\n", &["the file holds no row"]);
    check(b"\xff\xfe", &["the file is not UTF-8 text"]);
    check(b"orders,0,119\n", &["no column topic: there are orders, 0, 119"]);
    check(b"topic,max_offset\norders,1\n", &["no column partition: there are topic, max_offset"]);
    check(br#"[{"topic":"orders","partition":0}]"#, &["no column max_offset: there are topic, partition"]);
    check(b"topic,partition,max_offset\norders,0,119\norders,0,120\n", &["row 2: orders/0 stands in row 1 already"]);
    let beyond = "it is beyond the highest offset, 2^63 - 1";
    check(
        b"topic,partition,max_offset\norders,0,9223372036854775808\n",
        &[&format!("row 1: max_offset is \"9223372036854775808\": {beyond}")],
    );
    check(
        br#"{"topic":"orders","partition":0,"max_offset":9223372036854775808}"#,
        &[&format!("row 1: max_offset is \"9223372036854775808\": {beyond}")],
    );
    check(
        b"topic,partition,max_offset\norders,x,-1\n,99999999999,1.19e2\n",
        &[
            "row 1: partition is \"x\": it is no number",
            "row 1: max_offset is \"-1\": it is negative",
            "row 2: topic is \"\": a topic has a name",
            "row 2: max_offset is \"1.19e2\": it is no whole number: a tool may have lost digits",
            "row 2: partition is \"99999999999\": no partition has so high a number",
        ],
    );
    check(br#"[{"topic":"orders","partition":0,"max_offset":null}]"#, &["row 1: max_offset is \"\": it is empty"]);
    check(
        b"topic,partition,max_offset,min_offset\norders,0,5,6\n",
        &["row 1: min_offset is \"6\": it is above the highest offset"],
    );
    check(b"[1]", &["the file is neither CSV with a header line nor JSON: a row is no object"]);
    assert!(read_sink(b"topic,partition,max_offset\norders,0\n").unwrap_err()[0].to_string().contains("neither CSV"));
    assert!(read_sink(br#"{"topic":"orders""#).unwrap_err()[0].to_string().contains("nor JSON: EOF"));
}

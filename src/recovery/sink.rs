//! What the sink holds, as its owner read it out: the highest offset of each partition, and more where it was asked for.
//!
//! People make these files with whatever tool they have at night. What is not exactly clear is named and refused: a
//! proof made of a guess proves nothing.

use std::collections::BTreeMap;

use serde_json::Value;
use thiserror::Error;

use crate::measures::{Offset, TopicPartition};

/// What the sink holds of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SinkRow {
    /// Highest offset.
    pub max: Offset,
    /// Lowest offset, where it was asked for.
    pub min: Option<Offset>,
    /// How many records, where they were counted.
    pub count: Option<u64>,
}

/// What the sink holds.
pub type Sink = BTreeMap<TopicPartition, SinkRow>;

/// Something in the file that cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SinkMistake {
    /// Nothing is in it.
    #[error("the file holds no row")]
    Empty,
    /// It is no text.
    #[error("the file is not UTF-8 text")]
    NotText,
    /// It is neither.
    #[error("the file is neither CSV with a header line nor JSON: {why}")]
    Unreadable {
        /// What the parser said.
        why: String,
    },
    /// A column is not there.
    #[error("no column {column}: there are {}", found.join(", "))]
    NoColumn {
        /// Which.
        column: &'static str,
        /// Those that are.
        found: Vec<String>,
    },
    /// A value makes no sense.
    #[error("row {row}: {column} is {text:?}: {why}")]
    Value {
        /// Rows are counted from 1, without the header.
        row: usize,
        /// Its column.
        column: &'static str,
        /// What stands there.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A partition stands there twice.
    #[error("row {second}: {at} stands in row {first} already")]
    Twice {
        /// Which.
        at: TopicPartition,
        /// Its first row.
        first: usize,
        /// Its second row.
        second: usize,
    },
}

/// The columns, with the names that tools give them.
const COLUMNS: [(&str, &[&str]); 5] = [
    ("topic", &["topic", "kafka_topic"]),
    ("partition", &["partition", "kafka_partition"]),
    ("max_offset", &["max_offset", "max_kafka_offset", "last_offset", "max", "offset"]),
    ("min_offset", &["min_offset", "min_kafka_offset", "first_offset", "min"]),
    ("count", &["count", "count_1", "count_offset", "count_distinct_offset", "records", "rows"]),
];

/// One row as text, by the name of its column here.
type Cells = BTreeMap<&'static str, String>;

/// Reads CSV with a header line, a JSON array, or a JSON object a line.
///
/// # Errors
/// With every mistake in it.
pub fn read_sink(bytes: &[u8]) -> Result<Sink, Vec<SinkMistake>> {
    let text = std::str::from_utf8(bytes).map_err(|_| vec![SinkMistake::NotText])?;
    let text = text.trim_start_matches('\u{feff}');
    let rows = match text.trim_start().chars().next() {
        None => return Err(vec![SinkMistake::Empty]),
        Some('[' | '{') => json_rows(text),
        Some(_) => csv_rows(text),
    };
    let rows = rows.map_err(|mistake| vec![mistake])?;
    if rows.is_empty() {
        return Err(vec![SinkMistake::Empty]);
    }
    let (mut sink, mut lines, mut mistakes) = (Sink::new(), BTreeMap::new(), Vec::new());
    for (number, cells) in (1..).zip(&rows) {
        match row(number, cells) {
            Err(found) => mistakes.extend(found),
            Ok((at, _)) if lines.contains_key(&at) => {
                let first = lines.get(&at).copied().unwrap_or_default();
                mistakes.push(SinkMistake::Twice { at, first, second: number });
            }
            Ok((at, row)) => {
                lines.insert(at.clone(), number);
                sink.insert(at, row);
            }
        }
    }
    if mistakes.is_empty() { Ok(sink) } else { Err(mistakes) }
}

fn csv_rows(text: &str) -> Result<Vec<Cells>, SinkMistake> {
    let unreadable = |error: csv::Error| SinkMistake::Unreadable { why: error.to_string() };
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let header: Vec<String> = reader.headers().map_err(unreadable)?.iter().map(str::to_owned).collect();
    let columns: Vec<Option<&'static str>> = header.iter().map(|name| column(name)).collect();
    has_columns(&columns, &header)?;
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(unreadable)?;
        let cells = columns.iter().zip(&record).filter_map(|(column, cell)| Some(((*column)?, cell.to_owned())));
        rows.push(cells.collect());
    }
    Ok(rows)
}

fn json_rows(text: &str) -> Result<Vec<Cells>, SinkMistake> {
    let unreadable = |why: String| SinkMistake::Unreadable { why };
    let mut rows = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let listed = match value.map_err(|error| unreadable(error.to_string()))? {
            Value::Array(values) => values,
            value => vec![value],
        };
        for value in listed {
            let Value::Object(fields) = value else { return Err(unreadable("a row is no object".to_owned())) };
            let names: Vec<String> = fields.keys().cloned().collect();
            let columns: Vec<Option<&'static str>> = names.iter().map(|name| column(name)).collect();
            has_columns(&columns, &names)?;
            let cells = columns.iter().zip(fields.values()).filter_map(|(column, value)| {
                let text = match value {
                    Value::String(text) => text.clone(),
                    Value::Null => String::new(),
                    other => other.to_string(),
                };
                Some(((*column)?, text))
            });
            rows.push(cells.collect());
        }
    }
    Ok(rows)
}

/// `MAX(offset)` and `max_offset` are the same column.
fn column(name: &str) -> Option<&'static str> {
    let plain: String =
        name.to_lowercase().chars().map(|letter| if letter.is_alphanumeric() { letter } else { '_' }).collect();
    let words: Vec<&str> = plain.split('_').filter(|word| !word.is_empty()).collect();
    let plain = words.join("_");
    COLUMNS.iter().find(|(_, names)| names.contains(&plain.as_str())).map(|(column, _)| *column)
}

fn has_columns(columns: &[Option<&'static str>], found: &[String]) -> Result<(), SinkMistake> {
    for column in ["topic", "partition", "max_offset"] {
        if !columns.contains(&Some(column)) {
            return Err(SinkMistake::NoColumn { column, found: found.to_vec() });
        }
    }
    Ok(())
}

fn row(number: usize, cells: &Cells) -> Result<(TopicPartition, SinkRow), Vec<SinkMistake>> {
    let cell = |column: &'static str| cells.get(column).map(String::as_str).unwrap_or_default().trim();
    let wrong = |column, why| SinkMistake::Value { row: number, column, text: cell(column).to_owned(), why };
    let mut mistakes = Vec::new();
    if cell("topic").is_empty() {
        mistakes.push(wrong("topic", "a topic has a name"));
    }
    let mut whole = |column: &'static str| -> Option<i64> {
        whole_number(cell(column)).map_err(|why| mistakes.push(wrong(column, why))).ok()
    };
    let partition = whole("partition");
    let max = whole("max_offset");
    let mut optional = |column| if cell(column).is_empty() { None } else { whole(column) };
    let (min, count) = (optional("min_offset"), optional("count"));
    let partition = partition.and_then(|partition| {
        i32::try_from(partition)
            .map_err(|_| mistakes.push(wrong("partition", "no partition has so high a number")))
            .ok()
    });
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        mistakes.push(wrong("min_offset", "it is above the highest offset"));
    }
    match (partition, max.and_then(Offset::new)) {
        (Some(partition), Some(max)) if mistakes.is_empty() => {
            let at = TopicPartition { topic: cell("topic").into(), partition };
            let count = count.and_then(|count| u64::try_from(count).ok());
            Ok((at, SinkRow { max, min: min.and_then(Offset::new), count }))
        }
        _ => Err(mistakes),
    }
}

/// Zero or more, and written as a whole number: a decimal point tells of a tool that has lost digits already.
fn whole_number(text: &str) -> Result<i64, &'static str> {
    let digits = text.trim_matches('"');
    match digits.parse::<i64>() {
        Ok(number) if number >= 0 => Ok(number),
        Ok(_) => Err("it is negative"),
        Err(_) if digits.is_empty() => Err("it is empty"),
        Err(_) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Err("it is beyond the highest offset, 2^63 - 1"),
        Err(_) if digits.parse::<f64>().is_ok() => Err("it is no whole number: a tool may have lost digits"),
        Err(_) => Err("it is no number"),
    }
}

//! One entry of the offset log, `offsets/N`.
//!
//! ```text
//! v1                                  v2
//! {"batchWatermarkMs":0,…}            {"batchWatermarkMs":0,…}
//! {"orders":{"0":120}}                orders_src:{"orders":{"0":120}}
//! -                                   1:{"logOffset":3}
//! ```

use serde::Deserialize;

use super::kafka::{self, KafkaMap, Line, Tally};
use super::text::{self, BadFile, cut};
use crate::measures::Moment;

/// Versions of the offset log: 1 since Spark 2.1, 2 ("OffsetMap") since 4.2.
const NEWEST_VERSION: u32 = 2;
/// More sources than any query has.
pub const MOST_SOURCES: usize = 1000;
/// No file system has a longer name, and `sources/<id>` is one.
const LONGEST_ID: usize = 255;

/// A parsed entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// 1 or 2.
    pub(super) version: u32,
    /// The driver's clock when the batch was triggered; continuous mode writes none.
    pub(super) batch_timestamp: Option<Moment>,
    /// Source id and offset, in the order of ids; those of version 1 are the positions.
    pub(super) lines: Vec<(String, Line)>,
}

#[derive(Deserialize)]
struct BatchMetadata {
    #[serde(rename = "batchTimestampMs", default)]
    batch_timestamp_ms: i64,
}

/// Parses an entry as Spark does.
pub(super) fn parse(bytes: &[u8]) -> Result<Entry, BadFile> {
    let text = text::decode(bytes)?;
    let mut lines = text::lines(text);
    let version = text::version(lines.next().unwrap_or_default(), NEWEST_VERSION)?;
    let metadata = lines.next().ok_or_else(|| malformed("only a version line"))?;
    let batch_timestamp = batch_timestamp(metadata.trim(), version)?;
    let lines = if version == 1 { positional(lines)? } else { named(lines)? };
    if lines.is_empty() && version == 1 {
        return Err(malformed("no offset of any source"));
    }
    Ok(Entry { version, batch_timestamp, lines })
}

/// The metadata line. An empty one is legal in version 1: continuous mode always writes it so.
fn batch_timestamp(metadata: &str, version: u32) -> Result<Option<Moment>, BadFile> {
    if metadata.is_empty() && version == 1 {
        return Ok(None);
    }
    let metadata: BatchMetadata = serde_json::from_str(metadata)
        .map_err(|error| malformed(&format!("metadata line: {}", cut(&error.to_string()))))?;
    // Spark puts 0 where it has none
    Ok((metadata.batch_timestamp_ms > 0).then(|| Moment::from_millis(metadata.batch_timestamp_ms)))
}

fn positional<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Vec<(String, Line)>, BadFile> {
    let mut tally = Tally::default();
    let mut numbered = Vec::new();
    for (index, text) in lines.enumerate() {
        push(&mut numbered, index.to_string(), kafka::line(text, &mut tally)?)?;
    }
    Ok(numbered)
}

fn push(lines: &mut Vec<(String, Line)>, id: String, line: Line) -> Result<(), BadFile> {
    if lines.len() == MOST_SOURCES {
        return Err(BadFile::Unsupported(format!("more than {MOST_SOURCES} sources")));
    }
    lines.push((id, line));
    Ok(())
}

fn named<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Vec<(String, Line)>, BadFile> {
    let mut tally = Tally::default();
    let mut named: Vec<(String, Line)> = Vec::new();
    for text in lines {
        let (id, offset) = text.split_once(':').ok_or_else(|| malformed("a line without a source id"))?;
        if id.is_empty() || id.len() > LONGEST_ID || id.contains(|letter: char| letter == '/' || letter.is_control()) {
            return Err(malformed("a line without a source id"));
        }
        push(&mut named, id.to_owned(), kafka::line(offset, &mut tally)?)?;
    }
    // lines stand in the order of a hash map: sorted, so that an index means the same in every entry
    named.sort_by(|(one, _), (other, _)| id_order(one).cmp(&id_order(other)));
    // of one id given twice, the later counts, as in Spark's map; the sort kept their order
    named.reverse();
    named.dedup_by(|(one, _), (other, _)| one == other);
    named.reverse();
    Ok(named)
}

/// Positions first and by number, then names.
pub(super) fn id_order(id: &str) -> (u64, &str) {
    (id.parse().unwrap_or(u64::MAX), id)
}

fn malformed(why: &str) -> BadFile {
    BadFile::Malformed(why.to_owned())
}

impl Entry {
    /// The offset of a source.
    pub(super) fn line(&self, id: &str) -> Option<&Line> {
        let found = self.lines.binary_search_by(|(other, _)| id_order(other).cmp(&id_order(id))).ok()?;
        self.lines.get(found).map(|(_, line)| line)
    }

    /// The same source in this entry, known by id and by what another entry has for it. Between the two log versions
    /// ids may have changed from positions to names: then the topics tell.
    pub(super) fn same_source(&self, version: u32, id: &str, map: Option<&KafkaMap>) -> Option<&Line> {
        let by_id = self.line(id);
        if self.version == version {
            return by_id;
        }
        let Some(map) = map else { return by_id };
        let agrees = |line: &&Line| matches!(line, Line::Kafka(other) if kafka::same_topics(other, map));
        if by_id.as_ref().is_some_and(agrees) {
            return by_id;
        }
        let mut fitting = self.lines.iter().map(|(_, line)| line).filter(agrees);
        match (fitting.next(), fitting.next()) {
            (Some(only), None) => Some(only),
            _ => by_id,
        }
    }

    /// A hash of all Kafka positions in here, the same on every machine and in every release, whatever the order of
    /// keys in the file.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hash = Fnv::default();
        for (id, line) in &self.lines {
            let Line::Kafka(map) = line else { continue };
            hash.write(id.as_bytes());
            for (topic, partitions) in map {
                hash.write(topic.as_bytes());
                for (partition, number) in partitions {
                    hash.write(&partition.to_be_bytes());
                    hash.write(&number.to_be_bytes());
                }
            }
        }
        hash.0
    }
}

/// FNV-1a: the standard library's hash may change from release to release.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn write(&mut self, bytes: &[u8]) {
        // 0xFF stands in no UTF-8 text, so that neighbours can not run together
        for byte in bytes.iter().chain(&[0xFF]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

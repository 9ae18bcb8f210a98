//! `sources/<id>/0`: where a Kafka source began. Written once, before batch 0, and the only position there is until a
//! batch is committed.

use super::kafka::{self, KafkaMap, Tally};
use super::text::{self, BadFile};

/// What the file of one source says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Initial {
    /// Kafka's.
    Kafka(KafkaMap),
    /// Another source's private file.
    Other,
    /// It should be Kafka's, and makes no sense.
    Bad(BadFile),
}

/// Reads the file. Since Spark 2.1.1 a zero byte stands before the text so that 2.1.0 can read it, which in turn wrote
/// the length of the JSON in one byte: both are dropped unread.
pub(super) fn parse(bytes: &[u8], tally: &mut Tally) -> Initial {
    let Some((first, rest)) = bytes.split_first() else { return Initial::Bad(BadFile::Empty) };
    match body(rest, tally) {
        Ok(Some(map)) => Initial::Kafka(map),
        Err(bad @ BadFile::Doubtful(_)) => Initial::Bad(bad),
        // only Kafka's source and the Event Hubs connector begin with a zero
        Ok(None) if *first == 0 => Initial::Bad(BadFile::Malformed("no Kafka offset".to_owned())),
        Err(bad) if *first == 0 => Initial::Bad(bad),
        Ok(None) | Err(_) => Initial::Other,
    }
}

fn body(bytes: &[u8], tally: &mut Tally) -> Result<Option<KafkaMap>, BadFile> {
    let text = text::decode(bytes)?;
    if !text.starts_with('v') {
        return kafka::map(text, tally);
    }
    let (version, json) = text.split_once('\n').ok_or_else(|| BadFile::Malformed("only a version line".to_owned()))?;
    text::version(version.trim_end_matches('\r'), 1)?;
    kafka::map(json, tally)
}

//! ListOffsets: earliest, latest, or the first record at or after a time, for many partitions at once.

use std::collections::BTreeMap;
use std::ptr;
use std::time::Duration;

use rdkafka::bindings as raw;
use rdkafka::client::Client;

use super::super::context::Context;
use super::{CallError, NO_ANSWER, Owned, c_name, options, queue, result, text, view};
use crate::measures::{Moment, Offset, TopicName, TopicPartition};

/// Which offset is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Spec {
    /// The log start offset.
    Earliest,
    /// The end: the high watermark, or the last stable offset for a reader of committed records.
    Latest,
    /// The first record whose timestamp is this or later.
    At(Moment),
}

/// What "end" means, as for a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Isolation {
    /// All records count.
    Uncommitted,
    /// Records of open transactions do not count.
    Committed,
}

/// An offset that a leader answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Found {
    pub(in super::super) offset: Offset,
    /// The record's timestamp; only for look-ups by time.
    pub(in super::super) timestamp: Option<Moment>,
    pub(in super::super) leader_epoch: Option<i32>,
}

/// Each partition's answer: an offset, no such record, or an error of its own.
pub(in super::super) type Rows = BTreeMap<TopicPartition, Result<Option<Found>, CallError>>;

/// Asks the partitions' leaders. No partition may stand twice in `asked`: brokers refuse that.
pub(in super::super) fn list_offsets(
    client: &Client<Context>,
    asked: &[(TopicPartition, Spec)],
    isolation: Isolation,
    timeout: Duration,
) -> Result<Rows, CallError> {
    let queue = queue(client)?;
    let options = options(client, raw::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_LISTOFFSETS, timeout, None)?;
    isolate(&options, isolation)?;
    let list = list_of(asked)?;
    // SAFETY: all four are alive; librdkafka copies the list and the options before it returns.
    unsafe { raw::rd_kafka_ListOffsets(client.native_ptr(), list.get(), options.get(), queue.get()) };
    let event = result(&queue, timeout)?;

    // Rows are matched by name and number, never by position.
    let specs: BTreeMap<(&str, i32), (&TopicName, Spec)> =
        asked.iter().map(|(tp, spec)| ((&*tp.topic, tp.partition), (&tp.topic, *spec))).collect();
    let mut rows: Rows = asked.iter().map(|(tp, _)| (tp.clone(), Err(CallError::of(NO_ANSWER)))).collect();
    // SAFETY: everything below is read out of the event, which is held; strings are copied. The error code is a C int
    // and read as one.
    unsafe {
        let answer = raw::rd_kafka_event_ListOffsets_result(event.get());
        if answer.is_null() {
            return Err(CallError::internal("a result of another kind came"));
        }
        let mut count = 0;
        let infos = raw::rd_kafka_ListOffsets_result_infos(answer, &mut count);
        for info in view(&event, infos.cast_const(), count) {
            let row = raw::rd_kafka_ListOffsetsResultInfo_topic_partition(*info);
            let name = text((*row).topic);
            let Some((topic, spec)) = specs.get(&(name.as_str(), (*row).partition)) else { continue };
            let code = ptr::addr_of!((*row).err).cast::<i32>().read();
            let timestamp = raw::rd_kafka_ListOffsetsResultInfo_timestamp(*info);
            let epoch = raw::rd_kafka_topic_partition_get_leader_epoch(row);
            let read = row_of(*spec, code, (*row).offset, timestamp, epoch);
            rows.insert(TopicPartition::new(topic, (*row).partition), read);
        }
    }
    Ok(rows)
}

/// A row counts only without an error and with an offset; −1 means "no such record" for look-ups by time alone. A
/// leader that did not answer leaves −1001 and no error at all.
fn row_of(spec: Spec, code: i32, offset: i64, timestamp: i64, epoch: i32) -> Result<Option<Found>, CallError> {
    if code != 0 {
        return Err(CallError::of(code));
    }
    let by_time = matches!(spec, Spec::At(_));
    match Offset::new(offset) {
        Some(offset) => Ok(Some(Found {
            offset,
            timestamp: (by_time && timestamp >= 0).then(|| Moment::from_millis(timestamp)),
            leader_epoch: (epoch >= 0).then_some(epoch),
        })),
        None if by_time && offset == -1 => Ok(None),
        None => Err(CallError::of(NO_ANSWER)),
    }
}

fn isolate(options: &Owned<raw::rd_kafka_AdminOptions_t>, isolation: Isolation) -> Result<(), CallError> {
    let level = match isolation {
        Isolation::Uncommitted => raw::rd_kafka_IsolationLevel_t::RD_KAFKA_ISOLATION_LEVEL_READ_UNCOMMITTED,
        Isolation::Committed => raw::rd_kafka_IsolationLevel_t::RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED,
    };
    // SAFETY: the options are alive; an error that comes back is ours to free.
    let refused = unsafe { raw::rd_kafka_AdminOptions_set_isolation_level(options.get(), level) };
    if refused.is_null() {
        return Ok(());
    }
    // SAFETY: not null, and ours.
    unsafe { raw::rd_kafka_error_destroy(refused) };
    Err(CallError::internal("the isolation level was refused"))
}

fn list_of(asked: &[(TopicPartition, Spec)]) -> Result<Owned<raw::rd_kafka_topic_partition_list_t>, CallError> {
    // SAFETY: the new list is ours; the count is only a first size.
    let list = unsafe {
        let new = raw::rd_kafka_topic_partition_list_new(i32::try_from(asked.len()).unwrap_or(0));
        Owned::new(new, raw::rd_kafka_topic_partition_list_destroy, "no list")?
    };
    for (partition, spec) in asked {
        let name = c_name(&partition.topic)?;
        let number = match spec {
            Spec::Earliest => -2,
            Spec::Latest => -1,
            // Below zero stand the special values.
            Spec::At(moment) => moment.millis().max(0),
        };
        // SAFETY: list and name are alive; the name is copied; the element that comes back is alive until the next one.
        unsafe {
            let element = raw::rd_kafka_topic_partition_list_add(list.get(), name.as_ptr(), partition.partition);
            (*element).offset = number;
        }
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_counts_only_with_an_offset_and_without_an_error() {
        let found = |offset, timestamp: Option<i64>| {
            let timestamp = timestamp.map(Moment::from_millis);
            Ok(Some(Found { offset: Offset::new(offset).unwrap(), timestamp, leader_epoch: Some(4) }))
        };
        let check = |spec, code, offset, timestamp, expected: Result<Option<Found>, i32>| {
            let got = row_of(spec, code, offset, timestamp, 4).map_err(|error| error.code);
            assert_eq!(got, expected, "{spec:?} {code} {offset} {timestamp}");
        };
        let at = Spec::At(Moment::from_millis(5));
        check(Spec::Earliest, 0, 7, -1, found(7, None));
        check(Spec::Latest, 0, 0, -1, found(0, None));
        check(at, 0, 7, 9, found(7, Some(9)));
        check(at, 0, -1, -1, Ok(None));
        check(Spec::Latest, 0, -1, -1, Err(NO_ANSWER));
        check(at, 0, -1001, -1, Err(NO_ANSWER));
        check(Spec::Latest, 74, -1, -1, Err(74));
        check(Spec::Latest, 29, 12, -1, Err(29));
        // A code that no enum lists.
        check(at, 31_999, 12, 9, Err(31_999));
    }

    #[test]
    fn every_code_has_words() {
        assert!(CallError::of(29).text.contains("uthorization"), "{}", CallError::of(29));
        assert!(CallError::of(31_999).text.contains("31999"), "{}", CallError::of(31_999));
        assert_eq!(CallError::of(NO_ANSWER).text, "the leader did not answer");
    }
}

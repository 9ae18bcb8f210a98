//! ListOffsets: earliest, latest, or the first record at or after a time, for many partitions at once.

use std::ffi::{CStr, CString, c_int};
use std::mem;
use std::ptr;
use std::time::Duration;

use rdkafka::bindings as raw;
use rdkafka::client::Client;

use super::super::context::Context;
use super::{CallError, NO_ANSWER, Owned, c_name, millis, options, queue, result, view};
use crate::measures::{Moment, Offset};

/// Which offset is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Spec {
    /// The log start offset.
    Earliest,
    /// The end: the high watermark, or the last stable offset for a reader of committed records.
    Latest,
    /// The first record whose timestamp is this or later.
    At(Moment),
    /// The record with the youngest timestamp of all.
    Youngest,
}

impl Spec {
    /// Whether records are told by their timestamps.
    pub(in super::super) const fn by_time(self) -> bool {
        matches!(self, Self::At(_) | Self::Youngest)
    }
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

/// One question.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Asked<'a> {
    pub(in super::super) topic: &'a str,
    pub(in super::super) partition: i32,
    pub(in super::super) spec: Spec,
}

/// The answers in the order of the questions: an offset, no such record, or an error of its own.
pub(in super::super) type Rows = Vec<Result<Option<Found>, CallError>>;

/// Asks the partitions' leaders. No partition may stand twice in `asked`: brokers refuse that.
pub(in super::super) fn list_offsets(
    client: &Client<Context>,
    asked: &[Asked<'_>],
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

    let mut rows: Vec<Option<Result<Option<Found>, CallError>>> = vec![None; asked.len()];
    // SAFETY: everything below is read out of the event, which is held. The error code is a C int and read as one.
    unsafe {
        let answer = raw::rd_kafka_event_ListOffsets_result(event.get());
        if answer.is_null() {
            return Err(CallError::internal("a result of another kind came"));
        }
        let mut count = 0;
        let infos = raw::rd_kafka_ListOffsets_result_infos(answer, &mut count);
        for (place, info) in view(&event, infos.cast_const(), count).iter().enumerate() {
            let row = raw::rd_kafka_ListOffsetsResultInfo_topic_partition(*info);
            let name = CStr::from_ptr((*row).topic).to_bytes();
            let number = (*row).partition;
            let is_it = |asked: &Asked<'_>| asked.partition == number && asked.topic.as_bytes() == name;
            // Rows are matched by name and number. They come in our order, but nobody promises it.
            let usual = Some(place).filter(|place| asked.get(*place).is_some_and(is_it));
            let Some(place) = usual.or_else(|| asked.iter().position(is_it)) else { continue };
            let code = ptr::addr_of!((*row).err).cast::<i32>().read();
            let timestamp = raw::rd_kafka_ListOffsetsResultInfo_timestamp(*info);
            let epoch = raw::rd_kafka_topic_partition_get_leader_epoch(row);
            rows[place] = Some(row_of(asked[place].spec, code, (*row).offset, timestamp, epoch));
        }
    }
    Ok(rows.into_iter().map(|row| row.unwrap_or_else(|| Err(CallError::of(NO_ANSWER)))).collect())
}

/// Asks for the two ends of logs by an older call of librdkafka, which costs it half as much. It answers for all or for
/// none: one bad row, or one leader that is silent, fails it. Its isolation is the client's: uncommitted.
pub(in super::super) fn ends(
    client: &Client<Context>,
    asked: &[Asked<'_>],
    timeout: Duration,
) -> Result<Rows, CallError> {
    type AsEnum = unsafe extern "C" fn(
        *mut raw::rd_kafka_t,
        *mut raw::rd_kafka_topic_partition_list_t,
        c_int,
    ) -> raw::rd_kafka_resp_err_t;
    type AsNumber =
        unsafe extern "C" fn(*mut raw::rd_kafka_t, *mut raw::rd_kafka_topic_partition_list_t, c_int) -> c_int;
    let list = list_of(asked)?;
    // SAFETY: client and list are alive through this call, which waits; the enum is a C int, read as one. Afterwards the
    // list is still ours, with its elements in the order in which we put them there.
    unsafe {
        let call = mem::transmute::<AsEnum, AsNumber>(raw::rd_kafka_offsets_for_times);
        let code = call(client.native_ptr(), list.get(), millis(timeout));
        if code != 0 {
            return Err(CallError::of(code));
        }
        let count = usize::try_from((*list.get()).cnt).unwrap_or(0);
        let elements = view(&list, (*list.get()).elems.cast_const(), count);
        let rows = asked.iter().zip(elements).map(|(asked, element)| {
            let code = ptr::addr_of!(element.err).cast::<i32>().read();
            let epoch = raw::rd_kafka_topic_partition_get_leader_epoch(element);
            // What was asked for stands in the row until an answer replaces it: a negative number, and so no offset.
            row_of(asked.spec, code, element.offset, -1, epoch)
        });
        Ok(rows.collect())
    }
}

/// A row counts only without an error and with an offset; −1 means "no such record" for look-ups by time alone. A
/// leader that did not answer leaves −1001 and no error at all.
fn row_of(spec: Spec, code: i32, offset: i64, timestamp: i64, epoch: i32) -> Result<Option<Found>, CallError> {
    if code != 0 {
        return Err(CallError::of(code));
    }
    let by_time = spec.by_time();
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

fn list_of(asked: &[Asked<'_>]) -> Result<Owned<raw::rd_kafka_topic_partition_list_t>, CallError> {
    // SAFETY: the new list is ours; the count is only a first size.
    let list = unsafe {
        let new = raw::rd_kafka_topic_partition_list_new(i32::try_from(asked.len()).unwrap_or(0));
        Owned::new(new, raw::rd_kafka_topic_partition_list_destroy, "no list")?
    };
    // Partitions of one topic mostly stand together.
    let mut name: (&str, CString) = ("", CString::default());
    for Asked { topic, partition, spec } in asked {
        if name.0 != *topic {
            name = (topic, c_name(topic)?);
        }
        let number = match spec {
            Spec::Earliest => -2,
            Spec::Latest => -1,
            Spec::Youngest => -3,
            // Below zero stand the special values.
            Spec::At(moment) => moment.millis().max(0),
        };
        // SAFETY: list and name are alive; the name is copied; the element that comes back is alive until the next one.
        unsafe {
            let element = raw::rd_kafka_topic_partition_list_add(list.get(), name.1.as_ptr(), *partition);
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
        check(Spec::Youngest, 0, 7, 9, found(7, Some(9)));
        check(Spec::Youngest, 0, -1, -1, Ok(None));
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

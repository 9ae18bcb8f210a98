//! DescribeTopics: which topics exist, their ids, and who leads their partitions.
//!
//! It never creates a topic, and it refreshes what the client knows of leaders.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int};
use std::mem;
use std::time::Duration;

use rdkafka::bindings as raw;
use rdkafka::client::Client;

use super::super::context::Context;
use super::{CallError, Owned, c_name, options, queue, result, text, view};
use crate::measures::TopicName;
use crate::retention::TopicId;

/// One topic that exists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Described {
    /// Its identity; absent where the broker does not say it.
    pub(in super::super) id: Option<TopicId>,
    /// Each partition with its leader; absent while it has none.
    pub(in super::super) leaders: BTreeMap<i32, Option<i32>>,
    /// Each partition with every broker that holds it, its leader among them.
    pub(in super::super) replicas: BTreeMap<i32, Vec<i32>>,
}

/// Each topic's answer.
pub(in super::super) type Rows = BTreeMap<TopicName, Result<Described, CallError>>;

/// Asks one broker for topics by name. A topic that the answer lacks is absent from the rows too.
pub(in super::super) fn describe_topics(
    client: &Client<Context>,
    asked: &[TopicName],
    broker: i32,
    timeout: Duration,
) -> Result<Rows, CallError> {
    let queue = queue(client)?;
    let options = options(client, raw::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS, timeout, Some(broker))?;
    let names: Vec<CString> = asked.iter().map(|name| c_name(name)).collect::<Result<_, _>>()?;
    let mut pointers: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
    // SAFETY: names and pointers are alive; librdkafka copies names into the collection, and the collection into the
    // request. The collection is ours.
    unsafe {
        let new = raw::rd_kafka_TopicCollection_of_topic_names(pointers.as_mut_ptr(), pointers.len());
        let topics = Owned::new(new, raw::rd_kafka_TopicCollection_destroy, "no list of topics")?;
        raw::rd_kafka_DescribeTopics(client.native_ptr(), topics.get(), options.get(), queue.get());
    }
    let event = result(&queue, timeout)?;

    let known: BTreeMap<&str, &TopicName> = asked.iter().map(|name| (&**name, name)).collect();
    let mut rows = Rows::new();
    // SAFETY: everything below is read out of the event, which is held; strings are copied.
    unsafe {
        let answer = raw::rd_kafka_event_DescribeTopics_result(event.get());
        if answer.is_null() {
            return Err(CallError::internal("a result of another kind came"));
        }
        let mut count = 0;
        let topics = raw::rd_kafka_DescribeTopics_result_topics(answer, &mut count);
        for topic in view(&event, topics.cast_const(), count) {
            let name = text(raw::rd_kafka_TopicDescription_name(*topic));
            let Some(name) = known.get(name.as_str()) else { continue };
            rows.insert(TopicName::clone(name), row_of(&event, *topic));
        }
    }
    Ok(rows)
}

/// # Safety
/// `topic` is alive as long as `event`.
unsafe fn row_of(
    event: &Owned<raw::rd_kafka_event_t>,
    topic: *const raw::rd_kafka_TopicDescription_t,
) -> Result<Described, CallError> {
    type AsEnum = unsafe extern "C" fn(*const raw::rd_kafka_error_t) -> raw::rd_kafka_resp_err_t;
    type AsNumber = unsafe extern "C" fn(*const raw::rd_kafka_error_t) -> c_int;
    // SAFETY: the caller's promise; a missing error is null, and librdkafka reads null as code zero; the enum is a C
    // int, read as one; a missing leader is null, and is not asked for its id.
    unsafe {
        let error = raw::rd_kafka_TopicDescription_error(topic);
        let code = mem::transmute::<AsEnum, AsNumber>(raw::rd_kafka_error_code)(error);
        if code != 0 {
            return Err(CallError::of(code));
        }
        let id = raw::rd_kafka_TopicDescription_topic_id(topic);
        let high = raw::rd_kafka_Uuid_most_significant_bits(id);
        let low = raw::rd_kafka_Uuid_least_significant_bits(id);
        let mut count = 0;
        let partitions = raw::rd_kafka_TopicDescription_partitions(topic, &mut count);
        let partitions = view(event, partitions.cast_const(), count);
        let leaders = partitions.iter().map(|partition| {
            let leader = raw::rd_kafka_TopicPartitionInfo_leader(*partition);
            let leader = if leader.is_null() { -1 } else { raw::rd_kafka_Node_id(leader) };
            (raw::rd_kafka_TopicPartitionInfo_partition(*partition), (leader >= 0).then_some(leader))
        });
        let held = partitions.iter().map(|partition| {
            let mut count = 0;
            let nodes = raw::rd_kafka_TopicPartitionInfo_replicas(*partition, &mut count);
            let nodes = view(event, nodes.cast_const(), count).iter().filter(|node| !node.is_null());
            let ids = nodes.map(|node| raw::rd_kafka_Node_id(*node)).collect();
            (raw::rd_kafka_TopicPartitionInfo_partition(*partition), ids)
        });
        Ok(Described { id: id_of(high, low), leaders: leaders.collect(), replicas: held.collect() })
    }
}

/// Sixteen bytes, highest first, as Kafka writes them. Brokers without topic ids say zero.
fn id_of(high: i64, low: i64) -> Option<TopicId> {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&high.to_be_bytes());
    bytes[8..].copy_from_slice(&low.to_be_bytes());
    (bytes != [0; 16]).then_some(TopicId(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_its_bytes_highest_first_and_zero_is_none() {
        assert_eq!(id_of(0, 0), None);
        let id = id_of(0x0102_0304_0506_0708, -1).unwrap();
        assert_eq!(id.0, [1, 2, 3, 4, 5, 6, 7, 8, 255, 255, 255, 255, 255, 255, 255, 255]);
    }
}

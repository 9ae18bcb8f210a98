//! DescribeConfigs: the effective settings of topics.
//!
//! rust-rdkafka's own call drops the error of each topic: what is denied or missing comes back as a topic without
//! settings.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::mem;
use std::time::Duration;

use rdkafka::bindings as raw;
use rdkafka::client::Client;

use super::super::context::Context;
use super::{CallError, Owned, c_name, options, queue, result, text, view};
use crate::measures::TopicName;

/// The settings of one topic by name; one that the broker keeps to itself is absent.
pub(in super::super) type Settings = BTreeMap<String, Setting>;

/// A setting in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Setting {
    pub(in super::super) value: String,
    /// The number of its source, as Kafka's protocol has it.
    pub(in super::super) source: i32,
}

/// Each topic's answer.
pub(in super::super) type Rows = BTreeMap<TopicName, Result<Settings, CallError>>;

/// Resources to ask for. librdkafka frees them as an array.
struct Resources(Vec<*mut raw::rd_kafka_ConfigResource_t>);

impl Drop for Resources {
    fn drop(&mut self) {
        // SAFETY: each was made by `rd_kafka_ConfigResource_new`, is ours, and is freed here alone.
        unsafe { raw::rd_kafka_ConfigResource_destroy_array(self.0.as_mut_ptr(), self.0.len()) }
    }
}

/// Asks one broker for those settings of topics that `keys` names.
pub(in super::super) fn describe_configs(
    client: &Client<Context>,
    asked: &[TopicName],
    keys: &[&str],
    broker: i32,
    timeout: Duration,
) -> Result<Rows, CallError> {
    let queue = queue(client)?;
    let options = options(client, raw::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, timeout, Some(broker))?;
    let mut resources = Resources(Vec::with_capacity(asked.len()));
    for topic in asked {
        let name = c_name(topic)?;
        // SAFETY: the name is alive and is copied; the new resource is ours.
        let resource = unsafe {
            raw::rd_kafka_ConfigResource_new(raw::rd_kafka_ResourceType_t::RD_KAFKA_RESOURCE_TOPIC, name.as_ptr())
        };
        if resource.is_null() {
            return Err(CallError::internal("a topic's name was refused"));
        }
        resources.0.push(resource);
    }
    // SAFETY: all are alive; librdkafka copies resources and options before it returns.
    unsafe {
        let (first, count) = (resources.0.as_mut_ptr(), resources.0.len());
        raw::rd_kafka_DescribeConfigs(client.native_ptr(), first, count, options.get(), queue.get());
    }
    let event = result(&queue, timeout)?;

    let known: BTreeMap<&str, &TopicName> = asked.iter().map(|name| (&**name, name)).collect();
    let mut rows = Rows::new();
    // SAFETY: everything below is read out of the event, which is held; strings are copied.
    unsafe {
        let answer = raw::rd_kafka_event_DescribeConfigs_result(event.get());
        if answer.is_null() {
            return Err(CallError::internal("a result of another kind came"));
        }
        let mut count = 0;
        let found = raw::rd_kafka_DescribeConfigs_result_resources(answer, &mut count);
        for resource in view(&event, found.cast_const(), count) {
            let name = text(raw::rd_kafka_ConfigResource_name(*resource));
            let Some(name) = known.get(name.as_str()) else { continue };
            rows.insert(TopicName::clone(name), row_of(&event, *resource, keys));
        }
    }
    Ok(rows)
}

/// # Safety
/// `resource` is alive as long as `event`.
unsafe fn row_of(
    event: &Owned<raw::rd_kafka_event_t>,
    resource: *const raw::rd_kafka_ConfigResource_t,
    keys: &[&str],
) -> Result<Settings, CallError> {
    type AsEnum = unsafe extern "C" fn(*const raw::rd_kafka_ConfigResource_t) -> raw::rd_kafka_resp_err_t;
    type AsNumber = unsafe extern "C" fn(*const raw::rd_kafka_ConfigResource_t) -> c_int;
    type Source = unsafe extern "C" fn(*const raw::rd_kafka_ConfigEntry_t) -> raw::rd_kafka_ConfigSource_t;
    type SourceNumber = unsafe extern "C" fn(*const raw::rd_kafka_ConfigEntry_t) -> c_int;
    // SAFETY: the caller's promise; the enums are C ints, read as such, since brokers send numbers that no list has; a
    // value that the broker hides is null.
    unsafe {
        let code = mem::transmute::<AsEnum, AsNumber>(raw::rd_kafka_ConfigResource_error)(resource);
        if code != 0 {
            return Err(CallError::of(code));
        }
        let mut count = 0;
        let entries = raw::rd_kafka_ConfigResource_configs(resource, &mut count);
        let mut settings = Settings::new();
        for entry in view(event, entries.cast_const(), count) {
            let name = text(raw::rd_kafka_ConfigEntry_name(*entry));
            let value = raw::rd_kafka_ConfigEntry_value(*entry);
            if keys.contains(&name.as_str()) && !value.is_null() {
                let source = mem::transmute::<Source, SourceNumber>(raw::rd_kafka_ConfigEntry_source)(*entry);
                settings.insert(name, Setting { value: text(value), source });
            }
        }
        Ok(settings)
    }
}

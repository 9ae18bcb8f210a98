//! The librdkafka calls that rust-rdkafka lacks or gets wrong: ListOffsets and the ends of logs, DescribeTopics,
//! DescribeConfigs, the cluster's id.
//!
//! The only place of the program with unsafe code. Each function takes a client and slices, waits on a queue of its
//! own, and returns owned values; no pointer of librdkafka outlives a call. The argument for safety, in words:
//!
//! - Whatever librdkafka hands to us to free sits in an [`Owned`] from its first moment, and is freed once.
//! - What an event contains is read while the event is held, and copied.
//! - The tests run under valgrind (`tests/memcheck`): nothing is read or freed wrongly, and nothing leaks.
//! - The client outlives the call, since the call borrows it. librdkafka is thread-safe by its own documentation.
//! - A queue lives for one call. A result that comes after we stopped waiting is dropped by librdkafka with the queue.
//! - Error codes come from the wire. Rust's enums are closed and an unlisted code in one is undefined behaviour, so
//!   codes are read as integers.

use std::ffi::{CStr, CString, c_char, c_int};
use std::mem;
use std::ptr::NonNull;
use std::slice;
use std::time::Duration;

use rdkafka::bindings as raw;
use rdkafka::client::Client;

use super::context::Context;

mod configs;
mod offsets;
mod topics;

pub(super) use configs::{Setting, Settings, describe_configs};
pub(super) use offsets::{Asked, Found, Isolation, Rows, Spec, ends, list_offsets};
pub(super) use topics::{Described, describe_topics};

/// How much longer than the request we wait for its result: librdkafka answers its own time-outs.
const PATIENCE: Duration = Duration::from_secs(2);

/// librdkafka's code for "no offset": what a row holds when its leader did not answer, with an error code of zero.
pub(super) const NO_ANSWER: i32 = -1001;

/// Our own failure, of no meaning to Kafka: `RD_KAFKA_RESP_ERR__FAIL`.
const INTERNAL: i32 = -196;

/// What went wrong with a call, or with one row of its answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text} (code {code})")]
pub(super) struct CallError {
    /// Kafka's error code, or librdkafka's own when negative.
    pub(super) code: i32,
    /// The words that come with it.
    pub(super) text: String,
}

impl CallError {
    /// An error of Kafka or librdkafka, with the words that librdkafka has for it.
    pub(super) fn of(code: i32) -> Self {
        if code == NO_ANSWER {
            return Self { code, text: "the leader did not answer".to_owned() };
        }
        type ByEnum = unsafe extern "C" fn(raw::rd_kafka_resp_err_t) -> *const c_char;
        type ByNumber = unsafe extern "C" fn(c_int) -> *const c_char;
        // SAFETY: the enum is a C int; librdkafka knows words for every int, and returns static or thread-local text.
        let text = unsafe { text(mem::transmute::<ByEnum, ByNumber>(raw::rd_kafka_err2str)(code)) };
        Self { code, text }
    }

    fn internal(text: &str) -> Self {
        Self { code: INTERNAL, text: text.to_owned() }
    }
}

/// Something that librdkafka made for us and that we must free.
struct Owned<T> {
    pointer: NonNull<T>,
    free: unsafe extern "C" fn(*mut T),
}

impl<T> Owned<T> {
    /// # Safety
    /// `pointer` is null, or is ours to free with `free`, once.
    unsafe fn new(pointer: *mut T, free: unsafe extern "C" fn(*mut T), what: &str) -> Result<Self, CallError> {
        let pointer = NonNull::new(pointer).ok_or_else(|| CallError::internal(what))?;
        Ok(Self { pointer, free })
    }

    fn get(&self) -> *mut T {
        self.pointer.as_ptr()
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: `new` took the promise that this pointer is ours, and `drop` runs once.
        unsafe { (self.free)(self.pointer.as_ptr()) }
    }
}

/// The cluster's id, once a broker said it. rust-rdkafka has this call too, and never frees what it is given.
pub(super) fn cluster_id(client: &Client<Context>, timeout: Duration) -> Option<String> {
    // SAFETY: the client is alive; what comes back is null, or a string of ours to copy and to free, once, by
    // librdkafka's own function.
    unsafe {
        let id = NonNull::new(raw::rd_kafka_clusterid(client.native_ptr(), millis(timeout)))?;
        let words = text(id.as_ptr());
        raw::rd_kafka_mem_free(client.native_ptr(), id.as_ptr().cast());
        Some(words)
    }
}

/// A queue of this call alone, so that no answer meets another call.
fn queue(client: &Client<Context>) -> Result<Owned<raw::rd_kafka_queue_t>, CallError> {
    // SAFETY: the client is alive; the new queue is ours.
    unsafe { Owned::new(raw::rd_kafka_queue_new(client.native_ptr()), raw::rd_kafka_queue_destroy, "no queue") }
}

/// Options of one call: how long the request may take, and which broker is asked.
///
/// Without a broker librdkafka asks "the controller" of its last metadata, which under KRaft is a random broker: when
/// that one is dead, every call fails while the cluster is healthy. So calls that are not sent by leader name one.
fn options(
    client: &Client<Context>,
    call: raw::rd_kafka_admin_op_t,
    timeout: Duration,
    broker: Option<i32>,
) -> Result<Owned<raw::rd_kafka_AdminOptions_t>, CallError> {
    // SAFETY: the client is alive; the options are ours; librdkafka copies what it is given, and a null buffer of
    // length zero asks for no error text. These setters answer with librdkafka's own listed codes only.
    unsafe {
        let new = raw::rd_kafka_AdminOptions_new(client.native_ptr(), call);
        let options = Owned::new(new, raw::rd_kafka_AdminOptions_destroy, "no options")?;
        let none = std::ptr::null_mut();
        let set = raw::rd_kafka_AdminOptions_set_request_timeout(options.get(), millis(timeout), none, 0);
        if set != raw::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
            return Err(CallError::internal("the time-out was refused"));
        }
        if let Some(broker) = broker {
            let set = raw::rd_kafka_AdminOptions_set_broker(options.get(), broker, none, 0);
            if set != raw::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
                return Err(CallError::internal("the broker's id was refused"));
            }
        }
        Ok(options)
    }
}

/// Waits for the one result of a call; the call's own error is an `Err`.
fn result(queue: &Owned<raw::rd_kafka_queue_t>, timeout: Duration) -> Result<Owned<raw::rd_kafka_event_t>, CallError> {
    type AsEnum = unsafe extern "C" fn(*mut raw::rd_kafka_event_t) -> raw::rd_kafka_resp_err_t;
    type AsNumber = unsafe extern "C" fn(*mut raw::rd_kafka_event_t) -> c_int;
    // SAFETY: the queue is alive; the event is ours; the enum is a C int, read as one; the text lives in the event.
    unsafe {
        let polled = raw::rd_kafka_queue_poll(queue.get(), millis(timeout + PATIENCE));
        let event = Owned::new(polled, raw::rd_kafka_event_destroy, "no result came in time")?;
        let code = mem::transmute::<AsEnum, AsNumber>(raw::rd_kafka_event_error)(event.get());
        if code == 0 {
            return Ok(event);
        }
        Err(CallError { code, text: text(raw::rd_kafka_event_error_string(event.get())) })
    }
}

/// Copies a C string.
///
/// # Safety
/// `pointer` is null or points to a string that ends in NUL and lives through this call.
unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// Views an array that librdkafka returns by pointer and count; an empty one may come as null.
///
/// # Safety
/// `pointer` is null, or points to `count` initialised elements that live as long as `_owner`.
unsafe fn view<T, O>(_owner: &O, pointer: *const T, count: usize) -> &[T] {
    if pointer.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(pointer, count) }
}

fn c_name(name: &str) -> Result<CString, CallError> {
    CString::new(name).map_err(|_| CallError::internal("a topic name holds a zero byte"))
}

fn millis(duration: Duration) -> c_int {
    c_int::try_from(duration.as_millis()).unwrap_or(c_int::MAX).max(1)
}

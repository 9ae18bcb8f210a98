//! From error codes to reasons.

use super::librdkafka::{CallError, NO_ANSWER};
use crate::measures::{Reason, Unread};

// librdkafka's own.
const DESTROYED_BROKER: i32 = -137;
const NO_LEADERS: i32 = -156;
const UNSUPPORTED_FEATURE: i32 = -165;
const AUTHENTICATION: i32 = -169;
const TIMED_OUT: i32 = -185;
const UNKNOWN_PARTITION: i32 = -190;
const TRANSPORT: i32 = -195;
// Kafka's.
pub(super) const UNKNOWN_TOPIC: i32 = 3;
const LEADER_NOT_AVAILABLE: i32 = 5;
const NOT_LEADER: i32 = 6;
const REQUEST_TIMED_OUT: i32 = 7;
const INVALID_TOPIC: i32 = 17;
pub(super) const TOPIC_DENIED: i32 = 29;
const CLUSTER_DENIED: i32 = 31;
const UNSUPPORTED_VERSION: i32 = 35;
const SASL_FAILED: i32 = 58;
const INVALID_REQUEST: i32 = 42;
const UNSUPPORTED_FORMAT: i32 = 43;
const FENCED_EPOCH: i32 = 74;
const UNKNOWN_EPOCH: i32 = 75;
const OFFSET_NOT_AVAILABLE: i32 = 78;

/// What an error means for whoever wanted to read.
pub(super) fn unread(error: &CallError) -> Unread {
    let reason = match error.code {
        TOPIC_DENIED | CLUSTER_DENIED | SASL_FAILED | AUTHENTICATION => Reason::Denied,
        UNKNOWN_TOPIC | UNKNOWN_PARTITION => Reason::NotFound,
        NO_ANSWER | TIMED_OUT | REQUEST_TIMED_OUT => Reason::TimedOut,
        UNSUPPORTED_FEATURE | UNSUPPORTED_VERSION | UNSUPPORTED_FORMAT => Reason::Unsupported,
        INVALID_TOPIC => Reason::Malformed,
        _ => Reason::Unreachable,
    };
    Unread::new(reason, error.to_string())
}

/// The leader did not answer at all.
pub(super) fn unanswered(error: &CallError) -> bool {
    matches!(error.code, NO_ANSWER | TIMED_OUT)
}

/// The broker does not look records up by time, or not the records of this topic.
pub(super) fn refuses_look_ups(error: &CallError) -> bool {
    matches!(error.code, UNSUPPORTED_FEATURE | UNSUPPORTED_VERSION | UNSUPPORTED_FORMAT | INVALID_REQUEST)
}

/// Errors that newer knowledge of the leaders may cure.
pub(super) fn curable(error: &CallError) -> bool {
    const CURABLE: [i32; 11] = [
        NO_ANSWER,
        DESTROYED_BROKER,
        NO_LEADERS,
        UNKNOWN_PARTITION,
        TRANSPORT,
        UNKNOWN_TOPIC,
        LEADER_NOT_AVAILABLE,
        NOT_LEADER,
        FENCED_EPOCH,
        UNKNOWN_EPOCH,
        OFFSET_NOT_AVAILABLE,
    ];
    unanswered(error) || CURABLE.contains(&error.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_its_reason() {
        let check = |code, reason| assert_eq!(unread(&CallError::of(code)).reason, reason, "{code}");
        check(TOPIC_DENIED, Reason::Denied);
        check(AUTHENTICATION, Reason::Denied);
        check(UNKNOWN_TOPIC, Reason::NotFound);
        check(NO_ANSWER, Reason::TimedOut);
        check(TIMED_OUT, Reason::TimedOut);
        check(UNSUPPORTED_FEATURE, Reason::Unsupported);
        check(TRANSPORT, Reason::Unreachable);
        check(LEADER_NOT_AVAILABLE, Reason::Unreachable);
        check(31_999, Reason::Unreachable);
    }

    #[test]
    fn what_a_refresh_may_cure_is_asked_again() {
        for code in
            [NO_ANSWER, NO_LEADERS, UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE, NOT_LEADER, FENCED_EPOCH, UNKNOWN_EPOCH]
        {
            assert!(curable(&CallError::of(code)), "{code}");
        }
        for code in [TOPIC_DENIED, CLUSTER_DENIED, INVALID_TOPIC, UNSUPPORTED_FEATURE] {
            assert!(!curable(&CallError::of(code)), "{code}");
        }
    }
}

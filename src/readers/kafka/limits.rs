//! What limits a topic's retention, read more rarely than offsets.

use std::time::Duration;

use tokio::time::Instant;

use super::faults;
use super::librdkafka::{CallError, Setting, Settings, describe_configs};
use super::lookups::Pass;
use super::memory::Memory;
use crate::measures::{Reason, TopicName, Unread};
use crate::retention::{Limits, SetBy, TopicId};

const CHUNK: usize = 100;
const CALL: Duration = Duration::from_secs(3);
/// How long an answer serves.
const FRESH: Duration = Duration::from_secs(300);
const KEYS: [&str; 5] =
    ["cleanup.policy", "retention.ms", "retention.bytes", "message.timestamp.type", "remote.storage.enable"];

/// The newest word on one topic.
#[derive(Clone, Debug)]
pub(super) struct KnownLimits {
    topic_id: Option<TopicId>,
    /// The last good answer. It stays true until somebody changes it, so a failure after it does not undo it.
    good: Option<Limits>,
    /// Why the newest attempt failed.
    failure: Option<Unread>,
    asked: Instant,
}

impl KnownLimits {
    fn is_due(&self, topic_id: Option<TopicId>, now: Instant) -> bool {
        // What a broker can not do it will not learn within a round.
        let retry = self.failure.as_ref().is_some_and(|failure| failure.reason != Reason::Unsupported);
        self.topic_id != topic_id || retry || now.saturating_duration_since(self.asked) >= FRESH
    }
}

/// Asks for what is due, and remembers it.
pub(super) fn refresh(pass: &Pass<'_>, memory: &mut Memory, topics: &[(TopicName, Option<TopicId>)]) {
    let now = Instant::now();
    let due: Vec<&(TopicName, Option<TopicId>)> =
        topics.iter().filter(|(name, id)| known(memory, name).is_none_or(|known| known.is_due(*id, now))).collect();
    for chunk in due.chunks(CHUNK) {
        let names: Vec<TopicName> = chunk.iter().map(|(name, _)| TopicName::clone(name)).collect();
        let answer = pass.connection.ask_any(pass.until, CALL, "describe_configs", |broker, timeout| {
            describe_configs(pass.connection.client(), &names, &KEYS, broker, timeout)
        });
        for (name, id) in chunk {
            let read = match &answer {
                Ok(rows) => rows.get(name).map_or_else(|| Err(lacking()), read_row),
                Err(unread) => Err(unread.clone()),
            };
            remember(memory, name, *id, read, now);
        }
    }
}

/// What is known of a topic, filled up with what was given by hand.
pub(super) fn limits_of(memory: &Memory, topic: &TopicName) -> Option<Result<Limits, Unread>> {
    let by_hand = memory.overrides.get(topic);
    let known = known(memory, topic);
    match (known.and_then(|known| known.good.clone()), by_hand) {
        (Some(told), Some(by_hand)) => Some(Ok(filled(told, by_hand))),
        (Some(told), None) => Some(Ok(told)),
        (None, Some(by_hand)) => Some(Ok(by_hand.clone())),
        (None, None) => known.and_then(|known| known.failure.clone()).map(Err),
    }
}

fn known<'a>(memory: &'a Memory, topic: &TopicName) -> Option<&'a KnownLimits> {
    memory.topic(topic)?.limits.as_ref()
}

/// Whether the leaders of a topic stamp its records by their own clocks.
pub(super) fn is_stamped_by_leaders(memory: &Memory, topic: &TopicName) -> bool {
    let good = known(memory, topic).and_then(|known| known.good.as_ref());
    good.is_some_and(|limits| limits.log_append_time == Some(true))
}

/// How asking for the settings of a topic went, the last time.
pub(super) fn told(memory: &Memory, topic: &TopicName) -> Option<Result<(), Reason>> {
    let known = known(memory, topic)?;
    Some(known.failure.as_ref().map_or(Ok(()), |failure| Err(failure.reason)))
}

/// Whether the right to read them was refused when they were last asked for.
pub(super) fn is_denied(memory: &Memory, topic: &TopicName) -> bool {
    let failure = known(memory, topic).and_then(|known| known.failure.as_ref());
    failure.is_some_and(|failure| failure.reason == Reason::Denied)
}

fn remember(
    memory: &mut Memory,
    topic: &TopicName,
    topic_id: Option<TopicId>,
    read: Result<Limits, Unread>,
    asked: Instant,
) {
    let before = known(memory, topic).filter(|known| known.topic_id == topic_id);
    let (good, failure) = match read {
        Ok(limits) => {
            if let Some(old) = before.and_then(|known| known.good.as_ref()).filter(|old| **old != limits) {
                tracing::info!(target: "kafka", topic = &**topic, ?old, new = ?limits, "limits changed");
            }
            (Some(limits), None)
        }
        Err(unread) => {
            let good = before.and_then(|known| known.good.clone());
            let told = before.and_then(|known| known.failure.as_ref()).map(|failure| failure.reason);
            // A missing right is told with the others of its kind.
            if told != Some(unread.reason) && unread.reason != Reason::Denied {
                tracing::warn!(target: "kafka", topic = &**topic, %unread, kept = good.is_some(), "limits not read");
            }
            (good, Some(unread))
        }
    };
    let topic = memory.topics.entry(TopicName::clone(topic)).or_default();
    topic.limits = Some(KnownLimits { topic_id, good, failure, asked });
}

fn read_row(row: &Result<Settings, CallError>) -> Result<Limits, Unread> {
    let settings = row.as_ref().map_err(faults::unread)?;
    if settings.is_empty() {
        return Err(lacking());
    }
    let text = |key: &str| settings.get(key).map(|setting| setting.value.clone());
    let number = |key: &str| settings.get(key).and_then(|Setting { value, .. }| value.parse().ok());
    let set_by = |key: &str| settings.get(key).and_then(|setting| SetBy::of(setting.source));
    Ok(Limits {
        cleanup_policy: text("cleanup.policy"),
        retention_ms: number("retention.ms"),
        retention_ms_set_by: set_by("retention.ms"),
        retention_bytes: number("retention.bytes"),
        retention_bytes_set_by: set_by("retention.bytes"),
        log_append_time: text("message.timestamp.type").map(|kind| kind == "LogAppendTime"),
        tiered: text("remote.storage.enable").map(|enabled| enabled == "true"),
    })
}

/// Some brokers answer a right that is missing, or a call that they do not know, with nothing at all.
fn lacking() -> Unread {
    Unread::new(Reason::Unsupported, "the broker names no settings for the topic")
}

fn filled(told: Limits, by_hand: &Limits) -> Limits {
    Limits {
        cleanup_policy: told.cleanup_policy.or_else(|| by_hand.cleanup_policy.clone()),
        retention_ms: told.retention_ms.or(by_hand.retention_ms),
        retention_ms_set_by: told.retention_ms.map_or(by_hand.retention_ms_set_by, |_| told.retention_ms_set_by),
        retention_bytes: told.retention_bytes.or(by_hand.retention_bytes),
        retention_bytes_set_by: told
            .retention_bytes
            .map_or(by_hand.retention_bytes_set_by, |_| told.retention_bytes_set_by),
        log_append_time: told.log_append_time.or(by_hand.log_append_time),
        tiered: told.tiered.or(by_hand.tiered),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const ID: Option<TopicId> = Some(TopicId([1; 16]));
    const OTHER: Option<TopicId> = Some(TopicId([2; 16]));

    fn limits(retention_ms: i64) -> Limits {
        Limits { retention_ms: Some(retention_ms), ..Limits::default() }
    }

    fn denied() -> Unread {
        Unread::new(Reason::Denied, "no right")
    }

    #[test]
    fn a_failure_keeps_what_was_known_of_the_same_topic_alone() {
        let topic: TopicName = "t".into();
        let check = |reads: &[(Option<TopicId>, Result<Limits, Unread>)], expected: Result<Limits, Unread>| {
            let mut memory = Memory::default();
            for (id, read) in reads {
                remember(&mut memory, &topic, *id, read.clone(), Instant::now());
            }
            assert_eq!(limits_of(&memory, &topic), Some(expected), "{reads:?}");
        };
        check(&[(ID, Ok(limits(5)))], Ok(limits(5)));
        check(&[(ID, Err(denied()))], Err(denied()));
        check(&[(ID, Ok(limits(5))), (ID, Err(denied()))], Ok(limits(5)));
        check(&[(ID, Ok(limits(5))), (OTHER, Err(denied()))], Err(denied()));
        check(&[(ID, Err(denied())), (ID, Ok(limits(6)))], Ok(limits(6)));
    }

    #[test]
    fn limits_by_hand_fill_what_the_broker_does_not_tell() {
        let topic: TopicName = "t".into();
        let by_hand = Limits { retention_bytes: Some(9), ..limits(7) };
        let mut memory = Memory::new(String::new(), BTreeMap::from([(TopicName::clone(&topic), by_hand.clone())]));
        assert_eq!(limits_of(&memory, &topic), Some(Ok(by_hand.clone())));
        remember(&mut memory, &topic, ID, Err(denied()), Instant::now());
        assert_eq!(limits_of(&memory, &topic), Some(Ok(by_hand)));
        remember(&mut memory, &topic, ID, Ok(limits(5)), Instant::now());
        assert_eq!(limits_of(&memory, &topic), Some(Ok(Limits { retention_bytes: Some(9), ..limits(5) })));
    }

    #[test]
    fn an_answer_serves_five_minutes_and_a_failure_one_round() {
        let asked = Instant::now();
        let known = |failure: Option<Unread>| KnownLimits { topic_id: ID, good: None, failure, asked };
        let check = |known: KnownLimits, id, later: u64, due| {
            assert_eq!(known.is_due(id, asked + Duration::from_secs(later)), due, "{known:?} {later}");
        };
        check(known(None), ID, 299, false);
        check(known(None), ID, 300, true);
        check(known(None), OTHER, 0, true);
        check(known(Some(denied())), ID, 0, true);
        check(known(Some(lacking())), ID, 0, false);
        check(known(Some(lacking())), ID, 300, true);
    }

    #[test]
    fn a_setting_that_is_not_named_stays_unknown() {
        let settings = |rows: &[(&str, &str, i32)]| {
            let row = |(key, value, source): &(&str, &str, i32)| {
                ((*key).to_owned(), Setting { value: (*value).to_owned(), source: *source })
            };
            Ok(rows.iter().map(row).collect::<Settings>())
        };
        let full = settings(&[
            ("cleanup.policy", "compact,delete", 1),
            ("retention.ms", "-1", 4),
            ("retention.bytes", "1048576", 1),
            ("message.timestamp.type", "CreateTime", 5),
            ("remote.storage.enable", "false", 5),
        ]);
        let expected = Limits {
            cleanup_policy: Some("compact,delete".to_owned()),
            retention_ms: Some(-1),
            retention_ms_set_by: Some(SetBy::Brokers),
            retention_bytes: Some(1_048_576),
            retention_bytes_set_by: Some(SetBy::Topic),
            log_append_time: Some(false),
            tiered: Some(false),
        };
        assert_eq!(read_row(&full), Ok(expected));
        assert_eq!(read_row(&settings(&[("retention.ms", "5", 99)])), Ok(limits(5)));
        assert_eq!(read_row(&settings(&[])).unwrap_err().reason, Reason::Unsupported);
        assert_eq!(read_row(&Err(CallError::of(29))).unwrap_err().reason, Reason::Denied);
    }
}

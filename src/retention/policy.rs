//! Which deletion rules are in force for a topic.

use std::time::Duration;

use super::reading::Limits;
use crate::measures::Unread;

/// What `cleanup.policy` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cleanup {
    /// Segments are deleted by time and size.
    Delete,
    /// Records are compacted; the log start stays where it is.
    Compact,
    /// Both, by the cleaner. Compaction may remove the very record that a proof rests on.
    CompactDelete,
    /// An empty policy: nothing is deleted.
    Nothing,
    /// The broker did not say, or names a policy that is not known.
    Unknown,
}

impl Cleanup {
    /// Every policy, in the order in which they are published.
    pub const ALL: [Self; 5] = [Self::Delete, Self::Compact, Self::CompactDelete, Self::Nothing, Self::Unknown];

    /// The label's text.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Compact => "compact",
            Self::CompactDelete => "compact_delete",
            Self::Nothing => "none",
            Self::Unknown => "unknown",
        }
    }

    fn of(written: Option<&str>) -> Self {
        let Some(written) = written else { return Self::Unknown };
        let words: Vec<&str> = written.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
        let has = |word| words.contains(&word);
        if words.iter().any(|word| !matches!(*word, "delete" | "compact")) {
            return Self::Unknown;
        }
        match (has("delete"), has("compact")) {
            (true, true) => Self::CompactDelete,
            (true, false) => Self::Delete,
            (false, true) => Self::Compact,
            (false, false) => Self::Nothing,
        }
    }
}

/// One of the two limits of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit<T> {
    /// It could not be read: neither limited nor unlimited.
    Unknown,
    /// Switched off.
    Unlimited,
    /// At this much.
    At(T),
}

/// What deletes records of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The kind of cleanup.
    pub cleanup: Cleanup,
    /// `retention.ms`.
    pub time: Limit<Duration>,
    /// `retention.bytes`, per partition.
    pub size: Limit<u64>,
}

impl Policy {
    /// Whether so many seconds are what `retention.ms` says, and not what was seen of a log that size cuts.
    #[must_use]
    pub fn is_set_to(&self, seconds: f64) -> bool {
        matches!(self.time, Limit::At(limit) if (limit.as_secs_f64() - seconds).abs() < 0.001)
    }
}

/// Which limit decides when records go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ruling {
    /// `retention.ms`.
    Time,
    /// `retention.bytes`.
    Size,
    /// Nothing is deleted.
    None,
    /// It cannot be told.
    Unknown,
}

impl Ruling {
    /// Every answer, in the order in which they are published.
    pub const ALL: [Self; 4] = [Self::Time, Self::Size, Self::None, Self::Unknown];

    /// The label's text.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Size => "size",
            Self::None => "none",
            Self::Unknown => "unknown",
        }
    }
}

impl Policy {
    /// A topic of which nothing could be read.
    pub const UNKNOWN: Self = Self { cleanup: Cleanup::Unknown, time: Limit::Unknown, size: Limit::Unknown };

    /// The policy that a topic's limits make. A setting that the broker did not name is unknown, never its default:
    /// services exist whose limits are not Kafka's.
    #[must_use]
    pub fn of(limits: Option<&Result<Limits, Unread>>) -> Self {
        let Some(Ok(limits)) = limits else { return Self::UNKNOWN };
        let cleanup = Cleanup::of(limits.cleanup_policy.as_deref());
        if matches!(cleanup, Cleanup::Compact | Cleanup::Nothing) {
            return Self { cleanup, time: Limit::Unlimited, size: Limit::Unlimited };
        }
        Self {
            cleanup,
            time: limit(limits.retention_ms, Duration::from_millis),
            size: limit(limits.retention_bytes, |bytes| bytes),
        }
    }

    /// Whether look-ups by time can prove a deadline. Where records are compacted too, the record that protects a
    /// position may vanish, and the proof with it.
    #[must_use]
    pub const fn proves_by_time(self) -> bool {
        !matches!(self.cleanup, Cleanup::CompactDelete)
    }

    /// Which limit decides, given whether size is seen to be at work.
    #[must_use]
    pub const fn ruling(self, size_at_work: bool) -> Ruling {
        match (self.time, self.size) {
            (_, Limit::At(_)) if size_at_work => Ruling::Size,
            (Limit::At(_), _) => Ruling::Time,
            (Limit::Unlimited, Limit::At(_)) => Ruling::Size,
            (Limit::Unlimited, Limit::Unlimited) => Ruling::None,
            _ => Ruling::Unknown,
        }
    }
}

/// Negative numbers switch a limit off.
fn limit<T>(number: Option<i64>, at: impl Fn(u64) -> T) -> Limit<T> {
    match number.map(u64::try_from) {
        None => Limit::Unknown,
        Some(Err(_)) => Limit::Unlimited,
        Some(Ok(number)) => Limit::At(at(number)),
    }
}

//! PURE. The few quantities that every room speaks of, each with a type of its own, so that an offset is never
//! taken for a count, a batch or a time.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A position in a Kafka partition: the number of a record, zero or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Offset(i64);

impl Offset {
    /// The first offset a partition ever had.
    pub const ZERO: Self = Self(0);

    /// Beyond every offset that a record can have.
    pub const MAX: Self = Self(i64::MAX);

    /// Takes a number as an offset; `None` when it is negative.
    #[must_use]
    pub const fn new(number: i64) -> Option<Self> {
        if number < 0 { None } else { Some(Self(number)) }
    }

    /// The plain number.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// Signed distance `self − other`, in offsets. Cannot overflow, since both are zero or more.
    #[must_use]
    pub const fn minus(self, other: Self) -> i64 {
        self.0 - other.0
    }

    /// How many offsets lie in `[other, self)`: zero when `self` is not above `other`.
    #[must_use]
    pub fn above(self, other: Self) -> u64 {
        u64::try_from(self.0 - other.0).unwrap_or(0)
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a batch of one query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BatchId(pub u64);

impl BatchId {
    /// The batch before this one; `None` for batch 0.
    #[must_use]
    pub fn previous(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
    }
}

impl fmt::Display for BatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A moment, in milliseconds since the Unix epoch: the resolution of Spark's and Kafka's own times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Moment(i64);

impl Moment {
    /// A moment from milliseconds since the Unix epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Seconds since the Unix epoch, as Prometheus wants them.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "milliseconds stay below 2^53 until the year 287396")]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1000.0
    }

    /// The moment so much later; saturates at the end of time.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The moment so much earlier; saturates.
    #[must_use]
    pub fn minus(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Time from `earlier` to this moment; zero when `earlier` is in fact later (clocks step).
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// The name of a topic. Shared, since a fleet repeats each name thousands of times.
pub type TopicName = Arc<str>;

/// One partition of one topic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: TopicName,
    /// The partition's number, zero or more.
    pub partition: i32,
}

impl TopicPartition {
    /// Names one partition of a topic.
    #[must_use]
    pub fn new(topic: &TopicName, partition: i32) -> Self {
        Self { topic: Arc::clone(topic), partition }
    }
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.topic, self.partition)
    }
}

/// Why something could not be read: the bounded label of metrics, pages and JSON. The long error goes to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// No connection, no answer, no leader.
    Unreachable,
    /// The right to read it is missing.
    Denied,
    /// It is not there.
    NotFound,
    /// It is there and makes no sense.
    Malformed,
    /// The answer did not come within the deadline.
    TimedOut,
    /// It is of a kind or version that we do not know.
    Unsupported,
    /// The poll before this one was still running.
    Overrun,
}

impl Reason {
    /// Every reason, in the order in which they are published.
    pub const ALL: [Self; 7] = [
        Self::Unreachable,
        Self::Denied,
        Self::NotFound,
        Self::Malformed,
        Self::TimedOut,
        Self::Unsupported,
        Self::Overrun,
    ];

    /// The label's text.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Denied => "denied",
            Self::NotFound => "not_found",
            Self::Malformed => "malformed",
            Self::TimedOut => "timed_out",
            Self::Unsupported => "unsupported",
            Self::Overrun => "overrun",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// What could not be read, and why: a bounded reason, and the words for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The bounded label.
    pub reason: Reason,
    /// The chain of causes in words, without secrets.
    pub detail: String,
}

impl Unread {
    /// Names a failure to read.
    #[must_use]
    pub fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into() }
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason, self.detail)
    }
}

impl std::error::Error for Unread {}

/// An error with its causes in one line of text: for errors that do not repeat their causes.
#[must_use]
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |words, cause| format!("{words}: {cause}"))
}

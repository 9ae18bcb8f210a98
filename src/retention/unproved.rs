//! Why nothing is proved from time.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Why look-ups by time prove nothing of a partition whose bounds were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Unproved {
    /// A broker that holds the partition has a clock that runs ahead of ours, beyond the allowance.
    FastClock {
        /// Which.
        broker: i32,
        /// By how much, at least.
        #[serde(rename = "by_ms", with = "millis")]
        by: Duration,
    },
    /// The broker refuses look-ups by time.
    LookUpsRefused,
    /// Look-ups by time find no record in a log that has some.
    NothingFound,
    /// Look-ups by time find records, and these carry no timestamp.
    NoTimestamps,
}

impl Unproved {
    /// The label's text.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::FastClock { .. } => "fast_clock",
            Self::LookUpsRefused => "look_ups_refused",
            Self::NothingFound => "nothing_found",
            Self::NoTimestamps => "no_timestamps",
        }
    }

    /// Whether the records' own times cannot be looked up. What was seen of the log from round to round serves instead.
    #[must_use]
    pub const fn hides_times(self) -> bool {
        !matches!(self, Self::FastClock { .. })
    }
}

impl fmt::Display for Unproved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing is proved from time: ")?;
        match self {
            Self::FastClock { broker, by } => {
                let ahead = by.as_secs().max(1);
                write!(f, "the clock of broker {broker} is at least {ahead} s ahead of ours")
            }
            Self::LookUpsRefused => f.write_str("the broker refuses look-ups by time"),
            Self::NothingFound => f.write_str("look-ups by time find no record here"),
            Self::NoTimestamps => f.write_str("the records carry no timestamps"),
        }
    }
}

mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
        u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

//! Durations as text with a unit: `30s`, `5m`, `24h`, `7d`.

use std::fmt;
use std::time::Duration;

use serde::de::{self, Visitor};

/// Reads a duration; the error says what would be right.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    if text.is_empty() {
        return Err("must not be empty; write a duration such as \"30s\"".to_owned());
    }
    if text.chars().all(|c| c.is_ascii_digit()) {
        return Err(without_unit(text));
    }
    humantime::parse_duration(text).map_err(|_| {
        format!("{text:?} is no duration; write a number and a unit such as \"30s\", \"5m\", \"24h\" or \"7d\"")
    })
}

/// The shortest text that [`parse`] reads back as the same duration.
pub(super) fn show(duration: Duration) -> String {
    if duration.subsec_nanos() > 0 || duration.is_zero() {
        return humantime::format_duration(duration).to_string();
    }
    let seconds = duration.as_secs();
    let units = [(86_400, "d"), (3_600, "h"), (60, "m")];
    // A day and a half is better read as 36h than as 1.5 of anything; 24h stays 24h, since that is how people say it.
    let whole =
        units.into_iter().find(|(unit, _)| seconds.is_multiple_of(*unit) && (seconds / unit > 1 || *unit == 60));
    whole.map_or_else(|| format!("{seconds}s"), |(unit, name)| format!("{}{name}", seconds / unit))
}

fn without_unit(number: impl fmt::Display) -> String {
    format!("{number} has no unit; write \"{number}s\" for seconds")
}

struct DurationText;

impl Visitor<'_> for DurationText {
    type Value = Duration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration such as \"30s\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Duration, E> {
        parse(text).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Duration, E> {
        Err(E::custom(without_unit(number)))
    }
}

struct OptionalDurationText;

impl Visitor<'_> for OptionalDurationText {
    type Value = Option<Duration>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        DurationText.expecting(f)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Option<Duration>, E> {
        if text.is_empty() { Ok(None) } else { DurationText.visit_str(text).map(Some) }
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Option<Duration>, E> {
        DurationText.visit_i64(number).map(Some)
    }
}

/// For `#[serde(with)]`: a duration that must be there.
pub(super) mod always {
    use serde::{Deserializer, Serializer};

    use super::{Duration, DurationText, show};

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        deserializer.deserialize_any(DurationText)
    }

    pub(in super::super) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&show(*duration))
    }
}

/// For `#[serde(with)]`: a duration that empty text leaves to its default.
pub(super) mod or_empty {
    use serde::{Deserializer, Serializer};

    use super::{Duration, OptionalDurationText, show};

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        deserializer.deserialize_any(OptionalDurationText)
    }

    pub(in super::super) fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&duration.map(show).unwrap_or_default())
    }
}

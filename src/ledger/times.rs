//! Times in the file: RFC 3339 in UTC, so that any tool shows them to a person, and text sorts as time does.

use chrono::{DateTime, SecondsFormat};

use crate::measures::Moment;

pub(super) fn text_of(at: Moment) -> Option<String> {
    DateTime::from_timestamp_millis(at.millis()).map(|time| time.to_rfc3339_opts(SecondsFormat::Millis, true))
}

pub(super) fn moment_of(text: &str) -> Option<Moment> {
    DateTime::parse_from_rfc3339(text).ok().map(|time| Moment::from_millis(time.timestamp_millis()))
}

//! Times in answers: RFC 3339, in UTC, to the millisecond.

use chrono::{DateTime, SecondsFormat};

use crate::judgement::Deadline;
use crate::measures::Moment;

/// The moment as RFC 3339; absent for one that no calendar has.
#[must_use]
pub fn rfc3339(at: Moment) -> Option<String> {
    DateTime::from_timestamp_millis(at.millis()).map(|time| time.to_rfc3339_opts(SecondsFormat::Millis, true))
}

/// A moment as RFC 3339, no limit as the text `never`.
#[must_use]
pub fn deadline(deadline: Deadline) -> Option<String> {
    match deadline {
        Deadline::At(moment) => rfc3339(moment),
        Deadline::Never => Some("never".to_owned()),
    }
}

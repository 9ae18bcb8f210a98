//! A moment as a person writes it.

use std::time::Duration;

use chrono::DateTime;
use thiserror::Error;

use crate::measures::Moment;

/// A text that names no moment.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum WhenError {
    /// None of the forms.
    #[error("{text:?} is no time: write 2026-11-30T02:53:08Z, seconds or milliseconds since 1970, or \"2h ago\"")]
    Unknown {
        /// What was written.
        text: String,
    },
    /// It lies in the future.
    #[error("{text:?} is {} in the future: no record is that young, and Spark would refuse it", humantime::format_duration(*.ahead))]
    Future {
        /// What was written.
        text: String,
        /// How far ahead of now.
        ahead: Duration,
    },
}

/// Below this a number is taken for seconds, from it on for milliseconds: seconds reach it in the year 5138, and
/// milliseconds had it in 1973.
const MILLISECONDS_FROM: i64 = 100_000_000_000;

/// Reads RFC 3339, seconds or milliseconds since 1970, or a length of time with `ago` behind it.
///
/// # Errors
/// When it is none of these, or lies in the future.
pub fn when(text: &str, now: Moment) -> Result<Moment, WhenError> {
    let text = text.trim();
    let unknown = || WhenError::Unknown { text: text.to_owned() };
    let moment = if let Ok(number) = text.parse::<i64>() {
        if number < 0 {
            return Err(unknown());
        }
        Moment::from_millis(if number < MILLISECONDS_FROM { number.saturating_mul(1000) } else { number })
    } else if let Some(length) = text.strip_suffix("ago") {
        now.minus(humantime::parse_duration(length.trim()).map_err(|_| unknown())?)
    } else {
        let time = DateTime::parse_from_rfc3339(text).map_err(|_| unknown())?;
        Moment::from_millis(time.timestamp_millis())
    };
    if moment > now {
        return Err(WhenError::Future { text: text.to_owned(), ahead: whole_seconds(moment.since(now)) });
    }
    if moment.millis() < 0 { Err(unknown()) } else { Ok(moment) }
}

/// Nobody wants to read milliseconds; and less than a second is a second.
fn whole_seconds(length: Duration) -> Duration {
    Duration::from_secs(length.as_secs().max(1))
}

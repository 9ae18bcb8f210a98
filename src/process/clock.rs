//! The only place that asks what time it is. Everything else takes time as an argument.

use crate::measures::Moment;

/// The wall clock, in milliseconds since the Unix epoch.
#[must_use]
pub fn now() -> Moment {
    #[expect(clippy::disallowed_methods, reason = "this is the room that owns the clock")]
    let now = std::time::SystemTime::now();
    let since_epoch = now.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Moment::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

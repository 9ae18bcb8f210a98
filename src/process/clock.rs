//! The only place that asks what time it is. Everything else takes time as an argument.

use std::fmt;
use std::sync::Arc;

use crate::measures::Moment;

/// The wall clock, in milliseconds since the Unix epoch.
#[must_use]
pub fn now() -> Moment {
    #[expect(clippy::disallowed_methods, reason = "this is the room that owns the clock")]
    let now = std::time::SystemTime::now();
    let since_epoch = now.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Moment::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

/// Whom a round asks for the time: the wall clock, or what was written down of another day.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Moment + Send + Sync>);

impl Clock {
    /// A clock that answers what the function says.
    #[must_use]
    pub fn given(now: impl Fn() -> Moment + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// What it shows.
    #[must_use]
    pub fn now(&self) -> Moment {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::given(now)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

//! Whether look-ups by time tell anything of a partition.

use std::time::Duration;

use tokio::time::Instant;

use super::faults;
use super::librdkafka::{CallError, Found};
use crate::retention::Unproved;

/// Where look-ups told nothing they are tried again after so long.
const AGAIN: Duration = Duration::from_secs(300);

/// What look-ups by time have shown so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Times {
    /// Nothing, one way or the other.
    #[default]
    Open,
    /// A record was found by its time. From then on a look-up that tells nothing is a failure of the moment.
    Found,
    /// They do not tell, and were last tried then.
    Hidden(Unproved, Instant),
}

impl Times {
    /// Takes note of an answer to a look-up. That nothing was found may be true, and is no sign by itself.
    pub(super) fn heard(&mut self, row: &Result<Option<Found>, CallError>, now: Instant) {
        match row {
            Ok(Some(Found { timestamp: Some(_), .. })) => *self = Self::Found,
            Ok(Some(Found { timestamp: None, .. })) => self.hide(Unproved::NoTimestamps, now),
            Err(error) if faults::refuses_look_ups(error) => self.hide(Unproved::LookUpsRefused, now),
            // Asked and not told: the next time is due as long after.
            Ok(None) => {
                if let Self::Hidden(_, asked) = self {
                    *asked = now;
                }
            }
            Err(_) => {}
        }
    }

    /// A whole search found no record in a log that has some.
    pub(super) fn searched_in_vain(&mut self, now: Instant) {
        self.hide(Unproved::NothingFound, now);
    }

    fn hide(&mut self, why: Unproved, now: Instant) {
        if !matches!(self, Self::Found) {
            *self = Self::Hidden(why, now);
        }
    }

    /// Whether asking may tell something new.
    pub(super) fn is_worth_asking(&self, now: Instant) -> bool {
        !matches!(self, Self::Hidden(_, asked) if now.saturating_duration_since(*asked) < AGAIN)
    }

    /// Why records' times cannot be looked up.
    pub(super) const fn hidden(&self) -> Option<Unproved> {
        match self {
            Self::Hidden(why, _) => Some(*why),
            Self::Open | Self::Found => None,
        }
    }

    /// Whether look-ups work; absent while that is open.
    pub(super) const fn shown(&self) -> Option<bool> {
        match self {
            Self::Open => None,
            Self::Found => Some(true),
            Self::Hidden(..) => Some(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::{Moment, Offset};

    #[test]
    fn what_look_ups_show_is_known_by_their_answers() {
        let found = |timestamp: Option<i64>| {
            let timestamp = timestamp.map(Moment::from_millis);
            Ok(Some(Found { offset: Offset::ZERO, timestamp, leader_epoch: None }))
        };
        let check = |rows: &[Result<Option<Found>, CallError>], hidden: Option<&str>, shown: Option<bool>| {
            let mut times = Times::default();
            rows.iter().for_each(|row| times.heard(row, Instant::now()));
            assert_eq!(times.hidden().map(Unproved::label), hidden, "{rows:?}");
            assert_eq!(times.shown(), shown, "{rows:?}");
        };
        const UNSUPPORTED_VERSION: i32 = 35;
        const UNSUPPORTED_FORMAT: i32 = 43;
        const TIMED_OUT: i32 = -185;
        check(&[], None, None);
        check(&[Ok(None)], None, None);
        check(&[found(Some(7))], None, Some(true));
        check(&[found(None)], Some("no_timestamps"), Some(false));
        check(&[Err(CallError::of(UNSUPPORTED_VERSION))], Some("look_ups_refused"), Some(false));
        check(&[Err(CallError::of(UNSUPPORTED_FORMAT))], Some("look_ups_refused"), Some(false));
        check(&[Err(CallError::of(TIMED_OUT))], None, None);
        // Once it has worked, what fails fails for the moment.
        check(&[found(Some(7)), Err(CallError::of(UNSUPPORTED_VERSION)), found(None)], None, Some(true));
        check(&[found(None), found(Some(7))], None, Some(true));
    }

    #[test]
    fn what_tells_nothing_is_tried_again_after_five_minutes() {
        let now = Instant::now();
        let mut times = Times::default();
        assert!(times.is_worth_asking(now));
        times.searched_in_vain(now);
        assert!(!times.is_worth_asking(now + Duration::from_secs(299)));
        let again = now + Duration::from_secs(300);
        assert!(times.is_worth_asking(again));
        times.heard(&Ok(None), again);
        assert!(!times.is_worth_asking(again), "a log that shows nothing was asked in every pass from then on");
    }
}

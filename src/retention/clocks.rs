//! Which brokers' clocks run ahead of ours, as far as records show it.
//!
//! Every broker deletes by its own clock. One that runs ahead by more than the allowance deletes before a deadline that
//! was reckoned by our clock. One that runs behind deletes later, and does no harm. Under `LogAppendTime` the leader
//! stamps records by its clock: a stamp in our future was made by a clock that runs ahead, by as much at least. How far
//! it really is ahead cannot be told from that (the record may have waited for a while), so such a clock is not reckoned
//! with: nothing is proved by it, until it is seen to stamp rightly.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::measures::{Moment, Offset};

/// The brokers whose clocks are held to run ahead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    fast: BTreeMap<i32, Fast>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fast {
    /// The least that it is ahead by.
    by: Duration,
    /// The stamp is known to be this broker's, and not one that an earlier leader or a producer left behind.
    sure: bool,
}

/// A stamp that was found, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// What it says.
    pub at: Moment,
    /// What our clock showed after the record was heard of.
    pub heard: Moment,
    /// Whether the record came while this leader led.
    pub sure: bool,
}

impl Clocks {
    /// A record in a log of this leader bears this stamp. Answers whether it is the first sign of a clock that runs ahead.
    pub fn stamped(&mut self, leader: i32, stamp: Stamp, clock_skew: Duration) -> bool {
        if stamp.at <= stamp.heard.plus(clock_skew) {
            return false;
        }
        let (by, sure) = (stamp.at.since(stamp.heard), stamp.sure);
        match self.fast.get_mut(&leader) {
            Some(known) => {
                *known = Fast { by: by.max(known.by), sure: sure || known.sure };
                false
            }
            None => self.fast.insert(leader, Fast { by, sure }).is_none(),
        }
    }

    /// Records came, and an older one has the youngest stamp: so that one may not be of this leader's making.
    pub fn outlived(&mut self, leader: i32) -> bool {
        self.fast.get(&leader).is_some_and(|known| !known.sure) && self.fast.remove(&leader).is_some()
    }

    /// What a look-up of `asked + clock_skew` answered for a partition whose end stood at `end` when our clock showed
    /// `asked`, and stands higher now, under the same leader. The record at `end` was stamped after `asked`. Where the
    /// first record of that time or later comes behind it, or there is none, its stamp is within the allowance, and so
    /// is the clock. Answers whether a clock that ran ahead is right again.
    pub fn looked_up(&mut self, leader: i32, end: Offset, answer: Option<Offset>) -> bool {
        answer.is_none_or(|first| first > end) && self.fast.remove(&leader).is_some()
    }

    /// By how much the broker's clock is ahead at least; absent where nothing shows it.
    #[must_use]
    pub fn ahead(&self, broker: i32) -> Option<Duration> {
        self.fast.get(&broker).map(|known| known.by)
    }

    /// Whether no clock is known to run ahead.
    #[must_use]
    pub fn are_fine(&self) -> bool {
        self.fast.is_empty()
    }
}

#[cfg(test)]
mod tests;

//! Which time to look up next, so that few look-ups tell how old the next unread record is.
//!
//! The answer lies between two moments: the timestamp of a record that is known to stand at or below the committed
//! offset, and a moment that all records up to it are known to be older than. Records arrive at some pace, so the
//! committed offset's place between the two offsets says where between the two moments to look; two look-ups are
//! enough for most partitions. The lower moment is proved at every step, so a search may stop at any.

use std::time::Duration;

use crate::measures::{Moment, Offset};

use super::Proofs;

/// No age is asked for more exactly than this.
const FINEST_AGE: i64 = 1_000;
/// Where nothing is known, the first look-up goes this far back, and each one after it four times as far.
const FIRST_STEP: i64 = 3_600_000;
const FURTHER: i64 = 4;

/// So many poor guesses, and the bracket is halved instead.
const PATIENCE: u32 = 2;

/// The search for the highest timestamp up to one committed offset of one partition.
#[derive(Clone, Debug)]
pub struct Search {
    committed: Offset,
    earliest: Offset,
    latest: Offset,
    retention: Option<Duration>,
    now: Moment,
    /// The bracket's width before the guess under way.
    guessed: Option<i64>,
    /// How poor the newest guesses were: one that did not halve the bracket counts one, one more when it was to close
    /// the bracket and did not.
    poor: u32,
    /// How often guessing was given up: records do not come at an even pace here.
    misled: u32,
    /// How many times to halve before the next guess: more after each time.
    halvings: u32,
}

impl Search {
    /// Begins a search. `retention` is the topic's `retention.ms`, where it limits.
    #[must_use]
    pub fn new(
        committed: Offset,
        (earliest, latest): (Offset, Offset),
        retention: Option<Duration>,
        now: Moment,
    ) -> Self {
        Self { committed, earliest, latest, retention, now, guessed: None, poor: 0, misled: 0, halvings: 0 }
    }

    /// The time to look up next; `None` when what is known is close enough, or when nothing can be learned: all is
    /// read, or the committed offset is below earliest.
    pub fn next(&mut self, known: &Proofs) -> Option<Moment> {
        if self.committed < self.earliest || self.committed >= self.latest {
            return None;
        }
        let high = known.ceiling(self.committed).filter(|(_, moment)| *moment < self.now);
        let (high_offset, high) = high.unwrap_or((self.latest, self.now));
        let Some((low_offset, low)) = known.floor(self.committed) else {
            return self.further_back(high);
        };
        let (low, high) = (low.millis(), high.millis());
        let width = high.saturating_sub(low);
        let close = self.tolerance(high, 20);
        if width <= close {
            return None;
        }
        if self.guessed.is_some_and(|before| width > before / 2) {
            self.poor += 1;
        } else {
            self.poor = 0;
        }
        self.guessed = None;
        if self.poor >= PATIENCE {
            self.poor = 0;
            self.misled += 1;
            self.halvings = self.misled + 1;
        }
        if let Some(left) = self.halvings.checked_sub(1) {
            self.halvings = left;
            return Some(Moment::from_millis(low + width / 2));
        }
        self.guessed = Some(width);
        let guess = low + share(width, self.committed.above(low_offset), high_offset.above(low_offset));
        // Just below the guess, so that the likely answer is a record that proves something.
        let aim = guess - self.tolerance(guess, 20) * 9 / 20;
        let step = self.tolerance(low, 21);
        let next = if aim < low + step / 2 {
            self.poor += 1;
            low + step
        } else if aim > high - close / 2 {
            self.poor += 1;
            high - close
        } else {
            aim
        };
        Some(Moment::from_millis(next.clamp(low + 1, high - 1)))
    }

    /// How wide the bracket may stay around that time: 1 % of the retention for the deadline's sake, and a part of the
    /// age, or a second, for the age's; whichever is finer.
    fn tolerance(&self, time: i64, part: i64) -> i64 {
        let age = FINEST_AGE.max(self.now.millis().saturating_sub(time) / part);
        let deadline = self.retention.map(|retention| i64::try_from(retention.as_millis() / 100).unwrap_or(i64::MAX));
        deadline.map_or(age, |deadline| deadline.min(age)).max(1)
    }

    /// No record is known at or below the committed offset: goes back in growing steps, from the retention on.
    fn further_back(&self, high: Moment) -> Option<Moment> {
        let first = self.retention.and_then(|retention| i64::try_from(retention.as_millis()).ok());
        let first = first.unwrap_or(FIRST_STEP).max(1);
        let gone = self.now.millis().saturating_sub(high.millis());
        let back = if gone < first { first } else { gone.saturating_mul(FURTHER) };
        let next = self.now.millis().saturating_sub(back);
        (next >= 0).then(|| Moment::from_millis(next))
    }
}

/// `width × part ÷ whole`, without overflow.
fn share(width: i64, part: u64, whole: u64) -> i64 {
    let scaled = i128::from(width) * i128::from(part) / i128::from(whole.max(1));
    i64::try_from(scaled).unwrap_or(width)
}

#[cfg(test)]
mod tests;

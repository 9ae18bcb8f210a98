//! Which time to look up next, so that few look-ups tell how old the next unread record is.
//!
//! The answer lies between two moments: the timestamp of a record that is known to stand at or below the committed
//! offset, and a moment that all records up to it are known to be older than. Records arrive at some pace, so the
//! committed offset's place between the two offsets says where between the two moments to look; two look-ups are
//! enough for most partitions, and one where records are rare. The lower moment is proved at every step, so a search may stop at any.

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

/// An answer that lies off by more than this part of the records in between shows that they came at another pace.
const FAR: u64 = 20;

/// The search for the highest timestamp up to one committed offset of one partition.
#[derive(Clone, Debug)]
pub struct Search {
    committed: Offset,
    earliest: Offset,
    latest: Offset,
    retention: Option<Duration>,
    now: Moment,
    /// When the log came to its end, as others of the topic let one think; else it grows until now.
    end: Option<Moment>,
    /// Which record the guess under way finds if that is so, and by how many it may miss.
    foretold: Option<(Offset, u64)>,
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

/// The answer lies between these offsets and times.
struct Bracket {
    low: (Offset, i64),
    high: (Offset, i64),
    /// A look-up set the upper end: else that is the log's, now.
    ceiling: bool,
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
        Self {
            committed,
            earliest,
            latest,
            retention,
            now,
            end: None,
            foretold: None,
            guessed: None,
            poor: 0,
            misled: 0,
            halvings: 0,
        }
    }

    /// Lets guesses begin with the moment at which the log came to its end, not with now: producers may have stopped long
    /// ago, and what another partition of the topic showed of that holds for this one too.
    pub fn expect_end(&mut self, end: Moment) {
        self.end = Some(end).filter(|end| *end < self.now);
    }

    /// Whether this is a first search, for which it matters when the log came to its end.
    #[must_use]
    pub fn depends_on_the_end(&self, known: &Proofs) -> bool {
        known.oldest_only().is_some() && self.is_far_from_all(known)
    }

    /// Nothing is known between the committed offset and the log's end, nor close below.
    fn is_far_from_all(&self, known: &Proofs) -> bool {
        let Some(Bracket { low, high, ceiling: false, .. }) = self.bracket(known) else { return false };
        self.committed.above(low.0) >= high.0.above(low.0) / 10
    }

    /// How far the committed offset lies from the middle of its log, in thousandths of half of it.
    #[must_use]
    pub fn off_the_middle(&self) -> u64 {
        let (read, unread) = (self.committed.above(self.earliest), self.latest.above(self.committed));
        read.abs_diff(unread).saturating_mul(1000) / (read + unread).max(1)
    }

    /// When the log came to its end, as far as this search showed, which began with the oldest record: no record at all is
    /// as young, or, if records went on as they came up to the committed offset, the next would have come then. Where that
    /// offset lies in the first quarter of the log, it tells too little of the rest.
    #[must_use]
    pub fn end_of_log(&self, known: &Proofs) -> Option<Moment> {
        let last = Offset::new(self.latest.get().saturating_sub(1))?;
        let all = known.ceiling(last).map(|(_, moment)| moment);
        [all, self.end_by_pace(known)].into_iter().flatten().min()
    }

    fn end_by_pace(&self, known: &Proofs) -> Option<Moment> {
        let ((first, from), (last, to)) = (known.lowest_floor()?, known.floor(self.committed)?);
        let (part, whole) = (last.above(first), self.latest.above(first));
        let lasted = share(to.millis().saturating_sub(from.millis()), whole, part);
        (part > 0 && part >= whole / 4).then(|| Moment::from_millis(from.millis().saturating_add(lasted)))
    }

    /// The time to look up next; `None` when what is known is close enough, or when nothing can be learned: all is
    /// read, or the committed offset is below earliest.
    pub fn next(&mut self, known: &Proofs) -> Option<Moment> {
        if self.nothing_to_learn() {
            return None;
        }
        if known.floor(self.committed).is_none() {
            return self.further_back(self.upper(known).unwrap_or((self.latest, self.now)).1);
        }
        let Bracket { low: (low_offset, low), high: (high_offset, high), ceiling } = self.bracket(known)?;
        if self
            .foretold
            .take()
            .is_some_and(|(offset, leeway)| low_offset.above(offset) + offset.above(low_offset) > leeway)
        {
            // By the end that was told another record would have been found: it is not this log's.
            self.end = None;
        }
        let (width, close) = (high - low, self.tolerance(high, 20));
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
        let end = self.end.map(Moment::millis).filter(|end| !ceiling && *end > low).unwrap_or(high);
        let records = high_offset.above(low_offset);
        let guess = low + share(end - low, self.committed.above(low_offset), records);
        // Just below the guess, so that the likely answer is a record that proves something.
        let aim = guess - self.shy(guess, share(end - low, 1, records));
        let step = self.tolerance(low, 21);
        let next = if aim < low + step / 2 {
            self.poor += 1;
            low + step
        } else if aim > high - close / 2 {
            self.poor += 1;
            high - close
        } else {
            if self.end.is_some() {
                let (passed, whole) = (u64::try_from(aim - low).unwrap_or(0), u64::try_from(end - low).unwrap_or(0));
                let foretold = share(high_offset.minus(low_offset), passed, whole);
                self.foretold = Offset::new(low_offset.get() + foretold).map(|offset| (offset, records / FAR));
            }
            aim
        };
        Some(Moment::from_millis(next.clamp(low + 1, high - 1)))
    }

    /// All is read, or the committed offset is below earliest.
    fn nothing_to_learn(&self) -> bool {
        self.committed < self.earliest || self.committed >= self.latest
    }

    fn upper(&self, known: &Proofs) -> Option<(Offset, Moment)> {
        known.ceiling(self.committed).filter(|(_, moment)| *moment < self.now)
    }

    /// Between what the answer lies, as long as that is not close enough.
    fn bracket(&self, known: &Proofs) -> Option<Bracket> {
        let (low_offset, low) = known.floor(self.committed).filter(|_| !self.nothing_to_learn())?;
        let upper = self.upper(known);
        let (high_offset, high) = upper.unwrap_or((self.latest, self.now));
        let (low, high) = (low.millis(), high.millis());
        let bracket = Bracket { low: (low_offset, low), high: (high_offset, high), ceiling: upper.is_some() };
        (high.saturating_sub(low) > self.tolerance(high, 20)).then_some(bracket)
    }

    /// How wide the bracket may stay around that time: 1 % of the retention for the deadline's sake, and a part of the
    /// age, or a second, for the age's; whichever is finer.
    fn tolerance(&self, time: i64, part: i64) -> i64 {
        let age = FINEST_AGE.max(self.now.millis().saturating_sub(time) / part);
        let deadline = self.retention.map(|retention| i64::try_from(retention.as_millis() / 100).unwrap_or(i64::MAX));
        deadline.map_or(age, |deadline| deadline.min(age)).max(1)
    }

    /// How far below a guess to ask. Where records are rare, half of what lies between two: the answer is the very one at
    /// the committed offset then, which leaves nothing open. Else so far that the answer lies below it, and near enough.
    fn shy(&self, guess: i64, apart: i64) -> i64 {
        let close = self.tolerance(guess, 20);
        // A guess by an end that was told is a good one; by an end that is only now, it would often miss by a few records.
        let rare = if self.end.is_some() { close / 32 } else { close / 4 };
        if apart >= rare.max(1) { apart.min(close) / 2 } else { close * 9 / 20 }
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

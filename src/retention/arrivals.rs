//! When records came, as the end of their log was seen from round to round: it stands in for their own times where
//! look-ups do not tell these. An estimate, and named so.

use serde::{Deserialize, Serialize};

use crate::measures::{Moment, Offset};

/// So many stands of the end are kept; where there are more, those that lie closest in time are told apart no more.
const KEPT: usize = 32;

/// The end of a log as it was seen over time, as far back as records are unread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Arrivals {
    /// By rising offset, and rising time.
    stands: Vec<Stand>,
}

/// The end of the log stood at this offset when it was first seen there, and when it was last seen there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Stand(Offset, Moment, Moment);

/// When a record came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// It was not there yet.
    pub after: Moment,
    /// It was there.
    pub by: Moment,
}

impl Arrivals {
    /// Takes note of the end. What lay beyond it is there no more, and came anew if it is seen again.
    pub fn note(&mut self, at: Moment, end: Offset) {
        self.stands.retain(|Stand(offset, ..)| *offset <= end);
        // A clock that was set back would make records seem to have come before they did.
        if self.stands.last().is_some_and(|Stand(_, _, last)| at < *last) {
            return;
        }
        match self.stands.last_mut() {
            Some(Stand(offset, _, last)) if *offset == end => *last = at,
            _ => self.stands.push(Stand(end, at, at)),
        }
    }

    /// Forgets what no record at or behind the offset needs, and thins the rest out. What tells of the record at the
    /// offset itself stays as it is.
    pub fn keep_from(&mut self, needed: Offset) {
        let below = self.stands.iter().take_while(|Stand(offset, ..)| *offset <= needed).count();
        self.stands.drain(..below.saturating_sub(1));
        while self.stands.len() > KEPT {
            let gap = |stands: &[Stand]| match stands {
                [Stand(_, _, before), _, Stand(_, after, _)] => after.since(*before),
                _ => std::time::Duration::MAX,
            };
            let gaps = self.stands.windows(3).enumerate().skip(1);
            let Some((place, _)) = gaps.min_by_key(|(_, stands)| gap(stands)) else { return };
            self.stands.remove(place + 1);
        }
    }

    /// When the record at the offset came; absent where it was there before anybody looked, or is not there yet.
    #[must_use]
    pub fn of(&self, needed: Offset) -> Option<Arrival> {
        let place = self.stands.iter().position(|Stand(offset, ..)| *offset > needed)?;
        let Stand(_, by, _) = *self.stands.get(place)?;
        let Stand(_, _, after) = *self.stands.get(place.checked_sub(1)?)?;
        Some(Arrival { after, by })
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stands.is_empty()
    }
}

#[cfg(test)]
mod tests;

//! What look-ups by time showed of one partition, kept as long as it stays true.
//!
//! A look-up of time `T` answers the first record at or above earliest whose timestamp is `T` or later. Time retention
//! spares a segment for its highest timestamp, and stops at the first segment that it spares. So what protects the
//! record at the committed offset `C` is the highest timestamp among the records from earliest up to `C`. An answer at
//! or below `C` proves that this maximum is at least the answered timestamp; it keeps proving it, at no cost, while
//! the answered record is still there.

use crate::measures::{Moment, Offset};

use super::{Age, PartitionReading, TopicId};

/// Facts about one partition's timestamps.
#[derive(Clone, Debug, Default)]
pub struct Proofs {
    /// The state of the log that the facts were learned of.
    seen: Option<(Option<TopicId>, PartitionReading)>,
    /// Records that exist, by rising offset and rising timestamp: only one that is younger than all before it tells more.
    floors: Vec<(Offset, Moment)>,
    /// No record below this offset is as young as this moment. By rising offset and rising moment.
    ceilings: Vec<(Offset, Moment)>,
}

impl Proofs {
    /// Takes note of the partition as it is now, and forgets what may no longer be true: everything when the topic is
    /// another one, when the end moved back or another leader leads (records may have been cut off and written anew);
    /// records that are gone; and upper ends when the log start moved back.
    pub fn observe(&mut self, topic_id: Option<TopicId>, now: &PartitionReading) {
        if let Some((id, then)) = &self.seen {
            if *id != topic_id || now.latest < then.latest || now.leader_epoch != then.leader_epoch {
                self.floors.clear();
                self.ceilings.clear();
            }
            if now.earliest < then.earliest || (then.oldest.is_none() && now.oldest.is_some()) {
                self.ceilings.clear();
            }
        }
        self.floors.retain(|(offset, _)| *offset >= now.earliest);
        self.seen = Some((topic_id, *now));
        if let Some((offset, timestamp)) = now.oldest.filter(|(offset, _)| *offset >= now.earliest) {
            self.learn_floor(offset, timestamp);
        }
    }

    /// Learns what a look-up of `asked` answered: the first record at or after that time, or none. `latest` is the end
    /// that was known before the look-up: what came later is not spoken of.
    pub fn learn(&mut self, asked: Moment, answer: Option<(Offset, Moment)>) {
        let Some((_, reading)) = self.seen else { return };
        match answer {
            None => self.learn_ceiling(reading.latest, asked),
            Some((offset, timestamp)) => {
                if offset >= reading.earliest {
                    self.learn_floor(offset, timestamp);
                }
                self.learn_ceiling(offset, asked);
                // All before it are older than `asked`, so up to this record the maximum is its own timestamp.
                if let Some(next) = offset.get().checked_add(1).and_then(Offset::new) {
                    self.learn_ceiling(next, Moment::from_millis(timestamp.max(asked).millis().saturating_add(1)));
                }
            }
        }
    }

    /// What is known of the records up to `committed`.
    ///
    /// The upper end is left out when the oldest record did not show itself: then DeleteRecords has cut into the first
    /// segment, and a look-up may answer "none" although a later segment has such a record.
    #[must_use]
    pub fn age(&self, committed: Offset) -> Age {
        let trusted = self.seen.is_some_and(|(_, reading)| reading.oldest.is_some());
        let below = self.ceiling(committed).filter(|_| trusted).map(|(_, moment)| moment);
        Age { proved: self.floor(committed), below }
    }

    /// Forgets what no search for one of these offsets would start from.
    pub fn keep_for(&mut self, committed: &[Offset]) {
        let floors: Vec<_> = committed.iter().filter_map(|offset| self.floor(*offset)).collect();
        let ceilings: Vec<_> = committed.iter().filter_map(|offset| self.ceiling(*offset)).collect();
        self.floors.retain(|fact| floors.contains(fact));
        self.ceilings.retain(|fact| ceilings.contains(fact));
    }

    /// The youngest known record at or below the offset.
    pub(super) fn floor(&self, committed: Offset) -> Option<(Offset, Moment)> {
        self.floors.iter().rev().find(|(offset, _)| *offset <= committed).copied()
    }

    /// The oldest record, as long as no look-up has told more.
    pub(super) fn oldest_only(&self) -> Option<(Offset, Moment)> {
        let oldest = self.seen.and_then(|(_, reading)| reading.oldest);
        oldest.filter(|oldest| self.ceilings.is_empty() && self.floors == [*oldest])
    }

    /// The oldest known record.
    pub(super) fn lowest_floor(&self) -> Option<(Offset, Moment)> {
        self.floors.first().copied()
    }

    /// The lowest known upper end for the records up to the offset, and the offset below which it holds.
    pub(super) fn ceiling(&self, committed: Offset) -> Option<(Offset, Moment)> {
        self.ceilings.iter().find(|(offset, _)| *offset > committed).copied()
    }

    fn learn_floor(&mut self, offset: Offset, timestamp: Moment) {
        if self.floor(offset).is_some_and(|(_, known)| known >= timestamp) {
            return;
        }
        self.floors.retain(|(other, known)| *other < offset || *known > timestamp);
        self.floors.push((offset, timestamp));
        self.floors.sort_unstable();
    }

    fn learn_ceiling(&mut self, below: Offset, moment: Moment) {
        if self.ceilings.iter().any(|(offset, known)| *offset >= below && *known <= moment) {
            return;
        }
        self.ceilings.retain(|(offset, known)| *offset > below || *known < moment);
        self.ceilings.push((below, moment));
        self.ceilings.sort_unstable();
    }
}

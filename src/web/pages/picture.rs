//! The picture of one partition's log: earliest, the brink, at the same place in every row of a topic; what was read
//! and what is unread to the right of it, what is lost to the left on a scale of its own.

use crate::judgement::{PartitionState, PartitionVerdict};
use crate::web::words::{count, short};

/// Where the brink stands when something is lost, and when nothing is, in percent.
const BRINK_WITH_LOSS: f64 = 16.0;
const BRINK: f64 = 1.5;
/// Beyond this many times the median length each log is drawn by its own length.
const UNEVEN: f64 = 20.0;

/// Rectangles and pins in percent of the width.
#[derive(Debug, Default)]
pub(super) struct Picture {
    pub(super) label: String,
    pub(super) brink: Option<String>,
    pub(super) parts: Vec<Part>,
    pub(super) committed: Option<String>,
    pub(super) planned: Option<String>,
}

/// One rectangle.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) kind: &'static str,
    pub(super) pattern: Option<&'static str>,
    pub(super) x: String,
    pub(super) width: String,
}

/// One scale for all partitions of a topic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    brink: f64,
    right: i64,
    left: i64,
    each_its_own: bool,
}

impl Scale {
    pub(super) fn of<'a>(partitions: impl Iterator<Item = &'a PartitionVerdict>) -> Self {
        let mut lengths = Vec::new();
        let mut left = 0;
        for partition in partitions {
            lengths.extend(length(partition).filter(|length| *length > 0));
            left = left.max(lost(partition));
        }
        lengths.sort_unstable();
        let right = lengths.last().copied().unwrap_or(0);
        let median = lengths.get(lengths.len() / 2).copied().unwrap_or(0);
        let each_its_own = share(right, median) > UNEVEN;
        Self { brink: if left > 0 { BRINK_WITH_LOSS } else { BRINK }, right, left, each_its_own }
    }

    /// What must be said below the pictures.
    pub(super) fn note(&self) -> String {
        let mut notes = Vec::new();
        if self.left > 0 {
            let widest = count(self.left.unsigned_abs());
            notes
                .push(format!("Left of earliest has a scale of its own: the widest hatched part is {widest} offsets."));
        }
        if self.each_its_own {
            notes.push("The logs differ widely in length: each is drawn by its own.".to_owned());
        }
        notes.join(" ")
    }

    /// Words of the axis with their places: what is lost at most, earliest, the longest log's end.
    pub(super) fn marks(&self) -> Vec<(String, String, &'static str)> {
        let mut marks =
            vec![(percent(self.brink), "earliest".to_owned(), if self.left > 0 { "middle" } else { "start" })];
        if self.left > 0 {
            marks.push((percent(0.5), format!("\u{2212}{}", short(self.left.unsigned_abs())), "start"));
        }
        if self.right > 0 && !self.each_its_own {
            marks.push((percent(100.0), format!("+{}", short(self.right.unsigned_abs())), "end"));
        }
        marks
    }

    pub(super) fn draw(&self, partition: &PartitionVerdict, number: i32) -> Picture {
        let Some((earliest, latest)) = bounds(partition) else {
            return Picture { label: format!("Partition {number}: the log was not read"), ..Picture::default() };
        };
        let right = if self.each_its_own { length(partition).unwrap_or(0) } else { self.right };
        let place = |offset: i64| {
            if offset < earliest {
                self.brink - share(earliest - offset, self.left) * (self.brink - 1.0)
            } else {
                self.brink + share(offset - earliest, right) * (100.0 - self.brink)
            }
        };
        let committed = partition.committed.filter(|_| holds(partition.state)).map(|offset| offset.get());
        let planned = partition.planned.filter(|_| holds(partition.state)).map(|offset| offset.get());
        let mut picture = Picture {
            label: label(number, earliest, latest, committed, planned),
            brink: Some(percent(self.brink)),
            ..Picture::default()
        };
        let mut part = |kind, pattern, from: i64, to: i64| {
            if to > from {
                let (x, end) = (place(from), place(to));
                picture.parts.push(Part { kind, pattern, x: percent(x), width: percent((end - x).max(0.2)) });
            }
        };
        let Some(position) = committed else {
            part("skipped", None, earliest, latest);
            return picture;
        };
        part("gone", Some("hc"), position, earliest);
        part("read", None, earliest, position.min(latest));
        part("unread", None, position.max(earliest), latest);
        if let Some(end) = planned {
            part("open", Some("ho"), position.max(earliest), end.min(latest));
        }
        part("beyond", None, latest, position);
        picture.committed = Some(percent(place(position)));
        picture.planned = planned.map(|end| percent(place(end)));
        picture
    }
}

/// Whether a position may be drawn on this log: one of another log's, or of none, would lie.
fn holds(state: PartitionState) -> bool {
    !matches!(state, PartitionState::Recreated | PartitionState::Unverified | PartitionState::Gone)
}

fn bounds(partition: &PartitionVerdict) -> Option<(i64, i64)> {
    Some((partition.earliest?.get(), partition.latest?.get()))
}

fn length(partition: &PartitionVerdict) -> Option<i64> {
    let (earliest, latest) = bounds(partition)?;
    let far = [partition.committed, partition.planned].into_iter().flatten().filter(|_| holds(partition.state));
    far.map(|offset| offset.get()).chain([latest]).max().map(|end| end - earliest)
}

fn lost(partition: &PartitionVerdict) -> i64 {
    match (bounds(partition), partition.committed) {
        (Some((earliest, _)), Some(committed)) if holds(partition.state) => (earliest - committed.get()).max(0),
        _ => 0,
    }
}

/// A share of a whole; nothing of nothing is nothing.
#[expect(clippy::cast_precision_loss, reason = "a picture needs no more than four digits")]
fn share(part: i64, whole: i64) -> f64 {
    if whole <= 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn percent(place: f64) -> String {
    format!("{place:.2}%")
}

fn label(number: i32, earliest: i64, latest: i64, committed: Option<i64>, planned: Option<i64>) -> String {
    let said = |word: &str, offset: i64| format!("{word} {}", count(offset.unsigned_abs()));
    let parts: Vec<String> = [
        Some(said("earliest", earliest)),
        committed.map(|offset| said("committed", offset)),
        planned.map(|offset| said("planned", offset)),
        Some(said("latest", latest)),
        committed.filter(|offset| *offset < earliest).map(|offset| said("lost", earliest - offset)),
    ]
    .into_iter()
    .flatten()
    .collect();
    format!("Partition {number}: {}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::fixture::{blind, offset, partition};

    fn drawn(all: &[PartitionVerdict], which: usize) -> Vec<String> {
        let picture = Scale::of(all.iter()).draw(&all[which], 0);
        picture.parts.iter().map(|part| format!("{} {} {}", part.kind, part.x, part.width)).collect()
    }

    #[test]
    fn read_and_unread_lie_right_of_the_brink() {
        assert_eq!(drawn(&[partition(50, 0, 100)], 0), ["read 1.50% 49.25%", "unread 50.75% 49.25%"]);
    }

    #[test]
    fn what_is_lost_lies_left_of_the_brink_on_a_scale_of_its_own() {
        let all = [partition(0, 10, 110), partition(60, 50, 150)];
        assert_eq!(drawn(&all, 0), ["gone 1.00% 15.00%", "unread 16.00% 84.00%"]);
        assert_eq!(drawn(&all, 1), ["read 16.00% 8.40%", "unread 24.40% 75.60%"]);
        assert!(Scale::of(all.iter()).note().contains("10 offsets"));
    }

    #[test]
    fn an_open_batch_and_a_position_past_the_end_are_drawn() {
        let mut open = partition(20, 0, 100);
        open.planned = offset(40);
        assert!(drawn(&[open], 0).contains(&"open 21.20% 19.70%".to_owned()));
        let mut past = partition(100, 0, 50);
        past.state = PartitionState::BeyondEnd;
        assert_eq!(drawn(&[past], 0), ["read 1.50% 49.25%", "beyond 50.75% 49.25%"]);
    }

    #[test]
    fn a_log_that_was_not_read_has_no_parts_and_says_so() {
        let picture = Scale::of([blind()].iter()).draw(&blind(), 7);
        assert!(picture.parts.is_empty() && picture.brink.is_none());
        assert_eq!(picture.label, "Partition 7: the log was not read");
    }

    #[test]
    fn a_position_of_another_log_is_not_drawn_on_this_one() {
        let mut each = partition(50, 0, 100);
        each.state = PartitionState::Recreated;
        let picture = Scale::of([each.clone()].iter()).draw(&each, 0);
        assert!(picture.committed.is_none());
        assert_eq!(picture.parts.len(), 1);
    }

    #[test]
    fn logs_of_very_different_length_are_each_drawn_by_their_own() {
        let all = [partition(0, 0, 10), partition(0, 0, 10), partition(0, 0, 10_000)];
        assert_eq!(drawn(&all, 0), ["unread 1.50% 98.50%"]);
        assert!(Scale::of(all.iter()).note().contains("by its own"));
    }
}

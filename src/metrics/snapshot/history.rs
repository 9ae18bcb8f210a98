//! What headroom and lag of a query were: a few hundred points, coarser the older they are.
//!
//! Each span of time has its own points, [`History::KEPT`] at most. So the memory of a query on a cluster is bounded:
//! four spans of 180 points of 40 bytes, 29 KB, however long the process lives and however often it polls. A thousand
//! queries cost 29 MB after a week, and twice that for the moment in which a round is published.

use std::collections::VecDeque;
use std::time::Duration;

use crate::judgement::QueryVerdict;
use crate::measures::Moment;

/// The worst that was read within a small part of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryPoint {
    /// When it was last read.
    pub at: Moment,
    /// The lowest headroom; absent when it was not known.
    pub headroom: Option<i64>,
    /// The highest lag; absent when it was not known.
    pub lag: Option<u64>,
}

/// How far back to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// The last thirty minutes.
    HalfHour,
    /// The last six hours.
    SixHours,
    /// The last day.
    Day,
    /// The last seven days.
    Week,
}

impl Span {
    /// From the shortest to the longest.
    pub const ALL: [Self; 4] = [Self::HalfHour, Self::SixHours, Self::Day, Self::Week];

    /// How long it is.
    #[must_use]
    pub const fn length(self) -> Duration {
        Duration::from_secs(match self {
            Self::HalfHour => 1_800,
            Self::SixHours => 21_600,
            Self::Day => 86_400,
            Self::Week => 604_800,
        })
    }

    /// How much time one point stands for.
    #[must_use]
    pub fn step(self) -> Duration {
        self.length() / 180
    }

    /// The word in addresses.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::HalfHour => "30m",
            Self::SixHours => "6h",
            Self::Day => "24h",
            Self::Week => "7d",
        }
    }

    /// The span with this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|span| span.word() == word)
    }

    const fn place(self) -> usize {
        match self {
            Self::HalfHour => 0,
            Self::SixHours => 1,
            Self::Day => 2,
            Self::Week => 3,
        }
    }
}

/// What was read of one query on one cluster. Times at which nothing was read have no point: a hole stays a hole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    spans: [VecDeque<HistoryPoint>; 4],
}

impl History {
    /// No span keeps more points.
    pub const KEPT: usize = 180;

    /// Notes what a round read.
    pub fn note(&mut self, at: Moment, headroom: Option<i64>, lag: Option<u64>) {
        if headroom.is_none() && lag.is_none() {
            return;
        }
        let read = HistoryPoint { at, headroom, lag };
        for span in Span::ALL {
            let slot = |point: &HistoryPoint| {
                point.at.millis().div_euclid(i64::try_from(span.step().as_millis()).unwrap_or(i64::MAX))
            };
            let points = &mut self.spans[span.place()];
            match points.back_mut() {
                Some(last) if slot(last) == slot(&read) => *last = worse(*last, read),
                _ => points.push_back(read),
            }
            if points.len() > Self::KEPT {
                points.pop_front();
            }
        }
    }

    /// What was read within a span before `now`, the oldest first.
    pub fn points(&self, span: Span, now: Moment) -> impl Iterator<Item = &HistoryPoint> {
        let from = now.minus(span.length());
        self.spans[span.place()].iter().filter(move |point| point.at >= from && point.at <= now)
    }

    /// Six hours, or half an hour as long as nothing older is known.
    #[must_use]
    pub fn usual_span(&self, now: Moment) -> Span {
        let young = |point: &HistoryPoint| point.at >= now.minus(Span::HalfHour.length());
        if self.spans[Span::SixHours.place()].front().is_none_or(young) { Span::HalfHour } else { Span::SixHours }
    }

    /// By how many offsets lag grew per minute in the last half hour; absent with less than a minute of readings.
    #[must_use]
    pub fn lag_growth(&self, now: Moment) -> Option<i64> {
        let mut known = self.points(Span::HalfHour, now).filter_map(|point| Some((point.at, point.lag?)));
        let (first_at, first) = known.next()?;
        let (last_at, last) = known.last()?;
        let millis = i128::try_from(last_at.since(first_at).as_millis()).ok().filter(|millis| *millis >= 60_000)?;
        i64::try_from((i128::from(last) - i128::from(first)) * 60_000 / millis).ok()
    }
}

fn worse(before: HistoryPoint, read: HistoryPoint) -> HistoryPoint {
    let both = |one: Option<i64>, other: Option<i64>| match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    HistoryPoint { at: read.at, headroom: both(before.headroom, read.headroom), lag: before.lag.max(read.lag) }
}

/// The lowest headroom of all topics.
#[must_use]
pub fn worst_headroom(verdict: &QueryVerdict) -> Option<i64> {
    verdict.topics.values().filter_map(|topic| topic.headroom).min()
}

/// The sum over topics; not known while one of them is not.
#[must_use]
pub fn total_lag(verdict: &QueryVerdict) -> Option<u64> {
    if verdict.topics.is_empty() {
        return None;
    }
    verdict.topics.values().map(|topic| topic.lag).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: Moment = Moment::from_millis(1_796_007_240_000);

    fn after(seconds: u64) -> Moment {
        BEGIN.plus(Duration::from_secs(seconds))
    }

    #[test]
    fn memory_is_bounded_however_long_and_often_is_read() {
        let mut history = History::default();
        for second in (0..9 * 86_400).step_by(15) {
            history.note(after(second), Some(1), Some(2));
        }
        let points: usize = history.spans.iter().map(VecDeque::len).sum();
        assert_eq!(points, 4 * History::KEPT);
        assert!(points * size_of::<HistoryPoint>() < 29_000, "{}", points * size_of::<HistoryPoint>());
        let capacity: usize = history.spans.iter().map(VecDeque::capacity).sum();
        assert!(capacity <= 4 * 256, "{capacity}");
    }

    #[test]
    fn of_several_readings_the_worst_is_kept() {
        let mut history = History::default();
        for (second, headroom, lag) in
            [(1, Some(9), Some(1)), (2, Some(-4), None), (3, None, Some(7)), (4, Some(5), Some(2))]
        {
            history.note(after(second), headroom, lag);
        }
        let kept: Vec<_> = history.points(Span::HalfHour, after(5)).copied().collect();
        assert_eq!(kept, [HistoryPoint { at: after(4), headroom: Some(-4), lag: Some(7) }]);
    }

    #[test]
    fn what_was_not_read_leaves_a_hole_and_no_zero() {
        let mut history = History::default();
        history.note(after(0), Some(9), Some(1));
        history.note(after(60), None, None);
        history.note(after(120), Some(8), None);
        let kept: Vec<_> = history.points(Span::HalfHour, after(200)).map(|point| (point.at, point.lag)).collect();
        assert_eq!(kept, [(after(0), Some(1)), (after(120), None)]);
    }

    #[test]
    fn a_span_shows_nothing_that_is_older_than_itself() {
        let mut history = History::default();
        history.note(after(0), Some(1), None);
        history.note(after(4_000), Some(2), None);
        assert_eq!(history.points(Span::HalfHour, after(4_000)).count(), 1);
        assert_eq!(history.points(Span::SixHours, after(4_000)).count(), 2);
        assert_eq!(history.usual_span(after(4_000)), Span::SixHours);
        assert_eq!(History::default().usual_span(BEGIN), Span::HalfHour);
    }

    #[test]
    fn growth_of_lag_is_told_per_minute_and_only_after_one() {
        let mut history = History::default();
        history.note(after(0), None, Some(1_000));
        history.note(after(30), None, Some(1_100));
        assert_eq!(history.lag_growth(after(30)), None);
        history.note(after(120), None, Some(600));
        assert_eq!(history.lag_growth(after(120)), Some(-200));
    }
}

use proptest::prelude::*;

use super::*;
use crate::retention::{Age, Deadline, Limits, Policy, deadline};

const SKEW: Duration = Duration::from_secs(5);

fn second(number: i64) -> Moment {
    Moment::from_millis(number * 1000)
}

fn offset(number: i64) -> Offset {
    Offset::new(number).unwrap()
}

fn sure(at: i64, heard: i64) -> Stamp {
    Stamp { at: second(at), heard: second(heard), sure: true }
}

#[test]
fn a_stamp_that_somebody_else_may_have_left_counts_until_records_come() {
    let check = |seen: &[bool], expected: bool| {
        let mut clocks = Clocks::default();
        for sure in seen {
            clocks.stamped(1, Stamp { sure: *sure, ..self::sure(1030, 1000) }, SKEW);
        }
        assert_eq!(clocks.outlived(1), expected, "{seen:?}");
        assert_eq!(clocks.are_fine(), expected || seen.is_empty(), "{seen:?}");
    };
    check(&[], false);
    check(&[false], true);
    check(&[true], false);
    check(&[false, true], false);
    check(&[true, false], false);
}

#[test]
fn a_stamp_in_our_future_shows_a_clock_that_runs_ahead() {
    let check = |stamps: &[i64], expected: Option<u64>| {
        let mut clocks = Clocks::default();
        let first = stamps.iter().filter(|stamp| clocks.stamped(1, sure(**stamp, 1000), SKEW)).count();
        assert_eq!(clocks.ahead(1), expected.map(Duration::from_secs), "{stamps:?}");
        assert_eq!(first, usize::from(expected.is_some()), "{stamps:?}: it is told once");
        assert_eq!(clocks.ahead(2), None);
    };
    check(&[], None);
    check(&[990], None);
    check(&[1005], None);
    check(&[1006], Some(6));
    // What was seen once stands: a record that came before may be older.
    check(&[1030, 1010, 990], Some(30));
    // A clock that runs behind cannot be told from a record that waited. It harms nobody.
    check(&[10], None);
}

#[test]
fn a_clock_is_right_again_once_it_stamps_rightly() {
    // The end stood at 10 when our clock showed 1000; since then records came. The look-up is of 1005.
    let check = |answer: Option<i64>, expected: bool| {
        let mut clocks = Clocks::default();
        clocks.stamped(1, sure(1030, 1000), SKEW);
        assert_eq!(clocks.looked_up(1, offset(10), answer.map(offset)), expected, "{answer:?}");
        assert_eq!(clocks.ahead(1).is_none(), expected, "{answer:?}");
        assert!(!clocks.looked_up(2, offset(10), answer.map(offset)), "nothing was said of it");
    };
    check(None, true);
    check(Some(11), true);
    // The first record that came since is stamped too far ahead, or an older one hides it.
    check(Some(10), false);
    check(Some(4), false);
}

/// One log under one leader. Times in ms by our clock; the leader's is ahead by `ahead`.
#[derive(Clone, Debug)]
struct Log {
    ahead: i64,
    by_broker: bool,
    came: Vec<i64>,
    retention: i64,
}

impl Log {
    /// What the record carries. A producer's clock is ours here: what matters is the clock that deletes.
    fn stamp(&self, at: usize) -> i64 {
        self.came[at] + if self.by_broker { self.ahead } else { 0 }
    }

    /// When the leader may delete the record at this place, at the earliest, by our clock: each record a segment.
    fn deleted(&self, committed: usize) -> i64 {
        let youngest = (0..=committed).map(|at| self.stamp(at)).max().unwrap();
        youngest + self.retention - self.ahead
    }

    /// The deadline of a round at `now`, of a query that stands at `committed`.
    fn published(&self, committed: usize, now: i64) -> Option<i64> {
        let there = self.came.iter().filter(|came| **came <= now).count();
        let mut clocks = Clocks::default();
        if self.by_broker {
            // The look-up of `now` and the allowance, for the first record that is younger.
            let beyond = (0..there).map(|at| self.stamp(at)).find(|stamp| *stamp > now + 5000);
            if let Some(stamp) = beyond {
                let stamp = Stamp { at: Moment::from_millis(stamp), heard: Moment::from_millis(now), sure: true };
                clocks.stamped(1, stamp, SKEW);
            }
        }
        if clocks.ahead(1).is_some() {
            return None;
        }
        let limits = Limits {
            cleanup_policy: Some("delete".to_owned()),
            retention_ms: Some(self.retention),
            retention_bytes: Some(-1),
            ..Limits::default()
        };
        let proved = (0..=committed.min(there.saturating_sub(1))).max_by_key(|at| self.stamp(*at));
        let proved = proved.map(|at| (offset(i64::try_from(at).unwrap()), Moment::from_millis(self.stamp(at))));
        let age = Age { proved, below: None };
        let found =
            deadline(Policy::of(Some(&Ok(limits))), committed < there, Some(&age), Moment::from_millis(now), SKEW);
        match found {
            Some(Deadline::At(at)) => Some(at.millis()),
            Some(Deadline::Never) => panic!("it is limited"),
            None => None,
        }
    }
}

fn any_log(ahead: impl Strategy<Value = i64>) -> impl Strategy<Value = Log> {
    let paces = prop::collection::vec(0..20_000_i64, 1..30);
    (ahead, any::<bool>(), paces, 1_000..600_000_i64).prop_map(|(ahead, by_broker, paces, retention)| {
        let mut at = 1_000_000;
        let came = paces.into_iter().map(|pace| {
            at += pace;
            at
        });
        Log { ahead, by_broker, came: came.collect(), retention }
    })
}

proptest! {
    #[test]
    fn no_deadline_is_late_while_clocks_differ_by_no_more_than_is_allowed(
        log in any_log(-600_000..=5_000_i64),
        place in any::<prop::sample::Index>(),
        later in 0..600_000_i64,
    ) {
        let committed = place.index(log.came.len());
        let now = log.came[committed] + later;
        if let Some(deadline) = log.published(committed, now) {
            prop_assert!(deadline <= log.deleted(committed), "{deadline} and {}", log.deleted(committed));
        }
    }

    #[test]
    fn a_round_that_sees_a_stamp_of_a_clock_too_far_ahead_proves_nothing(
        log in any_log(5_001..600_000_i64),
        place in any::<prop::sample::Index>(),
    ) {
        // A record has just come, stamped by the leader: what is published beside it is never late.
        let log = Log { by_broker: true, ..log };
        let committed = place.index(log.came.len());
        prop_assert_eq!(log.published(committed, *log.came.last().unwrap()), None);
    }

    #[test]
    fn a_clock_within_the_allowance_is_never_cried_at(
        log in any_log(-600_000..=5_000_i64),
        place in any::<prop::sample::Index>(),
        later in 0..600_000_i64,
    ) {
        let committed = place.index(log.came.len());
        prop_assert!(log.published(committed, log.came[committed] + later).is_some());
    }
}

/// A log that one leader stamps and that a round looks at every so often, as the reader does: first for the youngest
/// stamp, then, where a clock is held to run ahead and this stamp does not show it, for what came since the round before.
struct Watched {
    clocks: Clocks,
    stamps: Vec<i64>,
    /// Where it ended at the round before, and when that was.
    before: Option<(usize, i64)>,
}

impl Watched {
    fn round(&mut self, now: i64) {
        let end = self.stamps.len();
        if let Some((from, asked)) = self.before.filter(|(from, _)| end > *from) {
            let youngest = (0..end).max_by_key(|at| self.stamps[*at]).unwrap();
            let stamp = Stamp {
                at: Moment::from_millis(self.stamps[youngest]),
                heard: Moment::from_millis(now),
                sure: youngest >= from,
            };
            if stamp.sure {
                self.clocks.stamped(1, stamp, SKEW);
            } else {
                self.clocks.outlived(1);
            }
            if !(stamp.sure && stamp.at > stamp.heard.plus(SKEW)) && self.clocks.ahead(1).is_some() {
                let first = (0..end).find(|at| self.stamps[*at] >= asked + 5000);
                let place = |at: usize| offset(i64::try_from(at).unwrap());
                self.clocks.looked_up(1, place(from), first.map(place));
            }
        }
        self.before = Some((end, now));
    }
}

proptest! {
    #[test]
    fn a_clock_that_runs_ahead_is_not_forgotten_before_it_is_right(
        ahead in 5_001..600_000_i64,
        steps in prop::collection::vec((0..40_000_i64, any::<bool>()), 1..60),
    ) {
        let mut log = Watched { clocks: Clocks::default(), stamps: Vec::new(), before: None };
        let (mut now, mut seen) = (1_000_000, false);
        for (pause, comes) in &steps {
            now += pause;
            if *comes {
                log.stamps.push(now + ahead);
            } else {
                log.round(now);
            }
            seen |= log.clocks.ahead(1).is_some();
            prop_assert_eq!(log.clocks.ahead(1).is_some(), seen);
        }
        // From now on it is right. What it stamped before stays in the log, and is younger for a while.
        now += ahead + 5_000;
        for _ in 0..2 {
            log.stamps.push(now);
            log.round(now + 1);
            now += 4_000;
        }
        prop_assert!(log.clocks.are_fine());
    }
}

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::retention::{Age, PartitionReading, TopicId};

/// A partition as a broker sees it: timestamps by offset, from `earliest` on.
#[derive(Clone, Debug)]
struct Log {
    earliest: usize,
    stamps: Vec<i64>,
}

fn offset(number: usize) -> Offset {
    Offset::new(i64::try_from(number).unwrap()).unwrap()
}

impl Log {
    fn look_up(&self, time: Moment) -> Option<(Offset, Moment)> {
        (self.earliest..self.stamps.len())
            .find(|at| self.stamps[*at] >= time.millis())
            .map(|at| (offset(at), Moment::from_millis(self.stamps[at])))
    }

    fn reading(&self) -> PartitionReading {
        PartitionReading {
            earliest: offset(self.earliest),
            latest: offset(self.stamps.len()),
            stable: None,
            leader_epoch: Some(0),
            oldest: self.look_up(Moment::from_millis(0)),
        }
    }

    /// The truth: the highest timestamp from earliest up to the committed offset.
    fn maximum(&self, committed: usize) -> i64 {
        *self.stamps[self.earliest..=committed].iter().max().unwrap()
    }

    /// Searches to the end; the number of look-ups and what they told.
    fn search(&self, committed: usize, retention: i64, now: i64, known: &mut Proofs) -> (usize, Age) {
        let (asked, age, _) = self.search_before(None, committed, retention, now, known);
        (asked, age)
    }

    /// The same where the log is thought to have come to its end then; and when this search lets one think it did.
    fn search_before(
        &self,
        end: Option<Moment>,
        committed: usize,
        retention: i64,
        now: i64,
        known: &mut Proofs,
    ) -> (usize, Age, Option<Moment>) {
        let reading = self.reading();
        known.observe(Some(TopicId([1; 16])), &reading);
        let retention = (retention >= 0).then(|| Duration::from_millis(u64::try_from(retention).unwrap()));
        let bounds = (reading.earliest, reading.latest);
        let mut search = Search::new(offset(committed), bounds, retention, Moment::from_millis(now));
        end.into_iter().for_each(|end| search.expect_end(end));
        let mut asked = 0;
        while let Some(time) = search.next(known) {
            asked += 1;
            assert!(asked < 200, "the search does not end");
            known.learn(time, self.look_up(time));
        }
        (asked, known.age(offset(committed)), search.end_of_log(known))
    }
}

const NOW: i64 = 1_800_000_000_000;

/// One record a second, the newest ten seconds old.
fn steady(count: usize) -> Log {
    let first = NOW - 10_000 - i64::try_from(count).unwrap() * 1_000;
    Log { earliest: 0, stamps: (1..=count).map(|n| first + i64::try_from(n).unwrap() * 1_000).collect() }
}

#[test]
fn few_look_ups_are_enough() {
    let check = |what: &str, log: &Log, retention: i64, average: usize, worst: usize| {
        let places: Vec<usize> = (0..log.stamps.len()).step_by(log.stamps.len() / 40).collect();
        let asked: Vec<usize> =
            places.iter().map(|at| log.search(*at, retention, NOW, &mut Proofs::default()).0).collect();
        let (total, most) = (asked.iter().sum::<usize>(), asked.iter().max().unwrap());
        assert!(
            total <= places.len() * average && *most <= worst,
            "{what}: {total} at {} places, {asked:?}",
            places.len()
        );
    };
    let day = 86_400_000;
    let steady = steady(3_600);
    check("steady, an hour kept", &steady, 3_600_000, 2, 3);
    check("steady, a week kept", &steady, 7 * day, 2, 3);
    let idle = Log { earliest: 0, stamps: steady.stamps.iter().map(|stamp| stamp - 3_600_000).collect() };
    check("idle for an hour", &idle, 7 * day, 5, 7);
    let burst = |n: i64| if n < 3_000 { NOW - 50 * 60_000 + n } else { NOW - 60_000 + n };
    let bursts = Log { earliest: 0, stamps: (0..3_600).map(burst).collect() };
    check("two bursts", &bursts, 7 * day, 5, 8);
}

#[test]
fn what_one_partition_showed_of_the_pace_spares_others_their_look_ups() {
    let day = 86_400_000;
    let averages = |step: i64, uneven: bool, idle: i64| {
        let log = |count: i64| {
            let late = |number: i64| if uneven { number * 7_919 % 10 * step / 10 } else { 0 };
            let stamps = (0..count).map(|number| NOW - idle - (count - number) * step + late(number));
            Log { earliest: 0, stamps: stamps.collect() }
        };
        let (_, _, end) = log(100).search_before(None, 70, day, NOW, &mut Proofs::default());
        // In tenths of a look-up.
        let average = |end: Option<Moment>| {
            let asked = (5..85).map(|at| log(90).search_before(end, at, day, NOW, &mut Proofs::default()).0);
            asked.sum::<usize>() / 8
        };
        (average(None), average(end))
    };
    let check = |step, idle, even, uneven| {
        let found = (averages(step, false, idle), averages(step, true, idle));
        assert_eq!(found, (even, uneven), "a record each {step} ms, then none for {idle} ms");
    };
    let silence = 1_200_000;
    check(15_000, 0, (10, 10), (14, 14));
    check(15_000, silence, (41, 10), (40, 11));
    check(100, 0, (19, 19), (19, 19));
    check(100, silence, (44, 10), (44, 10));
}

#[test]
fn an_end_that_is_not_this_logs_costs_few_look_ups() {
    let day = 86_400_000;
    // Seven days of a record each ten minutes, until now.
    let log = Log { earliest: 0, stamps: (0..1_008).map(|number| NOW - (1_008 - number) * 600_000).collect() };
    for end in [NOW - day, NOW - 3 * day, NOW - 6 * day] {
        for at in [150, 300, 500, 700, 900] {
            let search = |end| log.search_before(end, at, 7 * day, NOW, &mut Proofs::default()).0;
            let (led, alone) = (search(Some(Moment::from_millis(end))), search(None));
            assert!(led <= alone + 3, "{led} and not {alone} at {at}, told {} days", (NOW - end) / day);
        }
    }
}

#[test]
fn a_pilot_goes_ahead_only_where_the_end_of_the_log_matters() {
    let log = steady(100);
    let depends = |committed: usize, known: &Proofs| {
        let bounds = (log.reading().earliest, log.reading().latest);
        Search::new(offset(committed), bounds, None, Moment::from_millis(NOW)).depends_on_the_end(known)
    };
    let mut known = Proofs::default();
    known.observe(None, &log.reading());
    assert!(depends(60, &known));
    assert!(!depends(5, &known), "next to the oldest record");
    assert!(!depends(100, &known), "all is read");
    log.search(60, -1, NOW, &mut known);
    assert!([60, 62, 90].iter().all(|committed| !depends(*committed, &known)), "no first search");
}

#[test]
fn an_unmoved_offset_is_not_looked_up_again() {
    let log = steady(3_600);
    for committed in [0, 1, 600, 1_800, 3_000, 3_599] {
        let mut known = Proofs::default();
        let (_, age) = log.search(committed, 3_600_000, NOW, &mut known);
        known.keep_for(&[offset(committed)]);
        for later in [1_000, 30_000, 600_000] {
            // The newest record is less old than the finest age while its upper end is still "now".
            if age.below.is_none() {
                continue;
            }
            assert_eq!(log.search(committed, 3_600_000, NOW + later, &mut known), (0, age), "{committed} {later}");
        }
    }
}

#[test]
fn nothing_is_asked_where_nothing_can_be_learned() {
    let check = |committed: i64, earliest: i64, latest: i64| {
        let at = |number| Offset::new(number).unwrap();
        let mut search = Search::new(at(committed), (at(earliest), at(latest)), None, Moment::from_millis(NOW));
        assert_eq!(search.next(&Proofs::default()), None, "{committed} in [{earliest}, {latest})");
    };
    check(4, 5, 9);
    check(9, 5, 9);
    check(12, 5, 9);
    check(0, 0, 0);
}

#[test]
fn a_stamp_in_the_future_needs_no_look_up() {
    let mut log = steady(100);
    log.stamps[0] = NOW + 31_536_000_000;
    let (asked, age) = log.search(50, 3_600_000, NOW, &mut Proofs::default());
    assert_eq!((asked, age.proved), (0, Some((Offset::ZERO, Moment::from_millis(log.stamps[0])))));
}

#[test]
fn without_an_oldest_record_the_search_still_ends_and_claims_no_upper_end() {
    // DeleteRecords cut into the first segment: the broker answers none, whatever is asked.
    let bounds =
        PartitionReading { earliest: offset(137), latest: offset(300), stable: None, leader_epoch: None, oldest: None };
    for retention in [None, Some(Duration::from_secs(30)), Some(Duration::ZERO)] {
        let mut known = Proofs::default();
        known.observe(None, &bounds);
        let range = (bounds.earliest, bounds.latest);
        let mut search = Search::new(offset(200), range, retention, Moment::from_millis(NOW));
        let mut asked = 0;
        while let Some(time) = search.next(&known) {
            asked += 1;
            known.learn(time, None);
        }
        assert!(asked < 25, "{asked}");
        assert_eq!(known.age(offset(200)), Age::default());
    }
}

#[test]
fn proofs_fall_when_the_log_is_no_longer_the_same() {
    let log = steady(600);
    let base = log.reading();
    let check = |what: &str, id: u8, change: &dyn Fn(&mut PartitionReading), floor: bool, ceiling: bool| {
        let mut known = Proofs::default();
        log.search(300, 600_000, NOW, &mut known);
        let mut reading = PartitionReading { oldest: None, ..base };
        change(&mut reading);
        known.observe(Some(TopicId([id; 16])), &reading);
        let left = (known.floor(offset(300)).is_some(), known.ceiling(offset(300)).is_some());
        assert_eq!(left, (floor, ceiling), "{what}");
    };
    check("the same", 1, &|_| (), true, true);
    check("grown", 1, &|reading| reading.latest = offset(700), true, true);
    check("another topic", 2, &|_| (), false, false);
    check("the end moved back", 1, &|reading| reading.latest = offset(599), false, false);
    check("another leader", 1, &|reading| reading.leader_epoch = Some(1), false, false);
    check("the start moved past the proofs", 1, &|reading| reading.earliest = offset(301), false, true);
}

#[test]
fn a_start_that_moves_back_takes_the_upper_ends_with_it() {
    let mut log = steady(600);
    log.stamps[0] = NOW - 1;
    log.earliest = 100;
    let mut known = Proofs::default();
    log.search(300, 600_000, NOW, &mut known);
    log.earliest = 0;
    let (_, age) = log.search(300, 600_000, NOW, &mut known);
    assert_eq!(age.proved.unwrap().1.millis(), NOW - 1);
    assert!(age.below.is_none_or(|below| below.millis() > NOW - 1));
}

/// Timestamps in order, or shifted about, or at random.
fn logs() -> impl Strategy<Value = Log> {
    let steps = prop::collection::vec((0_i64..20_000, -60_000_i64..60_000), 1..200);
    (steps, 0_u8..3, 0_usize..100, 0_i64..1_000_000).prop_map(|(steps, disorder, earliest, idle)| {
        let total: i64 = steps.iter().map(|(step, _)| step).sum();
        let mut time = NOW - idle - total;
        let stamps: Vec<i64> = steps
            .iter()
            .map(|(step, shift)| {
                time += step;
                match disorder {
                    0 => time,
                    1 => time + shift,
                    _ => NOW - idle - step * 200,
                }
            })
            .collect();
        Log { earliest: earliest.min(stamps.len() - 1), stamps }
    })
}

proptest! {
    #[test]
    fn the_bound_is_never_above_the_truth_and_close_to_it(
        log in logs(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        retention in prop_oneof![Just(-1_i64), 0_i64..10_000_000],
        end in prop::option::of(-100_000_i64..5_000_000),
    ) {
        let mut known = Proofs::default();
        let end = end.map(|ago| Moment::from_millis(NOW - ago));
        for place in places {
            let committed = log.earliest + place.index(log.stamps.len() - log.earliest);
            let (asked, age, _) = log.search_before(end, committed, retention, NOW, &mut known);
            let truth = log.maximum(committed);
            let (at, proved) = age.proved.unwrap();
            prop_assert!(proved.millis() <= truth, "{age:?} is above {truth}");
            prop_assert!(at >= offset(log.earliest) && at <= offset(committed));
            if let Some(below) = age.below {
                prop_assert!(below.millis() > truth, "{age:?} is not above {truth}");
            }
            let close = if retention < 0 { i64::MAX } else { (retention / 100).max(1) };
            prop_assert!(truth.min(NOW) - proved.millis() <= close, "{age:?} is far from {truth}");
            let young = age.below.map_or(NOW, |below| below.millis().min(NOW));
            prop_assert!(young - proved.millis() <= FINEST_AGE.max((NOW - young) / 20).min(close));
            prop_assert!(asked <= 60, "{asked} look-ups");
        }
    }

    #[test]
    fn proofs_stay_true_while_the_log_grows_and_loses_its_start(
        log in logs(),
        grown in prop::collection::vec(-60_000_i64..60_000, 1..50),
        place in any::<prop::sample::Index>(),
        gone in 0_usize..50,
    ) {
        let mut log = log;
        let mut known = Proofs::default();
        let committed = log.earliest + place.index(log.stamps.len() - log.earliest);
        log.search(committed, 100_000, NOW, &mut known);
        known.keep_for(&[offset(committed)]);
        log.stamps.extend(grown.iter().map(|shift| NOW + shift));
        log.earliest = (log.earliest + gone).min(committed);
        for committed in committed..log.stamps.len().min(committed + 20) {
            let (_, age) = log.search(committed, 100_000, NOW + 30_000, &mut known);
            let truth = log.maximum(committed);
            prop_assert!(age.proved.is_some_and(|(_, proved)| proved.millis() <= truth), "{age:?} against {truth}");
            prop_assert!(age.below.is_none_or(|below| below.millis() > truth), "{age:?} against {truth}");
        }
    }
}

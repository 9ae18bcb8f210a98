use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn offset(number: i64) -> Offset {
    Offset::new(number).unwrap()
}

fn second(number: i64) -> Moment {
    Moment::from_millis(number * 1000)
}

fn seen(ends: &[(i64, i64)]) -> Arrivals {
    let mut arrivals = Arrivals::default();
    ends.iter().for_each(|(at, end)| arrivals.note(second(*at), offset(*end)));
    arrivals
}

#[test]
fn a_record_came_between_two_looks() {
    let check = |ends: &[(i64, i64)], needed: i64, expected: Option<(i64, i64)>| {
        let found = seen(ends).of(offset(needed)).map(|found| (found.after, found.by));
        assert_eq!(found, expected.map(|(after, by)| (second(after), second(by))), "{ends:?} {needed}");
    };
    let ends = [(0, 10), (30, 10), (60, 25), (90, 40)];
    check(&ends, 10, Some((30, 60)));
    check(&ends, 24, Some((30, 60)));
    check(&ends, 25, Some((60, 90)));
    // It was there before anybody looked.
    check(&ends, 9, None);
    // It is not there yet.
    check(&ends, 40, None);
    check(&[], 0, None);
    check(&[(0, 10)], 9, None);
    // The end moved back: what comes behind it came anew.
    check(&[(0, 10), (30, 40), (60, 20), (90, 40)], 30, Some((60, 90)));
    check(&[(0, 10), (30, 40), (60, 20), (90, 40)], 10, Some((0, 60)));
    // Our clock was set back: nothing is learned until it has caught up.
    check(&[(60, 10), (30, 20), (90, 30)], 15, Some((60, 90)));
}

#[test]
fn what_is_read_is_forgotten_and_what_comes_next_is_not() {
    let mut arrivals = seen(&[(0, 10), (30, 20), (60, 30), (90, 40)]);
    arrivals.keep_from(offset(20));
    assert_eq!(arrivals, seen(&[(30, 20), (60, 30), (90, 40)]));
    arrivals.keep_from(offset(99));
    assert_eq!(arrivals, seen(&[(90, 40)]));
}

#[test]
fn a_long_wait_is_remembered_in_few_stands_and_its_beginning_exactly() {
    let mut arrivals = seen(&[(0, 10)]);
    for round in 1..1000 {
        arrivals.note(second(round * 30), offset(10 + round));
        arrivals.keep_from(offset(10));
    }
    assert!(arrivals.stands.len() <= KEPT);
    assert_eq!(arrivals.of(offset(10)), Some(Arrival { after: second(0), by: second(30) }));
    // Further on it is known to a share of the time that passed.
    for needed in [100, 500, 900] {
        let found = arrivals.of(offset(needed)).unwrap();
        assert!(found.by.since(found.after) <= Duration::from_secs(30_000 / 8), "{needed}: {found:?}");
    }
}

proptest! {
    /// Rounds at any rhythm, records at any pace; a query that stands anywhere.
    #[test]
    fn the_estimate_is_wrong_by_the_time_between_two_rounds_at_most(
        rounds in prop::collection::vec((1..60_i64, 0..20_i64), 2..KEPT),
        needed in 0..200_i64,
    ) {
        let mut arrivals = Arrivals::default();
        let mut came: Vec<i64> = Vec::new();
        let (mut now, mut widest) = (0, 0);
        arrivals.note(second(0), offset(0));
        for (passed, records) in rounds {
            // Each at its own moment after the look before, the last one at the very moment of this look.
            came.extend((1..=records).map(|number| now * 1000 + passed * 1000 * number / records));
            now += passed;
            widest = widest.max(passed);
            arrivals.note(second(now), offset(i64::try_from(came.len()).unwrap()));
            arrivals.keep_from(offset(needed));
        }
        let truth = usize::try_from(needed).ok().and_then(|at| came.get(at));
        let found = arrivals.of(offset(needed));
        prop_assert_eq!(found.is_some(), truth.is_some());
        if let (Some(found), Some(truth)) = (found, truth) {
            prop_assert!(found.after.millis() <= *truth && *truth <= found.by.millis(), "{:?} {}", found, truth);
            prop_assert!(found.by.since(found.after) <= Duration::from_secs(u64::try_from(widest).unwrap()));
        }
    }

    /// However long it lasts: never outside of what was seen.
    #[test]
    fn thinning_out_never_makes_the_estimate_untrue(
        rounds in prop::collection::vec((1..60_i64, 1..5_i64), KEPT..200),
        needed in 0..400_i64,
    ) {
        let mut arrivals = Arrivals::default();
        let mut came: Vec<i64> = Vec::new();
        let mut now = 0;
        arrivals.note(second(0), offset(0));
        for (passed, records) in rounds {
            came.extend((0..records).map(|_| now * 1000 + 500));
            now += passed;
            arrivals.note(second(now), offset(i64::try_from(came.len()).unwrap()));
            arrivals.keep_from(offset(0));
        }
        if let (Some(found), Some(truth)) = (arrivals.of(offset(needed)), usize::try_from(needed).ok().and_then(|at| came.get(at))) {
            prop_assert!(found.after.millis() <= *truth && *truth <= found.by.millis());
        }
    }
}

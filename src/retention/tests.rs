//! Policies, deadlines, ratios, forecasts, in tables.

use std::time::Duration;

use super::*;
use crate::measures::{Moment, Offset, Reason, Unread};

const HOUR: u64 = 3_600_000;

fn limits(policy: Option<&str>, ms: Option<i64>, bytes: Option<i64>) -> Policy {
    let limits = Limits {
        cleanup_policy: policy.map(str::to_owned),
        retention_ms: ms,
        retention_bytes: bytes,
        ..Limits::default()
    };
    Policy::of(Some(&Ok(limits)))
}

fn offset(number: i64) -> Offset {
    Offset::new(number).unwrap()
}

fn second(number: i64) -> Moment {
    Moment::from_millis(number * 1000)
}

#[test]
fn limits_make_a_policy() {
    #[track_caller]
    fn check(policy: Policy, cleanup: Cleanup, ruling: Ruling) {
        assert_eq!((policy.cleanup, policy.ruling(false)), (cleanup, ruling));
    }
    check(limits(Some("delete"), Some(1000), Some(-1)), Cleanup::Delete, Ruling::Time);
    check(limits(Some("delete"), Some(-1), Some(1000)), Cleanup::Delete, Ruling::Size);
    check(limits(Some("delete"), Some(1000), Some(1000)), Cleanup::Delete, Ruling::Time);
    check(limits(Some("delete"), Some(-1), Some(-1)), Cleanup::Delete, Ruling::None);
    check(limits(Some("compact"), Some(1000), Some(1000)), Cleanup::Compact, Ruling::None);
    check(limits(Some(" compact, delete"), Some(1000), Some(-1)), Cleanup::CompactDelete, Ruling::Time);
    check(limits(Some("delete,compact"), Some(1000), Some(-1)), Cleanup::CompactDelete, Ruling::Time);
    check(limits(Some(""), Some(1000), Some(-1)), Cleanup::Nothing, Ruling::None);
    check(limits(Some("shred"), Some(1000), Some(-1)), Cleanup::Unknown, Ruling::Time);
    check(limits(None, Some(1000), None), Cleanup::Unknown, Ruling::Time);
    check(limits(Some("delete"), None, Some(-1)), Cleanup::Delete, Ruling::Unknown);
    check(Policy::of(Some(&Err(Unread::new(Reason::Denied, "no right")))), Cleanup::Unknown, Ruling::Unknown);
    check(Policy::of(None), Cleanup::Unknown, Ruling::Unknown);
    assert_eq!(limits(Some("delete"), Some(1000), Some(1000)).ruling(true), Ruling::Size);
}

#[test]
fn a_deadline_is_proved_or_absent() {
    let age = |seconds| Age { proved: Some((offset(5), second(seconds))), below: None };
    let hour = i64::try_from(HOUR).unwrap();
    let check = |policy, unread, age: Option<Age>, expected| {
        let found = deadline(policy, unread, age.as_ref(), second(10_000), Duration::from_secs(5));
        assert_eq!(found, expected);
    };
    let delete = limits(Some("delete"), Some(hour), Some(-1));
    check(delete, true, Some(age(8000)), Some(Deadline::At(second(8000 + 3600 - 5))));
    check(delete, true, Some(age(20_000)), Some(Deadline::At(second(10_000 + 3600 - 5))));
    check(delete, true, Some(Age::default()), None);
    check(delete, true, None, None);
    check(delete, false, None, Some(Deadline::At(second(10_000 + 3600 - 5))));
    check(limits(Some("delete"), Some(-1), Some(9)), true, None, Some(Deadline::Never));
    check(limits(Some("compact"), Some(hour), None), true, None, Some(Deadline::Never));
    check(limits(Some("compact,delete"), Some(hour), None), true, Some(age(8000)), None);
    check(Policy::UNKNOWN, true, Some(age(8000)), None);
}

#[test]
fn the_age_of_the_next_record_is_never_overstated() {
    let check = |proved: Option<(i64, i64)>, below: Option<i64>, expected: Option<i64>| {
        let age = Age { proved: proved.map(|(at, seconds)| (offset(at), second(seconds))), below: below.map(second) };
        assert_eq!(oldest_unread(Some(&age), None, offset(5), second(100)), expected.map(second));
    };
    check(Some((5, 60)), Some(90), Some(60));
    check(Some((4, 60)), Some(70), Some(70));
    check(Some((4, 60)), Some(700), Some(100));
    check(Some((4, 60)), None, None);
    check(None, None, None);
    // Nothing stands between the position and the oldest record of all: that one is next.
    let hole = Age { proved: None, below: Some(second(20)) };
    assert_eq!(oldest_unread(Some(&hole), Some((offset(9), second(80))), offset(5), second(100)), Some(second(80)));
    assert_eq!(oldest_unread(Some(&hole), Some((offset(4), second(10))), offset(5), second(100)), Some(second(20)));
}

fn standing(needed: i64, earliest: i64, latest: i64, seconds_left: Option<i64>) -> Standing {
    Standing {
        needed: offset(needed),
        earliest: offset(earliest),
        latest: offset(latest),
        moving: true,
        oldest: Some(second(9000)),
        deadline: seconds_left.map(|left| Deadline::At(second(10_000 + left))),
    }
}

#[test]
fn the_ratio_is_the_smaller_of_what_is_known() {
    let hour = i64::try_from(HOUR).unwrap();
    let check = |policy, standing: Standing, expected: Option<f64>| {
        let found = ratio(policy, &standing, second(10_000));
        let close = match (found, expected) {
            (Some(found), Some(expected)) => (found - expected).abs() < 1e-9,
            (found, expected) => found.is_none() && expected.is_none(),
        };
        assert!(close, "{found:?} for {expected:?}");
    };
    let time = limits(Some("delete"), Some(hour), Some(-1));
    check(time, standing(50, 10, 100, Some(1800)), Some(0.5));
    check(time, standing(50, 10, 100, Some(-1800)), Some(0.0));
    check(time, standing(50, 10, 100, None), None);
    check(time, standing(100, 10, 100, None), Some(1.0));
    check(limits(Some("delete"), Some(0), Some(-1)), standing(50, 10, 100, Some(0)), Some(0.0));
    let both = limits(Some("delete"), Some(hour), Some(1));
    check(both, standing(20, 10, 110, Some(1800)), Some(0.1));
    check(both, Standing { moving: false, ..standing(20, 10, 110, Some(1800)) }, Some(0.5));
    check(both, standing(20, 0, 100, Some(1800)), Some(0.5));
    // Old enough to be deleted by time: nothing shows that size is at work.
    check(both, Standing { oldest: Some(second(6700)), ..standing(20, 10, 110, Some(1800)) }, Some(0.5));
    check(both, Standing { oldest: None, ..standing(20, 10, 110, Some(1800)) }, Some(0.5));
    let size = limits(Some("delete"), Some(-1), Some(1));
    check(size, standing(20, 10, 110, None), Some(0.1));
    check(size, Standing { moving: false, ..standing(20, 10, 110, None) }, None);
    check(limits(Some("delete"), Some(-1), Some(-1)), standing(20, 10, 110, None), Some(1.0));
    check(limits(Some("compact"), Some(hour), Some(1)), standing(20, 10, 110, None), Some(1.0));
    check(Policy::UNKNOWN, standing(20, 10, 110, Some(1800)), None);
    check(Policy::UNKNOWN, standing(110, 10, 110, None), None);
}

#[test]
fn a_forecast_needs_history_and_says_never_when_the_query_keeps_up() {
    let sample = |at: i64, earliest: i64, committed: i64, latest: i64, deadline: i64| Sample {
        at: second(at),
        earliest: offset(earliest),
        latest: offset(latest),
        committed: offset(committed),
        deadline: Some(Deadline::At(second(deadline))),
    };
    let check = |threat, window: &[Sample], expected| {
        assert_eq!(forecast(threat, window, &[100], Duration::from_secs(60)), expected);
    };
    // Earliest jumps by 100; 300 of headroom less one jump, eaten at 1 a second.
    let stopped = [sample(0, 0, 400, 1000, 0), sample(100, 100, 400, 1100, 0), sample(200, 100, 400, 1200, 0)];
    check(Threat::Size, &stopped, Some(Deadline::At(second(200 + 200))));
    check(Threat::Size, &[sample(0, 0, 400, 1000, 0), sample(200, 100, 600, 1200, 0)], Some(Deadline::Never));
    check(Threat::Size, &stopped[2..], None);
    check(Threat::Size, &[sample(0, 0, 400, 1000, 0), sample(60, 0, 400, 1060, 0)], None);
    // A batch of 50 that is just not committed yet does not make the query slow.
    let late = [sample(0, 0, 400, 1000, 0), sample(100, 100, 450, 1060, 0), sample(200, 100, 500, 1130, 0)];
    check(Threat::Size, &late, Some(Deadline::Never));
    // Reading at half the pace of the clock: 1000 s left shrink by one every two seconds.
    let slow = [sample(0, 0, 100, 1000, 1100), sample(200, 0, 150, 1000, 1200)];
    check(Threat::Time, &slow, Some(Deadline::At(second(200 + 2000))));
    let still = [sample(0, 0, 100, 1000, 1100), sample(200, 0, 100, 1000, 1100)];
    check(Threat::Time, &still, Some(Deadline::At(second(1100))));
    let keeps_up = [sample(0, 0, 100, 1000, 1100), sample(200, 0, 500, 1000, 1300)];
    check(Threat::Time, &keeps_up, Some(Deadline::Never));
    let unproved = Sample { deadline: None, ..sample(200, 0, 100, 1000, 0) };
    check(Threat::Time, &[sample(0, 0, 100, 1000, 1100), unproved], None);
    // The history begins where a deadline is known.
    let began = Sample { at: second(-300), ..unproved };
    check(Threat::Time, &[began, still[0], still[1]], Some(Deadline::At(second(1100))));
    check(Threat::Time, &[began, still[1]], None);
}

#[test]
fn a_log_that_size_cuts_keeps_a_record_for_as_long_as_it_takes_to_fill() {
    let sample = |at: i64, earliest: i64, latest: i64| Sample {
        at: second(at),
        earliest: offset(earliest),
        latest: offset(latest),
        committed: offset(latest),
        deadline: None,
    };
    // 1,000 offsets are held, and 10 a second come in.
    assert_eq!(lifetime_by_size(&[sample(0, 0, 500), sample(100, 500, 1500)]), Some(Duration::from_secs(100)));
    assert_eq!(lifetime_by_size(&[sample(0, 0, 500), sample(100, 0, 500)]), None);
    assert_eq!(lifetime_by_size(&[]), None);
}

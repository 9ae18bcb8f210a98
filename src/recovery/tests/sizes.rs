//! Whether retention survives an outage.

use std::time::Duration;

use super::{NOW, offset};
use crate::recovery::{Keeps, Observed, Outage, could_be_down, size};
use crate::retention::{Cleanup, Deadline, Limit, Policy, Ruling};

const HOUR: Duration = Duration::from_secs(3600);

fn policy(hours: Option<u32>, bytes: Option<u64>) -> Policy {
    let time = hours.map_or(Limit::Unlimited, |hours| Limit::At(HOUR * hours));
    Policy { cleanup: Cleanup::Delete, time, size: bytes.map_or(Limit::Unlimited, Limit::At) }
}

/// A log from `earliest` on, ten offsets a second, whose oldest record is so many hours old.
fn log(earliest: i64, hours: u32) -> Observed {
    Observed {
        earliest: offset(earliest),
        latest: offset(earliest + 36_000 * i64::from(hours)),
        oldest: Some(NOW.minus(HOUR * hours)),
        since: Some((offset(earliest + 36_000 * i64::from(hours) - 36_000), NOW.minus(HOUR))),
    }
}

fn outage(hours: u32) -> Outage {
    Outage { length: HOUR * hours, interval: Duration::ZERO, clock_skew: Duration::ZERO, record_bytes: None }
}

#[test]
fn the_more_restrictive_limit_decides_and_what_would_survive_is_told() {
    type Needs = (Option<u64>, Option<u64>);
    let check = |name: &str,
                 policy: Policy,
                 log: Observed,
                 outage: Outage,
                 survives: Option<bool>,
                 ruling: Ruling,
                 needs: Needs| {
        let sized = size(policy, &[log], &outage, NOW);
        assert_eq!((sized.survives, sized.ruling), (survives, ruling), "{name}: {sized:?}");
        assert_eq!((sized.needs_ms, sized.needs_bytes), needs, "{name}");
    };
    let (ms, mib) = (3_600_000, 1_048_576);
    let time = |hours| policy(Some(hours), None);
    check("longer than it", time(48), log(5, 48), outage(24), Some(true), Ruling::Time, (Some(24 * ms), None));
    check("exactly as long", time(24), log(5, 24), outage(24), Some(true), Ruling::Time, (Some(24 * ms), None));
    check("shorter", time(23), log(5, 23), outage(24), Some(false), Ruling::Time, (Some(24 * ms), None));
    let planned = Outage { interval: Duration::from_secs(61), ..outage(24) };
    check(
        "as long, and a batch",
        time(24),
        log(5, 24),
        planned,
        Some(false),
        Ruling::Time,
        (Some(24 * ms + 120_000), None),
    );
    check("no limit", policy(None, None), log(0, 9), outage(24), Some(true), Ruling::None, (None, None));
    // Ten hours' worth is 100 MiB: a day is 240.
    let cut = policy(Some(168), Some(100 * mib));
    check("cut by size", cut, log(5, 10), outage(24), Some(false), Ruling::Size, (Some(24 * ms), Some(240 * mib)));
    check(
        "cut by size, long enough",
        cut,
        log(5, 30),
        outage(24),
        Some(true),
        Ruling::Size,
        (Some(24 * ms), Some(80 * mib)),
    );
    check("never cut yet", cut, log(0, 10), outage(24), None, Ruling::Unknown, (Some(24 * ms), None));
    check("never cut, older already", cut, log(0, 30), outage(24), Some(true), Ruling::Unknown, (Some(24 * ms), None));
    check(
        "size alone, cut",
        policy(None, Some(100 * mib)),
        log(5, 10),
        outage(24),
        Some(false),
        Ruling::Size,
        (None, Some(240 * mib)),
    );
    // 10 a second of 1024 bytes: 100 MiB are 10,240 s.
    let known = Outage { record_bytes: Some(1024), ..outage(24) };
    check("records of known size", cut, log(0, 10), known, Some(false), Ruling::Size, (Some(24 * ms), Some(844 * mib)));
    check(
        "too short by time, size not known",
        policy(Some(5), Some(mib)),
        log(0, 1),
        outage(24),
        Some(false),
        Ruling::Unknown,
        (Some(24 * ms), None),
    );
    let unknown = Policy::UNKNOWN;
    check("not read", unknown, log(0, 10), outage(24), None, Ruling::Unknown, (None, None));
    let silent = Observed { oldest: None, ..log(5, 10) };
    check("no time is told", cut, silent, outage(24), None, Ruling::Unknown, (Some(24 * ms), None));
}

#[test]
fn the_partition_that_is_kept_for_the_shortest_time_decides() {
    let sized = size(policy(None, Some(1_048_576)), &[log(5, 30), log(5, 10)], &outage(24), NOW);
    assert_eq!((sized.by_size, sized.survives), (Keeps::For(HOUR * 10), Some(false)));
    assert_eq!(sized.rate, Some(20.0));
    let silent = Observed { since: None, ..log(5, 10) };
    assert_eq!(size(policy(Some(48), None), &[log(5, 30), silent], &outage(24), NOW).rate, None);
}

#[test]
fn how_long_it_could_be_down_from_now_is_what_the_deadline_proves() {
    assert_eq!(could_be_down(None, NOW), None);
    assert_eq!(could_be_down(Some(Deadline::Never), NOW), Some(Keeps::ForEver));
    assert_eq!(could_be_down(Some(Deadline::At(NOW.plus(HOUR))), NOW), Some(Keeps::For(HOUR)));
    assert_eq!(could_be_down(Some(Deadline::At(NOW.minus(HOUR))), NOW), Some(Keeps::For(Duration::ZERO)));
}

/// Of a log that shows no record to look-ups by time a rate of nothing was told, and with --record-bytes it survived any
/// outage.
#[test]
fn a_log_that_shows_no_record_to_look_ups_by_time_tells_no_rate() {
    let latest = log(5, 10).latest;
    let asked = Outage { record_bytes: Some(100), ..outage(24) };
    let check = |log: Observed, rate: Option<f64>, survives: Option<bool>| {
        let sized = size(policy(None, Some(1_048_576)), &[log], &asked, NOW);
        assert_eq!((sized.rate, sized.survives), (rate, survives), "{sized:?}");
    };
    let silent = Observed { oldest: None, since: Some((latest, NOW.minus(HOUR * 24))), ..log(5, 10) };
    check(silent, None, None);
    check(Observed { earliest: latest, ..silent }, Some(0.0), Some(true));
    check(log(5, 10), Some(10.0), Some(false));
}

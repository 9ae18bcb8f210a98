use super::*;
use crate::metrics::fixture::NOW;

fn check<T: std::fmt::Debug + Copy>(said: impl Fn(T) -> String, table: &[(T, &str)]) {
    for (input, expected) in table {
        assert_eq!(said(*input), *expected, "{input:?}");
    }
}

#[test]
fn offsets_stand_in_full_with_commas() {
    check(
        count,
        &[(0, "0"), (999, "999"), (1_000, "1,000"), (8_766_764, "8,766,764"), (u64::MAX, "18,446,744,073,709,551,615")],
    );
    check(
        signed,
        &[(-4_200, "\u{2212}4,200"), (0, "0"), (52_110, "52,110"), (i64::MIN, "\u{2212}9,223,372,036,854,775,808")],
    );
    check(
        short,
        &[(0, "0"), (999, "999"), (4_200, "4.2 k"), (500_000, "500 k"), (1_000_000, "1 M"), (1_250_000, "1.2 M")],
    );
}

#[test]
fn a_share_is_rounded_down() {
    check(percent, &[(0.0, "0 %"), (0.1699, "16 %"), (0.9999, "99 %"), (1.0, "100 %"), (-0.5, "0 %"), (1.5, "100 %")]);
}

#[test]
fn durations_name_their_two_largest_units() {
    let said = |seconds| duration(Duration::from_secs(seconds));
    check(
        said,
        &[
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (200, "3 min 20 s"),
            (600, "10 min"),
            (2_460, "41 min"),
            (11_520, "3 h 12 min"),
            (3_600, "1 h"),
            (86_400, "1 d"),
            (586_800, "6 d 19 h"),
            (518_400, "6 d"),
            (86_400 * 4_000, "4,000 d"),
        ],
    );
    check(|millis| took(Duration::from_millis(millis)), &[(96, "96 ms"), (2_400, "2.4 s"), (61_000, "1 min 1 s")]);
}

#[test]
fn moments_are_named_as_shortly_as_can_be_without_doubt() {
    let said = |seconds: i64| clock(Moment::from_millis(NOW.millis() + seconds * 1_000), NOW);
    check(
        said,
        &[
            (0, "02:53 UTC"),
            (11_520, "06:05 UTC"),
            (-10_800, "Sun 29 Nov, 23:53 UTC"),
            (183_600, "Wed 2 Dec, 05:53 UTC"),
            (586_800, "6 Dec 2026, 21:53 UTC"),
            (-604_800, "23 Nov 2026, 02:53 UTC"),
        ],
    );
    assert_eq!(clock_in_full(NOW), "Mon 30 Nov 2026, 02:53:08 UTC");
    assert_eq!(rfc3339(NOW), "2026-11-30T02:53:08.000Z");
    assert_eq!(clock(Moment::from_millis(i64::MAX), NOW), "at no known time");
}

#[test]
fn every_state_has_a_word_and_a_meaning() {
    for state in QueryState::ALL {
        assert!(!spoken(state.label()).contains('_'));
        assert!(!meaning(*state).is_empty());
    }
    for state in PartitionState::ALL {
        assert!(QueryState::ALL.iter().any(|each| each.label() == symbol(*state)));
    }
}

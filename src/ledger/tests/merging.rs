//! Ranges: one loss is one record.

use proptest::prelude::*;

use crate::judgement::Certainty::{self, Certain, Possible};
use crate::ledger::{Gap, RecoveryStatus, merged};
use crate::measures::Moment;

pub(super) fn gap(from: i64, to: i64, certainty: Certainty) -> Gap {
    Gap {
        id: None,
        stream_name: "orders".to_owned(),
        kafka_cluster: "main".to_owned(),
        topic: "orders".to_owned(),
        topic_id: None,
        partition: 0,
        from,
        to,
        certainty,
        detected_at: Moment::from_millis(1_796_007_188_000),
        first_missing_at: None,
        last_missing_at: None,
        recovery_path: None,
        recovery_status: RecoveryStatus::Open,
        evidence: "committed 0 is below earliest 100".to_owned(),
        recorded_by: "brinkwatch".to_owned(),
    }
}

/// Numbers those records that have none, as the file does.
fn numbered(gaps: Vec<Gap>, next: &mut i64) -> Vec<Gap> {
    gaps.into_iter()
        .map(|gap| {
            let id = gap.id.unwrap_or_else(|| {
                *next += 1;
                *next
            });
            Gap { id: Some(id), ..gap }
        })
        .collect()
}

fn check(found: &[(i64, i64, Certainty)], expected: &[(i64, i64, i64, Certainty)]) {
    let (mut records, mut next) = (Vec::new(), 0);
    for (from, to, certainty) in found {
        records = numbered(merged(records, &gap(*from, *to, *certainty)), &mut next);
    }
    let seen: Vec<_> = records.iter().map(|gap| (gap.id.unwrap(), gap.from, gap.to, gap.certainty)).collect();
    assert_eq!(seen, expected, "{found:?}");
}

#[test]
fn overlapping_and_touching_findings_of_one_kind_are_one_record() {
    check(&[(0, 100, Certain), (0, 100, Certain)], &[(1, 0, 100, Certain)]);
    check(&[(0, 100, Certain), (100, 150, Certain)], &[(1, 0, 150, Certain)]);
    check(&[(50, 100, Certain), (0, 60, Certain)], &[(1, 0, 100, Certain)]);
    check(&[(0, 10, Certain), (20, 30, Certain)], &[(1, 0, 10, Certain), (2, 20, 30, Certain)]);
    check(&[(0, 10, Certain), (20, 30, Certain), (5, 25, Certain)], &[(1, 0, 30, Certain)]);
}

#[test]
fn what_is_possible_and_what_is_certain_stay_apart() {
    check(&[(0, 10, Possible), (10, 20, Certain)], &[(1, 0, 10, Possible), (2, 10, 20, Certain)]);
    check(&[(0, 10, Certain), (0, 20, Possible)], &[(1, 0, 10, Certain), (2, 10, 20, Possible)]);
}

#[test]
fn a_possible_record_becomes_certain_where_it_turns_out_so_and_keeps_its_number() {
    check(&[(0, 10, Possible), (0, 10, Certain)], &[(1, 0, 10, Certain)]);
    check(&[(0, 10, Possible), (4, 10, Certain)], &[(2, 0, 4, Possible), (1, 4, 10, Certain)]);
    check(&[(0, 10, Possible), (4, 20, Certain)], &[(2, 0, 4, Possible), (1, 4, 20, Certain)]);
}

#[test]
fn what_was_settled_is_neither_recorded_again_nor_changed() {
    let settled = Gap { id: Some(7), recovery_status: RecoveryStatus::Accepted, ..gap(0, 100, Possible) };
    assert_eq!(merged(vec![settled.clone()], &gap(10, 90, Certain)), vec![settled.clone()]);
    let more = merged(vec![settled.clone()], &gap(0, 120, Possible));
    assert_eq!(more, [settled, gap(100, 120, Possible)], "what goes on being lost is a gap of its own");
}

fn certainty() -> impl Strategy<Value = Certainty> {
    prop_oneof![Just(Certain), Just(Possible)]
}

fn covered(gaps: &[Gap], offset: i64) -> Vec<Certainty> {
    gaps.iter().filter(|gap| gap.from <= offset && offset < gap.to).map(|gap| gap.certainty).collect()
}

proptest! {
    #[test]
    fn every_offset_that_was_found_stands_in_exactly_one_record(
        found in prop::collection::vec((0_i64..60, 1_i64..20, certainty()), 1..24),
    ) {
        let (mut records, mut next) = (Vec::new(), 0);
        for (from, length, certainty) in &found {
            let finding = gap(*from, from + length, *certainty);
            records = numbered(merged(records, &finding), &mut next);
            let again = merged(records.clone(), &finding);
            prop_assert_eq!(&again, &records, "the same finding once more changes nothing");
        }
        for offset in 0..80 {
            let by: Vec<Certainty> =
                found.iter().filter(|(from, length, _)| *from <= offset && offset < from + length).map(|(_, _, c)| *c).collect();
            let expected: Vec<Certainty> = match (by.is_empty(), by.contains(&Certain)) {
                (true, _) => vec![],
                (false, true) => vec![Certain],
                (false, false) => vec![Possible],
            };
            prop_assert_eq!(covered(&records, offset), expected);
        }
        let mut ids: Vec<i64> = records.iter().filter_map(|gap| gap.id).collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), all);
        for pair in records.windows(2) {
            prop_assert!(pair[0].to < pair[1].from || pair[0].certainty != pair[1].certainty, "neighbours are joined");
        }
    }
}

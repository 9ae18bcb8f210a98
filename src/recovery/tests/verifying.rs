//! Sink, checkpoint, brokers and gap records, held against each other.

use std::collections::BTreeMap;

use super::{at, cluster, offset};
use crate::measures::{Offset, TopicPartition};
use crate::recovery::{Disagreement, Evidence, OnRecord, Sink, SinkRow, Standing, verify};
use crate::retention::{ClusterReading, TopicSight};

/// One partition: what the sink has, where the checkpoint stands, the log's bounds, and gaps on record.
#[derive(Clone)]
struct Given {
    sink: Option<(i64, Option<i64>, Option<u64>)>,
    committed: Option<i64>,
    planned: Option<i64>,
    bounds: Option<(i64, i64)>,
    gaps: Vec<(i64, i64, bool)>,
    began: Option<i64>,
    floor: u64,
}

/// The sink ends with 99, the checkpoint stands at 100, the log has [10, 120).
fn sound() -> Given {
    Given {
        sink: Some((99, None, None)),
        committed: Some(100),
        planned: None,
        bounds: Some((10, 120)),
        gaps: Vec::new(),
        began: None,
        floor: 0,
    }
}

fn findings(given: &Given) -> Vec<(Disagreement, Option<(i64, i64)>)> {
    let row =
        |(max, min, count): (i64, Option<i64>, Option<u64>)| SinkRow { max: offset(max), min: min.map(offset), count };
    let sink: Sink = given.sink.map(|found| (at(0), row(found))).into_iter().collect();
    let standing = Standing { committed: given.committed.map(offset), planned: given.planned.map(offset) };
    let gap = |(from, to, missing): &(i64, i64, bool)| OnRecord {
        at: at(0),
        from: offset(*from),
        to: offset(*to),
        missing: *missing,
    };
    let began: BTreeMap<TopicPartition, Offset> = given.began.map(|began| (at(0), offset(began))).into_iter().collect();
    let proofs = verify(&Evidence {
        sink: &sink,
        checkpoint: &BTreeMap::from([(at(0), standing)]),
        cluster: &cluster(&[given.bounds]),
        gaps: &given.gaps.iter().map(gap).collect::<Vec<_>>(),
        began: &began,
        lag_floor: given.floor,
    });
    assert_eq!(proofs.len(), 1);
    let plain = |range: Option<(Offset, Offset)>| range.map(|(from, to)| (from.get(), to.get()));
    proofs[0].findings.iter().map(|finding| (finding.what, plain(finding.range))).collect()
}

#[test]
fn what_does_not_agree_is_named_with_its_range() {
    use Disagreement::{
        BeyondEnd, CountUnusable, ExtraPartition, Hole, HoleInside, MissingPartition, MissingRecord, Overlap, TooMany,
        Unread,
    };
    let check = |name: &str, given: Given, expected: &[(Disagreement, Option<(i64, i64)>)]| {
        assert_eq!(findings(&given), expected, "{name}");
    };
    let sink = |max, min, count| Given { sink: Some((max, min, count)), ..sound() };
    check("all agrees", sound(), &[]);
    check("one record short", sink(98, None, None), &[(Hole, Some((99, 100)))]);
    check("a marker of a transaction", Given { floor: 1, ..sink(98, None, None) }, &[]);
    check("short, and on record", Given { gaps: vec![(90, 100, true)], ..sink(89, None, None) }, &[]);
    check(
        "half of it on record",
        Given { gaps: vec![(95, 100, true)], ..sink(89, None, None) },
        &[(Hole, Some((90, 100)))],
    );
    check(
        "on record as filled",
        Given { gaps: vec![(99, 100, false)], ..sink(98, None, None) },
        &[(Hole, Some((99, 100)))],
    );
    check("ahead of the checkpoint", sink(109, None, None), &[(Overlap, Some((100, 110)))]);
    check(
        "ahead by the open batch",
        Given { planned: Some(110), ..sink(109, None, None) },
        &[(Overlap, Some((100, 110)))],
    );
    check("beyond the end", sink(129, None, None), &[(Overlap, Some((100, 130))), (BeyondEnd, Some((120, 130)))]);
    check("a checkpoint beyond the end", Given { bounds: Some((0, 50)), ..sound() }, &[(BeyondEnd, Some((50, 100)))]);
    let aged = Given { bounds: Some((105, 120)), ..sound() };
    check("lost and not on record", aged.clone(), &[(MissingRecord, Some((100, 105)))]);
    check("lost and on record", Given { gaps: vec![(100, 105, true)], ..aged.clone() }, &[]);
    check("lost, half on record", Given { gaps: vec![(100, 103, true)], ..aged }, &[(MissingRecord, Some((100, 105)))]);
    let nothing = Given { sink: None, ..sound() };
    check("nothing in the sink", nothing.clone(), &[(MissingPartition, Some((0, 100)))]);
    check("nothing was to be read", Given { began: Some(100), ..nothing.clone() }, &[]);
    check("nothing, all on record", Given { gaps: vec![(0, 60, true), (40, 100, true)], ..nothing.clone() }, &[]);
    check("nothing, at the beginning", Given { committed: Some(0), bounds: Some((0, 120)), ..nothing }, &[]);
    check("no position", Given { committed: None, ..sound() }, &[(ExtraPartition, None)]);
    check("not read", Given { bounds: None, ..sound() }, &[(Unread, None)]);
    check("counted", sink(99, Some(0), Some(100)), &[]);
    check("one removed inside", sink(99, Some(0), Some(99)), &[(HoleInside, Some((0, 100)))]);
    check("one too many", sink(99, Some(0), Some(101)), &[(TooMany, Some((0, 100)))]);
    let gap = vec![(20, 30, true)];
    check("counted beside a gap", Given { gaps: gap.clone(), ..sink(99, Some(0), Some(90)) }, &[]);
    check("a gap that is filled", Given { gaps: gap, ..sink(99, Some(0), Some(100)) }, &[(TooMany, Some((0, 100)))]);
    check("filled and said so", Given { gaps: vec![(20, 30, false)], ..sink(99, Some(0), Some(100)) }, &[]);
    check("a count without a beginning", sink(99, None, Some(100)), &[(CountUnusable, None)]);
    check("a count from where it began", Given { began: Some(40), ..sink(99, None, Some(60)) }, &[]);
    let late = Given { began: Some(40), ..sink(99, Some(45), None) };
    check("it began later than it should", late, &[(HoleInside, Some((40, 45)))]);
    check(
        "the highest offset there is",
        Given { committed: Some(i64::MAX), bounds: Some((0, i64::MAX)), ..sink(i64::MAX - 1, None, None) },
        &[],
    );
}

#[test]
fn partitions_that_are_extra_missing_of_another_topic_or_gone_are_named() {
    let row = SinkRow { max: offset(99), min: None, count: None };
    let other = TopicPartition { topic: "clicks".into(), partition: 0 };
    let sink: Sink = [at(0), at(1), at(9), other.clone()].into_iter().map(|at| (at, row)).collect();
    let standing = Standing { committed: Some(offset(100)), planned: None };
    let checkpoint = BTreeMap::from([(at(0), standing), (at(2), standing), (at(9), standing)]);
    let cluster = cluster(&[Some((0, 120)), Some((0, 120)), Some((0, 120))]);
    let named = |cluster: &ClusterReading| {
        let began = BTreeMap::new();
        let evidence =
            Evidence { sink: &sink, checkpoint: &checkpoint, cluster, gaps: &[], began: &began, lag_floor: 0 };
        let proofs = verify(&evidence);
        let findings = proofs.iter().map(|proof| {
            let whats: Vec<&str> = proof.findings.iter().map(|finding| finding.what.label()).collect();
            (proof.at.to_string(), whats.join(" "))
        });
        findings.collect::<Vec<_>>()
    };
    let expected = [
        ("clicks/0", "other_topic"),
        ("orders/0", ""),
        ("orders/1", "extra_partition"),
        ("orders/2", "missing_partition"),
        ("orders/9", "gone"),
    ];
    assert_eq!(named(&cluster), expected.map(|(at, what)| (at.to_owned(), what.to_owned())));
    let mut deleted = cluster;
    deleted.topics.insert("orders".into(), TopicSight::Absent);
    assert_eq!(named(&deleted)[1], ("orders/0".to_owned(), "gone".to_owned()));
}

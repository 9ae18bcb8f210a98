//! Where each partition starts, and what that skips, repeats and gives up.

use std::collections::BTreeMap;

use super::{NOW, at, cluster, offset, positions, topics};
use crate::measures::{Offset, Reason, Unread};
use crate::recovery::{Anchor, Because, Form, PartitionStart, Range, Refusal, Request, SparkVersion, plan, write};
use crate::retention::{ClusterReading, TopicSight};

const SPARK: SparkVersion = SparkVersion::new(3, 5);

fn request<'a>(
    anchor: &'a Anchor,
    positions: &'a BTreeMap<crate::measures::TopicPartition, Offset>,
    cluster: &'a ClusterReading,
    parts: &'a (
        std::collections::BTreeSet<crate::measures::TopicName>,
        std::collections::BTreeSet<crate::measures::TopicName>,
    ),
) -> Request<'a> {
    Request {
        anchor,
        positions,
        cluster,
        topics: &parts.0,
        made_again: &parts.1,
        assigned: false,
        pattern: false,
        committed_only: false,
    }
}

/// One partition with these bounds, in which the query stood there.
fn one(anchor: &Anchor, stood: Option<i64>, bounds: (i64, i64), made_again: bool) -> PartitionStart {
    let stood: Vec<(i32, i64)> = stood.map(|stood| (0, stood)).into_iter().chain([(7, 1)]).collect();
    let (positions, cluster) = (positions(&stood), cluster(&[Some(bounds)]));
    let parts = (topics(), if made_again { topics() } else { Default::default() });
    let plan = plan(&request(anchor, &positions, &cluster, &parts)).unwrap();
    plan.starts.into_iter().next().unwrap()
}

fn time(found: Option<i64>) -> Anchor {
    Anchor::Time(NOW, BTreeMap::from([(at(0), Ok(found.map(offset)))]))
}

#[test]
fn every_start_is_clamped_to_the_log_and_says_what_it_costs() {
    type Ranges = [Option<(i64, i64)>; 3];
    #[expect(clippy::too_many_arguments, reason = "a row of the table has as many columns")]
    fn check(
        anchor: &Anchor,
        stood: Option<i64>,
        bounds: (i64, i64),
        made_again: bool,
        written: Option<i64>,
        begins: i64,
        because: Because,
        [gone, skipped, repeated]: Ranges,
    ) {
        let range = |range: Option<(i64, i64)>| -> Option<Range> { range.map(|(from, to)| (offset(from), offset(to))) };
        let got = one(anchor, stood, bounds, made_again);
        let expected = PartitionStart {
            at: at(0),
            start: written.map(offset),
            begins: offset(begins),
            because,
            stood: stood.filter(|_| !made_again).map(offset),
            gone: range(gone),
            skipped: range(skipped),
            repeated: range(repeated),
        };
        assert_eq!(got, expected, "{anchor:?} {stood:?} {bounds:?} {made_again}");
    }
    use Because::{Aged, Asked, BeyondEnd, MadeAgain, New, NothingThatYoung};
    let (committed, earliest, latest) = (Anchor::Position, Anchor::Earliest, Anchor::Latest);
    let nothing = [None, None, None];
    check(&committed, Some(50), (10, 90), false, Some(50), 50, Asked, nothing);
    check(&committed, Some(90), (10, 90), false, Some(90), 90, Asked, nothing);
    check(&committed, Some(90), (90, 90), false, Some(90), 90, Asked, nothing);
    check(&committed, Some(5), (10, 90), false, Some(10), 10, Aged, [Some((5, 10)), None, None]);
    check(&committed, Some(5), (90, 90), false, Some(90), 90, Aged, [Some((5, 90)), None, None]);
    check(&committed, Some(120), (10, 90), false, Some(90), 90, BeyondEnd, nothing);
    check(&committed, None, (10, 90), false, None, 10, New, nothing);
    check(&committed, Some(50), (0, 90), true, None, 0, MadeAgain, nothing);
    check(&earliest, Some(50), (10, 90), false, None, 10, Asked, [None, None, Some((10, 50))]);
    check(&earliest, Some(5), (10, 90), false, None, 10, Asked, [Some((5, 10)), None, None]);
    check(&earliest, Some(120), (10, 90), false, None, 10, Asked, [None, None, Some((10, 90))]);
    check(&latest, Some(50), (10, 90), false, Some(90), 90, Asked, [None, Some((50, 90)), None]);
    check(&latest, Some(5), (10, 90), false, Some(90), 90, Asked, [Some((5, 10)), Some((10, 90)), None]);
    check(&latest, None, (10, 90), false, Some(90), 90, Asked, [None, Some((10, 90)), None]);
    check(&time(Some(30)), Some(50), (10, 90), false, Some(30), 30, Asked, [None, None, Some((30, 50))]);
    check(&time(Some(70)), Some(50), (10, 90), false, Some(70), 70, Asked, [None, Some((50, 70)), None]);
    check(&time(Some(7)), Some(50), (10, 90), false, Some(10), 10, Asked, [None, None, Some((10, 50))]);
    check(&time(None), Some(50), (10, 90), false, Some(90), 90, NothingThatYoung, [None, Some((50, 90)), None]);
    let far = i64::MAX;
    check(&committed, Some(far - 1), (far - 1, far), false, Some(far - 1), far - 1, Asked, nothing);
}

#[test]
fn every_partition_of_every_topic_is_named_and_new_ones_with_minus_two() {
    let cluster = cluster(&[Some((0, 90)), Some((0, 5)), Some((0, 0))]);
    let (positions, parts) = (positions(&[(0, 40), (2, 0), (5, 9)]), (topics(), Default::default()));
    let plan = plan(&request(&Anchor::Position, &positions, &cluster, &parts)).unwrap();
    let written = write(&plan, &Anchor::Position, Form::Offsets, SPARK).unwrap();
    assert_eq!(written.option, "startingOffsets");
    assert_eq!(written.value, r#"{"orders":{"0":40,"1":-2,"2":0}}"#);
    assert_eq!(plan.left_out, BTreeMap::from([(at(5), offset(9))]));
}

#[test]
fn an_assigned_query_names_its_own_partitions_only_and_a_pattern_forgets_a_topic_that_is_gone() {
    let positions = positions(&[(1, 3)]);
    let mut cluster = cluster(&[Some((0, 90)), Some((0, 5))]);
    cluster.topics.insert("gone".into(), TopicSight::Absent);
    let mut parts = (topics(), Default::default());
    let assigned = Request { assigned: true, ..request(&Anchor::Position, &positions, &cluster, &parts) };
    let starts = plan(&assigned).unwrap().starts;
    assert_eq!(starts.iter().map(|start| start.at.clone()).collect::<Vec<_>>(), [at(1)]);
    parts.0.insert("gone".into());
    let subscribed = request(&Anchor::Position, &positions, &cluster, &parts);
    assert_eq!(plan(&subscribed), Err(Refusal::Absent { topic: "gone".into() }));
    let pattern = Request { pattern: true, ..subscribed };
    assert_eq!(plan(&pattern).unwrap().starts.len(), 2);
}

#[test]
fn a_reader_of_committed_records_ends_at_the_last_stable_offset() {
    let positions = positions(&[(0, 10)]);
    let mut cluster = cluster(&[Some((0, 90))]);
    let Some(TopicSight::Seen(topic)) = cluster.topics.get_mut("orders") else { panic!("it is there") };
    topic.partitions.get_mut(&0).unwrap().as_mut().unwrap().stable = Some(offset(60));
    let parts = (topics(), Default::default());
    let all = request(&Anchor::Latest, &positions, &cluster, &parts);
    assert_eq!(plan(&all).unwrap().starts[0].begins, offset(90));
    let committed = Request { committed_only: true, ..all };
    assert_eq!(plan(&committed).unwrap().starts[0].begins, offset(60));
}

#[test]
fn what_spark_would_refuse_is_refused() {
    let none = BTreeMap::new();
    let known = positions(&[(0, 3)]);
    let (good, torn) = (cluster(&[Some((0, 90))]), cluster(&[Some((0, 90)), None]));
    let (all, nothing) = ((topics(), Default::default()), Default::default());
    assert_eq!(plan(&request(&Anchor::Earliest, &known, &good, &nothing)), Err(Refusal::NoTopics));
    assert_eq!(plan(&request(&Anchor::Position, &none, &good, &all)), Err(Refusal::NoPositions));
    let told = plan(&request(&Anchor::Position, &known, &torn, &all)).unwrap_err().to_string();
    assert_eq!(
        told,
        "partition orders/1 could not be read (unreachable: no leader), and Spark takes only a list of all partitions"
    );
    let unread = Err(Unread::new(Reason::TimedOut, "no answer"));
    let torn_time = Anchor::Time(NOW, BTreeMap::from([(at(0), unread)]));
    assert!(matches!(plan(&request(&torn_time, &known, &good, &all)), Err(Refusal::Unread { .. })));
    let unasked = Anchor::Time(NOW, BTreeMap::new());
    assert!(matches!(plan(&request(&unasked, &known, &good, &all)), Err(Refusal::Unread { .. })));
}

#[test]
fn each_form_is_written_for_the_versions_that_know_it() {
    let known = positions(&[(0, 3)]);
    let good = cluster(&[Some((0, 90))]);
    let parts = (topics(), Default::default());
    let check = |anchor: &Anchor, form: Form, (major, minor): (u32, u32), expected: Result<(&str, usize), &str>| {
        let planned = plan(&request(anchor, &known, &good, &parts)).unwrap();
        let got = write(&planned, anchor, form, SparkVersion::new(major, minor));
        match (&got, expected) {
            (Ok(written), Ok((value, beside))) => {
                assert_eq!((written.value.as_str(), written.beside.len()), (value, beside), "{form:?} {major}.{minor}");
                assert_eq!(written.option, form.option());
            }
            (Err(refusal), Err(words)) => assert!(refusal.to_string().contains(words), "{refusal}"),
            _ => panic!("{form:?} {major}.{minor}: {got:?}"),
        }
    };
    let (young, none) = (time(Some(30)), time(None));
    check(&Anchor::Position, Form::Offsets, (2, 4), Ok((r#"{"orders":{"0":3}}"#, 0)));
    check(&Anchor::Position, Form::ByTimestamp, (3, 5), Err("takes a time"));
    check(&Anchor::Latest, Form::Timestamp, (3, 5), Err("takes a time"));
    check(&young, Form::Offsets, (2, 4), Ok((r#"{"orders":{"0":30}}"#, 0)));
    check(
        &young,
        Form::ByTimestamp,
        (2, 4),
        Err("Spark 2.4 does not know startingOffsetsByTimestamp; it came with 3.0"),
    );
    check(&young, Form::ByTimestamp, (3, 0), Ok((r#"{"orders":{"0":1796007188000}}"#, 0)));
    check(&young, Form::Timestamp, (3, 1), Err("it came with 3.2"));
    check(&young, Form::Timestamp, (4, 0), Ok(("1796007188000", 0)));
    check(&none, Form::Offsets, (3, 0), Ok((r#"{"orders":{"0":90}}"#, 0)));
    check(&none, Form::ByTimestamp, (3, 1), Err("Spark 3.1 refuses to start then"));
    check(&none, Form::ByTimestamp, (3, 2), Ok((r#"{"orders":{"0":1796007188000}}"#, 1)));
    check(&none, Form::Timestamp, (4, 3), Ok(("1796007188000", 1)));
}

#[test]
fn what_changes_between_reading_and_printing_is_named() {
    use crate::recovery::changes;
    use crate::retention::TopicId;
    let before = cluster(&[Some((0, 90))]);
    assert!(changes(&before, &cluster(&[Some((40, 95))])).is_empty(), "bounds move all the time");
    let grown = changes(&before, &cluster(&[Some((0, 90)), Some((0, 0))]));
    assert_eq!(grown, ["topic orders has 2 partitions now, and had 1"]);
    let id = |byte: u8| {
        let mut reading = cluster(&[Some((0, 90))]);
        reading.cluster_id = Some(format!("K{byte}"));
        let Some(TopicSight::Seen(topic)) = reading.topics.get_mut("orders") else { panic!("it is there") };
        topic.topic_id = Some(TopicId([byte; 16]));
        reading
    };
    assert!(changes(&before, &id(1)).is_empty(), "what was not known before is no change");
    assert_eq!(
        changes(&id(1), &id(2)),
        ["another cluster answers: K2, before K1", "topic orders was deleted and made again"]
    );
    let mut deleted = before.clone();
    deleted.topics.insert("orders".into(), TopicSight::Absent);
    assert_eq!(changes(&before, &deleted), ["topic orders was deleted"]);
    assert_eq!(changes(&deleted, &before), ["topic orders was made"]);
    let unread = Unread::new(Reason::TimedOut, "no answer");
    deleted.topics.insert("orders".into(), TopicSight::Unread(unread));
    assert_eq!(changes(&before, &deleted), ["topic orders could not be read again: timed_out: no answer"]);
}

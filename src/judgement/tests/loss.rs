//! Loss, counted once.

use super::*;
use Certainty::{Certain, Possible};

/// What one more round counts.
#[track_caller]
fn check(story: &mut World, expected: &[(i32, i64, i64, Certainty)]) {
    assert_eq!(ranges(&story.round(30).newly_lost), expected);
}

#[test]
fn a_first_sight_below_earliest_counts_from_the_position() {
    let mut story = world(100, 130, 200);
    check(&mut story, &[(0, 100, 130, Certain)]);
    check(&mut story, &[]);
    check(story.bounds(0, 150, 200), &[(0, 130, 150, Certain)]);
    check(story.bounds(0, 140, 200), &[]);
    check(story.bounds(0, 150, 200), &[]);
}

#[test]
fn what_was_lost_stays_counted_when_the_query_goes_on() {
    let mut story = world(100, 400, 900);
    check(&mut story, &[(0, 100, 400, Certain)]);
    story.commit(8, &[(0, 900)]);
    let verdict = story.round(30);
    assert_eq!(verdict.topics["orders"].lost_total[&Certain], 300);
    assert_eq!(verdict.topics["orders"].last_loss_at[&Certain], at(30));
    assert_eq!(verdict.partitions[&orders(0)].lost, Some(0));
    assert!(kinds(&verdict).contains(&EventKind::ContinuedPastLoss));
}

#[test]
fn what_was_committed_between_two_looks_may_have_been_read_in_time() {
    let mut story = world(100, 0, 200);
    story.round(30);
    check(story.commit(8, &[(0, 1500)]).bounds(0, 600, 1500), &[(0, 100, 600, Possible)]);
}

#[test]
fn and_was_read_in_time_when_the_deadline_proves_it() {
    let deletes = |seconds_late: i64, retention_bytes: i64| {
        let mut story = world(100, 0, 200);
        story.orders().limits = Some(Ok(Limits {
            cleanup_policy: Some("delete".to_owned()),
            retention_ms: Some(60_000),
            retention_bytes: Some(retention_bytes),
            ..Limits::default()
        }));
        story.age(0, 100, 0).round(0);
        // The deadline is 55 s from the beginning.
        story.now = 55 + seconds_late;
        story.commit(8, &[(0, 1500)]).bounds(0, 600, 1500);
        ranges(&story.round(30).newly_lost)
    };
    assert_eq!(deletes(0, -1), []);
    assert_eq!(deletes(1, -1), [(0, 100, 600, Possible)]);
    assert_eq!(deletes(0, 1000), [(0, 100, 600, Possible)]);
}

#[test]
fn older_entries_tell_when_the_range_was_committed() {
    let mut story = world(100, 0, 200);
    story.age(0, 100, 0).round(0);
    story.now = 4000;
    story.commit(9, &[(0, 1500)]).bounds(0, 600, 1500);
    let entry = |batch, committed_at, position| Entry {
        batch: BatchId(batch),
        planned_at: None,
        committed_at: Some(at(committed_at)),
        timestamp: None,
        positions: BTreeMap::from([(orders(0), offset(position))]),
    };
    story.history = vec![entry(7, 0, 100), entry(8, 3000, 700), entry(9, 4000, 1500)];
    check(&mut story.clone(), &[]);
    story.history = vec![entry(7, 0, 100), entry(8, 3000, 500), entry(9, 4000, 1500)];
    check(&mut story, &[(0, 100, 600, Possible)]);
}

#[test]
fn the_deadline_of_a_record_that_was_yet_to_come_proves_nothing() {
    let read = |latest: i64| {
        // Time alone deletes after an hour.
        let mut story = world(100, 0, latest);
        story.age(0, 100, 0).round(0);
        story.now = 3590;
        story.commit(8, &[(0, 150)]);
        story.now = 4000;
        story.bounds(0, 120, 200);
        story
    };
    check(&mut read(101), &[]);
    // Its producer had to wait: what came was stamped before anyone looked, and went before the deadline.
    check(&mut read(100), &[(0, 100, 120, Possible)]);
}

#[test]
fn an_open_batch_may_be_reading_what_is_gone() {
    let mut story = world(100, 0, 500);
    story.round(30);
    check(story.open(8, 30, &[(0, 400)]).bounds(0, 150, 500), &[(0, 100, 150, Possible)]);
    check(story.bounds(0, 450, 500), &[(0, 150, 400, Possible), (0, 400, 450, Certain)]);
    story.commit(8, &[(0, 400)]);
    let verdict = story.round(30);
    assert_eq!((verdict.newly_lost.len(), verdict.turned_certain.len()), (0, 0));
    let totals = &verdict.topics["orders"].lost_total;
    assert_eq!((totals[&Possible], totals[&Certain]), (300, 50));
}

#[test]
fn an_open_batch_that_grows_old_turns_hope_into_loss_without_counting_twice() {
    let mut story = world(100, 0, 500);
    story.round(30);
    check(story.open(8, 30, &[(0, 400)]).bounds(0, 150, 500), &[(0, 100, 150, Possible)]);
    let verdict = story.round(600);
    assert_eq!(verdict.partitions[&orders(0)].state, PartitionState::Lost);
    assert_eq!(ranges(&verdict.turned_certain), [(0, 100, 150, Certain)]);
    assert_eq!(verdict.newly_lost, []);
    assert_eq!(verdict.topics["orders"].lost_total.get(&Certain), None);
    assert!(story.round(30).turned_certain.is_empty());
}

#[test]
fn a_partition_that_was_never_read_loses_its_beginning() {
    let mut story = world(100, 0, 200);
    story.settings.subscribe = Subscribe::Subscribe;
    story.bounds(1, 0, 50).round(30);
    check(story.bounds(1, 20, 50), &[(1, 0, 20, Certain)]);
    check(story.bounds(1, 30, 50), &[(1, 20, 30, Certain)]);
    check(story.commit(8, &[(1, 50)]), &[]);
    check(story.bounds(1, 50, 50), &[]);
}

#[test]
fn unread_history_of_a_partition_that_is_perhaps_not_read_is_not_counted() {
    let mut story = world(100, 0, 200);
    check(story.bounds(1, 20, 50), &[]);
    check(story.commit(8, &[(1, 50)]).bounds(1, 30, 50), &[(1, 20, 30, Possible)]);
}

#[test]
fn rounds_in_doubt_count_nothing_and_the_next_good_one_accounts_for_all() {
    let mut story = world(100, 0, 200);
    story.round(30);
    let cluster = story.cluster.clone();
    story.unread_cluster();
    check(&mut story, &[]);
    story.cluster = cluster;
    check(story.bounds(0, 0, 90), &[]);
    check(story.bounds(0, 130, 200), &[(0, 100, 130, Certain)]);
}

#[test]
fn a_position_that_moved_back_counts_nothing_twice() {
    let mut story = world(100, 0, 200);
    story.round(30);
    check(story.commit(6, &[(0, 20)]).bounds(0, 50, 200), &[]);
    check(story.bounds(0, 120, 200), &[(0, 100, 120, Certain)]);
}

#[test]
fn a_new_query_begins_at_its_own_position_and_totals_stay() {
    let mut story = world(100, 130, 200);
    story.round(30);
    story.reading().query_id = Some("another".to_owned());
    story.commit(0, &[(0, 160)]);
    let verdict = story.round(30);
    assert!(verdict.newly_lost.is_empty());
    assert_eq!(verdict.topics["orders"].lost_total[&Certain], 30);
}

//! Doubts, latches, healing.

use super::*;

/// The states of partition 0 over rounds of 30 s, each after one more step of the story.
#[track_caller]
fn check(mut story: World, steps: &[fn(&mut World)], expected: &[PartitionState]) {
    let mut seen = Vec::new();
    for step in steps {
        step(&mut story);
        seen.push(story.look(30).state);
    }
    assert_eq!(seen, expected);
}

use PartitionState::{Behind, BeyondEnd, CaughtUp, Gone, Lost, Recreated, Unconfirmed, Unknown, Unverified};

fn still(_: &mut World) {}

fn shrink(world: &mut World) {
    world.bounds(0, 0, 60);
}

fn recover(world: &mut World) {
    world.bounds(0, 0, 200);
}

fn read_again(world: &mut World) {
    world.cluster = super::world(100, 0, 60).cluster;
}

fn blind(world: &mut World) {
    world.unread_cluster();
}

#[test]
fn a_doubt_needs_rounds_running_and_time() {
    check(world(100, 0, 200), &[still, shrink, still, still], &[Behind, Unconfirmed, Unconfirmed, BeyondEnd]);
    // Fast rounds alone are not enough.
    let mut fast = world(100, 0, 60);
    let states: Vec<_> = (0..8).map(|_| fast.look(10).state).collect();
    assert_eq!(states[..6], [Unconfirmed; 6]);
    assert_eq!(states[6..], [BeyondEnd; 2]);
}

#[test]
fn a_round_without_the_contradiction_ends_the_doubt() {
    check(
        world(100, 0, 200),
        &[shrink, still, recover, shrink, still, still],
        &[Unconfirmed, Unconfirmed, Behind, Unconfirmed, Unconfirmed, BeyondEnd],
    );
}

#[test]
fn a_round_that_was_not_read_neither_counts_nor_resets() {
    check(world(100, 0, 200), &[shrink, still, blind, read_again], &[Unconfirmed, Unconfirmed, Unknown, BeyondEnd]);
}

#[test]
fn a_high_watermark_that_lags_after_an_election_is_no_alarm() {
    let mut story = world(5000, 0, 5000);
    let states: Vec<_> = [5000, 4987, 4999, 5003].map(|latest| story.bounds(0, 0, latest).look(5).state).into();
    assert_eq!(states, [CaughtUp, Unconfirmed, Unconfirmed, Behind]);
}

#[test]
fn a_latch_outlives_time_growth_and_repeated_offsets() {
    let mut story = world(100, 0, 60);
    (0..3).for_each(|_| drop(story.round(30)));
    story.bounds(0, 0, 900);
    assert_eq!(story.look(86_400).state, Unverified);
    story.commit(8, &[(0, 100)]);
    assert_eq!(story.look(30).state, Unverified, "the same offsets again are no healing");
}

#[test]
fn a_batch_planned_after_the_latch_heals_when_it_moves_the_position_into_the_log() {
    let mut story = world(100, 0, 60);
    (0..3).for_each(|_| drop(story.round(30)));
    story.now += 30;
    story.commit(8, &[(0, 40)]);
    let verdict = story.round(0);
    assert_eq!(verdict.partitions[&orders(0)].state, Behind);
    assert_eq!(kinds(&verdict), [EventKind::PositionMovedBack, EventKind::PositionJumped]);
}

/// At 100 of 200, and so many seconds after the first look there is another topic under the name.
fn made_again(later: i64) -> World {
    let mut story = world(100, 0, 200);
    story.round(30);
    story.orders().topic_id = Some(TopicId([2; 16]));
    assert_eq!(story.look(later).state, Recreated);
    story
}

#[test]
fn a_batch_planned_before_the_latch_does_not_heal() {
    let mut story = made_again(30);
    // Planned five seconds before it is committed: at 57, when the latch was set at 60.
    story.now = 62;
    story.commit(8, &[(0, 150)]);
    assert_eq!(story.look(0).state, Recreated);
    story.now = 92;
    story.commit(9, &[(0, 150)]);
    assert_eq!(story.look(0).state, Recreated, "what the earlier batch moved is no proof");
    story.now = 122;
    story.commit(10, &[(0, 180)]);
    assert_eq!(story.look(0).state, Behind);
}

#[test]
fn a_batch_over_a_topic_that_was_made_again_once_more_does_not_heal() {
    let mut story = made_again(30);
    // Planned and committed over the second topic; before anyone looks there is a third.
    story.now += 60;
    story.commit(8, &[(0, 52)]);
    story.orders().topic_id = Some(TopicId([3; 16]));
    assert_eq!(story.bounds(0, 0, 59).look(10).state, Recreated);
    assert_eq!(story.look(30).state, Recreated);
    story.now += 60;
    story.commit(9, &[(0, 59)]);
    assert_eq!(story.look(0).state, CaughtUp);
}

#[test]
fn a_doubt_that_began_while_our_clock_ran_ahead_is_confirmed_once_it_is_right() {
    let mut story = world(300, 0, 200);
    assert_eq!(story.look(86_400).state, Unconfirmed);
    story.now = 60;
    let states: Vec<_> = [0, 30, 30].map(|later| story.look(later).state).to_vec();
    assert_eq!(states, [Unconfirmed, Unconfirmed, BeyondEnd]);
}

#[test]
fn a_latch_that_was_set_while_our_clock_ran_ahead_heals_once_it_is_right() {
    let mut story = made_again(86_400);
    story.now = 60;
    assert_eq!(story.look(0).state, Recreated);
    story.now = 92;
    story.commit(8, &[(0, 150)]);
    assert_eq!(story.look(0).state, Behind);
}

#[test]
fn without_file_times_the_number_of_the_batch_tells_what_was_planned_later() {
    let mut story = world(100, 0, 200);
    story.round(30);
    story.orders().topic_id = Some(TopicId([2; 16]));
    story.round(30);
    story.commit(8, &[(0, 150)]);
    story.reading().batches.iter_mut().for_each(|batch| batch.planned_at = None);
    assert_eq!(story.look(30).state, Behind);
}

#[test]
fn a_person_heals_by_acknowledging() {
    let mut story = world(100, 0, 200);
    story.round(30);
    story.orders().topic_id = Some(TopicId([2; 16]));
    story.round(30);
    story.memory.acknowledge(Some("clicks"), None);
    assert_eq!(story.look(30).state, Recreated, "another topic was meant");
    story.memory.acknowledge(Some("orders"), Some(0));
    assert_eq!(story.look(30).state, Behind);
}

#[test]
fn another_query_id_begins_anew() {
    let mut story = world(100, 0, 200);
    story.round(30);
    story.orders().topic_id = Some(TopicId([2; 16]));
    story.round(30);
    story.reading().query_id = Some("another".to_owned());
    story.commit(0, &[(0, 20)]);
    assert_eq!(story.look(30).state, Behind);
}

#[test]
fn the_old_id_coming_back_heals_when_confirmed() {
    let mut story = world(100, 0, 200);
    story.round(30);
    story.orders().topic_id = Some(TopicId([2; 16]));
    story.round(30);
    story.orders().topic_id = Some(TopicId([1; 16]));
    let states: Vec<_> = (0..3).map(|_| story.look(30).state).collect();
    assert_eq!(states, [Recreated, Recreated, Behind]);
    nothing_more_is_counted(&mut story);
}

/// The old topic is back for good, and [100, 200) of it was counted when another stood there.
#[track_caller]
fn nothing_more_is_counted(story: &mut World) {
    for (earliest, state, lost) in [(0, Behind, 0), (150, Lost, 0), (220, Lost, 20)] {
        let verdict = story.bounds(0, earliest, 300).round(30);
        assert_eq!(verdict.partitions[&orders(0)].state, state, "{}", verdict.reason);
        assert_eq!(verdict.topics["orders"].lost_total[&Certainty::Certain], 100 + lost);
        assert_eq!((kinds(&verdict), verdict.newly_lost.is_empty()), (Vec::new(), lost == 0));
    }
}

#[test]
fn a_person_settles_it_while_the_old_id_is_back() {
    let mut story = world(100, 0, 200);
    story.round(30);
    story.orders().topic_id = Some(TopicId([2; 16]));
    story.round(30);
    story.orders().topic_id = Some(TopicId([1; 16]));
    assert_eq!(story.look(30).state, Recreated, "one round proves nothing");
    story.memory.acknowledge(Some("orders"), Some(0));
    nothing_more_is_counted(&mut story);
}

#[test]
fn a_batch_heals_while_the_old_id_is_back() {
    let mut story = world(100, 0, 200);
    story.round(30);
    story.orders().topic_id = Some(TopicId([2; 16]));
    story.round(30);
    story.orders().topic_id = Some(TopicId([1; 16]));
    story.now += 30;
    story.commit(8, &[(0, 150)]);
    let states: Vec<_> = (0..2).map(|_| story.look(30).state).collect();
    assert_eq!(states, [Behind; 2]);
}

#[test]
fn a_position_in_the_new_topic_says_nothing_of_the_old_one_that_is_back() {
    let mut story = world(100, 0, 200);
    story.commit(7, &[(0, 100), (1, 100)]).bounds(1, 0, 200).round(30);
    story.orders().topic_id = Some(TopicId([2; 16]));
    story.round(30);
    story.now += 30;
    story.commit(8, &[(0, 150)]);
    let states = |story: &mut World| -> Vec<_> { story.round(30).partitions.values().map(|one| one.state).collect() };
    assert_eq!(states(&mut story), [Behind, Recreated]);
    story.orders().topic_id = Some(TopicId([1; 16]));
    assert_eq!(states(&mut story), [Recreated; 2]);
    states(&mut story);
    assert_eq!(states(&mut story), [Recreated, Behind], "the position of partition 1 is the old topic's");
    assert_eq!(states(&mut story), [Recreated, Behind]);
}

#[test]
fn what_is_gone_is_back_when_it_is_back() {
    let mut story = world(100, 0, 200);
    story.round(30);
    let cluster = story.cluster.clone();
    story.orders().partitions.clear();
    (0..2).for_each(|_| drop(story.round(30)));
    assert_eq!(story.look(30).state, Gone);
    story.cluster = cluster;
    assert_eq!(story.look(30).state, Behind);
}

#[test]
fn a_partition_that_is_gone_and_settled_is_not_spoken_of_until_it_is_back() {
    let mut story = world(100, 0, 200);
    story.round(30);
    let cluster = story.cluster.clone();
    story.orders().partitions.clear();
    (0..4).for_each(|_| drop(story.round(30)));
    story.memory.acknowledge(Some("orders"), None);
    let verdict = story.round(30);
    assert_eq!((verdict.partitions.len(), verdict.state), (0, QueryState::Idle));
    story.cluster = cluster;
    assert_eq!(story.look(30).state, Behind);
}

/// Two partitions, where the other ends at `latest`; then the topic is made again with one, until that is confirmed.
fn made_again_with_fewer(latest: i64) -> World {
    let mut story = world(100, 0, 200);
    story.commit(7, &[(0, 100), (1, 100)]).bounds(1, 0, latest).round(30);
    story.topic("orders", Some(2)).bounds(0, 0, 10);
    (0..3).for_each(|_| drop(story.round(30)));
    story
}

#[test]
fn a_partition_that_a_topic_made_again_has_no_more_is_gone_with_what_was_unread() {
    let told = |latest| made_again_with_fewer(latest).round(30).partitions[&orders(1)].clone();
    let verdict = told(200);
    assert_eq!((verdict.state, verdict.problems), (Gone, [PartitionProblem::Gone].into()));
    assert!(verdict.reason.contains("100 offsets were unread at the last sight"), "{}", verdict.reason);
    assert!(verdict.reason.contains("topic id"), "{}", verdict.reason);
    let verdict = told(100);
    assert_eq!((verdict.state, verdict.problems), (Gone, [PartitionProblem::GoneCaughtUp].into()));
    assert!(verdict.reason.contains("caught up at the last sight"), "{}", verdict.reason);
}

#[test]
fn one_word_of_a_person_settles_a_partition_that_went_with_its_topic() {
    let mut story = made_again_with_fewer(200);
    story.memory.acknowledge(Some("orders"), None);
    let states: Vec<_> = story.round(30).partitions.into_iter().map(|(at, one)| (at.partition, one.state)).collect();
    assert_eq!(states, [(0, Unconfirmed)], "partition 0 is beyond the end of the new log");
}

//! Cluster ids, topic ids, and suspicion where there are none.

use super::*;

/// The state of the query, the states of its partitions, and the events of one more round.
#[track_caller]
fn check(mut story: World, expected: (QueryState, &[PartitionState], &[EventKind])) {
    let verdict = story.round(30);
    let states: Vec<_> = verdict.partitions.values().map(|one| one.state).collect();
    assert_eq!((verdict.state, &states[..], &kinds(&verdict)[..]), expected, "{}", verdict.reason);
}

/// Two topics, `clicks` at 20 of 40 and `orders` at 100 of 200, seen once.
fn two_topics() -> World {
    let mut story = world(100, 0, 200);
    story.topic("clicks", Some(9)).bounds_of("clicks", 0, 0, 40);
    story.positions("clicks").insert(0, Position { committed: Some(offset(20)), ..Position::default() });
    story.round(30);
    story
}

#[test]
fn another_cluster_is_one_finding_whatever_the_topics_say() {
    let mut story = two_topics();
    story.kafka().cluster_id = Some("K2".to_owned());
    story.orders().topic_id = Some(TopicId([2; 16]));
    let told = story.clone().round(30);
    assert!(told.reason.contains("would skip 120 offsets"), "{}", told.reason);
    assert!(told.newly_lost.is_empty());
    check(story, (QueryState::ClusterMismatch, &[PartitionState::Unverified; 2], &[EventKind::ClusterChanged]));
}

#[test]
fn every_topic_with_another_id_is_another_cluster() {
    let mut story = two_topics();
    story.orders().topic_id = Some(TopicId([2; 16]));
    story.named("clicks").topic_id = Some(TopicId([3; 16]));
    check(story, (QueryState::ClusterMismatch, &[PartitionState::Unverified; 2], &[EventKind::ClusterChanged]));
}

#[test]
fn one_of_two_topics_with_another_id_was_recreated() {
    let mut story = two_topics();
    story.orders().topic_id = Some(TopicId([2; 16]));
    let states = [PartitionState::Behind, PartitionState::Recreated];
    check(story, (QueryState::Recreated, &states, &[EventKind::TopicRecreated]));
}

#[test]
fn an_id_that_is_not_said_for_a_round_changes_nothing() {
    let mut story = two_topics();
    story.orders().topic_id = None;
    story.kafka().cluster_id = None;
    check(story, (QueryState::Behind, &[PartitionState::Behind; 2], &[]));
}

#[test]
fn a_mismatch_heals_by_a_batch_on_the_new_cluster() {
    let mut story = two_topics();
    story.kafka().cluster_id = Some("K2".to_owned());
    story.round(30);
    story.now += 30;
    story.commit(8, &[(0, 150)]);
    check(story.clone(), (QueryState::Behind, &[PartitionState::Behind; 2], &[EventKind::PositionJumped]));
    story.commit(8, &[(0, 100)]);
    check(story, (QueryState::ClusterMismatch, &[PartitionState::Unverified; 2], &[]));
}

#[test]
fn a_batch_on_a_cluster_that_is_gone_again_does_not_heal() {
    let by_cluster: fn(&mut World, u8) = |story, id| story.kafka().cluster_id = Some(format!("K{id}"));
    let by_topics: fn(&mut World, u8) = |story, id| {
        story.orders().topic_id = Some(TopicId([id; 16]));
        story.named("clicks").topic_id = Some(TopicId([id + 100; 16]));
    };
    for change in [by_cluster, by_topics] {
        let mut story = two_topics();
        change(&mut story, 2);
        assert_eq!(story.round(30).state, QueryState::ClusterMismatch);
        // Planned and committed on the second cluster; before anyone looks there is a third.
        story.now += 30;
        story.commit(8, &[(0, 150)]);
        change(&mut story, 3);
        assert_eq!(story.round(10).state, QueryState::ClusterMismatch);
        assert_eq!(story.round(30).state, QueryState::ClusterMismatch);
        story.now += 30;
        story.commit(9, &[(0, 160)]);
        assert_eq!(story.round(0).state, QueryState::Behind);
    }
}

#[test]
fn a_mismatch_heals_when_the_old_cluster_is_back_and_nothing_is_forgotten() {
    let mut story = two_topics();
    story.kafka().cluster_id = Some("K2".to_owned());
    story.round(30);
    story.kafka().cluster_id = Some("K1".to_owned());
    (0..2).for_each(|_| assert_eq!(story.round(30).state, QueryState::ClusterMismatch));
    story.bounds(0, 130, 200);
    let verdict = story.round(30);
    assert_eq!(ranges(&verdict.newly_lost), [(0, 100, 130, Certainty::Certain)]);
}

#[test]
fn a_person_accepts_another_cluster() {
    let mut story = two_topics();
    story.kafka().cluster_id = Some("K2".to_owned());
    story.orders().topic_id = Some(TopicId([2; 16]));
    story.round(30);
    story.memory.acknowledge(None, None);
    check(story.clone(), (QueryState::Behind, &[PartitionState::Behind; 2], &[]));
}

#[test]
fn what_was_unread_of_the_old_topic_is_lost_once() {
    let mut story = world(100, 0, 200);
    story.round(30);
    story.orders().topic_id = Some(TopicId([2; 16]));
    let verdict = story.round(30);
    assert_eq!(ranges(&verdict.newly_lost), [(0, 100, 200, Certainty::Certain)]);
    assert_eq!(verdict.topics["orders"].lost_total[&Certainty::Certain], 100);
    story.bounds(0, 90, 300);
    assert!(story.round(30).newly_lost.is_empty());
}

/// No ids; seen once with the oldest record long before the batch.
fn nameless() -> World {
    let mut story = world(100, 10, 200);
    story.kafka().cluster_id = None;
    story.orders().topic_id = None;
    story.partition(0).oldest = Some((offset(10), at(-5000)));
    story.partition(0).leader_epoch = Some(4);
    story.round(30);
    story
}

#[track_caller]
fn check_suspicion(story: World, suspected: bool) {
    let mut story = story;
    let state = story.look(30).state;
    let expected = if suspected { PartitionState::Unconfirmed } else { PartitionState::Behind };
    assert_eq!(state, expected);
    let later: Vec<_> = (0..2).map(|_| story.look(30).state).collect();
    assert_eq!(later.last(), Some(if suspected { &PartitionState::Recreated } else { &PartitionState::Behind }));
}

#[test]
fn signs_of_another_topic_under_the_same_name() {
    check_suspicion(nameless(), false);
    let changed = |change: fn(&mut PartitionReading)| {
        let mut story = nameless();
        change(story.partition(0));
        story
    };
    check_suspicion(changed(|bounds| bounds.oldest = Some((offset(10), at(20)))), true);
    check_suspicion(changed(|bounds| bounds.oldest = Some((offset(10), at(-4000)))), true);
    check_suspicion(changed(|bounds| bounds.leader_epoch = Some(0)), true);
    check_suspicion(changed(|bounds| bounds.leader_epoch = Some(5)), false);
    check_suspicion(changed(|bounds| (bounds.earliest, bounds.latest) = (offset(0), offset(150))), true);
    check_suspicion(changed(|bounds| bounds.earliest = offset(0)), false);
    check_suspicion(changed(|bounds| bounds.oldest = Some((offset(12), at(-4000)))), false);
}

#[test]
fn a_stamp_from_the_future_proves_nothing() {
    let mut story = world(100, 10, 200);
    story.orders().topic_id = None;
    story.partition(0).oldest = Some((offset(10), at(100_000)));
    assert_eq!(story.look(30).state, PartitionState::Behind);
}

#[test]
fn every_partition_that_can_be_tested_has_to_look_strange() {
    let mut story = world(100, 10, 200);
    story.orders().topic_id = None;
    story.commit(8, &[(0, 100), (1, 100)]).bounds(1, 10, 200);
    story.partition(0).oldest = Some((offset(10), at(20)));
    story.partition(1).oldest = Some((offset(10), at(-5000)));
    assert_eq!(story.look(30).state, PartitionState::Behind);
}

#[test]
fn an_id_under_which_the_positions_were_sane_is_never_suspected() {
    let mut story = world(100, 10, 200);
    story.partition(0).oldest = Some((offset(10), at(-5000)));
    story.round(30);
    story.partition(0).oldest = Some((offset(10), at(20)));
    assert_eq!(story.look(30).state, PartitionState::Behind);
}

#[test]
fn two_topics_that_are_both_suspected_are_another_cluster() {
    let mut story = two_topics();
    story.memory = QueryMemory::default();
    for topic in ["orders", "clicks"] {
        story.named(topic).topic_id = None;
        story.named(topic).partitions.get_mut(&0).unwrap().as_mut().unwrap().oldest = Some((offset(0), at(10)));
    }
    (0..2).for_each(|_| drop(story.round(30)));
    check(story, (QueryState::ClusterMismatch, &[PartitionState::Unverified; 2], &[EventKind::ClusterChanged]));
}

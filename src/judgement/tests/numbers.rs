//! The numbers of a partition, and of its topic.

use super::*;
use crate::retention::Deadline;

/// Headroom, lag, lost, possibly lost, beyond the end.
type Offsets = (Option<i64>, Option<u64>, Option<u64>, Option<u64>, Option<u64>);

#[track_caller]
fn check(mut story: World, expected: Offsets) {
    let verdict = story.look(30);
    let offsets = (verdict.headroom, verdict.lag, verdict.lost, verdict.possibly_lost, verdict.beyond_end);
    assert_eq!(offsets, expected, "{}: {}", verdict.state, verdict.reason);
}

fn told(mut world: World, tell: impl FnOnce(&mut World)) -> World {
    tell(&mut world);
    world
}

#[test]
fn offsets_of_each_row() {
    check(world(200, 50, 200), (Some(150), Some(0), Some(0), Some(0), Some(0)));
    check(world(100, 50, 200), (Some(50), Some(100), Some(0), Some(0), Some(0)));
    check(world(100, 130, 200), (Some(-30), Some(70), Some(30), Some(0), Some(0)));
    let young = |planned| {
        told(world(100, 130, 200), |world| {
            world.open(8, 0, &[(0, planned)]);
        })
    };
    check(young(150), (Some(-30), Some(70), Some(0), Some(30), Some(0)));
    check(young(110), (Some(-30), Some(70), Some(20), Some(10), Some(0)));
    check(world(100, 0, 60), (None, Some(0), None, None, Some(40)));
    let recreated = |latest| {
        told(world(100, 0, 200), |world| {
            world.round(30);
            world.orders().topic_id = Some(TopicId([2; 16]));
            world.bounds(0, 0, latest);
        })
    };
    check(recreated(60), (None, Some(60), None, None, Some(40)));
    check(recreated(160), (None, Some(160), None, None, Some(0)));
    check(
        told(world(100, 0, 200), |world| {
            world.unread_cluster();
        }),
        (None, None, None, None, None),
    );
    check(
        told(world(100, 0, 200), |world| {
            world.kafka().topics.insert(TopicName::from("orders"), TopicSight::Absent);
        }),
        (None, None, None, None, None),
    );
    check(world(100, 300, 200), (None, None, None, None, None));
}

#[test]
fn a_confirmed_position_beyond_the_end_has_no_lag() {
    let story = told(world(100, 0, 60), |world| {
        (0..3).for_each(|_| {
            world.round(30);
        })
    });
    check(story, (None, None, None, None, Some(40)));
}

#[test]
fn a_pending_partition_waits_with_all_it_has() {
    let new = |earliest, subscribe| {
        told(world(100, 0, 200), |world| {
            world.settings.subscribe = subscribe;
            world.positions("orders").clear();
            world.bounds(0, earliest, 40);
        })
    };
    check(new(0, Subscribe::Unknown), (None, Some(40), None, None, None));
    check(new(10, Subscribe::Unknown), (None, Some(30), None, None, None));
    check(new(10, Subscribe::Subscribe), (None, Some(30), Some(10), None, None));
}

#[test]
fn a_checkpoint_that_is_not_read_keeps_headroom_and_loss() {
    let blind = |earliest| {
        told(world(100, 50, 200), |world| {
            world.round(30);
            world.unread_checkpoint().bounds(0, earliest, 260);
        })
    };
    check(blind(60), (Some(40), None, Some(0), None, None));
    check(blind(130), (Some(-30), None, Some(30), None, None));
}

#[test]
fn a_checkpoint_that_is_not_read_is_not_held_against_another_log() {
    let story = |earliest: i64, meanwhile: fn(&mut World)| {
        told(world(100, earliest, 200), |world| {
            world.round(30);
            world.unread_checkpoint();
            meanwhile(world);
        })
    };
    let unknown = (None, None, None, None, None);
    check(story(50, |world| _ = world.topic("orders", Some(2)).bounds(0, 5000, 6000)), unknown);
    check(story(50, |world| _ = world.topic("orders", Some(2)).bounds(0, 0, 6000)), unknown);
    check(story(50, |world| world.kafka().cluster_id = Some("K2".to_owned())), unknown);
    check(story(50, |world| _ = world.bounds(0, 300, 260)), unknown);
    check(story(50, |world| _ = world.bounds(0, 0, 60)), unknown);
    let lost_before = (None, None, Some(30), None, None);
    check(story(130, |world| _ = world.topic("orders", Some(2)).bounds(0, 5000, 6000)), lost_before);
    // An id that is not said contradicts nothing.
    let unsaid = |world: &mut World| {
        world.kafka().cluster_id = None;
        world.topic("orders", None).bounds(0, 60, 260);
    };
    check(story(50, unsaid), (Some(40), None, Some(0), None, None));
    let suspected = told(world(100, 50, 200), |world| {
        world.orders().topic_id = None;
        world.partition(0).leader_epoch = Some(4);
        world.round(30);
        world.partition(0).leader_epoch = Some(0);
        assert_eq!(world.look(30).state, PartitionState::Unconfirmed);
        world.unread_checkpoint();
    });
    check(suspected, unknown);
}

#[test]
fn a_broker_that_does_not_answer_keeps_a_loss_only() {
    let story = |earliest| {
        told(world(100, earliest, 200), |world| {
            world.round(30);
            world.unread_cluster();
        })
    };
    check(story(130), (None, None, Some(30), None, None));
    check(story(50), (None, None, None, None, None));
}

#[test]
fn deadline_and_ratio_count_what_is_proved() {
    let story = |age: i64| {
        told(world(100, 50, 200), |world| {
            world.age(0, 100, age);
        })
    };
    // Retention is an hour, the allowance between clocks five seconds, the round ends 30 s after the look-up's frame.
    let verdict = story(870).look(30);
    assert_eq!(verdict.deadline, Some(Deadline::At(at(-870 + 3600 - 5))));
    assert!((verdict.ratio.unwrap() - (3600.0 - 5.0 - 900.0) / 3600.0).abs() < 1e-9);
    assert_eq!(verdict.oldest_unread, Some(at(-870)));
    // Stamps of the future count as now.
    assert_eq!(story(-9000).look(30).deadline, Some(Deadline::At(at(30 + 3600 - 5))));
    // Already deletable: nothing is left, and nothing is negative.
    assert_eq!(story(9000).look(30).ratio, Some(0.0));
}

#[test]
fn unread_data_without_a_proof_has_no_ratio_and_says_so() {
    let verdict = world(100, 50, 200).look(30);
    assert_eq!((verdict.ratio, verdict.deadline), (None, None));
    assert!(verdict.problems.contains(&PartitionProblem::RetentionUnknown));
}

#[test]
fn nothing_unread_starts_a_whole_retention_from_now() {
    let verdict = world(200, 50, 200).look(30);
    assert_eq!((verdict.ratio, verdict.deadline), (Some(1.0), Some(Deadline::At(at(30 + 3600 - 5)))));
    assert_eq!(verdict.oldest_unread, None);
}

#[test]
fn the_last_proved_deadline_outlives_a_blind_round() {
    let mut story = told(world(100, 50, 200), |world| {
        world.age(0, 100, 870);
    });
    let proved = story.look(30).deadline;
    assert!(proved.is_some());
    story.unread_cluster();
    let blind = story.round(30);
    assert_eq!(blind.partitions[&orders(0)].deadline, proved);
    let topic = &blind.topics["orders"];
    assert_eq!((topic.deadline, topic.lag, topic.committed, topic.ratio), (proved, None, None, None));
    assert_eq!(topic.retention_seconds, Some(3600.0));
}

#[test]
fn a_topic_folds_by_the_worse_side_and_counts_every_state() {
    let mut story = world(100, 50, 200);
    story.commit(8, &[(0, 100), (1, 10), (2, 70)]).bounds(1, 30, 40).bounds(2, 0, 70).age(0, 100, 0);
    let verdict = story.round(30);
    let topic = &verdict.topics["orders"];
    assert_eq!((topic.lag, topic.committed, topic.lost, topic.headroom), (Some(110), Some(180), Some(20), Some(-20)));
    assert!(topic.ratio.unwrap() > 0.9, "a lost partition must not pull the ratio down");
    assert_eq!(topic.states[&PartitionState::Lost], 1);
    assert_eq!(topic.states.len(), PartitionState::ALL.len());
    assert_eq!(topic.problems.len(), PartitionProblem::ALL.len());
    assert_eq!(topic.problems[&PartitionProblem::Lost], 1);
}

#[test]
fn compaction_deletes_no_offset_and_weakens_a_proof() {
    let with = |policy: &str| {
        told(world(100, 50, 200), |world| {
            world.age(0, 100, 570);
            world.orders().limits = Some(Ok(Limits {
                cleanup_policy: Some(policy.to_owned()),
                retention_ms: Some(3_600_000),
                retention_bytes: Some(-1),
                ..Limits::default()
            }));
        })
        .look(30)
    };
    assert_eq!((with("compact").ratio, with("compact").deadline), (Some(1.0), Some(Deadline::Never)));
    assert!(with("compact,delete").ratio.is_some_and(|ratio| ratio < 0.9));
    assert_eq!(with("compact,delete").deadline, None);
}

#[test]
fn size_rules_once_it_is_seen_to_move_earliest() {
    let mut story = world(450, 0, 1000);
    story.orders().limits = Some(Ok(Limits {
        cleanup_policy: Some("delete".to_owned()),
        retention_ms: Some(-1),
        retention_bytes: Some(1 << 30),
        ..Limits::default()
    }));
    assert_eq!(story.look(30).ratio, None);
    story.bounds(0, 200, 1200);
    assert_eq!(story.look(60).ratio, None);
    story.bounds(0, 400, 1400);
    let verdict = story.look(60);
    assert!((verdict.ratio.unwrap() - 0.05).abs() < 1e-9);
    assert_eq!(verdict.forecast, Some(Deadline::At(at(150))), "one more jump of 200 and the 50 of headroom are gone");
}

#[test]
fn a_stopped_query_will_meet_its_deadline() {
    let mut story = world(100, 50, 200);
    for _ in 0..5 {
        let age = story.now + 30;
        story.age(0, 100, age).look(30);
    }
    let verdict = story.look(0);
    assert_eq!(verdict.forecast, verdict.deadline);
    assert!(verdict.forecast.is_some());
}

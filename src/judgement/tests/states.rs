//! The state of a partition, row by row.

use super::*;
use crate::checkpoint::Start;

/// A story ends with a look at partition 0: its state, and words that the reason must hold.
#[track_caller]
fn check(mut story: World, expected: (PartitionState, &str)) {
    let verdict = story.look(30);
    assert_eq!(verdict.state, expected.0, "{}", verdict.reason);
    assert!(verdict.reason.contains(expected.1), "{:?} lacks {:?}", verdict.reason, expected.1);
}

fn told(tell: impl FnOnce(&mut World)) -> World {
    told_of(world(100, 0, 200), tell)
}

fn told_of(mut world: World, tell: impl FnOnce(&mut World)) -> World {
    tell(&mut world);
    world
}

#[test]
fn row_1_a_checkpoint_that_was_not_read_leaves_its_partitions_unknown() {
    let story = told(|world| {
        world.round(30);
        world.unread_checkpoint();
    });
    check(story, (PartitionState::Unknown, "denied: listing offsets/ was refused; the position is 30 s old"));
}

#[test]
fn row_1_what_was_bad_stays_bad() {
    let story = told_of(world(100, 150, 200), |world| {
        world.round(30);
        world.unread_checkpoint();
    });
    check(story, (PartitionState::Lost, "when last read; denied"));
}

#[test]
fn row_2_a_broker_that_does_not_answer_leaves_partitions_unknown() {
    check(
        told(|world| {
            world.unread_cluster();
        }),
        (PartitionState::Unknown, "unreachable: no broker answered"),
    );
}

#[test]
fn row_2_a_partition_without_a_leader_is_unknown() {
    let story = told(|world| {
        world.orders().partitions.insert(0, Err(Unread::new(Reason::Unreachable, "no leader")));
    });
    check(story, (PartitionState::Unknown, "no leader"));
}

#[test]
fn row_2_a_topic_that_was_not_asked_for_is_unknown() {
    check(
        told(|world| {
            world.kafka().topics.clear();
        }),
        (PartitionState::Unknown, "not asked"),
    );
}

#[test]
fn row_3_another_cluster_leaves_partitions_unverified() {
    let story = told(|world| {
        world.round(30);
        world.kafka().cluster_id = Some("K2".to_owned());
    });
    check(story, (PartitionState::Unverified, "cluster K1 became K2"));
}

fn gone(rounds: usize, tell: impl FnOnce(&mut World)) -> World {
    told(|world| {
        tell(world);
        world.round(30);
        world.kafka().topics.insert(TopicName::from("orders"), TopicSight::Absent);
        for _ in 0..rounds {
            world.round(30);
        }
    })
}

#[test]
fn row_4_a_missing_topic_is_doubted_first() {
    check(gone(0, |_| ()), (PartitionState::Unconfirmed, "100 offsets were unread at the last sight"));
    check(gone(1, |_| ()), (PartitionState::Unconfirmed, ""));
}

#[test]
fn row_4_and_gone_when_confirmed() {
    check(gone(2, |_| ()), (PartitionState::Gone, "100 offsets were unread at the last sight"));
    check(
        gone(2, |world| {
            world.commit(8, &[(0, 200)]);
        }),
        (PartitionState::Gone, "caught up at the last sight"),
    );
}

#[test]
fn row_4_what_was_never_seen_here_is_a_source_of_another_cluster() {
    let story = told(|world| {
        world.kafka().topics.insert(TopicName::from("orders"), TopicSight::Absent);
    });
    check(story, (PartitionState::Unconfirmed, "source not matched"));
}

#[test]
fn row_4_a_single_partition_may_be_missing() {
    let story = told(|world| {
        world.round(30);
        world.orders().partitions.clear();
    });
    check(story, (PartitionState::Unconfirmed, "the broker does not have it"));
}

#[test]
fn row_5_earliest_above_latest_is_never_believed() {
    let story = told(|world| {
        world.bounds(0, 300, 200);
        (0..9).for_each(|_| {
            world.round(30);
        });
    });
    check(story, (PartitionState::Unconfirmed, "earliest 300 above latest 200"));
}

#[test]
fn row_6_another_topic_id_is_another_topic_wherever_the_position_lies() {
    let story = told(|world| {
        world.round(30);
        world.orders().topic_id = Some(TopicId([2; 16]));
    });
    check(story, (PartitionState::Recreated, "became 0202"));
    let story = told(|world| {
        world.round(30);
        world.orders().topic_id = Some(TopicId([2; 16]));
    });
    check(story, (PartitionState::Recreated, "a restart would skip 100 offsets"));
}

/// No ids, and the oldest record is younger than the batch that claims to have read past it.
fn suspicious(rounds: usize) -> World {
    told(|world| {
        world.orders().topic_id = None;
        world.partition(0).oldest = Some((offset(0), at(10)));
        for _ in 0..rounds {
            world.round(30);
        }
    })
}

#[test]
fn row_7_a_suspicion_is_doubted_first_and_latches_when_confirmed() {
    check(suspicious(0), (PartitionState::Unconfirmed, "suspected"));
    check(suspicious(2), (PartitionState::Recreated, "suspected: partition 0: the oldest record, at 0, is younger"));
}

fn beyond(rounds: usize) -> World {
    told(|world| {
        world.round(30);
        world.bounds(0, 0, 60);
        for _ in 0..rounds {
            world.round(30);
        }
    })
}

#[test]
fn row_8_beyond_the_end_is_doubted_first_and_latches_when_confirmed() {
    check(beyond(0), (PartitionState::Unconfirmed, "log truncated (same topic id)"));
    check(beyond(1), (PartitionState::Unconfirmed, "40 beyond the end 60"));
    check(beyond(2), (PartitionState::BeyondEnd, "log truncated (same topic id)"));
}

#[test]
fn row_8_without_a_known_id_the_cause_stays_open() {
    let story = told_of(world(100, 0, 60), |world| world.orders().topic_id = None);
    check(story, (PartitionState::Unconfirmed, "cause unconfirmed"));
}

#[test]
fn row_9_a_log_that_grows_past_the_position_heals_nothing() {
    let story = told_of(beyond(3), |world| {
        world.bounds(0, 0, 500);
    });
    check(story, (PartitionState::Unverified, "40 offsets of the new history will be skipped"));
}

fn broker_only(earliest: i64, subscribe: Subscribe) -> World {
    told(|world| {
        world.settings.subscribe = subscribe;
        world.positions("orders").clear();
        world.bounds(0, earliest, 16);
    })
}

#[test]
fn row_10_a_partition_without_a_position_is_pending_or_lost() {
    check(broker_only(0, Subscribe::Unknown), (PartitionState::Pending, "no position yet"));
    check(broker_only(0, Subscribe::Subscribe), (PartitionState::Pending, "no position yet"));
    check(broker_only(5, Subscribe::Unknown), (PartitionState::Pending, "unread history, or not read by this query"));
    check(broker_only(5, Subscribe::Assign), (PartitionState::Pending, "unread history"));
    check(broker_only(5, Subscribe::Subscribe), (PartitionState::Lost, "never read"));
    check(broker_only(5, Subscribe::Pattern), (PartitionState::Lost, "starts at 5"));
}

#[test]
fn row_10_a_start_that_is_not_fixed_is_no_loss() {
    let story = told(|world| {
        world.settings.subscribe = Subscribe::Subscribe;
        world.reading().sources[0].committed_from = None;
        world.positions("orders").insert(0, Position { planned: Some(offset(20)), ..Position::default() });
        world.bounds(0, 5, 20);
    });
    check(story, (PartitionState::Pending, "not fixed yet"));
}

#[test]
fn a_partition_of_the_open_batch_only_is_needed_from_zero() {
    let new = |earliest| {
        told(|world| {
            let position = Position { start: Some(Start::Earliest), ..Position::default() };
            world.positions("orders").insert(0, position);
            world.open(8, 0, &[(0, 60)]).bounds(0, earliest, 90);
        })
    };
    check(new(0), (PartitionState::Pending, "only the open batch names it"));
    check(new(5), (PartitionState::Unconfirmed, "while batch 8 is open"));
    check(new(70), (PartitionState::Lost, "70 unread offsets [0, 70)"));
}

#[test]
fn row_11a_a_position_that_moved_back_lost_nothing() {
    let story = told(|world| {
        world.round(30);
        world.commit(6, &[(0, 20)]).bounds(0, 50, 200);
    });
    check(story, (PartitionState::Unverified, "all of it was committed once"));
}

#[test]
fn row_11b_a_young_batch_may_hold_what_is_gone() {
    let story = told(|world| {
        world.open(8, 0, &[(0, 150)]).bounds(0, 130, 200);
    });
    check(story, (PartitionState::Unconfirmed, "earliest passed the committed offset while batch 8 is open"));
}

#[test]
fn row_11c_unread_offsets_are_gone() {
    check(world(100, 130, 200), (PartitionState::Lost, "30 unread offsets [100, 130) are gone"));
    check(world(100, 200, 200), (PartitionState::Lost, "nothing left to read"));
    let at_once = told(|world| {
        world.round(30);
        world.bounds(0, 200, 200);
    });
    check(at_once, (PartitionState::Lost, "log start jumped to the end"));
    let old_batch = told(|world| {
        world.open(8, -600, &[(0, 150)]).bounds(0, 130, 200);
    });
    check(old_batch, (PartitionState::Lost, "too old to be still reading"));
    let short_batch = told(|world| {
        world.open(8, 0, &[(0, 110)]).bounds(0, 130, 200);
    });
    check(short_batch, (PartitionState::Lost, "30 unread offsets"));
}

#[test]
fn row_12_nothing_unread() {
    check(world(200, 0, 200), (PartitionState::CaughtUp, "nothing unread"));
    check(world(200, 200, 200), (PartitionState::CaughtUp, "nothing unread"));
    let open_transaction = told_of(world(150, 0, 200), |world| {
        world.settings.isolation = Isolation::ReadCommitted;
        world.partition(0).stable = Some(offset(150));
    });
    check(open_transaction, (PartitionState::CaughtUp, "open transaction: 50 offsets wait"));
}

#[test]
fn row_13_unread_and_all_still_there() {
    check(world(100, 100, 200), (PartitionState::Behind, "unread data"));
    let no_stable = told(|world| world.settings.isolation = Isolation::ReadCommitted);
    check(no_stable, (PartitionState::Behind, "latest counts as the end"));
}

#[test]
fn a_partition_that_the_newest_batch_left_out_keeps_its_position() {
    let story = told(|world| {
        world.commit(8, &[(0, 100), (1, 50)]).bounds(1, 0, 60).round(30);
        world.positions("orders").remove(&0);
    });
    check(story, (PartitionState::Behind, "not in the newest batch, though the broker has it"));
}

#[test]
fn a_topic_on_several_lines_counts_where_it_is_furthest_behind() {
    let mut story = world(500, 0, 600);
    let mut second = story.reading().sources[0].clone();
    second
        .topics
        .get_mut("orders")
        .unwrap()
        .insert(0, Position { committed: Some(offset(480)), planned: Some(offset(490)), ..Position::default() });
    story.reading().sources.push(second);
    let verdict = story.look(30);
    assert_eq!((verdict.committed, verdict.planned, verdict.lag), (Some(offset(480)), Some(offset(490)), Some(120)));
}

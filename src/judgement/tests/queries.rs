//! The state of a query, its conditions, and its clocks.

use super::*;

/// The state after one more round, and the conditions that hold.
#[track_caller]
fn check(mut story: World, expected: (QueryState, &[Condition])) {
    let verdict = story.round(30);
    let conditions: Vec<_> = verdict.conditions.iter().copied().collect();
    assert_eq!((verdict.state, &conditions[..]), expected, "{}", verdict.reason);
    assert!(!verdict.reason.is_empty());
}

fn told(mut world: World, tell: impl FnOnce(&mut World)) -> World {
    tell(&mut world);
    world
}

#[test]
fn idle_and_behind() {
    check(world(200, 0, 200), (QueryState::Idle, &[]));
    check(
        told(world(100, 0, 200), |world| {
            world.age(0, 100, 10);
        }),
        (QueryState::Behind, &[]),
    );
}

#[test]
fn the_worst_partition_decides() {
    let story = told(world(100, 0, 200), |world| {
        world.commit(8, &[(0, 100), (1, 10)]).bounds(1, 30, 40);
    });
    check(story, (QueryState::Lost, &[Condition::Lost]));
}

#[test]
fn little_retention_left_is_a_risk() {
    check(
        told(world(100, 0, 200), |world| {
            world.age(0, 100, 2000);
        }),
        (QueryState::AtRisk, &[Condition::AtRisk]),
    );
    let possibly = told(world(100, 130, 200), |world| {
        world.open(8, 0, &[(0, 150)]);
    });
    check(possibly, (QueryState::AtRisk, &[Condition::AtRisk]));
    let other_partition = told(world(100, 130, 200), |world| {
        world.commit(8, &[(1, 100)]).bounds(1, 0, 200).age(1, 100, 2000);
    });
    check(other_partition, (QueryState::Lost, &[Condition::Lost, Condition::AtRisk]));
}

#[test]
fn a_doubt_takes_part_by_its_lag_only() {
    check(world(100, 0, 60), (QueryState::Idle, &[]));
    check(world(100, 300, 200), (QueryState::Idle, &[]));
}

#[test]
fn nothing_planned_yet() {
    let story = told(world(200, 0, 200), |world| {
        let reading = world.reading();
        (reading.newest_planned, reading.newest_committed) = (None, None);
        (reading.planned_at, reading.last_commit_at) = (None, None);
        reading.batches.clear();
        reading.started_at = Some(at(0));
    });
    check(story, (QueryState::NotStarted, &[Condition::NotStarted]));
}

#[test]
fn superseded_and_retired_are_judged_no_further() {
    let mut story = world(100, 130, 200);
    story.settings.watch = Watch::Retired;
    check(story, (QueryState::Superseded, &[Condition::Superseded]));
    let story = world(100, 130, 200);
    let sighting = Sighting {
        now: at(30),
        checkpoint: story.checkpoint.as_ref(),
        cluster: story.cluster.as_ref(),
        history: &[],
        superseded: true,
    };
    let (verdict, memory) = judge(&story.settings, &sighting, QueryMemory::default());
    assert_eq!((verdict.state, verdict.partitions.len(), memory), (QueryState::Superseded, 0, QueryMemory::default()));
}

#[test]
fn a_query_stalls_after_three_intervals_with_something_unread() {
    let mut story = told(world(100, 0, 200), |world| {
        world.age(0, 100, 0);
    });
    assert_eq!(story.round(180).state, QueryState::Behind);
    let verdict = story.round(1);
    assert_eq!((verdict.state, verdict.unread_since), (QueryState::Stalled, Some(at(0))));
    story.settings.watch = Watch::Parked;
    check(story, (QueryState::Behind, &[Condition::Parked]));
}

#[test]
fn the_first_record_after_a_quiet_night_is_no_stall() {
    let mut story = world(200, 0, 200);
    assert_eq!(story.round(30_000).state, QueryState::Idle);
    let verdict = story.bounds(0, 0, 201).age(0, 200, 0).round(30);
    assert_eq!((verdict.state, verdict.unread_since), (QueryState::Behind, Some(at(30_030))));
}

#[test]
fn at_first_sight_the_age_of_the_oldest_record_tells_since_when_it_waits() {
    let story = |age: i64| {
        let mut story = world(100, 0, 200);
        story.now = 30_000;
        story.age(0, 100, age);
        story.round(0)
    };
    assert_eq!(story(40).unread_since, Some(at(29_960)));
    assert_eq!(story(40).state, QueryState::Behind);
    assert!(story(400).conditions.contains(&Condition::Stalled));
    let mut unknown_age = world(100, 0, 200);
    assert_eq!(unknown_age.round(30_000).unread_since, Some(at(0)));
}

#[test]
fn an_open_batch_that_plans_something_and_ends_nowhere_is_a_stall() {
    let story = |planned| {
        told(world(200, 0, 300), |world| {
            world.age(0, 200, 0);
            world.settings.lag_floor = 1000;
            world.open(8, -600, &[(0, planned)]);
        })
    };
    let mut stuck = story(300);
    let verdict = stuck.round(30);
    assert_eq!((verdict.state, verdict.unread_since), (QueryState::Stalled, Some(at(-600))));
    check(story(200), (QueryState::Behind, &[]));
}

#[test]
fn lag_below_the_floor_is_no_stall() {
    let story = told(world(199, 0, 200), |world| {
        world.settings.lag_floor = 1;
        world.age(0, 199, 0);
        world.now = 1000;
    });
    check(story, (QueryState::Behind, &[]));
}

#[test]
fn commits_that_repeat_their_offsets_are_no_progress() {
    let mut story = told(world(100, 0, 200), |world| {
        world.age(0, 100, 0);
    });
    story.round(30);
    for batch in 8..14 {
        story.now += 30;
        story.commit(batch, &[(0, 100)]);
        story.round(0);
    }
    let verdict = story.round(30);
    assert_eq!((verdict.state, verdict.last_progress_at), (QueryState::Stalled, Some(at(0))));
}

#[test]
fn the_interval_is_learned_from_commits() {
    let learned = |gaps: &[i64]| {
        let mut story = world(100, 0, 200);
        story.settings.expected_interval = None;
        for (batch, gap) in (8..).zip(gaps) {
            story.now += gap;
            story.commit(batch, &[(0, 100)]);
        }
        story.round(0).expected_interval.as_secs()
    };
    assert_eq!(learned(&[10, 10, 10]), 600);
    assert_eq!(learned(&[10, 10, 10, 10]), 60);
    assert_eq!(learned(&[7200, 7000, 7100, 7200]), 7200);
}

#[test]
fn a_blind_round_keeps_the_worse_of_its_last_state_and_unknown() {
    let lost = told(world(100, 130, 200), |world| {
        world.round(30);
        world.unread_cluster();
    });
    check(lost, (QueryState::Lost, &[Condition::Lost, Condition::Unknown]));
    let risk = told(world(100, 0, 200), |world| {
        world.age(0, 100, 2000).round(30);
        world.unread_cluster();
    });
    check(risk, (QueryState::AtRisk, &[Condition::AtRisk, Condition::Unknown]));
    let idle = told(world(200, 0, 200), |world| {
        world.round(30);
        world.unread_cluster();
    });
    check(idle, (QueryState::Unknown, &[Condition::Unknown]));
    let unread = told(world(200, 0, 200), |world| {
        world.round(30);
        world.unread_checkpoint();
    });
    check(unread, (QueryState::Unreadable, &[Condition::Unreadable, Condition::Unknown]));
    check(
        told(world(200, 0, 200), |world| {
            world.unread_checkpoint();
        }),
        (QueryState::Unreadable, &[Condition::Unreadable]),
    );
}

#[test]
fn progress_ends_a_stall_also_while_the_cluster_is_not_read() {
    let mut story = told(world(100, 0, 200), |world| {
        world.age(0, 100, 0).round(30);
        world.round(200);
        world.unread_cluster();
    });
    assert_eq!(story.clone().round(30).state, QueryState::Stalled, "nothing moved");
    story.commit(8, &[(0, 150)]);
    check(story.clone(), (QueryState::Unknown, &[Condition::Unknown]));
    story.round(30);
    story.unread_checkpoint();
    check(story, (QueryState::Unreadable, &[Condition::Unreadable, Condition::Unknown]));
}

#[test]
fn one_unread_partition_of_many_keeps_the_risk_it_had() {
    let mut story = world(100, 0, 200);
    story.commit(8, &[(0, 100), (1, 10)]).bounds(1, 0, 10).age(0, 100, 2000).round(30);
    story.orders().partitions.insert(0, Err(Unread::new(Reason::Unreachable, "no leader")));
    check(story, (QueryState::AtRisk, &[Condition::AtRisk, Condition::Unknown]));
}

#[test]
fn a_partition_that_is_missing_for_a_moment_stops_no_clock_and_forgets_no_proof() {
    let mut story = world(100, 0, 200);
    let proved = story.age(0, 100, 0).round(30).topics["orders"].deadline;
    let cluster = story.cluster.clone();
    story.orders().partitions.clear();
    assert_eq!(story.round(30).unread_since, Some(at(0)));
    story.unread_cluster();
    assert_eq!(story.round(30).topics["orders"].deadline, proved);
    assert!(proved.is_some());
    story.cluster = cluster;
    assert_eq!(story.round(30).unread_since, Some(at(0)));
}

/// Partition 0 after one doubtful round and a blind one: state, lost, possibly lost, problems.
fn doubted_then_blind(
    mut story: World,
    doubt: fn(&mut World),
) -> (PartitionState, [Option<u64>; 2], Vec<PartitionProblem>) {
    doubt(&mut story);
    assert_eq!(story.look(30).state, PartitionState::Unconfirmed);
    let verdict = story.unread_cluster().look(30);
    (verdict.state, [verdict.lost, verdict.possibly_lost], verdict.problems.into_iter().collect())
}

#[test]
fn a_doubt_before_a_blind_round_ends_nothing() {
    let doubts: [fn(&mut World); 2] =
        [|world| world.orders().partitions.clear(), |world| _ = world.bounds(0, 300, 200)];
    for doubt in doubts {
        let lost = told(world(100, 130, 200), |world| drop(world.round(30)));
        let expected = (PartitionState::Lost, [Some(30), None], vec![PartitionProblem::Lost]);
        assert_eq!(doubted_then_blind(lost, doubt), expected);
        let recreated = told(world(100, 0, 200), |world| {
            world.round(30);
            world.orders().topic_id = Some(TopicId([2; 16]));
            world.round(30);
        });
        let expected = (PartitionState::Recreated, [None; 2], vec![PartitionProblem::Recreated]);
        assert_eq!(doubted_then_blind(recreated, doubt), expected);
        let beyond = told(world(100, 0, 60), |world| (0..3).for_each(|_| drop(world.round(30))));
        let expected = (PartitionState::BeyondEnd, [None; 2], vec![PartitionProblem::BeyondEnd]);
        assert_eq!(doubted_then_blind(beyond, doubt), expected);
        let possibly = told(world(100, 130, 200), |world| drop(world.open(8, 0, &[(0, 150)]).round(30)));
        let (_, numbers, problems) = doubted_then_blind(possibly, doubt);
        assert_eq!(numbers, [None, Some(30)]);
        assert!(problems.contains(&PartitionProblem::PossiblyLost));
    }
}

#[test]
fn what_ended_in_a_doubtful_round_is_over() {
    let lost = told(world(100, 130, 200), |world| drop(world.round(30)));
    let passed = |world: &mut World| _ = world.commit(8, &[(0, 150)]).bounds(0, 300, 200);
    assert_eq!(doubted_then_blind(lost, passed).0, PartitionState::Unknown);
    let gone = told(world(100, 0, 200), |world| {
        world.round(30);
        world.orders().partitions.clear();
        (0..3).for_each(|_| drop(world.round(30)));
    });
    let back = |world: &mut World| _ = world.bounds(0, 300, 200);
    assert_eq!(doubted_then_blind(gone, back).0, PartitionState::Unknown);
}

#[test]
fn what_the_query_passed_while_its_log_was_not_read_is_no_longer_missed() {
    use PartitionProblem::{Lost, PossiblyLost, Unknown};
    let both = |world: &mut World| drop(world.open(8, 0, &[(0, 150)]).bounds(0, 170, 200).round(30));
    let possibly = |world: &mut World| drop(world.open(8, 0, &[(0, 150)]).round(30));
    let certainly = |world: &mut World| drop(world.round(30));
    let both = told(world(100, 130, 200), both);
    let possibly = told(world(100, 130, 200), possibly);
    let certainly = told(world(100, 130, 200), certainly);
    type Numbers = [Option<u64>; 2];
    let cases: [(&World, i64, Numbers, &[PartitionProblem]); 9] = [
        (&certainly, 100, [Some(30), None], &[Lost]),
        (&certainly, 120, [Some(10), None], &[Lost]),
        (&certainly, 90, [Some(30), None], &[Lost]),
        (&certainly, 130, [None, None], &[Unknown]),
        (&possibly, 120, [None, Some(10)], &[Unknown, PossiblyLost]),
        (&possibly, 150, [None, None], &[Unknown]),
        (&both, 140, [Some(20), Some(10)], &[Lost, PossiblyLost]),
        (&both, 150, [Some(20), None], &[Lost]),
        (&both, 160, [Some(10), None], &[Lost]),
    ];
    for (story, position, numbers, problems) in cases {
        let mut story = story.clone();
        let verdict = story.commit(9, &[(0, position)]).unread_cluster().look(30);
        assert_eq!([verdict.lost, verdict.possibly_lost], numbers, "at {position}");
        assert_eq!(verdict.problems, problems.iter().copied().collect(), "at {position}");
    }
}

#[test]
fn a_loss_that_the_query_passed_during_an_outage_is_over_for_partition_and_query() {
    let lost = told(world(100, 130, 200), |world| drop(world.round(30)));
    let during = |passed: i64, outage: fn(&mut World)| {
        let mut story = lost.clone();
        story.commit(8, &[(0, passed)]);
        outage(&mut story);
        let verdict = story.round(30);
        (verdict.state, verdict.conditions.contains(&Condition::Lost), verdict.partitions[&orders(0)].state)
    };
    let outages: [fn(&mut World); 2] = [
        |world| _ = world.unread_cluster(),
        |world| {
            let unread = Unread::new(Reason::TimedOut, "its leader is silent");
            world.orders().partitions.insert(0, Err(unread));
        },
    ];
    for outage in outages {
        assert_eq!(during(120, outage), (QueryState::Lost, true, PartitionState::Lost));
        assert_eq!(during(130, outage), (QueryState::Unknown, false, PartitionState::Unknown));
    }
}

#[test]
fn what_was_passed_in_a_doubtful_round_is_not_missed_after_it() {
    let mut story = told(world(100, 130, 200), |world| drop(world.round(30)));
    story.commit(8, &[(0, 120)]).orders().partitions.clear();
    assert_eq!(story.look(30).state, PartitionState::Unconfirmed);
    assert_eq!(story.unread_cluster().look(30).lost, Some(10));
}

#[test]
fn a_loss_does_not_grow_while_its_log_is_not_read() {
    let lost = told(world(100, 130, 200), |world| drop(world.round(30)));
    // Made again meanwhile, as far as anybody knows: the position is one in the new log.
    let mut again = lost.clone();
    assert_eq!(again.commit(8, &[(0, 5)]).unread_cluster().look(30).lost, Some(30));
}

#[test]
fn ten_thousand_partitions_are_judged_in_one_go() {
    let mut story = world(100, 0, 200);
    let positions: Vec<_> = (0..10_000).map(|partition| (partition, 100)).collect();
    story.commit(8, &positions);
    for partition in 0..10_000 {
        story.bounds(partition, 130, 200);
    }
    let verdict = story.round(30);
    assert_eq!((verdict.newly_lost.len(), verdict.topics["orders"].lost), (10_000, Some(300_000)));
}

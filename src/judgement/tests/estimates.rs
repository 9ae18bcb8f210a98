//! Where nothing is proved from time: what stands in for it, and that it is named.

use proptest::prelude::*;

use super::*;
use crate::retention::{Deadline, Unproved};

const HIDDEN: [Unproved; 3] = [Unproved::LookUpsRefused, Unproved::NothingFound, Unproved::NoTimestamps];

fn fast(seconds: u64) -> Unproved {
    Unproved::FastClock { broker: 3, by: Duration::from_secs(seconds) }
}

fn unproved(world: &mut World, why: Unproved) -> &mut World {
    world.kafka().unproved.insert(orders(0), why);
    world
}

/// A query that read all and stands still, while 100 records come between the first round and the second.
fn waiting(why: Unproved) -> World {
    let mut story = world(100, 50, 100);
    unproved(&mut story, why);
    story.round(0);
    story.bounds(0, 50, 200);
    story
}

#[test]
fn a_record_whose_time_cannot_be_looked_up_is_as_old_as_its_arrival() {
    for why in HIDDEN {
        let mut story = waiting(why);
        story.look(30);
        story.look(30);
        let verdict = story.look(90);
        assert_eq!((verdict.deadline, verdict.ratio), (None, None), "{why}");
        // It came after the round at 0 and by that at 30: never overstated in age, never promised for too long.
        assert_eq!(verdict.oldest_unread, Some(at(30)), "{why}");
        assert_eq!(verdict.forecast, Some(Deadline::At(at(3600 - 5))), "{why}");
        assert_eq!(verdict.unproved, Some(why));
        assert!(verdict.reason.contains("nothing is proved from time"), "{}", verdict.reason);
        assert!(verdict.problems.contains(&PartitionProblem::RetentionEstimated));
        assert!(!verdict.problems.contains(&PartitionProblem::RetentionUnknown));
    }
}

#[test]
fn a_record_that_was_there_before_anybody_looked_has_no_estimate() {
    let mut story = world(60, 50, 200);
    unproved(&mut story, Unproved::LookUpsRefused);
    story.look(0);
    let verdict = story.look(180);
    assert_eq!((verdict.oldest_unread, verdict.forecast, verdict.deadline), (None, None, None));
    assert!(verdict.problems.contains(&PartitionProblem::RetentionUnknown));
    assert!(!verdict.problems.contains(&PartitionProblem::RetentionEstimated));
    // The query reaches what came since, and from then on there is one.
    story.bounds(0, 50, 300).look(60);
    story.commit(8, &[(0, 250)]);
    let verdict = story.look(60);
    assert_eq!(verdict.oldest_unread, Some(at(240)));
    assert!(verdict.problems.contains(&PartitionProblem::RetentionEstimated));
}

#[test]
fn a_search_in_vain_is_remembered_before_it_is_known_to_be_one() {
    let mut story = world(100, 50, 100);
    (0..5).for_each(|_| drop(story.round(30)));
    story.bounds(0, 50, 200);
    story.kafka().ages.insert((orders(0), offset(100)), Age::default());
    let verdict = story.look(30);
    assert_eq!((verdict.oldest_unread, verdict.unproved), (None, None));
    // It came between the rounds at 150 and 180.
    let verdict = unproved(&mut story, Unproved::NothingFound).look(30);
    assert_eq!(verdict.oldest_unread, Some(at(180)));
    assert_eq!(story.memory.topics["orders"].partitions[&0].arrivals.of(offset(100)).unwrap().after, at(150));
}

#[test]
fn what_is_not_there_yet_lives_for_a_whole_retention_whatever_can_be_looked_up() {
    for why in HIDDEN {
        let mut story = world(200, 50, 200);
        let verdict = unproved(&mut story, why).look(30);
        assert_eq!((verdict.ratio, verdict.deadline), (Some(1.0), Some(Deadline::At(at(30 + 3600 - 5)))));
        assert_eq!(verdict.unproved, None);
    }
}

#[test]
fn a_clock_that_runs_ahead_leaves_nothing_proved_read_or_unread() {
    let mut story = world(200, 50, 200);
    let verdict = unproved(&mut story, fast(40)).look(30);
    assert_eq!((verdict.ratio, verdict.deadline, verdict.unproved), (Some(1.0), None, Some(fast(40))));
    assert_eq!(
        verdict.reason,
        "nothing unread; nothing is proved from time: the clock of broker 3 is at least 40 s ahead of ours"
    );

    let mut story = world(100, 50, 200);
    unproved(&mut story, fast(40)).age(0, 100, 870);
    story.look(30);
    let verdict = story.look(150);
    assert_eq!((verdict.ratio, verdict.deadline), (None, None));
    // What is known of the clock is taken off.
    assert_eq!(verdict.forecast, Some(Deadline::At(at(-870 + 3600 - 5 - 40))));
    assert!(verdict.problems.contains(&PartitionProblem::RetentionEstimated));
}

#[test]
fn only_the_partitions_of_that_broker_lose_their_proof() {
    let mut story = world(100, 50, 200);
    story.commit(8, &[(0, 100), (1, 100)]).bounds(1, 50, 200).age(0, 100, 600).age(1, 100, 900);
    let verdict = unproved(&mut story, fast(40)).round(30);
    assert_eq!(verdict.partitions[&orders(0)].deadline, None);
    assert_eq!(verdict.partitions[&orders(1)].deadline, Some(Deadline::At(at(-900 + 3600 - 5))));
    // The topic tells what is proved, and how many partitions are estimated.
    let topic = &verdict.topics["orders"];
    assert_eq!(topic.deadline, Some(Deadline::At(at(-900 + 3600 - 5))));
    assert!(topic.ratio.is_some_and(|ratio| ratio < 0.8));
    assert_eq!(topic.problems[&PartitionProblem::RetentionEstimated], 1);
}

#[test]
fn without_a_time_limit_there_is_nothing_to_prove() {
    for why in HIDDEN.into_iter().chain([fast(40)]) {
        let mut story = world(100, 50, 200);
        story.orders().limits = Some(Ok(Limits {
            cleanup_policy: Some("delete".to_owned()),
            retention_ms: Some(-1),
            retention_bytes: Some(-1),
            ..Limits::default()
        }));
        let verdict = unproved(&mut story, why).look(30);
        assert_eq!((verdict.ratio, verdict.deadline, verdict.unproved), (Some(1.0), Some(Deadline::Never), None));
    }
}

#[test]
fn an_estimate_makes_a_query_one_at_risk_and_says_so() {
    let mut story = waiting(Unproved::LookUpsRefused);
    (0..50).for_each(|_| drop(story.round(30)));
    assert!(!story.round(30).conditions.contains(&Condition::AtRisk));
    (0..30).for_each(|_| drop(story.round(30)));
    let verdict = story.round(30);
    assert!(verdict.conditions.contains(&Condition::AtRisk), "{:?}", verdict.partitions);
    story.settings.watch = Watch::Parked;
    let verdict = story.round(30);
    assert_eq!(verdict.state, QueryState::AtRisk);
    assert!(verdict.reason.contains("by estimate unread data can be deleted in"), "{}", verdict.reason);
    assert!(verdict.reason.contains("refuses look-ups"), "{}", verdict.reason);
}

/// The share of a partition that is safe used to stand in for the one that was at risk.
#[test]
fn a_partition_that_is_safe_does_not_explain_a_risk() {
    let mut story = waiting(Unproved::LookUpsRefused);
    story.commit(8, &[(0, 100), (1, 200)]).bounds(1, 50, 200);
    (0..81).for_each(|_| drop(story.round(30)));
    story.settings.watch = Watch::Parked;
    let verdict = story.round(30);
    assert_eq!(verdict.partitions[&orders(1)].ratio, Some(1.0));
    assert!(verdict.reason.starts_with("orders/0: by estimate"), "{}", verdict.reason);
}

#[test]
fn a_proof_that_comes_after_all_takes_the_place_of_the_estimate() {
    let mut story = waiting(Unproved::NothingFound);
    story.look(30);
    story.kafka().unproved.clear();
    story.age(0, 100, 20);
    let verdict = story.look(30);
    assert!(verdict.deadline.is_some() && verdict.ratio.is_some());
    assert_eq!(verdict.unproved, None);
    assert!(story.memory.topics["orders"].partitions[&0].arrivals.is_empty());
}

proptest! {
    #[test]
    fn an_estimate_is_never_shown_as_a_proof(
        world in super::properties::any_world(),
        why in prop::sample::select(vec![HIDDEN[0], HIDDEN[1], HIDDEN[2], fast(7)]),
        seconds in prop::collection::vec(1..600_i64, 1..8),
    ) {
        let mut story = world;
        for number in 0..super::properties::PARTITIONS {
            story.kafka().unproved.insert(orders(number), why);
        }
        if why.hides_times() {
            story.kafka().ages.clear();
        }
        for passed in seconds {
            for verdict in story.round(passed).partitions.into_values() {
                let unread = verdict.lag.is_some_and(|lag| lag > 0);
                if unread || !why.hides_times() {
                    prop_assert_eq!(verdict.deadline, None);
                }
                // Without a proof there is no share of retention that an alert could page for; lost is another matter.
                if unread && !verdict.problems.contains(&PartitionProblem::Lost) && !verdict.problems.contains(&PartitionProblem::PossiblyLost) {
                    prop_assert_eq!(verdict.ratio, None);
                }
                if verdict.problems.contains(&PartitionProblem::RetentionEstimated) {
                    prop_assert_eq!(verdict.unproved, Some(why));
                }
            }
        }
    }
}

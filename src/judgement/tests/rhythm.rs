//! Whatever the rhythm of the rounds and whatever one of them misses: the same in the end, and nothing better for it.

use proptest::prelude::*;

use super::properties::{PARTITIONS, Step, Truth, any_world, step};
use super::*;

/// Lag, lost, possibly lost, beyond the end; and headroom.
type Numbers = ([Option<u64>; 4], Option<i64>);

/// What a verdict says in the end, without what depends on when one looked: estimates, and words.
#[derive(Debug, PartialEq)]
struct Final {
    state: QueryState,
    conditions: std::collections::BTreeSet<Condition>,
    partitions: Vec<(TopicPartition, PartitionState, Numbers)>,
    /// Of either certainty: a range keeps the one it was counted with, and that depends on when one looked.
    lost: BTreeMap<TopicName, u64>,
}

fn last(verdict: &QueryVerdict) -> Final {
    let partition = |(at, one): (&TopicPartition, &PartitionVerdict)| {
        let numbers = [one.lag, one.lost, one.possibly_lost, one.beyond_end];
        (at.clone(), one.state, (numbers, one.headroom))
    };
    Final {
        state: verdict.state,
        conditions: verdict.conditions.clone(),
        partitions: verdict.partitions.iter().map(partition).collect(),
        lost: verdict
            .topics
            .iter()
            .map(|(name, topic)| (TopicName::clone(name), topic.lost_total.values().sum()))
            .collect(),
    }
}

fn unread() -> Unread {
    Unread::new(Reason::TimedOut, "no answer")
}

/// Rounds until all that is doubted is settled.
fn settle(story: &mut World, later: i64, until: i64) -> Final {
    while story.now + later < until {
        story.round(later);
    }
    last(&story.round(until - story.now))
}

/// What one round does not learn.
#[derive(Clone, Copy, Debug)]
enum Missed {
    Partition(i32),
    Topic,
    Limits,
    LimitsDenied,
    TopicId,
    ClusterId,
    Ages,
}

fn missed() -> impl Strategy<Value = Missed> {
    prop_oneof![
        (0..PARTITIONS).prop_map(Missed::Partition),
        Just(Missed::Topic),
        Just(Missed::Limits),
        Just(Missed::LimitsDenied),
        Just(Missed::TopicId),
        Just(Missed::ClusterId),
        Just(Missed::Ages),
    ]
}

fn miss(story: &mut World, what: Missed) {
    match what {
        Missed::Partition(number) => _ = story.orders().partitions.insert(number, Err(unread())),
        Missed::Topic => {
            story.kafka().topics.insert(TopicName::from("orders"), TopicSight::Unread(unread()));
        }
        Missed::Limits => story.orders().limits = None,
        Missed::LimitsDenied => story.orders().limits = Some(Err(unread())),
        Missed::TopicId => story.orders().topic_id = None,
        Missed::ClusterId => story.kafka().cluster_id = None,
        Missed::Ages => story.kafka().ages.clear(),
    }
}

proptest! {
    // Each case is a story of dozens of rounds.
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_offset_is_counted_twice(steps in prop::collection::vec(step(), 1..80), restarts in any::<u64>()) {
        let mut truth = Truth::begin();
        let mut story = world(0, 0, 10);
        story.round(0);
        let mut counted: Vec<bool> = Vec::new();
        let mut total = 0;
        for (number, step) in steps.iter().enumerate() {
            truth.happen(step);
            if !matches!(step, Step::Look) {
                continue;
            }
            truth.show(&mut story);
            for _ in 0..1 + (restarts >> (number % 64)) % 2 {
                let verdict = story.round(1);
                for range in &verdict.newly_lost {
                    let (from, to) = (range.from.get(), range.to.get());
                    counted.resize(counted.len().max(usize::try_from(to).unwrap()), false);
                    for offset in from..to {
                        let offset = usize::try_from(offset).unwrap();
                        prop_assert!(!counted[offset], "{offset} was counted before");
                        counted[offset] = true;
                        total += 1;
                    }
                }
                let sum: u64 = verdict.topics["orders"].lost_total.values().sum();
                prop_assert_eq!(sum, total, "the counters hold what was told, and nothing else");
            }
        }
    }

    #[test]
    fn a_round_in_two_halves_says_the_same_in_the_end(world in any_world(), first_half in any::<[bool; 4]>()) {
        let (mut whole, mut halves) = (world.clone(), world);
        let all = halves.orders().partitions.clone();
        for _ in 0..3 {
            whole.round(30);
            for (half, seconds) in [(true, 15), (false, 15)] {
                let left_out = (0..PARTITIONS).zip(first_half).filter(|(_, first)| *first != half);
                for (number, _) in left_out {
                    halves.orders().partitions.insert(number, Err(unread()));
                }
                halves.round(seconds);
                halves.orders().partitions.clone_from(&all);
            }
        }
        prop_assert_eq!(settle(&mut halves, 30, 300), settle(&mut whole, 30, 300));
    }

    #[test]
    fn twice_as_many_rounds_say_the_same_in_the_end(world in any_world()) {
        let (mut seldom, mut often) = (world.clone(), world);
        prop_assert_eq!(settle(&mut often, 15, 300), settle(&mut seldom, 30, 300));
    }

    #[test]
    fn twice_as_many_rounds_say_the_same_of_a_log_that_moves(
        steps in prop::collection::vec(step(), 1..60),
        also in any::<u64>(),
    ) {
        let mut truth = Truth::begin();
        let (mut seldom, mut often) = (world(0, 0, 10), world(0, 0, 10));
        for (number, step) in steps.iter().enumerate() {
            truth.happen(step);
            let looks = matches!(step, Step::Look);
            if looks || (also >> (number % 64)) & 1 == 1 {
                truth.show(&mut often);
                often.round(0);
            }
            if looks {
                truth.show(&mut seldom);
                seldom.round(0);
            }
        }
        for story in [&mut seldom, &mut often] {
            truth.show(story);
            story.round(0);
        }
        let (seldom, often) = (settle(&mut seldom, 30, 120), settle(&mut often, 30, 120));
        prop_assert_eq!(seldom.state, often.state);
        prop_assert_eq!(seldom.conditions, often.conditions);
        prop_assert_eq!(seldom.partitions, often.partitions);
    }

    #[test]
    fn what_one_round_misses_makes_no_verdict_better(world in any_world(), what in missed()) {
        let (mut story, mut whole) = (world.clone(), world);
        for _ in 0..4 {
            story.round(30);
            whole.round(30);
        }
        let before = story.round(30);
        whole.round(30);
        miss(&mut story, what);
        // Time goes on meanwhile, and may have made it worse or another thing.
        let (after, known) = (story.round(30), whole.round(30));
        let best = before.state.max(known.state);
        prop_assert!(after.state <= best, "{what:?}: {} and {} became {}", before.state, known.state, after.state);
        for bad in [Condition::Lost, Condition::AtRisk, Condition::Recreated, Condition::BeyondEnd, Condition::Stalled] {
            let stands = before.conditions.contains(&bad) && known.conditions.contains(&bad);
            prop_assert!(!stands || after.conditions.contains(&bad), "{what:?}: {bad} went away");
        }
        let lost = |verdict: &QueryVerdict| verdict.topics["orders"].lost.filter(|lost| *lost > 0);
        prop_assert!(lost(&after) >= lost(&before), "{what:?}");
        // And what was missed leaves no trace.
        (story.checkpoint, story.cluster) = (whole.checkpoint.clone(), whole.cluster.clone());
        prop_assert_eq!(last(&story.round(30)), last(&whole.round(30)));
    }
}

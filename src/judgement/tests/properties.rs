//! What holds for every story.

use proptest::prelude::*;

use super::*;

/// What happens to a log and to the query that reads it.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Produce(i64),
    Plan(i64),
    Read,
    Commit,
    Delete(i64),
    Look,
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1..30_i64).prop_map(Step::Produce),
        (1..30_i64).prop_map(Step::Plan),
        Just(Step::Read),
        Just(Step::Commit),
        (1..30_i64).prop_map(Step::Delete),
        Just(Step::Look),
    ]
}

/// A log in which every offset knows whether a batch read it before it was deleted.
pub(super) struct Truth {
    earliest: i64,
    committed: i64,
    open: Option<(i64, bool)>,
    batch: u64,
    read: Vec<bool>,
    deleted_unread: u64,
}

impl Truth {
    /// Ten records, none of them read.
    pub(super) fn begin() -> Self {
        Self { earliest: 0, committed: 0, open: None, batch: 7, read: vec![false; 10], deleted_unread: 0 }
    }

    fn latest(&self) -> i64 {
        i64::try_from(self.read.len()).unwrap()
    }

    pub(super) fn happen(&mut self, step: &Step) {
        match *step {
            Step::Produce(count) => self.read.extend((0..count).map(|_| false)),
            Step::Plan(count) if self.open.is_none() && self.committed < self.latest() => {
                self.open = Some(((self.committed + count).min(self.latest()), false));
            }
            Step::Read => {
                if let Some((end, read)) = &mut self.open {
                    *read = true;
                    let from = usize::try_from(self.committed.max(self.earliest)).unwrap();
                    let to = usize::try_from(*end).unwrap();
                    self.read.iter_mut().take(to).skip(from).for_each(|read| *read = true);
                }
            }
            Step::Commit => {
                if let Some((end, true)) = self.open {
                    (self.committed, self.open) = (end, None);
                    self.batch += 1;
                }
            }
            Step::Delete(count) => {
                let to = (self.earliest + count).min(self.latest());
                let gone = usize::try_from(self.earliest).unwrap()..usize::try_from(to).unwrap();
                self.deleted_unread += u64::try_from(self.read[gone].iter().filter(|read| !**read).count()).unwrap();
                self.earliest = to;
            }
            Step::Plan(_) | Step::Look => {}
        }
    }

    pub(super) fn show(&self, world: &mut World) {
        world.commit(self.batch, &[(0, self.committed)]).bounds(0, self.earliest, self.latest());
        if let Some((end, _)) = self.open {
            let now = world.now;
            world.open(self.batch + 1, now, &[(0, end)]);
        }
    }
}

/// Certain and possible loss after the story, and what was really lost, at each look.
fn live(steps: &[Step], mut looks: impl FnMut(usize) -> bool) -> Vec<(u64, u64, u64)> {
    let mut truth = Truth::begin();
    let mut story = world(0, 0, 10);
    story.round(0);
    let mut seen = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        truth.happen(step);
        if matches!(step, Step::Look) && looks(number) {
            truth.show(&mut story);
            let verdict = story.round(1);
            let totals = &verdict.topics["orders"].lost_total;
            let of = |certainty| totals.get(&certainty).copied().unwrap_or(0);
            seen.push((of(Certainty::Certain), of(Certainty::Possible), truth.deleted_unread));
            assert!(story.round(1).newly_lost.is_empty(), "a second look counts nothing");
        }
    }
    seen
}

proptest! {
    #[test]
    fn certain_loss_is_never_too_much_and_possible_loss_makes_up_the_rest(
        steps in prop::collection::vec(step(), 1..60),
        rhythm in 1..5_usize,
    ) {
        for (certain, possible, truth) in live(&steps, |number| number % rhythm == 0) {
            prop_assert!(certain <= truth, "certain {certain} of really {truth}");
            prop_assert!(truth <= certain + possible, "really {truth}, counted {certain} and possibly {possible}");
        }
    }

    #[test]
    fn looking_less_often_turns_certain_loss_into_possible_loss_and_forgets_none(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let steps: Vec<_> = steps.into_iter().chain([Step::Look]).collect();
        let last = steps.len() - 1;
        let often = *live(&steps, |_| true).last().unwrap();
        let seldom = *live(&steps, |number| number == last).last().unwrap();
        prop_assert!(seldom.0 <= often.0);
        prop_assert!(seldom.0 + seldom.1 >= often.0 + often.1);
    }

    #[test]
    fn a_blind_round_never_makes_a_verdict_better(world in any_world(), checkpoint in any::<bool>()) {
        let mut story = world;
        let before = story.round(30);
        if checkpoint { story.unread_checkpoint() } else { story.unread_cluster() };
        let after = story.round(30);
        prop_assert!(after.state <= before.state, "{} became {}", before.state, after.state);
        for condition in [Condition::Lost, Condition::AtRisk, Condition::Recreated, Condition::Stalled] {
            prop_assert!(!before.conditions.contains(&condition) || after.conditions.contains(&condition), "{condition} went away");
        }
        for (name, topic) in &before.topics {
            prop_assert!(after.topics[name].deadline.is_some() || topic.deadline.is_none());
            prop_assert!(after.topics[name].lost >= topic.lost.filter(|lost| *lost > 0));
            prop_assert_eq!(after.topics[name].lag, None);
        }
    }

    #[test]
    fn numbers_agree_with_each_other(world in any_world()) {
        let mut story = world;
        for verdict in story.round(30).partitions.into_values() {
            if let (Some(lost), Some(possibly), Some(headroom)) = (verdict.lost, verdict.possibly_lost, verdict.headroom) {
                prop_assert_eq!(i64::try_from(lost + possibly).unwrap(), (-headroom).max(0));
            }
            prop_assert!(verdict.ratio.is_none_or(|ratio| (0.0..=1.0).contains(&ratio)));
            if let (Some(lag), Some(earliest), Some(latest)) = (verdict.lag, verdict.earliest, verdict.latest) {
                prop_assert!(lag <= latest.above(earliest));
            }
        }
    }

    #[test]
    fn which_number_a_partition_has_changes_nothing(world in any_world()) {
        let turn = |number: i32| PARTITIONS - 1 - number;
        let mut turned = world.clone();
        let positions = std::mem::take(turned.positions("orders"));
        *turned.positions("orders") = positions.into_iter().map(|(number, position)| (turn(number), position)).collect();
        let bounds = std::mem::take(&mut turned.orders().partitions);
        turned.orders().partitions = bounds.into_iter().map(|(number, bounds)| (turn(number), bounds)).collect();
        let ages = std::mem::take(&mut turned.kafka().ages);
        turned.kafka().ages = ages.into_iter().map(|((at, needed), age)| ((orders(turn(at.partition)), needed), age)).collect();
        let (mut world, mut turned) = (world, turned);
        for _ in 0..4 {
            let (one, other) = (world.round(30), turned.round(30));
            prop_assert_eq!(one.state, other.state);
            prop_assert_eq!(&one.conditions, &other.conditions);
            prop_assert_eq!(&one.topics, &other.topics);
            for (at, verdict) in &one.partitions {
                prop_assert_eq!(verdict, &other.partitions[&orders(turn(at.partition))]);
            }
        }
    }
}

pub(super) const PARTITIONS: i32 = 4;

/// Any four partitions: positions, bounds and planned offsets in any order, ages known or not.
pub(super) fn any_world() -> impl Strategy<Value = World> {
    let partition = (0..100_i64, 0..100_i64, 0..100_i64, prop::option::of(0..100_i64), prop::option::of(0..5000_i64));
    (prop::collection::vec(partition, 4), any::<bool>(), -900..30_i64).prop_map(|(partitions, open, planned_at)| {
        let mut world = world(0, 0, 0);
        for (number, (committed, earliest, size, planned, age)) in (0..).zip(partitions) {
            world.commit(7, &[(number, committed)]).bounds(number, earliest, earliest + size);
            if let Some(age) = age {
                world.age(number, committed, age);
            }
            if let Some(planned) = planned.filter(|_| open) {
                world.open(8, planned_at, &[(number, planned)]);
            }
        }
        if let Some((number, planned)) = open.then_some((0, 100)) {
            world.open(8, planned_at, &[(number, planned)]);
        }
        world
    })
}

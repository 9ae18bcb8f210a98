//! What happened, each once; and which oddities of a checkpoint are believed.

use super::*;
use crate::checkpoint::{Problem, ProblemKind};

/// The events of one more round; the round after it has none.
#[track_caller]
fn check(mut story: World, expected: &[EventKind]) -> QueryVerdict {
    let verdict = story.round(30);
    assert_eq!(kinds(&verdict), expected);
    assert_eq!(kinds(&story.round(30)), [], "an event is told once");
    for kind in expected {
        assert_eq!(verdict.event_totals[kind], (1, at(story.now - 30)));
    }
    verdict
}

fn seen(mut world: World) -> World {
    world.round(30);
    world
}

#[test]
fn another_query_id_replaces_the_checkpoint_and_keeps_the_last_positions() {
    let mut story = seen(world(100, 0, 200));
    story.reading().query_id = Some("another".to_owned());
    story.commit(0, &[(0, 6)]);
    let verdict = check(story, &[EventKind::CheckpointReplaced]);
    assert_eq!(verdict.events[0].positions, BTreeMap::from([(orders(0), offset(100))]));
}

#[test]
fn fallen_batches_with_other_positions_replace_it_too() {
    let mut story = seen(world(100, 0, 200));
    story.commit(0, &[(0, 6)]);
    let verdict = check(story, &[EventKind::CheckpointReplaced, EventKind::PositionMovedBack]);
    assert_eq!(verdict.events[0].positions[&orders(0)], offset(100));
}

#[test]
fn a_commit_removed_by_hand_moves_the_position_back() {
    let mut story = seen(world(100, 0, 200));
    story.positions("orders").insert(0, Position { committed: Some(offset(80)), ..Position::default() });
    story.reading().newest_committed = Some(BatchId(6));
    story.open(7, 0, &[(0, 100)]);
    check(story, &[EventKind::PositionMovedBack]);
}

#[test]
fn a_dropped_partition_that_is_back_began_at_earliest() {
    let mut story = world(100, 0, 200);
    story.positions("orders").get_mut(&0).unwrap().dropped = true;
    let mut story = seen(story);
    story.commit(8, &[(0, 120)]);
    check(story, &[EventKind::PartitionsRestartedFromEarliest]);
}

fn steady(steps: usize) -> World {
    let mut story = seen(world(100, 0, 100_000));
    for step in 1..=steps {
        let step = i64::try_from(step).unwrap();
        story.commit(7 + u64::try_from(step).unwrap(), &[(0, 100 + 10 * step)]).round(30);
    }
    story
}

#[test]
fn a_jump_far_beyond_any_batch_is_an_event() {
    let leap = |steps, to| {
        let mut story = steady(steps);
        story.commit(8 + u64::try_from(steps).unwrap(), &[(0, to)]);
        story
    };
    check(leap(3, 231), &[EventKind::PositionJumped]);
    check(leap(3, 230), &[]);
    check(leap(2, 9000), &[]);
}

#[test]
fn several_batches_in_one_round_are_no_jump() {
    let mut story = steady(3);
    story.commit(30, &[(0, 130 + 200)]);
    check(story, &[]);
}

#[test]
fn from_lost_to_the_end_is_a_jump_and_a_way_past_the_loss() {
    let mut story = seen(world(500, 800, 9000));
    story.commit(8, &[(0, 9000)]);
    check(story, &[EventKind::PositionJumped, EventKind::ContinuedPastLoss]);
}

#[test]
fn an_entry_that_says_something_else_was_rewritten() {
    let mut story = world(100, 0, 200);
    story.reading().entries = BTreeMap::from([(BatchId(6), 1), (BatchId(7), 2)]);
    let mut story = seen(story);
    story.reading().entries = BTreeMap::from([(BatchId(7), 2), (BatchId(8), 3)]);
    check(story.clone(), &[]);
    story.reading().entries = BTreeMap::from([(BatchId(6), 1), (BatchId(7), 9)]);
    check(story, &[EventKind::OffsetsRewritten]);
}

#[test]
fn a_thousand_partitions_of_a_topic_make_one_event() {
    let positions: Vec<_> = (0..1000).map(|partition| (partition, 100)).collect();
    let mut story = world(100, 0, 200);
    story.commit(8, &positions);
    for partition in 0..1000 {
        story.bounds(partition, 0, 200);
    }
    let mut story = seen(story);
    let back: Vec<_> = (0..1000).map(|partition| (partition, 50)).collect();
    story.commit(9, &back);
    let verdict = check(story, &[EventKind::PositionMovedBack]);
    assert!(verdict.events[0].detail.ends_with("and 997 more"), "{}", verdict.events[0].detail);
}

#[test]
fn a_torn_newest_file_is_believed_in_the_second_round() {
    let problem = |kind, file: &str| Problem { kind, file: Some(file.to_owned()), detail: "no byte".to_owned() };
    let mut story = world(100, 0, 200);
    story.reading().problems = vec![problem(ProblemKind::NewestOffsetsEmpty, "offsets/8")];
    story.reading().restartable = Some(false);
    let first = story.round(30);
    assert_eq!((first.problems.len(), first.restartable), (0, None));
    let second = story.round(30);
    assert_eq!((second.problems.len(), second.restartable), (1, Some(false)));
    // Another file is another chance.
    story.reading().problems = vec![problem(ProblemKind::NewestOffsetsEmpty, "offsets/9")];
    assert_eq!(story.round(30).problems.len(), 0);
    // What forbids a start besides is said at once.
    story.reading().problems.push(problem(ProblemKind::PredecessorMissing, "offsets/7"));
    story.memory.torn_files.clear();
    let other = story.round(30);
    assert_eq!((other.problems.len(), other.restartable), (1, Some(false)));
}

#[test]
fn what_is_worth_asking() {
    let ask = |story: &World| {
        questions(&story.settings, story.checkpoint.as_ref().unwrap(), story.cluster.as_ref().unwrap(), &story.memory)
    };
    let healthy = ask(&seen(world(100, 0, 200)));
    assert_eq!(healthy, Questions { ages: vec![(orders(0), offset(100))], ..Questions::default() });
    assert_eq!(ask(&seen(world(200, 0, 200))), Questions::default());
    let mut lost = seen(world(100, 0, 200));
    let below = ask(lost.bounds(0, 130, 200));
    assert_ne!(below.doubts, Doubts::default());
    assert_eq!((below.reread_checkpoint, &below.latest_again[..]), (true, &[orders(0)][..]));
    lost.round(30);
    assert_eq!(ask(&lost), Questions::default(), "what was said before is not asked again");
    let more = ask(lost.bounds(0, 150, 200));
    assert_eq!((more.reread_checkpoint, more.doubts), (true, Doubts::default()), "how much more is, but not whether");
    let mut passed = seen(world(100, 130, 200));
    let passed = ask(passed.commit(8, &[(0, 140)]).bounds(0, 150, 200));
    assert_ne!(passed.doubts, Doubts::default(), "another loss is another doubt");
    let mut back = seen(world(140, 130, 200));
    let back = ask(back.commit(8, &[(0, 100)]));
    assert!(back.reread_checkpoint, "a position that fell below a known start is no known loss");
    assert_ne!(back.doubts, Doubts::default());
    let first = ask(&world(100, 0, 200));
    assert_eq!(first.history, []);
    let mut recreated = seen(world(200, 0, 200));
    recreated.orders().topic_id = Some(TopicId([2; 16]));
    assert!(ask(&recreated).reread_checkpoint);
}

#[test]
fn which_older_entries_are_worth_reading() {
    let ask = |story: &World| {
        let (checkpoint, cluster) = (story.checkpoint.as_ref().unwrap(), story.cluster.as_ref().unwrap());
        questions(&story.settings, checkpoint, cluster, &story.memory).history
    };
    // Earliest passed what several batches read since the last look: the first of them may have been in time.
    let mut passed = world(100, 0, 200);
    passed.age(0, 100, 0).round(0);
    passed.commit(8, &[(0, 700)]).commit(9, &[(0, 1500)]).bounds(0, 600, 1500);
    assert_eq!(ask(&passed), [BatchId(8)]);
    // Where size cuts as well, no deadline proves anything.
    let mut by_size = passed.clone();
    if let Some(Ok(limits)) = &mut by_size.orders().limits {
        limits.retention_bytes = Some(1000);
    }
    assert_eq!(ask(&by_size), []);
    // At first sight a record that is younger than the oldest batch on disk makes each of them a witness.
    let mut first = world(100, 0, 200);
    first.commit(8, &[(0, 100)]);
    first.partition(0).oldest = Some((offset(3), at(0)));
    assert_eq!(ask(&first), [BatchId(7)]);
    first.partition(0).oldest = Some((offset(3), at(-1000)));
    assert_eq!(ask(&first), []);
}

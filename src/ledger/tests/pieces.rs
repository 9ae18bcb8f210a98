//! Only what changed is written.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tempfile::tempdir;

use super::file::{NOW, round};
use crate::judgement::{CheckpointMemory, Deadline, PartitionMemory, PartitionState, QueryMemory, Sample, TopicMemory};
use crate::ledger::writer::Writer;
use crate::ledger::{FILE_NAME, Pieces, RoundNotes, Written};
use crate::measures::{Moment, Offset, TopicName};

const PARTITIONS: i32 = 10_000;

type Memories = BTreeMap<String, QueryMemory>;

fn offset(number: i64) -> Offset {
    Offset::new(number).unwrap()
}

fn seconds(seconds: i64) -> Moment {
    Moment::from_millis(NOW.millis() + 1000 * seconds)
}

fn partition(number: i32) -> PartitionMemory {
    let end = offset(1_000_000 + i64::from(number));
    PartitionMemory {
        state: Some(PartitionState::CaughtUp),
        committed: Some(end),
        earliest: Some(offset(40)),
        latest: Some(end),
        seen: Some(end),
        counted: Some(offset(40)),
        deadline: Some(Deadline::At(seconds(3600))),
        window: vec![sample(0)],
        ..PartitionMemory::default()
    }
}

fn sample(at: i64) -> Sample {
    let (earliest, end) = (offset(40), offset(1_000_000));
    Sample { at: seconds(at), earliest, latest: end, committed: end, deadline: None }
}

fn fleet() -> Memories {
    fleet_of(PARTITIONS)
}

fn fleet_of(count: i32) -> Memories {
    let topic = TopicMemory {
        partitions: (0..count).map(|number| (number, partition(number))).collect(),
        ..TopicMemory::default()
    };
    let memory = QueryMemory {
        checkpoint: Some(CheckpointMemory { read_at: NOW, ..CheckpointMemory::default() }),
        topics: BTreeMap::from([(TopicName::from("orders"), topic)]),
        ..QueryMemory::default()
    };
    BTreeMap::from([("orders".to_owned(), memory)])
}

fn partitions(memories: &mut Memories) -> &mut BTreeMap<i32, PartitionMemory> {
    &mut memories.get_mut("orders").unwrap().topics.get_mut("orders").unwrap().partitions
}

/// The clock moves on, and nothing else does.
fn rest(memories: &mut Memories, at: i64) {
    memories.get_mut("orders").unwrap().checkpoint.as_mut().unwrap().read_at = seconds(at);
    for one in partitions(memories).values_mut() {
        one.deadline = Some(Deadline::At(seconds(3600 + at)));
        one.window.push(sample(at));
    }
}

/// Everything that was ever written to the file.
fn journal(folder: &std::path::Path) -> u64 {
    std::fs::metadata(folder.join(format!("{FILE_NAME}-wal"))).unwrap().len()
}

#[tokio::test]
async fn ten_thousand_partitions_at_rest_cost_nothing_and_one_that_moves_costs_itself() {
    let folder = tempdir().unwrap();
    let mut writer = Writer::new(folder.path());
    let (mut written, mut memories) = (Written::default(), fleet());
    let mut counts = Vec::new();
    let mut bytes = Vec::new();
    for step in 0..4 {
        match step {
            0 => {}
            3 => {
                rest(&mut memories, 90);
                let one = partitions(&mut memories).get_mut(&7).unwrap();
                (one.latest, one.state) = (Some(offset(2_000_000)), Some(PartitionState::Behind));
            }
            _ => rest(&mut memories, 30 * step),
        }
        let pieces = written.changes(&memories).unwrap();
        let before = if step == 0 { 0 } else { journal(folder.path()) };
        let notes = RoundNotes { memories: pieces.clone(), ..round(vec![]) };
        assert!(writer.remember(notes).await.health.up);
        bytes.push(journal(folder.path()) - before);
        counts.push(pieces.len());
        written.accept(pieces);
    }
    assert_eq!(counts, [10_001, 0, 0, 1]);
    println!("bytes of the journal: {bytes:?}");
    assert_eq!(bytes[1..3], [0, 0]);
    assert!(bytes[3] < 64 * 1024, "{bytes:?}");

    let mut loaded = writer.load("main").await.memories;
    assert_eq!(loaded["orders"].topics["orders"].partitions.len(), 10_000);
    // What only the clock moved stands there as it was, and is none the worse: a deadline that holds, an older window.
    partitions(&mut memories).values_mut().chain(partitions(&mut loaded).values_mut()).for_each(|one| {
        one.window.clear();
        assert!(one.deadline.take().unwrap() >= Deadline::At(seconds(3600)));
    });
    memories.get_mut("orders").unwrap().checkpoint.as_mut().unwrap().read_at = NOW;
    assert_eq!(loaded, memories);
}

#[tokio::test]
async fn a_file_that_was_taken_away_is_made_anew_with_all_that_is_remembered() {
    let folder = tempdir().unwrap();
    let mut writer = Writer::new(folder.path());
    let first = writer.remember(round(vec![])).await;
    std::fs::rename(folder.path().join(FILE_NAME), folder.path().join("elsewhere")).unwrap();
    let second = writer.remember(round(vec![])).await;
    assert!(second.health.up);
    assert_ne!(first.opened, second.opened, "whoever writes only changes has to begin anew");
    assert!(writer.load("main").await.memories.contains_key("orders"));
}

#[test]
fn a_deadline_that_falls_is_written_and_one_that_moves_on_is_not() {
    let mut memories = fleet_of(5);
    let mut written = Written::default();
    memories.iter().for_each(|(query, memory)| written.insert(query, memory));
    partitions(&mut memories).get_mut(&1).unwrap().deadline = Some(Deadline::At(seconds(3000)));
    partitions(&mut memories).get_mut(&2).unwrap().deadline = Some(Deadline::Never);
    partitions(&mut memories).get_mut(&3).unwrap().deadline = None;
    let changed = written.changes(&memories).unwrap();
    let numbers: Vec<i32> = changed.iter().map(|piece| piece.partition.as_ref().unwrap().partition).collect();
    assert_eq!(numbers, [1, 3]);
}

#[test]
fn what_is_no_longer_remembered_is_taken_away() {
    let mut memories = fleet_of(9);
    let mut pieces = Pieces::default();
    let mut written = Written::default();
    let mut step = |memories: &Memories| {
        let changes = written.changes(memories).unwrap();
        changes.iter().for_each(|piece| pieces.put(piece));
        written.accept(changes);
        pieces.memories().into_iter().map(|(query, memory)| (query, memory.unwrap())).collect::<Memories>()
    };
    assert_eq!(step(&memories), memories);
    partitions(&mut memories).retain(|number, _| *number % 2 == 0);
    assert_eq!(step(&memories), memories);
    memories.get_mut("orders").unwrap().topics.clear();
    assert_eq!(step(&memories), memories);
}

proptest! {
    #[test]
    fn pieces_that_are_put_together_are_the_memory_again(
        steps in prop::collection::vec((0..4_i32, 0..50_i64, any::<bool>(), any::<bool>()), 1..20),
    ) {
        let mut memories = fleet_of(0);
        let (mut pieces, mut written) = (Pieces::default(), Written::default());
        for (at, (number, end, gone, lost)) in (0_i64..).zip(steps) {
            if gone {
                partitions(&mut memories).remove(&number);
            } else {
                let one = partitions(&mut memories).entry(number).or_insert_with(|| partition(number));
                one.latest = Some(offset(end));
                one.hopeful = lost.then_some((offset(0), offset(end)));
                one.window = vec![sample(1000 * at)];
            }
            let changes = written.changes(&memories).unwrap();
            changes.iter().for_each(|piece| pieces.put(piece));
            written.accept(changes);
            let again = pieces.memories().remove("orders").unwrap().unwrap();
            for (number, one) in &memories["orders"].topics["orders"].partitions {
                let kept = &again.topics["orders"].partitions[number];
                prop_assert_eq!(kept.fingerprint(), one.fingerprint());
                prop_assert_eq!(kept.hopeful, one.hopeful);
            }
            prop_assert_eq!(
                again.topics["orders"].partitions.len(), memories["orders"].topics["orders"].partitions.len()
            );
        }
    }
}

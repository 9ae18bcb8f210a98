//! A file that works.

use std::collections::BTreeMap;
use std::path::Path;

use tempfile::tempdir;

use super::merging::gap;
use crate::judgement::Certainty::{Certain, Possible};
use crate::judgement::{Event, EventKind, QueryMemory};
use crate::ledger::{
    Acknowledge, Desk, DeskError, FileLedger, Finding, Gap, Ledger, NotedEvent, OpenError, RecoveryPath,
    RecoveryStatus, RoundNotes, Settlement, Written,
};
use crate::measures::Moment;

pub(super) const NOW: Moment = Moment::from_millis(1_796_007_188_000);

/// A round that found this, with a memory that says how often a position was moved back.
pub(super) fn round(findings: Vec<Finding>) -> RoundNotes {
    let mut memory = QueryMemory::default();
    memory.event_totals.insert(EventKind::PositionMovedBack, (2, NOW));
    let memories = BTreeMap::from([("orders".to_owned(), memory)]);
    RoundNotes {
        cluster: "main".to_owned(),
        at: NOW,
        memories: Written::default().changes(&memories).unwrap(),
        findings,
        events: Vec::new(),
        acknowledged: Vec::new(),
    }
}

/// A daemon's life with the ledger: its rounds, then an orderly end.
pub(super) async fn life(folder: &Path, rounds: Vec<RoundNotes>) -> BTreeMap<String, QueryMemory> {
    let opened = FileLedger::open(folder).await.unwrap();
    let writer = tokio::spawn(opened.writer);
    let loaded = opened.ledger.load("main").await;
    for round in rounds {
        let remembered = opened.ledger.remember(round).await;
        assert!(remembered.health.up && remembered.health.persistent);
    }
    drop(opened.ledger);
    writer.await.unwrap();
    loaded.memories
}

pub(super) async fn ranges(folder: &Path) -> Vec<(i64, i64)> {
    let gaps = Desk::open_to_read(folder).await.unwrap().gaps().await.unwrap();
    gaps.iter().map(|gap| (gap.from, gap.to)).collect()
}

#[tokio::test]
async fn a_restart_keeps_memory_and_counts_a_loss_once() {
    let folder = tempdir().unwrap();
    let first = life(folder.path(), vec![round(vec![gap(0, 100, Certain)]), round(vec![gap(100, 150, Certain)])]).await;
    assert!(first.is_empty(), "a first sight");
    let second = life(folder.path(), vec![round(vec![gap(0, 150, Certain)]), round(vec![])]).await;
    assert_eq!(second["orders"].event_totals[&EventKind::PositionMovedBack], (2, NOW));
    assert_eq!(ranges(folder.path()).await, [(0, 150)]);
}

#[tokio::test]
async fn every_column_comes_back_as_it_was_written() {
    let folder = tempdir().unwrap();
    let written = Gap {
        topic_id: Some("0f".repeat(16)),
        first_missing_at: Some(Moment::from_millis(1_796_000_000_123)),
        last_missing_at: Some(Moment::from_millis(1_796_000_900_000)),
        ..gap(7, 11, Possible)
    };
    life(folder.path(), vec![round(vec![written.clone()])]).await;
    let read = Desk::open_to_read(folder.path()).await.unwrap().gap(1).await.unwrap();
    assert_eq!(read, Gap { id: Some(1), ..written });
}

#[tokio::test]
async fn logs_of_another_topic_id_partition_or_query_are_kept_apart() {
    let folder = tempdir().unwrap();
    let one = gap(0, 10, Certain);
    let others = vec![
        Gap { topic_id: Some("aa".to_owned()), ..one.clone() },
        Gap { partition: 1, ..one.clone() },
        Gap { stream_name: "returns".to_owned(), ..one.clone() },
        one,
    ];
    life(folder.path(), vec![round(others)]).await;
    assert_eq!(ranges(folder.path()).await, [(0, 10); 4]);
}

#[tokio::test]
async fn a_second_daemon_is_refused_and_a_later_one_is_not() {
    let folder = tempdir().unwrap();
    let first = FileLedger::open(folder.path()).await.unwrap();
    let refused = FileLedger::open(folder.path()).await.unwrap_err();
    assert!(matches!(refused, OpenError::Taken { .. }), "{refused}");
    drop(first);
    assert!(FileLedger::open(folder.path()).await.is_ok());
}

#[tokio::test]
async fn a_settled_gap_is_no_longer_counted_and_what_goes_on_being_lost_is_a_new_one() {
    let folder = tempdir().unwrap();
    let opened = FileLedger::open(folder.path()).await.unwrap();
    tokio::spawn(opened.writer);
    let ledger = opened.ledger;
    let unresolved = |remembered: crate::ledger::Remembered| {
        let counts = remembered.unresolved.unwrap();
        counts.get("orders").and_then(|topics| topics.get("orders").copied()).unwrap_or(0)
    };
    assert_eq!(unresolved(ledger.remember(round(vec![gap(0, 100, Certain)])).await), 1);

    let mut desk = Desk::open_to_write(folder.path()).await.unwrap();
    let settlement = Settlement {
        path: RecoveryPath::AcceptGap,
        status: RecoveryStatus::Accepted,
        evidence: "ticket 4711".to_owned(),
        by: "anna".to_owned(),
    };
    let settled = desk.settle(1, &settlement).await.unwrap();
    assert_eq!(settled.recovery_status, RecoveryStatus::Accepted);
    assert_eq!(settled.recorded_by, "anna");
    assert!(settled.evidence.ends_with("; ticket 4711"), "{}", settled.evidence);
    assert!(matches!(desk.settle(99, &settlement).await, Err(DeskError::NoGap { id: 99 })));

    assert_eq!(unresolved(ledger.remember(round(vec![])).await), 0);
    assert_eq!(unresolved(ledger.remember(round(vec![gap(0, 120, Certain)])).await), 1);
    assert_eq!(ranges(folder.path()).await, [(0, 100), (100, 120)]);
}

#[tokio::test]
async fn an_acknowledgement_is_heard_once_and_only_for_a_query_that_is_known() {
    let folder = tempdir().unwrap();
    let opened = FileLedger::open(folder.path()).await.unwrap();
    tokio::spawn(opened.writer);
    opened.ledger.remember(round(vec![])).await;
    let mut desk = Desk::open_to_write(folder.path()).await.unwrap();
    let said = Acknowledge {
        query: "orders".to_owned(),
        topic: Some("orders".to_owned()),
        partition: Some(3),
        evidence: "made again on purpose".to_owned(),
        by: "anna".to_owned(),
    };
    let stranger = Acknowledge { query: "order".to_owned(), ..said.clone() };
    let refused = desk.acknowledge(&stranger, NOW).await.unwrap_err();
    assert_eq!(refused.to_string(), "the ledger knows no query \"order\"; it knows orders");
    assert_eq!(desk.acknowledge(&said, NOW).await.unwrap(), ["main"]);

    assert!(opened.ledger.acknowledgements("other").await.is_empty());
    let heard = opened.ledger.acknowledgements("main").await;
    assert_eq!(heard.len(), 1);
    assert_eq!((heard[0].topic.as_deref(), heard[0].partition), (Some("orders"), Some(3)));
    opened.ledger.remember(RoundNotes { acknowledged: vec![heard[0].id], ..round(vec![]) }).await;
    assert!(opened.ledger.acknowledgements("main").await.is_empty());
}

#[tokio::test]
async fn events_are_written_down_with_their_words() {
    let folder = tempdir().unwrap();
    let event = Event {
        kind: EventKind::TopicRecreated,
        at: NOW,
        topic: Some("orders".into()),
        detail: "aa became bb".to_owned(),
        positions: BTreeMap::new(),
    };
    let noted = NotedEvent { query: "orders".to_owned(), kafka_cluster: "main".to_owned(), event };
    life(folder.path(), vec![RoundNotes { events: vec![noted], ..round(vec![]) }]).await;
    let mut connection = crate::ledger::schema::open_existing(&folder.path().join("brinkwatch.sqlite")).await.unwrap();
    let row = sqlx::query("SELECT event || ': ' || detail FROM events").fetch_one(&mut connection).await.unwrap();
    assert_eq!(sqlx::Row::get::<String, _>(&row, 0), "topic_recreated: aa became bb");
}

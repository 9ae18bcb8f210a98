//! A ledger that works, in either database.

use std::collections::BTreeMap;

use tempfile::tempdir;

use super::bed::everywhere;
use super::merging::gap;
use crate::judgement::Certainty::{Certain, Possible};
use crate::judgement::{Event, EventKind, QueryMemory};
use crate::ledger::statement::sql;
use crate::ledger::{
    Acknowledge, DatabaseLedger, Desk, DeskError, Finding, Gap, Ledger, NotedEvent, OpenError, Place, RecoveryPath,
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
pub(super) async fn life(place: &Place, rounds: Vec<RoundNotes>) -> BTreeMap<String, QueryMemory> {
    let opened = DatabaseLedger::open(place).await.unwrap();
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

pub(super) async fn ranges(place: &Place) -> Vec<(i64, i64)> {
    let gaps = Desk::open_to_read(place).await.unwrap().gaps().await.unwrap();
    gaps.iter().map(|gap| (gap.from, gap.to)).collect()
}

#[tokio::test]
async fn a_restart_keeps_memory_and_counts_a_loss_once() {
    everywhere(async |place| {
        let first = life(place, vec![round(vec![gap(0, 100, Certain)]), round(vec![gap(100, 150, Certain)])]).await;
        assert!(first.is_empty(), "a first sight");
        let second = life(place, vec![round(vec![gap(0, 150, Certain)]), round(vec![])]).await;
        assert_eq!(second["orders"].event_totals[&EventKind::PositionMovedBack], (2, NOW));
        assert_eq!(ranges(place).await, [(0, 150)]);
    })
    .await;
}

#[tokio::test]
async fn every_column_comes_back_as_it_was_written() {
    everywhere(async |place| {
        let written = Gap {
            topic_id: Some("0f".repeat(16)),
            first_missing_at: Some(Moment::from_millis(1_796_000_000_123)),
            last_missing_at: Some(Moment::from_millis(1_796_000_900_000)),
            ..gap(7, 11, Possible)
        };
        life(place, vec![round(vec![written.clone()])]).await;
        let read = Desk::open_to_read(place).await.unwrap().gap(1).await.unwrap();
        assert_eq!(read, Gap { id: Some(1), ..written });
    })
    .await;
}

#[tokio::test]
async fn logs_of_another_topic_id_partition_or_query_are_kept_apart() {
    everywhere(async |place| {
        let one = gap(0, 10, Certain);
        let others = vec![
            Gap { topic_id: Some("aa".to_owned()), ..one.clone() },
            Gap { partition: 1, ..one.clone() },
            Gap { stream_name: "returns".to_owned(), ..one.clone() },
            one,
        ];
        life(place, vec![round(others)]).await;
        assert_eq!(ranges(place).await, [(0, 10); 4]);
    })
    .await;
}

#[tokio::test]
async fn a_second_daemon_is_refused_and_a_later_one_is_not() {
    let folder = tempdir().unwrap();
    let first = DatabaseLedger::open(folder.path()).await.unwrap();
    let refused = DatabaseLedger::open(folder.path()).await.unwrap_err();
    assert!(matches!(refused, OpenError::Taken { .. }), "{refused}");
    drop(first);
    assert!(DatabaseLedger::open(folder.path()).await.is_ok());
}

#[tokio::test]
async fn a_settled_gap_is_no_longer_counted_and_what_goes_on_being_lost_is_a_new_one() {
    everywhere(async |place| {
        let opened = DatabaseLedger::open(place).await.unwrap();
        tokio::spawn(opened.writer);
        let ledger = opened.ledger;
        let unresolved = |remembered: crate::ledger::Remembered| {
            let counts = remembered.unresolved.unwrap();
            counts.get("orders").and_then(|topics| topics.get("orders").copied()).unwrap_or(0)
        };
        assert_eq!(unresolved(ledger.remember(round(vec![gap(0, 100, Certain)])).await), 1);

        let mut desk = Desk::open_to_write(place).await.unwrap();
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
        assert_eq!(ranges(place).await, [(0, 100), (100, 120)]);
    })
    .await;
}

#[tokio::test]
async fn an_acknowledgement_is_heard_once_and_only_for_a_query_that_is_known() {
    everywhere(async |place| {
        let opened = DatabaseLedger::open(place).await.unwrap();
        tokio::spawn(opened.writer);
        opened.ledger.remember(round(vec![])).await;
        let mut desk = Desk::open_to_write(place).await.unwrap();
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
    })
    .await;
}

#[tokio::test]
async fn events_are_written_down_with_their_words() {
    everywhere(async |place| {
        let event = Event {
            kind: EventKind::TopicRecreated,
            at: NOW,
            topic: Some("orders".into()),
            detail: "aa became bb".to_owned(),
            positions: BTreeMap::new(),
        };
        let noted = NotedEvent { query: "orders".to_owned(), kafka_cluster: "main".to_owned(), event };
        life(place, vec![RoundNotes { events: vec![noted], ..round(vec![]) }]).await;
        let mut connection = crate::ledger::schema::open_existing(place).await.unwrap();
        let row = connection.rows(sql("SELECT event || ': ' || detail AS told FROM events")).await.unwrap().remove(0);
        assert_eq!(row.get::<String>("told").unwrap(), "topic_recreated: aa became bb");
    })
    .await;
}

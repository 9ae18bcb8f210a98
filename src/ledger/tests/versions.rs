//! Ledgers of other releases.

use super::bed::{daemon, everywhere};
use super::file::{ranges, round};
use super::merging::gap;
use crate::judgement::Certainty::Certain;
use crate::ledger::database::{Database, connect, make_file};
use crate::ledger::schema::{self, STEPS};
use crate::ledger::{Desk, DeskError, FILE_NAME, Place};
use crate::measures::with_causes;

/// A connection to a place that holds nothing yet.
async fn bare(place: &Place) -> Database {
    match place {
        Place::Folder(folder) => make_file(&folder.join(FILE_NAME)).await.unwrap(),
        Place::Server(server) => connect(server).await.unwrap(),
    }
}

#[tokio::test]
async fn a_ledger_of_the_first_version_keeps_all_that_it_has() {
    everywhere(async |place| {
        let mut old = bare(place).await;
        old.run("CREATE TABLE ledger_schema (version BIGINT PRIMARY KEY); INSERT INTO ledger_schema VALUES (1)")
            .await
            .unwrap();
        old.run(&old.step(STEPS[0])).await.unwrap();
        old.run(
            "INSERT INTO query_memory VALUES ('orders', 'main', '{}', '2026-11-01T00:00:00.000Z');
             INSERT INTO partition_memory VALUES
                 ('orders', 'main', 'orders', 3, '{}', NULL, '2026-11-01T00:00:00.000Z');
             INSERT INTO acknowledgements
                 (query, kafka_cluster, evidence, recorded_by, acknowledged_at, heard_at) VALUES
                 ('orders', 'main', 'heard', 'anna', '2026-11-01T00:00:00.000Z', '2026-11-01T00:00:30.000Z'),
                 ('orders', 'main', 'unheard', 'anna', '2026-11-01T00:01:00.000Z', NULL);
             INSERT INTO events (query, kafka_cluster, event, happened_at, detail)
                 VALUES ('orders', 'main', 'topic_recreated', '2026-11-01T00:00:00.000Z', 'aa became bb');
             INSERT INTO streaming_gaps (stream_name, topic, partition, missing_from_offset,
                 missing_to_offset_exclusive, detected_at, evidence, recorded_by, certainty, kafka_cluster)
                 VALUES ('orders', 'orders', 0, 5, 9, '2026-11-01T00:00:00.000Z', 'e', 'brinkwatch', 'certain', 'main')",
        )
        .await
        .unwrap();
        old.close().await.unwrap();

        // A command comes first, and only reads.
        assert_eq!(ranges(place).await, [(5, 9)]);
        // The daemon of a file has no name.
        let mut writer = daemon(place, "");
        let loaded = writer.load("main").await;
        assert!(loaded.memories["orders"].topics["orders"].partitions.contains_key(&3));
        assert!(loaded.adopted.is_empty());
        assert!(writer.remember(round(vec![gap(9, 12, Certain)])).await.health.up);
        assert_eq!(ranges(place).await, [(5, 12)]);
        assert_eq!(writer.unheard("main").await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_ledger_of_a_later_release_is_neither_read_nor_written() {
    everywhere(async |place| {
        drop(schema::open(place).await.unwrap());
        bare(place).await.run("INSERT INTO ledger_schema (version) VALUES (999)").await.unwrap();
        for opened in
            [Desk::open_to_read(place).await, Desk::open_to_write(place).await, Desk::open_or_make(place).await]
        {
            let words = with_causes(&opened.unwrap_err());
            assert!(words.contains("the ledger has version 999") && words.contains(&place.to_string()), "{words}");
        }
        let mut writer = daemon(place, "one");
        assert!(!writer.load("main").await.is_known, "what is there is not taken for nothing");
        assert!(!writer.remember(round(vec![gap(0, 10, Certain)])).await.health.up);
        bare(place).await.run("DELETE FROM ledger_schema WHERE version = 999").await.unwrap();
        assert!(writer.remember(round(vec![])).await.health.up);
        assert_eq!(ranges(place).await, [(0, 10)]);
    })
    .await;
}

#[tokio::test]
async fn a_place_where_no_daemon_has_kept_a_ledger_is_told_apart_from_one_that_does_not_work() {
    everywhere(async |place| {
        for opened in [Desk::open_to_read(place).await, Desk::open_to_write(place).await] {
            let cause = opened.unwrap_err();
            assert!(matches!(cause, DeskError::NotThere { .. }), "{cause:?}");
            assert_eq!(cause.to_string(), format!("there is no ledger at {place}"));
        }
    })
    .await;
}

#[tokio::test]
async fn daemons_that_start_together_make_one_ledger() {
    everywhere(async |place| {
        // A file has one daemon.
        if matches!(place, Place::Folder(_)) {
            return;
        }
        let open = async || schema::open(place).await.map(drop);
        let opened = tokio::join!(open(), open(), open(), open());
        for opened in [opened.0, opened.1, opened.2, opened.3] {
            opened.unwrap();
        }
    })
    .await;
}

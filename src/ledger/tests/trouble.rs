//! A file that does not work: the daemon runs on, says so, and writes when it can.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tempfile::tempdir;

use super::file::{NOW, life, ranges, round};
use super::merging::gap;
use crate::judgement::Certainty::Certain;
use crate::judgement::{Event, EventKind};
use crate::ledger::writer::{FILE_NAME, Writer};
use crate::ledger::{FileLedger, Health, NotedEvent};

const WELL: Health = Health { persistent: true, up: true };
const UNWELL: Health = Health { persistent: false, up: false };

/// Rounds on a folder in trouble, then the trouble is mended: nothing that was found meanwhile is missing.
async fn check(folder: &Path, mend: impl AsyncFnOnce(), expected: &[(i64, i64)]) {
    let opened = FileLedger::open(folder).await.unwrap();
    assert_eq!(opened.health, UNWELL);
    tokio::spawn(opened.writer);
    let ledger = opened.ledger;
    assert!(crate::ledger::Ledger::load(&ledger, "main").await.memories.is_empty());
    for found in [vec![gap(100, 200, Certain)], vec![], vec![gap(200, 250, Certain)]] {
        let remembered = crate::ledger::Ledger::remember(&ledger, round(found)).await;
        assert_eq!(remembered.health, UNWELL);
        assert_eq!(remembered.unresolved.unwrap()["orders"]["orders"], 1, "counted all the same");
    }
    mend().await;
    let remembered = crate::ledger::Ledger::remember(&ledger, round(vec![])).await;
    assert_eq!(remembered.health, WELL);
    assert_eq!(ranges(folder).await, expected);
}

#[tokio::test]
async fn a_corrupt_file_is_left_alone_until_somebody_moves_it_away() {
    let folder = tempdir().unwrap();
    let file = folder.path().join(FILE_NAME);
    let garbage = "no database at all ".repeat(600);
    fs::write(&file, &garbage).unwrap();
    let mend = async || {
        assert_eq!(fs::read_to_string(&file).unwrap(), garbage, "nobody wrote to it");
        fs::rename(&file, folder.path().join("corrupt.sqlite")).unwrap();
    };
    check(folder.path(), mend, &[(100, 250)]).await;
}

#[tokio::test]
async fn a_file_of_a_later_release_is_left_alone() {
    let folder = tempdir().unwrap();
    let file = folder.path().join(FILE_NAME);
    life(folder.path(), vec![]).await;
    let set = async |sql: &'static str| {
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&file);
        let mut connection = <sqlx::SqliteConnection as sqlx::Connection>::connect_with(&options).await.unwrap();
        sqlx::query(sql).execute(&mut connection).await.unwrap();
    };
    set("INSERT INTO ledger_schema (version) VALUES (999)").await;
    check(folder.path(), async || set("DELETE FROM ledger_schema WHERE version = 999").await, &[(100, 250)]).await;
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_tried_again() {
    let parent = tempdir().unwrap();
    let in_the_way = parent.path().join("state");
    fs::write(&in_the_way, "a file").unwrap();
    let folder = in_the_way.join("brinkwatch");
    check(&folder, async || fs::remove_file(&in_the_way).unwrap(), &[(100, 250)]).await;
}

#[tokio::test]
async fn a_full_disk_costs_nothing_once_there_is_room() {
    let folder = tempdir().unwrap();
    let mut writer = Writer::new(folder.path());
    assert_eq!(writer.remember(round(vec![gap(0, 10, Certain)])).await.health, WELL);
    // SQLite fails as it does on a full disk.
    let connection = writer.connection.as_mut().unwrap();
    sqlx::query("PRAGMA max_page_count = 1").fetch_all(connection).await.unwrap();
    let mut large = round(vec![gap(10, 30, Certain)]);
    let event = Event {
        kind: EventKind::PositionMovedBack,
        at: NOW,
        topic: None,
        detail: "x".repeat(1 << 20),
        positions: BTreeMap::new(),
    };
    large.events.push(NotedEvent { query: "orders".to_owned(), kafka_cluster: "main".to_owned(), event });
    let full = writer.remember(large).await;
    assert_eq!(full.health, UNWELL);
    assert_eq!(ranges(folder.path()).await, [(0, 10)], "half a round is no round");
    assert_eq!(writer.remember(round(vec![])).await.health, WELL);
    assert_eq!(ranges(folder.path()).await, [(0, 30)]);
}

#[tokio::test]
async fn a_file_that_another_process_holds_is_written_when_it_is_free() {
    let folder = tempdir().unwrap();
    let mut writer = Writer::new(folder.path());
    assert_eq!(writer.remember(round(vec![])).await.health, WELL);
    let mut other = crate::ledger::schema::open_existing(&folder.path().join(FILE_NAME)).await.unwrap();
    let held = sqlx::Connection::begin_with(&mut other, "BEGIN EXCLUSIVE").await.unwrap();
    assert_eq!(writer.remember(round(vec![gap(0, 10, Certain)])).await.health, UNWELL);
    held.rollback().await.unwrap();
    assert_eq!(writer.remember(round(vec![])).await.health, WELL);
    assert_eq!(ranges(folder.path()).await, [(0, 10)]);
}

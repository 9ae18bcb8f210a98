//! A file that does not work: the daemon runs on, says so, and writes when it can.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tempfile::tempdir;
use tokio::time::Instant;

use super::file::{NOW, life, ranges, round};
use super::merging::gap;
use crate::judgement::Certainty::Certain;
use crate::judgement::{Event, EventKind};
use crate::ledger::statement::sql;
use crate::ledger::writer::Writer;
use crate::ledger::{DatabaseLedger, FILE_NAME, Health, Ledger, NotedEvent, Place, Server};

const WELL: Health = Health { persistent: true, up: true };
const UNWELL: Health = Health { persistent: false, up: false };

/// Rounds on a folder in trouble, then the trouble is mended: nothing that was found meanwhile is missing.
async fn check(folder: &Path, mend: impl AsyncFnOnce(), expected: &[(i64, i64)]) {
    let opened = DatabaseLedger::open(folder).await.unwrap();
    assert_eq!(opened.health, UNWELL);
    tokio::spawn(opened.writer);
    let ledger = opened.ledger;
    assert!(ledger.load("main").await.memories.is_empty());
    for found in [vec![gap(100, 200, Certain)], vec![], vec![gap(200, 250, Certain)]] {
        let remembered = ledger.remember(round(found)).await;
        assert_eq!(remembered.health, UNWELL);
        assert_eq!(remembered.unresolved.unwrap()["orders"]["orders"], 1, "counted all the same");
    }
    mend().await;
    let remembered = ledger.remember(round(vec![])).await;
    assert_eq!(remembered.health, WELL);
    assert_eq!(ranges(&folder.into()).await, expected);
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
    life(&folder.path().into(), vec![]).await;
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
    connection.rows(sql("PRAGMA max_page_count = 1")).await.unwrap();
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
    assert_eq!(ranges(&folder.path().into()).await, [(0, 10)], "half a round is no round");
    assert_eq!(writer.remember(round(vec![])).await.health, WELL);
    assert_eq!(ranges(&folder.path().into()).await, [(0, 30)]);
}

#[tokio::test]
async fn a_file_that_another_process_holds_is_written_when_it_is_free() {
    let folder = tempdir().unwrap();
    let mut writer = Writer::new(folder.path());
    assert_eq!(writer.remember(round(vec![])).await.health, WELL);
    let mut other = crate::ledger::schema::open_existing(&folder.path().into()).await.unwrap();
    other.run("BEGIN EXCLUSIVE").await.unwrap();
    assert_eq!(writer.remember(round(vec![gap(0, 10, Certain)])).await.health, UNWELL);
    other.rollback().await.unwrap();
    assert_eq!(writer.remember(round(vec![])).await.health, WELL);
    assert_eq!(ranges(&folder.path().into()).await, [(0, 10)]);
}

/// A server that takes connections and says nothing. Answers with its place, and how many it took.
fn silent_server() -> (Place, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://brinkwatch@{}/ledger?sslmode=disable", listener.local_addr().unwrap());
    let taken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&taken);
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for connection in listener.incoming() {
            held.push(connection);
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    (Place::Server(Server::new(url, "here:9917", None)), taken)
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_is_waited_for_once_and_then_asked_seldom() {
    let (place, taken) = silent_server();
    let began = Instant::now();
    let opened = DatabaseLedger::open(&place).await.unwrap();
    assert!(began.elapsed() < Duration::from_millis(100), "nobody waits for it before HTTP answers");
    assert_eq!(opened.health, UNWELL);
    tokio::spawn(opened.writer);
    let ledger = opened.ledger;
    let loaded = ledger.load("main").await;
    assert!(!loaded.is_known && loaded.memories.is_empty());
    for found in [vec![gap(100, 200, Certain)], vec![], vec![gap(200, 250, Certain)]] {
        assert!(ledger.acknowledgements("main").await.is_empty());
        let remembered = ledger.remember(round(found)).await;
        assert_eq!(remembered.health, UNWELL);
        assert_eq!(remembered.unresolved.unwrap()["orders"]["orders"], 1, "counted all the same");
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    for _ in 0..3 {
        assert!(ledger.gaps().await.is_none());
    }
    assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
    tokio::time::sleep(Duration::from_secs(11)).await;
    ledger.remember(round(vec![])).await;
    // One for the rounds, one for the pages, and one more after a while. They are taken in real time.
    for _ in 0..10_000 {
        if taken.load(Ordering::Relaxed) >= 3 {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(taken.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_once_and_asked_with_each_round() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("postgres://brinkwatch@127.0.0.1:{port}/ledger");
    let mut writer = Writer::new(Place::Server(Server::new(url, "here:9917", None)));
    let mut told = Vec::new();
    for _ in 0..2 {
        assert!(!writer.load("main").await.is_known);
        assert_eq!(writer.remember(round(vec![gap(0, 10, Certain)])).await.health, UNWELL);
        told.push(writer.told.clone().unwrap());
    }
    assert_eq!(told[0], told[1], "the second time it is known, and not told again");
    assert!(told[0].contains("Connection refused"), "{}", told[0]);
}

#[tokio::test]
async fn a_password_that_cannot_be_read_is_told_with_its_cause() {
    let read = || Err("secret file /run/secrets/ledger cannot be read".into());
    let server = Server::new("postgres://brinkwatch@127.0.0.1:1/ledger", "here:9917", Some(Arc::new(read)));
    let cause = crate::ledger::Desk::open_to_read(Place::Server(server)).await.unwrap_err();
    let words = crate::measures::with_causes(&cause);
    assert!(words.contains("postgres://brinkwatch@127.0.0.1:1/ledger"), "{words}");
    assert!(words.contains("secret file /run/secrets/ledger cannot be read"), "{words}");
}

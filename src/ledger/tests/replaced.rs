//! Another file that is put in the ledger's place while the daemon runs.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::{TempDir, tempdir};

use super::file::{NOW, ranges, round};
use super::merging::gap;
use crate::judgement::Certainty::Certain;
use crate::judgement::{Event, EventKind};
use crate::ledger::statement::sql;
use crate::ledger::writer::Writer;
use crate::ledger::{FILE_NAME, NotedEvent, RoundNotes, schema};

/// A ledger with a gap, of which a copy is made, and then so many pages more.
async fn beginning(copy: impl AsyncFnOnce(&Path)) -> (TempDir, Writer, u64) {
    let folder = tempdir().unwrap();
    let mut writer = Writer::new(folder.path());
    writer.remember(round(vec![gap(0, 10, Certain)])).await;
    copy(folder.path()).await;
    let opened = writer.remember(large(round(vec![gap(20, 30, Certain)]))).await.opened;
    (folder, writer, opened)
}

fn large(mut notes: RoundNotes) -> RoundNotes {
    let detail = "x".repeat(1 << 18);
    let kind = EventKind::PositionMovedBack;
    let event = Event { kind, at: NOW, topic: None, detail, positions: std::collections::BTreeMap::new() };
    notes.events.push(NotedEvent { query: "orders".to_owned(), kafka_cluster: "main".to_owned(), event });
    notes
}

fn beside(folder: &Path, name: &str, end: &str) -> PathBuf {
    folder.join(format!("{name}{end}"))
}

/// Puts the copy in the ledger's place, and goes on: what is found from then on is in it.
async fn go_on(folder: &Path, mut writer: Writer, opened: u64, ends: &[&str]) {
    for end in ends {
        fs::rename(beside(folder, "copy", end), beside(folder, FILE_NAME, end)).unwrap();
    }
    let remembered = writer.remember(round(vec![gap(50, 60, Certain)])).await;
    assert!(remembered.health.up, "{:?}", writer.told);
    assert_ne!(remembered.opened, opened, "whoever writes only changes has to begin anew");
    assert_eq!(ranges(&folder.into()).await, [(0, 10), (50, 60)]);
    let again = writer.remember(large(round(vec![gap(70, 80, Certain)]))).await;
    assert_eq!(again.opened, remembered.opened, "it is opened once");
    drop(writer);
    let mut file = schema::open_existing(&folder.into()).await.unwrap();
    let told = file.rows(sql("PRAGMA integrity_check")).await.unwrap();
    assert_eq!(told[0].get::<String>("integrity_check").unwrap(), "ok");
    assert_eq!(ranges(&folder.into()).await, [(0, 10), (50, 60), (70, 80)]);
}

#[tokio::test]
async fn a_copy_that_is_put_in_the_ledgers_place_is_written_from_then_on() {
    let copy = async |folder: &Path| {
        let mut file = schema::open_existing(&folder.into()).await.unwrap();
        file.run(&format!("VACUUM INTO '{}'", beside(folder, "copy", "").display())).await.unwrap();
        file.close().await.unwrap();
    };
    let (folder, writer, opened) = beginning(copy).await;
    go_on(folder.path(), writer, opened, &[""]).await;
}

#[tokio::test]
async fn a_copy_that_comes_with_a_journal_of_its_own_keeps_it() {
    let copy = async |folder: &Path| {
        for end in ["", "-wal"] {
            fs::copy(beside(folder, FILE_NAME, end), beside(folder, "copy", end)).unwrap();
        }
        assert!(fs::metadata(beside(folder, "copy", "-wal")).unwrap().len() > 0, "the gap is in there");
    };
    let (folder, writer, opened) = beginning(copy).await;
    go_on(folder.path(), writer, opened, &["", "-wal"]).await;
}

/// A journal of SQLite is found by the name of its file: what stood in it only was in neither file.
#[tokio::test]
async fn a_file_that_was_moved_away_has_all_that_was_written_before() {
    let (folder, mut writer, _) = beginning(async |_| {}).await;
    let away = tempdir().unwrap();
    fs::rename(beside(folder.path(), FILE_NAME, ""), beside(away.path(), FILE_NAME, "")).unwrap();
    assert!(writer.remember(round(vec![gap(50, 60, Certain)])).await.health.up, "{:?}", writer.told);
    assert_eq!(ranges(&folder.path().into()).await, [(50, 60)]);
    assert_eq!(ranges(&away.path().into()).await, [(0, 10), (20, 30)]);
}

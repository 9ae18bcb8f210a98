//! Directories and files that no query leaves behind, or only after years.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use tokio::time::Instant;

use super::{DEADLINE, ENTRY, healthy};
use crate::measures::{BatchId, Reason};
use crate::readers::CheckpointReader;
use crate::readers::stores::checkpoint_store::{CheckpointStore, RequestCounts};
use crate::readers::stores::location;
use crate::readers::stores::shared::SharedStore;

const KEYS: u64 = 200_000;
/// What the slowest machine needs, several times over.
const LONG: Duration = Duration::from_secs(20);

/// A checkpoint in memory with 200,000 planned batches, and directories below it that need not be listed.
async fn large() -> Arc<InMemory> {
    let store = Arc::new(InMemory::new());
    let write = async |file: String, text: &'static str| {
        store.put(&Path::from(format!("cp/{file}")), text.into()).await.unwrap();
    };
    write("metadata".to_owned(), "{\"id\":\"943e4fff-ba4f-4018-99d0-a50c4477be0a\"}").await;
    for key in 0..KEYS {
        write(format!("offsets/{key}"), ENTRY).await;
    }
    for key in KEYS - 10_000..KEYS {
        write(format!("commits/{key}"), "v1\n{}").await;
        write(format!("state/0/{}/{key}.delta", key % 200), "x").await;
        write(format!("offsets/archive/{key}"), "x").await;
    }
    store
}

#[tokio::test]
async fn two_hundred_thousand_keys_are_listed_once_and_nothing_below_them() {
    let store: Arc<dyn ObjectStore> = large().await;
    let shared = Arc::new(SharedStore::new(store, 4, None));
    let reader = CheckpointStore::new(shared, location::parse("s3://memory/cp").unwrap());
    let began = Instant::now();
    let reading = reader.read(DEADLINE).await.unwrap();
    assert!(began.elapsed() < LONG, "it took {:?}", began.elapsed());
    assert_eq!(reading.problems, []);
    let newest = Some(BatchId(KEYS - 1));
    assert_eq!((reading.newest_planned, reading.newest_committed, reading.batch_open), (newest, newest, false));
    assert_eq!(reading.sources[0].committed_from, Some(format!("offsets/{}", KEYS - 1)));
    assert_eq!(u64::try_from(reading.batches.len()).unwrap(), KEYS);
    assert_eq!(reader.requests(), RequestCounts { list: 2, get: 4 });
}

#[tokio::test]
async fn two_hundred_thousand_files_that_are_no_batches_hide_none() {
    let root = healthy();
    for stray in 0..KEYS {
        // hard links are quickly made
        let name = root.path().join(format!("offsets/.{stray}.d0c1.tmp"));
        if stray % 50_000 == 0 {
            fs::write(&name, "x").unwrap();
        } else {
            fs::hard_link(root.path().join(format!("offsets/.{}.d0c1.tmp", stray / 50_000 * 50_000)), &name).unwrap();
        }
    }
    let store = open(root.path());
    let began = Instant::now();
    let reading = store.read(DEADLINE).await.unwrap();
    assert!(began.elapsed() < LONG, "it took {:?}", began.elapsed());
    assert_eq!(reading.problems, []);
    assert_eq!(reading.newest_planned, Some(BatchId(1)));
    assert_eq!(store.requests().list, 2);
}

#[tokio::test]
async fn an_offsets_file_of_64_mebibytes_is_refused_by_name() {
    const MEBIBYTE: u64 = 1024 * 1024;
    for (file, size) in [("offsets/2", 64 * MEBIBYTE), ("metadata", 64 * MEBIBYTE), ("offsets/2", 32 * MEBIBYTE + 1)] {
        let root = healthy();
        sparse(&root.path().join(file), size);
        let unread = open(root.path()).read(DEADLINE).await.unwrap_err();
        assert_eq!(unread.reason, Reason::Malformed);
        assert!(unread.detail.contains(&format!("{file} holds {size} bytes")), "{unread}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_of_32_mebibytes_is_still_read() {
    let root = healthy();
    sparse(&root.path().join("offsets/2"), 32 * 1024 * 1024);
    let reading = open(root.path()).read(DEADLINE).await.unwrap();
    assert_eq!(reading.problems[0].kind.label(), "newest_offsets_empty");
}

#[tokio::test]
async fn many_large_initial_offsets_are_refused_together() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("metadata"), "{\"id\":\"943e4fff-ba4f-4018-99d0-a50c4477be0a\"}").unwrap();
    for source in ["0", "1", "2"] {
        let directory = root.path().join("sources").join(source);
        fs::create_dir_all(&directory).unwrap();
        sparse(&directory.join("0"), 16 * 1024 * 1024);
    }
    let unread = open(root.path()).read(DEADLINE).await.unwrap_err();
    assert_eq!(unread.reason, Reason::Malformed);
    assert!(unread.detail.contains("sources holds 50331648 bytes"), "{unread}");
}

/// A file of zeros that takes no room on the disk, and would take it in memory.
fn sparse(path: &std::path::Path, size: u64) {
    fs::File::create(path).unwrap().set_len(size).unwrap();
}

fn open(root: &std::path::Path) -> CheckpointStore {
    CheckpointStore::open(root.to_str().unwrap()).unwrap()
}

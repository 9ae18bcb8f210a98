//! The store on real directories, odd ones included.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::{DEADLINE, ENTRY, healthy};
use crate::checkpoint::CheckpointReading;
use crate::measures::{BatchId, Reason, Unread};
use crate::readers::CheckpointReader;
use crate::readers::stores::checkpoint_store::within;
use crate::readers::stores::{CheckpointStore, RequestCounts};

fn open(root: &Path) -> CheckpointStore {
    CheckpointStore::open(root.to_str().unwrap()).unwrap()
}

async fn read(root: &Path) -> Result<CheckpointReading, Unread> {
    open(root).read(DEADLINE).await
}

async fn assert_reads_as_healthy(root: &Path) {
    let reading = read(root).await.unwrap();
    assert_eq!(reading.problems, []);
    assert_eq!((reading.newest_planned, reading.newest_committed), (Some(BatchId(1)), Some(BatchId(1))));
    assert_eq!(reading.sources[0].committed_from.as_deref(), Some("offsets/1"));
    assert!(reading.last_commit_at.is_some());
}

#[tokio::test]
async fn a_healthy_checkpoint_costs_two_listings_and_four_small_files() {
    let root = healthy();
    assert_reads_as_healthy(root.path()).await;
    let store = open(root.path());
    store.read(DEADLINE).await.unwrap();
    assert_eq!(store.requests(), RequestCounts { list: 2, get: 4 });
}

#[tokio::test]
async fn paths_may_hold_any_letter_and_go_through_links() {
    let root = healthy();
    let odd = tempfile::tempdir().unwrap();
    let moved = odd.path().join("a b%20c+#1?é*~");
    fs::rename(root.path(), &moved).unwrap();
    assert_reads_as_healthy(&moved).await;
    let link = odd.path().join("link");
    std::os::unix::fs::symlink(&moved, &link).unwrap();
    assert_reads_as_healthy(&link).await;
    fs::create_dir(odd.path().join("x")).unwrap();
    assert_reads_as_healthy(&odd.path().join("x/../link")).await;
}

#[tokio::test]
async fn names_and_links_that_a_listing_stumbles_over_do_not_hide_the_rest() {
    use std::os::unix::ffi::OsStrExt;
    let root = healthy();
    let offsets = root.path().join("offsets");
    fs::create_dir(offsets.join("9")).unwrap();
    std::os::unix::fs::symlink("nowhere", offsets.join("7")).unwrap();
    assert_reads_as_healthy(root.path()).await;
    std::os::unix::fs::symlink(".", offsets.join("8")).unwrap();
    assert_reads_as_healthy(root.path()).await;
    fs::write(offsets.join(std::ffi::OsStr::from_bytes(b"\xff\xfe")), "x").unwrap();
    assert_reads_as_healthy(root.path()).await;
}

#[tokio::test]
async fn what_is_no_checkpoint_is_not_found() {
    let empty = tempfile::tempdir().unwrap();
    fs::create_dir(empty.path().join("offsets")).unwrap();
    let a_file = empty.path().join("file");
    fs::write(&a_file, "x").unwrap();
    for root in [empty.path(), &empty.path().join("missing"), &a_file] {
        let unread = read(root).await.unwrap_err();
        assert_eq!(unread.reason, Reason::NotFound, "{unread}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_without_metadata_is_read_with_a_problem() {
    let root = healthy();
    fs::remove_file(root.path().join("metadata")).unwrap();
    let reading = read(root.path()).await.unwrap();
    assert_eq!(reading.problems[0].kind.label(), "metadata_missing");
    assert_eq!(reading.sources[0].committed_from.as_deref(), Some("offsets/1"));
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_being_written_is_waited_for() {
    let root = healthy();
    let newest = root.path().join("offsets/2");
    fs::write(&newest, "").unwrap();
    let store = open(root.path());
    let finish = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        fs::write(&newest, ENTRY).unwrap();
    };
    let (reading, ()) = tokio::join!(store.read(DEADLINE), finish);
    let reading = reading.unwrap();
    assert_eq!(reading.problems, []);
    assert!(reading.batch_open);
    // passes at 0, 200 and 400 ms
    assert_eq!(store.requests().list, 6);
}

#[tokio::test(start_paused = true)]
async fn a_file_that_stays_empty_is_told_after_three_more_looks_and_other_anomalies_after_one() {
    let root = healthy();
    fs::write(root.path().join("offsets/2"), "").unwrap();
    let store = open(root.path());
    let reading = store.read(DEADLINE).await.unwrap();
    assert_eq!(reading.problems[0].kind.label(), "newest_offsets_empty");
    assert_eq!(store.requests().list, 8);

    let root = healthy();
    fs::write(root.path().join("commits/2"), "v1").unwrap();
    let store = open(root.path());
    let reading = store.read(DEADLINE).await.unwrap();
    assert_eq!(reading.problems[0].kind.label(), "commit_log_ahead");
    assert_eq!(store.requests().list, 4);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_ends_the_reading() {
    let never = std::future::pending::<Result<(), _>>();
    let unread = within(Duration::from_millis(500), "somewhere", never).await.unwrap_err();
    assert_eq!(unread.reason, Reason::TimedOut);
    assert_eq!(unread.detail, "somewhere: not read within 500ms");
}

/// Looks at a torn file used to be repeated beyond a short deadline, and cost the whole reading.
#[tokio::test(start_paused = true)]
async fn a_short_deadline_leaves_out_looks_and_not_the_reading() {
    let root = healthy();
    fs::write(root.path().join("offsets/2"), "").unwrap();
    let reading = open(root.path()).read(Duration::from_millis(190)).await.unwrap();
    assert_eq!(reading.problems[0].kind.label(), "newest_offsets_empty");
}

#[tokio::test(start_paused = true)]
async fn a_missing_right_is_denied_and_nothing_else() {
    use std::os::unix::fs::PermissionsExt;
    for denied in ["offsets", "commits", "offsets/1", "metadata"] {
        let root = healthy();
        let path = root.path().join(denied);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        if fs::File::open(&path).is_ok() {
            eprintln!("this user may read everything; nothing to see here");
            return;
        }
        let unread = read(root.path()).await.unwrap_err();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(unread.reason, Reason::Denied, "{denied}: {unread}");
        assert!(unread.detail.contains(denied), "{unread}");
    }
}

//! Names that are no UTF-8, wherever one may stand in a checkpoint: Spark wrote none of them, and they hide nothing.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::{DEADLINE, ENTRY, healthy};
use crate::measures::BatchId;
use crate::readers::stores::{CheckpointStore, Search, Stores};
use crate::readers::{CheckpointFinder, CheckpointReader};

fn odd(directory: &Path) -> std::path::PathBuf {
    directory.join(OsStr::from_bytes(b"\xff\xfe9"))
}

#[tokio::test]
async fn names_that_are_no_utf_8_hide_nothing_in_any_directory() {
    for directory in ["", "offsets", "commits", "sources", "sources/0"] {
        for is_directory in [false, true] {
            let root = healthy();
            let path = odd(&root.path().join(directory));
            if is_directory {
                fs::create_dir(path).unwrap()
            } else {
                fs::write(path, "x").unwrap()
            }
            let store = CheckpointStore::open(root.path().to_str().unwrap()).unwrap();
            let reading = store.read(DEADLINE).await.unwrap();
            assert_eq!(reading.problems, [], "{directory}");
            assert_eq!((reading.newest_planned, reading.newest_committed), (Some(BatchId(1)), Some(BatchId(1))));
            assert_eq!(reading.sources[0].committed_from.as_deref(), Some("offsets/1"));
        }
    }
}

#[tokio::test]
async fn initial_offsets_are_found_beside_a_source_whose_name_is_no_utf_8() {
    let root = healthy();
    for gone in ["offsets/1", "commits/0", "commits/1"] {
        fs::remove_file(root.path().join(gone)).unwrap();
    }
    let source = odd(&root.path().join("sources"));
    fs::create_dir(&source).unwrap();
    fs::write(source.join("0"), "\0v1\n{\"orders\":{\"0\":3}}").unwrap();
    fs::write(odd(&root.path().join("offsets")), ENTRY).unwrap();
    let store = CheckpointStore::open(root.path().to_str().unwrap()).unwrap();
    let reading = store.read(DEADLINE).await.unwrap();
    assert_eq!(reading.problems, []);
    assert_eq!(reading.sources[0].committed_from.as_deref(), Some("sources/0/0"));
}

#[tokio::test]
async fn checkpoints_are_found_beside_directories_whose_names_are_no_utf_8() {
    let place = tempfile::tempdir().unwrap();
    let root = healthy();
    fs::rename(root.path(), place.path().join("orders")).unwrap();
    fs::create_dir(odd(place.path())).unwrap();
    fs::create_dir(odd(&place.path().join("orders"))).unwrap();
    let search = Search { depth: 3, include: Vec::new(), exclude: Vec::new() };
    let location = place.path().to_str().unwrap();
    let place = Stores::default().prefix(location, None, search).unwrap();
    let looked = place.look(&BTreeSet::new(), DEADLINE).await.unwrap();
    assert_eq!(looked.paths, BTreeSet::from(["orders".to_owned()]));
    assert_eq!(looked.unread, []);
}

#[tokio::test]
async fn names_with_control_letters_are_as_good_as_others() {
    let root = healthy();
    for name in ["a\nb", "\u{1b}[31m", "a\tb", "\u{202e}1", "a\\b"] {
        fs::write(root.path().join("offsets").join(name), "x").unwrap();
        fs::create_dir(root.path().join("sources").join(name)).unwrap();
    }
    let store = CheckpointStore::open(root.path().to_str().unwrap()).unwrap();
    let reading = store.read(DEADLINE).await.unwrap();
    assert_eq!(reading.problems, []);
    assert_eq!(reading.newest_planned, Some(BatchId(1)));
}

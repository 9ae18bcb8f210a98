mod cost;
mod directories;
mod failures;
mod globs;
mod locations;
mod names;
mod sizes;
mod races;
mod secrets;

use std::fs;
use std::time::Duration;

const DEADLINE: Duration = Duration::from_secs(30);
const ENTRY: &str = "v1\n\n{\"orders\":{\"0\":5}}";

/// A healthy checkpoint: batch 0 and 1 committed.
fn healthy() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for directory in ["offsets", "commits", "sources/0"] {
        fs::create_dir_all(root.path().join(directory)).unwrap();
    }
    fs::write(root.path().join("metadata"), "{\"id\":\"943e4fff-ba4f-4018-99d0-a50c4477be0a\"}").unwrap();
    for batch in ["0", "1"] {
        fs::write(root.path().join("offsets").join(batch), ENTRY).unwrap();
        fs::write(root.path().join("commits").join(batch), "v1\n{}").unwrap();
    }
    fs::write(root.path().join("sources/0/0"), "\0v1\n{\"orders\":{\"0\":0}}").unwrap();
    root
}

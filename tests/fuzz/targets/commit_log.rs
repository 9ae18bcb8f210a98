//! The bytes are the newest commit. They may keep Spark from starting; a position moves only when there is nothing in
//! them.

use super::{COMMIT, ENTRY, METADATA, reading};

/// Runs it.
pub fn run(data: &[u8]) {
    let told = reading(&[
        ("metadata", METADATA),
        ("offsets/0", ENTRY),
        ("offsets/1", ENTRY),
        ("commits/0", COMMIT),
        ("commits/1", data),
    ]);
    let is_blank = data.iter().all(|byte| *byte == 0 || byte.is_ascii_whitespace());
    assert_eq!(told.batch_open, is_blank);
    assert_eq!(told.sources.len(), 1);
    if told.problems.is_empty() {
        assert!(data.starts_with(b"v"), "Spark wants a version line");
        assert_eq!(told.restartable, Some(true));
    } else {
        assert_ne!(told.restartable, Some(true));
    }
    // a commit alone
    reading(&[("metadata", METADATA), ("commits/1", data)]);
}

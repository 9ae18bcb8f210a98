//! The bytes are a line of metadata: the second line of an entry, in either version, and the file `metadata`.

use super::{COMMIT, METADATA, reading};

/// Runs it.
pub fn run(data: &[u8]) {
    for (version, offset) in
        [(b"v1\n", b"\n{\"orders\":{\"0\":120}}".as_slice()), (b"v2\n", b"\n0:{\"orders\":{\"0\":120}}")]
    {
        let entry = [version, data, offset].concat();
        let told = reading(&[("metadata", METADATA), ("offsets/0", &entry), ("commits/0", COMMIT)]);
        assert!(told.batch_timestamp.is_none_or(|time| time.millis() > 0));
    }
    let told = reading(&[("metadata", data), ("offsets/0", super::ENTRY), ("commits/0", COMMIT)]);
    assert_eq!(told.restartable, Some(told.query_id.is_some()));
    assert_eq!(told.sources.len(), 1, "metadata moves no position");
}

//! The bytes are the initial offsets of a source: before the first batch, under an open first batch of one source, and
//! under one that reads the topic twenty times.

use super::{ENTRY, METADATA, reading};

/// Runs it.
pub fn run(data: &[u8]) {
    let metadata = ("metadata", METADATA);
    let told = reading(&[metadata, ("sources/0/0", data)]);
    assert_eq!(told.newest_planned, None);
    reading(&[metadata, ("sources/orders_src/0", data), ("sources/10/0", data)]);
    reading(&[metadata, ("offsets/0", ENTRY), ("sources/0/0", data)]);
    let union = [b"v1\n\n".as_slice(), b"{\"orders\":{\"0\":120}}\n".repeat(20).as_slice()].concat();
    reading(&[metadata, ("offsets/0", &union), ("sources/0/0", data), ("sources/1/0", data)]);
}

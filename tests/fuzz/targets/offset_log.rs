//! The bytes are an entry of the offset log: alone, open beside a good one of either version, and beside itself.

use super::{COMMIT, ENTRY, METADATA, NAMED_ENTRY, reading};

/// Runs it.
pub fn run(data: &[u8]) {
    let metadata = ("metadata", METADATA);
    let alone = reading(&[metadata, ("offsets/0", data), ("commits/0", COMMIT)]);
    assert!(!alone.batch_open);
    for before in [ENTRY, NAMED_ENTRY] {
        reading(&[metadata, ("offsets/0", before), ("offsets/1", data), ("commits/0", COMMIT)]);
        reading(&[metadata, ("offsets/0", data), ("offsets/1", before), ("commits/0", COMMIT)]);
    }
    let twice =
        reading(&[metadata, ("offsets/0", data), ("offsets/1", data), ("commits/0", COMMIT), ("commits/1", COMMIT)]);
    // what stands still has neither dropped a partition nor gone back
    let told = |kind: &str| twice.problems.iter().any(|problem| problem.kind.label() == kind);
    assert!(!told("partitions_dropped") || told("empty_offset_map"));
    assert!(!told("planned_below_committed"));
}

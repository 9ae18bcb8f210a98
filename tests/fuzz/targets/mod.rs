//! What is done with any bytes, in whatever place they stand. libFuzzer calls it (`fuzz_targets/`), and so does an
//! ordinary test (`../../fuzz.rs`), which needs no special toolchain.

pub mod commit_log;
pub mod initial_offsets;
pub mod location;
pub mod metadata_line;
pub mod offset_log;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use brinkwatch::checkpoint::{CheckpointReading, Listing, LogEntry, SourceKind, read, wanted, wants_initial_offsets};

/// What reading may cost: this many times the input, and a fixed sum.
const TIMES: u64 = 8;
const BESIDES: u64 = 16 * 1024 * 1024;
/// Nothing that is said of a checkpoint fills a page.
const LONGEST_DETAIL: usize = 1000;
/// Only short inputs are searched for each number of the answer.
const SEARCHED: usize = 4096;

/// A good file `metadata`.
pub const METADATA: &[u8] = br#"{"id":"943e4fff-ba4f-4018-99d0-a50c4477be0a"}"#;
/// A good commit.
pub const COMMIT: &[u8] = b"v1\n{\"nextBatchWatermarkMs\":0}";
/// A good entry of version 1.
pub const ENTRY: &[u8] =
    b"v1\n{\"batchWatermarkMs\":0,\"batchTimestampMs\":1700000000000,\"conf\":{}}\n{\"orders\":{\"0\":120,\"1\":98}}";
/// A good entry of version 2.
pub const NAMED_ENTRY: &[u8] =
    b"v2\n{\"batchWatermarkMs\":0,\"batchTimestampMs\":1700000000000,\"conf\":{}}\norders_src:{\"orders\":{\"0\":120}}";

/// The most memory that any input took so far, in bytes.
pub static PEAK: AtomicU64 = AtomicU64::new(0);

/// Runs something and holds its memory against its input.
pub fn measured<T>(input: usize, run: impl FnOnce() -> T) -> T {
    let mut result = None;
    let memory = allocation_counter::measure(|| result = Some(run()));
    PEAK.fetch_max(memory.bytes_max, Ordering::Relaxed);
    let most = u64::try_from(input).unwrap() * TIMES + BESIDES;
    assert!(memory.bytes_max <= most, "{} bytes of memory for {input} bytes of input", memory.bytes_max);
    result.unwrap()
}

/// Reads a checkpoint of these files, and holds the answer against what always holds.
pub fn reading(files: &[(&str, &[u8])]) -> CheckpointReading {
    let contents: BTreeMap<String, Vec<u8>> =
        files.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec())).collect();
    let listing = listing(&contents);
    assert!(wanted(&listing).iter().all(|path| contents.contains_key(path)));
    let input = contents.values().map(Vec::len).sum();
    let reading = measured(input, || {
        // as a reader does: first whether there is more to fetch
        std::hint::black_box(wants_initial_offsets(&listing, &contents));
        read(&listing, &contents)
    });
    check(&reading, &contents, input);
    reading
}

fn check(reading: &CheckpointReading, contents: &BTreeMap<String, Vec<u8>>, input: usize) {
    assert!(!reading.batch_open || reading.newest_planned.is_some());
    for problem in &reading.problems {
        let detail = &problem.detail;
        assert!(detail.len() <= LONGEST_DETAIL, "a detail of {} bytes", detail.len());
        assert!(!detail.is_empty() && !detail.contains(char::is_control), "{detail:?}");
    }
    let positions = |topics: &BTreeMap<_, BTreeMap<_, _>>| topics.values().map(BTreeMap::len).sum::<usize>();
    assert!(reading.sources.iter().all(|source| source.kind == SourceKind::Kafka || positions(&source.topics) == 0));
    assert!(reading.unread().is_none() || reading.sources.is_empty());
    if input > SEARCHED {
        return;
    }
    let text: String = contents.values().map(|bytes| String::from_utf8_lossy(bytes)).collect();
    for position in reading.sources.iter().flat_map(|source| source.topics.values()).flat_map(BTreeMap::values) {
        for number in [position.committed, position.planned].into_iter().flatten() {
            assert!(text.contains(&number.to_string()), "{number} stands nowhere");
        }
    }
}

fn listing(contents: &BTreeMap<String, Vec<u8>>) -> Listing {
    let mut listing = Listing::default();
    for (path, bytes) in contents {
        let name = path.rsplit('/').next().unwrap().to_owned();
        let entry = LogEntry { name, size: u64::try_from(bytes.len()).unwrap(), modified: None };
        match path.split('/').collect::<Vec<_>>().as_slice() {
            ["metadata"] => listing.metadata = Some(entry),
            ["offsets", _] => listing.offsets.push(entry),
            ["commits", _] => listing.commits.push(entry),
            ["sources", id, "0"] => _ = listing.sources.insert((*id).to_owned(), entry),
            _ => panic!("no place for {path}"),
        }
    }
    listing
}

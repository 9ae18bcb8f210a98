//! The fuzz targets with an ordinary toolchain: every seed, every input that once broke something, and blind mutations of
//! both. `tests/fuzz/run` is the long form, led by coverage.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};
use tokio::time::Instant;

#[path = "fuzz/large_files.rs"]
mod large_files;
#[path = "fuzz/targets/mod.rs"]
pub mod targets;

/// A hang, even on a machine that is busy with other things.
const HANGS: Duration = Duration::from_secs(5);
/// What repeats its own repetitions grows to gigabytes, and every reader is slow then. Files of their largest size are
/// read elsewhere.
const LARGEST: usize = 256 * 1024;
/// For each target. Minutes can be asked for: `FUZZ_SECONDS=60 cargo test --test fuzz`.
const SECONDS: u64 = 2;

/// What such files are made of, and what tends to break readers.
const PIECES: [&str; 28] = [
    "v1",
    "v2",
    "v3",
    "\n",
    "\r\n",
    "\r",
    "-",
    "{}",
    "[",
    "]",
    "{",
    "}",
    "\"",
    ":",
    ",",
    "\0",
    "\u{feff}",
    "\u{1b}",
    "0",
    "-1",
    "1.5",
    "9223372036854775808",
    "1e999",
    "{\"orders\":{\"0\":",
    "\"batchTimestampMs\":",
    "s3a://",
    "@",
    "/../",
];

#[derive(Clone, Debug)]
enum Change {
    Set(Index, u8),
    Cut(Index),
    Insert(Index, &'static str),
    Repeat(Index, Index, usize),
    Splice(Index, Vec<u8>, Index),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let at = |index: &Index, bytes: &[u8]| index.index(bytes.len() + 1);
        match self {
            Self::Set(place, byte) if !bytes.is_empty() => {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            Self::Set(..) => {}
            Self::Cut(end) => bytes.truncate(at(end, bytes)),
            Self::Insert(place, piece) => {
                let place = at(place, bytes);
                bytes.splice(place..place, piece.bytes());
            }
            Self::Repeat(one, other, times) => {
                let (one, other) = (at(one, bytes), at(other, bytes));
                let piece = bytes[one.min(other)..one.max(other)].repeat(*times);
                bytes.splice(one..one, piece);
            }
            Self::Splice(end, seed, begin) => {
                bytes.truncate(at(end, bytes));
                bytes.extend(&seed[at(begin, seed)..]);
            }
        }
    }
}

fn change(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(place, byte)| Change::Set(place, byte)),
        any::<Index>().prop_map(Change::Cut),
        (any::<Index>(), select(&PIECES)).prop_map(|(place, piece)| Change::Insert(place, piece)),
        (any::<Index>(), any::<Index>(), 1usize..40).prop_map(|(one, other, times)| Change::Repeat(one, other, times)),
        (any::<Index>(), select(seeds), any::<Index>()).prop_map(|(end, seed, begin)| Change::Splice(end, seed, begin)),
    ]
}

/// Every file of a target below `corpus` and `regressions`.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz");
    let files = |part: &str| {
        let folder = fs::read_dir(fuzz.join(part).join(target));
        folder.into_iter().flatten().map(|entry| fs::read(entry.unwrap().path()).unwrap())
    };
    files("corpus").chain(files("regressions")).collect()
}

fn run(target: fn(&[u8]), data: &[u8]) {
    let began = Instant::now();
    target(data);
    assert!(began.elapsed() < HANGS, "{:?} for {} bytes", began.elapsed(), data.len());
}

fn check(name: &str, target: fn(&[u8])) {
    let seeds = seeds(name);
    assert!(seeds.len() >= 6, "the seeds of {name} were not found");
    for seed in &seeds {
        run(target, seed);
    }
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(SECONDS);
    let until = Instant::now() + Duration::from_secs(seconds);
    let changes = prop::collection::vec(change(seeds.clone()), 1..6);
    let input = (select(seeds), changes).prop_map(|(mut bytes, changes)| {
        for change in &changes {
            change.apply(&mut bytes);
            bytes.truncate(LARGEST);
        }
        bytes
    });
    let mut rounds = 0;
    while Instant::now() < until || rounds == 0 {
        let config = Config { cases: 64, failure_persistence: None, ..Config::default() };
        let result = TestRunner::new(config).run(&input, |bytes| {
            run(target, &bytes);
            Ok(())
        });
        if let Err(failure) = result {
            panic!("{name}: {failure}");
        }
        rounds += 1;
    }
    let peak = targets::PEAK.load(Ordering::Relaxed) / 1024;
    println!("{name}: {} mutations; at most {peak} KiB so far, of any target", rounds * 64);
}

#[test]
fn any_bytes_may_stand_in_the_offset_log() {
    check("offset_log", targets::offset_log::run);
}

#[test]
fn any_bytes_may_stand_in_the_commit_log() {
    check("commit_log", targets::commit_log::run);
}

#[test]
fn any_bytes_may_stand_in_the_initial_offsets() {
    check("initial_offsets", targets::initial_offsets::run);
}

#[test]
fn any_bytes_may_stand_in_a_line_of_metadata() {
    check("metadata_line", targets::metadata_line::run);
}

#[test]
fn any_bytes_may_be_given_as_a_location() {
    check("location", targets::location::run);
}

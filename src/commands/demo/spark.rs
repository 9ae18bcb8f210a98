//! A checkpoint as Spark 4 writes it: the same files, the same text, the same order, the same care.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use anyhow::Context as _;
use serde_json::json;

use crate::measures::Moment;

/// `spark.sql.streaming.minBatchesToRetain`: planning batch N purges what is older than N − 100 from both logs.
const BATCHES_RETAINED: u64 = 100;

/// The writing side of one checkpoint of a query with one Kafka source.
#[derive(Debug)]
pub(super) struct Checkpoint {
    root: PathBuf,
    topic: String,
}

impl Checkpoint {
    /// Begins a checkpoint as the first trigger of a new query does: its identity, then where it starts.
    pub(super) fn create(root: PathBuf, topic: &str, start: &[i64], at: Moment) -> anyhow::Result<Self> {
        for folder in ["offsets", "commits", "sources/0"] {
            let folder = root.join(folder);
            fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        let checkpoint = Self { root, topic: topic.to_owned() };
        checkpoint.put("metadata", json!({ "id": uuid() }).to_string().as_bytes(), at)?;
        // A leading zero byte, so that Spark 2.1.0, which skips one, can read it too.
        let initial = format!("\0v1\n{}", checkpoint.positions(start));
        checkpoint.put("sources/0/0", initial.as_bytes(), at)?;
        Ok(checkpoint)
    }

    /// Writes where a batch ends, before it is run; then purges.
    pub(super) fn plan(&self, batch: u64, ends: &[i64], at: Moment) -> anyhow::Result<()> {
        self.put(&format!("offsets/{batch}"), self.entry(ends, at).as_bytes(), at)?;
        let Some(purged) = batch.checked_sub(BATCHES_RETAINED + 1) else { return Ok(()) };
        for log in ["offsets", "commits"] {
            let path = self.root.join(log).join(purged.to_string());
            fs::remove_file(&path).with_context(|| format!("cannot purge {}", path.display()))?;
        }
        Ok(())
    }

    /// Says that a batch is done.
    pub(super) fn commit(&self, batch: u64, at: Moment) -> anyhow::Result<()> {
        self.put(&format!("commits/{batch}"), b"v1\n{\"nextBatchWatermarkMs\":0}", at)
    }

    /// Leaves the first half of a batch's entry under its final name: what a power cut makes of a file on a local
    /// disk, since Spark renames without fsync.
    pub(super) fn tear(&self, batch: u64, ends: &[i64], at: Moment) -> anyhow::Result<()> {
        let entry = self.entry(ends, at);
        self.put(&format!("offsets/{batch}"), &entry.as_bytes()[..entry.len() / 2], at)
    }

    fn entry(&self, ends: &[i64], at: Moment) -> String {
        let metadata = json!({
            "batchWatermarkMs": 0,
            "batchTimestampMs": at.millis(),
            "conf": {
                "spark.sql.streaming.stateStore.providerClass":
                    "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
                "spark.sql.streaming.stateStore.encodingFormat": "unsaferow",
                "spark.sql.streaming.stateStore.rocksdb.formatVersion": "5",
                "spark.sql.streaming.statefulOperator.useStrictDistribution": "true",
                "spark.sql.streaming.multipleWatermarkPolicy": "min",
                "spark.sql.streaming.aggregation.stateFormatVersion": "2",
                "spark.sql.streaming.join.stateFormatVersion": "2",
                "spark.sql.shuffle.partitions": "200",
            },
        });
        format!("v1\n{metadata}\n{}", self.positions(ends))
    }

    fn positions(&self, offsets: &[i64]) -> String {
        let partitions: BTreeMap<usize, i64> = offsets.iter().copied().enumerate().collect();
        json!({ &self.topic: partitions }).to_string()
    }

    /// Spark's way on a local disk: a hidden temporary file beside the final one, renamed when it is whole.
    fn put(&self, name: &str, content: &[u8], modified: Moment) -> anyhow::Result<()> {
        let path = self.root.join(name);
        put(&path, content, modified).with_context(|| format!("cannot write {}", path.display()))
    }
}

fn put(path: &Path, content: &[u8], modified: Moment) -> std::io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}.tmp", uuid()));
    let mut file = File::create(&temporary)?;
    file.write_all(content)?;
    let since_epoch = Duration::from_millis(u64::try_from(modified.millis()).unwrap_or_default());
    file.set_modified(UNIX_EPOCH + since_epoch)?;
    drop(file);
    fs::rename(temporary, path)
}

/// A version 4 UUID out of the standard library's own randomness, which is good enough for names in a demo.
fn uuid() -> String {
    let [high, low] = [0_u8, 1].map(|half| RandomState::new().hash_one(half));
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | (low >> 48) & 0x3fff,
        low & 0xffff_ffff_ffff
    )
}

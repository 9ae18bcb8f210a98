//! The checkpoints that are measured: as Spark leaves them by default, a hundred batches in each log, ten partitions.

use std::fmt::Write;

/// How many batches are in the logs, as by Spark's default.
pub(crate) const KEPT: u64 = 100;
/// The newest one at the start.
pub(crate) const NEWEST: u64 = 1000;
/// When the server's files were written, as it tells.
pub(crate) const WRITTEN: &str = "2026-01-01T00:00:00.000Z";
pub(crate) const WRITTEN_HTTP: &str = "Thu, 01 Jan 2026 00:00:00 GMT";
const COMMIT: &str = "v1\n{\"nextBatchWatermarkMs\":0}";

/// All files of one checkpoint, by key.
pub(crate) fn checkpoint(number: usize) -> Vec<(String, String)> {
    let key = |file: &str| format!("cp{number}/{file}");
    let mut files = vec![
        (key("metadata"), format!("{{\"id\":\"943e4fff-ba4f-4018-99d0-{number:012}\"}}")),
        (key("sources/0/0"), format!("\0v1\n{}", offsets(0))),
    ];
    for batch in NEWEST + 1 - KEPT..=NEWEST {
        files.extend(batch_files(number, batch));
    }
    files
}

/// What is written and removed when a query commits its next batch.
pub(crate) fn next(number: usize, newest: u64) -> (Vec<(String, String)>, [String; 2]) {
    let old = newest - KEPT;
    (batch_files(number, newest), [format!("cp{number}/offsets/{old}"), format!("cp{number}/commits/{old}")])
}

fn batch_files(number: usize, batch: u64) -> Vec<(String, String)> {
    let metadata = "{\"batchWatermarkMs\":0,\"conf\":{}}";
    vec![
        (format!("cp{number}/offsets/{batch}"), format!("v1\n{metadata}\n{}", offsets(batch))),
        (format!("cp{number}/commits/{batch}"), COMMIT.to_owned()),
    ]
}

fn offsets(batch: u64) -> String {
    let mut json = String::from("{\"orders\":{");
    for partition in 0..10 {
        let comma = if partition == 0 { "" } else { "," };
        write!(json, "{comma}\"{partition}\":{}", 1_000_000_000 + batch * 100).unwrap();
    }
    json + "}}"
}

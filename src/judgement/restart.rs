//! What Spark would do if the query were started again now, as it is.
//!
//! Spark never compares a checkpoint with earliest when it plans. The driver looks at which partitions are new, gone or
//! ended before they began; that a range is no longer in Kafka is noticed by an executor, in the first batch that
//! reads it. So a start can fail at once, or begin and then fail, and with failOnDataLoss=false most of it is skipped
//! without a word.

mod plan;
mod range;

use super::settings::QuerySettings;
use crate::checkpoint::{CheckpointReading, SourceKind};
use crate::measures::TopicPartition;
use crate::retention::ClusterReading;

pub use plan::Mode;

/// What a restart would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restart {
    /// In one word.
    pub outcome: Outcome,
    /// The class of Spark's error (4.0 and later; earlier versions throw a bare exception with the same text).
    pub error_class: Option<&'static str>,
    /// The partition that triggers it.
    pub partition: Option<TopicPartition>,
    /// What happens, in words.
    pub detail: String,
    /// Offsets that would be skipped unread; zero where the start fails.
    pub skipped_offsets: u64,
}

impl Restart {
    /// An answer that cannot be given.
    #[must_use]
    pub fn unknown(detail: impl Into<String>) -> Self {
        Self {
            outcome: Outcome::Unknown,
            error_class: None,
            partition: None,
            detail: detail.into(),
            skipped_offsets: 0,
        }
    }

    fn fine(outcome: Outcome, detail: String, skipped_offsets: u64) -> Self {
        Self { outcome, error_class: None, partition: None, detail, skipped_offsets }
    }
}

/// How a restart would go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on where it stopped.
    Starts,
    /// An executor finds what is missing, in the first batch.
    StartsThenFails,
    /// The driver refuses.
    Fails,
    /// It goes on, and leaves out what is gone.
    StartsAndSkips,
    /// Cannot be told.
    Unknown,
}

impl Outcome {
    /// The word of the JSON.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Starts => "starts",
            Self::StartsThenFails => "starts_then_fails",
            Self::Fails => "fails",
            Self::StartsAndSkips => "starts_and_skips",
            Self::Unknown => "unknown",
        }
    }
}

/// One thing that Spark would stumble over.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    stage: Stage,
    class: Option<&'static str>,
    partition: Option<TopicPartition>,
    what: String,
    /// Offsets that are left out with failOnDataLoss=false.
    skips: u64,
    /// It fails whatever failOnDataLoss says.
    always: bool,
}

/// Who finds it. A driver looks at every source before any executor reads, so its findings come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Driver,
    Executor,
    /// Something was not read, or not configured: it may or may not fail.
    Unsure,
}

/// Says what Spark would do with this checkpoint on this cluster, for one value of failOnDataLoss. The reading holds
/// only sources of this cluster.
#[must_use]
pub fn predict(
    reading: &CheckpointReading,
    cluster: &ClusterReading,
    settings: &QuerySettings,
    fail_on_data_loss: bool,
) -> Restart {
    if reading.restartable == Some(false) {
        let problems: Vec<&str> = reading.problems.iter().map(|problem| problem.kind.label()).collect();
        return Restart {
            outcome: Outcome::Fails,
            error_class: None,
            partition: None,
            detail: format!("Spark does not start from these files: {}", problems.join(", ")),
            skipped_offsets: 0,
        };
    }
    let mode = plan::mode(reading);
    let mut findings = Vec::new();
    for source in reading.sources.iter().filter(|source| source.kind == SourceKind::Kafka) {
        findings.extend(plan::of_source(source, cluster, settings, mode));
    }
    decide(reading, findings, fail_on_data_loss)
}

fn decide(reading: &CheckpointReading, mut findings: Vec<Finding>, fail_on_data_loss: bool) -> Restart {
    findings.sort_by_key(|finding| finding.stage);
    let stops = |finding: &&Finding| finding.stage != Stage::Unsure && (finding.always || fail_on_data_loss);
    if let Some(first) = findings.iter().find(stops) {
        let more = findings.iter().filter(stops).count() - 1;
        let others = if more == 0 { String::new() } else { format!("; and {more} more like it behind it") };
        return Restart {
            outcome: if first.stage == Stage::Driver { Outcome::Fails } else { Outcome::StartsThenFails },
            error_class: first.class,
            partition: first.partition.clone(),
            detail: format!("{}{others}", first.what),
            skipped_offsets: 0,
        };
    }
    if let Some(unsure) = findings.iter().find(|finding| finding.stage == Stage::Unsure) {
        return Restart { partition: unsure.partition.clone(), ..Restart::unknown(unsure.what.clone()) };
    }
    let Some(first) = findings.first() else {
        let how =
            if reading.newest_planned.is_none() { "no batch was planned yet" } else { "nothing it needs is gone" };
        let again = if reading.batch_open { "; the open batch is read again" } else { "" };
        return Restart::fine(Outcome::Starts, format!("{how}{again}"), 0);
    };
    let skipped: u64 = findings.iter().map(|finding| finding.skips).sum();
    let more = findings.len() - 1;
    let others = if more == 0 { String::new() } else { format!("; and {more} more partitions or topics") };
    Restart::fine(
        Outcome::StartsAndSkips,
        format!("{}{others}; {skipped} offsets are skipped, with a warning in the log only", first.what),
        skipped,
    )
}

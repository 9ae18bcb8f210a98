//! What hangs on the board: one finished round of one cluster, as plain values.

mod discovery;
mod history;
mod stale;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::history::{History, HistoryPoint, Span, total_lag, worst_headroom};
use crate::judgement::{
    Certainty, EventKind, PartitionProblem, PartitionState, PartitionVerdict, QuerySettings, QueryState, QueryVerdict,
    Restart,
};
use crate::measures::{Moment, Reason, TopicName, Unread};
use crate::retention::ClusterReading;

pub use discovery::DiscoveryRound;

/// The newest finished round of one cluster, or, before its first one, what is known beforehand.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterRound {
    /// The cluster's name in the configuration.
    pub cluster: String,
    /// When the round ended, well or badly; absent before the first one ended.
    pub finished_at: Option<Moment>,
    /// How often a round is due.
    pub poll_interval: Duration,
    /// After so long without a newer round, what was measured is no longer told.
    pub stale_after: Duration,
    /// How the polls of the cluster went.
    pub polls: Polls,
    /// What the cluster said.
    pub reading: ClusterReading,
    /// Topics whose log is seen to be cut by size.
    pub size_rules: BTreeSet<TopicName>,
    /// Requests by API since the process started; every API that is used is there, zeros included.
    pub requests: BTreeMap<String, u64>,
    /// The queries that read this cluster, by name.
    pub queries: BTreeMap<String, QueryRound>,
}

impl ClusterRound {
    /// What is known of a cluster before its first round: its queries, and nothing about them.
    #[must_use]
    pub fn waiting(cluster: &str, poll_interval: Duration, stale_after: Duration) -> Self {
        Self {
            cluster: cluster.to_owned(),
            finished_at: None,
            poll_interval,
            stale_after,
            polls: Polls::default(),
            reading: ClusterReading::default(),
            size_rules: BTreeSet::new(),
            requests: BTreeMap::new(),
            queries: BTreeMap::new(),
        }
    }

    /// The moment from which the round is too old to be believed.
    #[must_use]
    pub fn stale_from(&self) -> Option<Moment> {
        Some(self.finished_at?.plus(self.stale_after))
    }

    /// Whether the round is too old to be believed. Before the first round there is nothing to be believed.
    #[must_use]
    pub fn is_stale(&self, now: Moment) -> bool {
        self.stale_from().is_some_and(|from| now > from)
    }
}

/// How polls of one target went since the process started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Polls {
    /// Whether the last one worked.
    pub up: bool,
    /// All of them.
    pub total: u64,
    /// Those that failed, by reason; a reason that is missing counts as zero.
    pub failures: BTreeMap<Reason, u64>,
    /// When one last worked.
    pub last_success: Option<Moment>,
    /// When one was last tried.
    pub last_attempt: Option<Moment>,
    /// How long the last one took.
    pub duration: Option<Duration>,
    /// Why the last one failed; absent when it worked, or none was tried.
    pub failure: Option<Unread>,
}

/// One query of a round, judged on one cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryRound {
    /// Where its checkpoint lies, without secrets.
    pub checkpoint: String,
    /// The configured store that it is read with; for commands on pages.
    pub store: Option<String>,
    /// What the judgement was told.
    pub settings: QuerySettings,
    /// How much of it is published.
    pub publishing: Publishing,
    /// Remaining ratio below which its risk is critical; for pages.
    pub risk_critical: f64,
    /// How the polls of the checkpoint went.
    pub polls: Polls,
    /// Requests to its store by operation; every operation that is used is there, zeros included.
    pub requests: BTreeMap<String, u64>,
    /// Gap records that nobody has settled, by topic: what is not in it has none. Absent while the ledger does not
    /// answer.
    pub gaps_unresolved: Option<BTreeMap<TopicName, u64>>,
    /// What an earlier process left to be told until the first round has ended; absent until the ledger was asked, since
    /// a counter that shows zero for a moment looks like one that began anew.
    pub remembered: Option<Totals>,
    /// What the judgement said; absent before the first round. Shared, since a page keeps it while it is written.
    pub verdict: Option<Arc<QueryVerdict>>,
    /// What a restart would do; absent while the round is too old or none has ended.
    pub restarts: Option<Restarts>,
    /// What headroom and lag were since the process started. Shared, since it only changes when a round ends.
    pub history: Arc<History>,
}

/// What Spark would do if the query were started again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restarts {
    /// With failOnDataLoss as it is configured.
    pub configured: Restart,
    /// With failOnDataLoss=false.
    pub forced: Restart,
}

impl QueryRound {
    /// What is known of a query before its first round.
    #[must_use]
    pub fn waiting(checkpoint: &str) -> Self {
        Self {
            checkpoint: checkpoint.to_owned(),
            store: None,
            settings: QuerySettings::default(),
            publishing: Publishing::default(),
            risk_critical: 0.2,
            polls: Polls::default(),
            requests: BTreeMap::new(),
            gaps_unresolved: None,
            remembered: Some(Totals::default()),
            verdict: None,
            restarts: None,
            history: Arc::default(),
        }
    }

    /// The query's state; `unknown` before the first round.
    #[must_use]
    pub fn state(&self) -> QueryState {
        self.verdict.as_ref().map_or(QueryState::Unknown, |verdict| verdict.state)
    }
}

/// Counters of a query that outlive the process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// How often each event was seen, and when last.
    pub events: BTreeMap<EventKind, (u64, Moment)>,
    /// What was lost of each topic.
    pub topics: BTreeMap<TopicName, TopicTotals>,
}

/// What was lost of one topic since memory began.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopicTotals {
    /// Offsets counted as lost.
    pub lost: BTreeMap<Certainty, u64>,
    /// When loss was last counted.
    pub last_loss_at: BTreeMap<Certainty, Moment>,
}

/// How much of a query is published per partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Publishing {
    /// Down to which level.
    pub granularity: Granularity,
    /// Which numbers of a partition.
    pub partition_metrics: PartitionMetrics,
    /// With more series per partition than this, the query is published per topic only.
    pub series_limit: u64,
}

impl Default for Publishing {
    fn default() -> Self {
        Self { granularity: Granularity::Partition, partition_metrics: PartitionMetrics::Default, series_limit: 20_000 }
    }
}

/// The level down to which a query is published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Granularity {
    /// Each partition has its series.
    #[default]
    Partition,
    /// Topics only; of partitions, only what is wrong with them.
    Topic,
}

/// Which numbers of a partition are published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartitionMetrics {
    /// Committed offset, headroom, lag, deadline.
    #[default]
    Default,
    /// All that is known.
    All,
}

/// Every problem of a partition: those that follow from its state, and those that the judgement added.
#[must_use]
pub fn problems(partition: &PartitionVerdict) -> BTreeSet<PartitionProblem> {
    let mut problems = partition.problems.clone();
    let caught_up = problems.contains(&PartitionProblem::GoneCaughtUp);
    problems.extend(match partition.state {
        PartitionState::Unknown => Some(PartitionProblem::Unknown),
        PartitionState::Unconfirmed => Some(PartitionProblem::Unconfirmed),
        PartitionState::Gone if !caught_up => Some(PartitionProblem::Gone),
        PartitionState::Recreated => Some(PartitionProblem::Recreated),
        PartitionState::BeyondEnd => Some(PartitionProblem::BeyondEnd),
        PartitionState::Unverified => Some(PartitionProblem::Unverified),
        PartitionState::Pending => Some(PartitionProblem::Pending),
        PartitionState::Lost => Some(PartitionProblem::Lost),
        PartitionState::Gone | PartitionState::CaughtUp | PartitionState::Behind => None,
    });
    problems
}

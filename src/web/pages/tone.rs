//! How loudly a state is told.

use crate::judgement::{PartitionProblem, PartitionState, QueryState, QueryVerdict};
use crate::measures::Moment;
use crate::metrics::snapshot::QueryRound;

/// Loudest first: the order of the fleet page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::web) enum Tone {
    /// Somebody is needed now.
    Critical,
    /// Somebody should look.
    Warning,
    /// Nobody can tell.
    Unknown,
    /// All is well.
    Good,
}

impl Tone {
    /// The style that carries it.
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Critical => "crit",
            Self::Warning => "warn",
            Self::Unknown => "unk",
            Self::Good => "good",
        }
    }

    /// The word of the API.
    pub(in crate::web) const fn word(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Unknown => "unknown",
            Self::Good => "good",
        }
    }
}

/// A checkpoint that could not be read for so long is critical, and a stall of so many times its limit.
const UNREADABLE_CRITICAL_SECONDS: u64 = 3_600;
const STALLED_CRITICAL_TIMES: f64 = 6.0;

/// How loudly a query's state is told.
pub(in crate::web) fn tone(query: &QueryRound, now: Moment) -> Tone {
    match query.state() {
        QueryState::ClusterMismatch | QueryState::Recreated | QueryState::Lost | QueryState::BeyondEnd => {
            Tone::Critical
        }
        QueryState::Gone => gone(query),
        QueryState::Unreadable => unreadable(query, now),
        QueryState::AtRisk if worst_ratio(query).is_some_and(|ratio| ratio < query.risk_critical) => Tone::Critical,
        QueryState::Stalled => stalled(query, now),
        QueryState::AtRisk => Tone::Warning,
        QueryState::Unverified | QueryState::Unknown | QueryState::NotStarted | QueryState::Superseded => Tone::Unknown,
        // It reads well and has one life: calling it safe would be a lie.
        QueryState::Behind | QueryState::Idle if refuses_restart(query) => Tone::Warning,
        QueryState::Behind | QueryState::Idle => Tone::Good,
    }
}

/// Whether Spark would not start from the checkpoint as it is.
pub(super) fn refuses_restart(query: &QueryRound) -> bool {
    query.verdict.as_ref().is_some_and(|verdict| verdict.restartable == Some(false))
}

/// How loudly a partition's state is told.
pub(super) fn of_partition(state: PartitionState, ratio: Option<f64>, query: &QueryRound) -> Tone {
    match state {
        PartitionState::Lost | PartitionState::Recreated | PartitionState::BeyondEnd | PartitionState::Gone => {
            Tone::Critical
        }
        PartitionState::Behind | PartitionState::CaughtUp => of_ratio(ratio, query),
        PartitionState::Unknown
        | PartitionState::Unconfirmed
        | PartitionState::Unverified
        | PartitionState::Pending => Tone::Unknown,
    }
}

fn of_ratio(ratio: Option<f64>, query: &QueryRound) -> Tone {
    match ratio {
        Some(ratio) if ratio < query.risk_critical => Tone::Critical,
        Some(ratio) if ratio < query.settings.risk_warning => Tone::Warning,
        _ => Tone::Good,
    }
}

fn gone(query: &QueryRound) -> Tone {
    let unread = |verdict: &QueryVerdict| {
        verdict.partitions.values().any(|partition| {
            partition.state == PartitionState::Gone && !partition.problems.contains(&PartitionProblem::GoneCaughtUp)
        })
    };
    if query.verdict.as_deref().is_some_and(unread) { Tone::Critical } else { Tone::Warning }
}

fn unreadable(query: &QueryRound, now: Moment) -> Tone {
    let restart_fails = query.verdict.as_ref().is_some_and(|verdict| verdict.restartable == Some(false));
    let read_lately = query.polls.last_success.is_some_and(|at| now.since(at).as_secs() < UNREADABLE_CRITICAL_SECONDS);
    if restart_fails || !read_lately { Tone::Critical } else { Tone::Warning }
}

fn stalled(query: &QueryRound, now: Moment) -> Tone {
    let Some(verdict) = &query.verdict else { return Tone::Warning };
    let limit = verdict.expected_interval.as_secs_f64() * query.settings.stalled_after * STALLED_CRITICAL_TIMES;
    let waits = verdict.unread_since.map(|since| now.since(since).as_secs_f64());
    if waits.is_some_and(|waits| waits > limit) { Tone::Critical } else { Tone::Warning }
}

/// The lowest remaining ratio of a query's topics; lost partitions are told as lost.
pub(super) fn worst_ratio(query: &QueryRound) -> Option<f64> {
    query.verdict.as_ref()?.topics.values().filter_map(|topic| topic.ratio).reduce(f64::min)
}

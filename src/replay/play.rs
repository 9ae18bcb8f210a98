//! Sends a scenario through the rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use thiserror::Error;
use tokio::sync::Semaphore;

use super::readers::{WrittenCheckpoint, WrittenKafka};
use super::scenario::{Restart, Scenario, Step};
use super::world::World;
use crate::alerts::{self, Severity};
use crate::judgement::{Isolation, QuerySettings, QueryVerdict};
use crate::ledger::{Book, Gap, Pieces};
use crate::measures::{Moment, TopicName};
use crate::metrics::snapshot::Publishing;
use crate::process::clock::Clock;
use crate::retention::Limits;
use crate::rounds::{AT_ONCE, ClusterState, ClusterTarget, Found, QueryTarget, SourceFilter, once};

/// Nothing in a replay waits for anybody; a round has this much time all the same.
const DEADLINE: Duration = Duration::from_secs(60);
/// A retention is compared with what it was so long ago at most.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// What was configured.
#[derive(Clone, Debug)]
pub struct Setup {
    /// For the judgement.
    pub settings: QuerySettings,
    /// Which sources of the checkpoint are told of.
    pub sources: SourceFilter,
    /// For the alerts.
    pub thresholds: alerts::Thresholds,
    /// How far back alert rules look.
    pub window: Duration,
    /// From round to round.
    pub poll_interval: Duration,
    /// When what was measured grows old.
    pub stale_after: Duration,
}

/// What was said in one step.
#[derive(Clone, Debug)]
pub struct Played {
    /// When.
    pub at: Moment,
    /// The verdict.
    pub verdict: QueryVerdict,
    /// What was lost until then, as a ledger records it, sorted by place.
    pub gaps: Vec<Gap>,
    /// Alerts whose conditions hold, each with the highest severity that does.
    pub alerts: Vec<(&'static str, Severity)>,
}

/// Why a scenario could not be played to its end.
#[derive(Debug, Error)]
pub enum PlayError {
    /// What is remembered did not survive being stored.
    #[error("the memory of a query cannot be stored and read back")]
    Memory(#[source] serde_json::Error),
}

/// What a replay carries from step to step besides the rounds' own state: what a ledger would hold, and the past of
/// the topics' limits.
#[derive(Debug, Default)]
struct Aside {
    memories: Pieces,
    gaps: Book,
    limits: BTreeMap<TopicName, Vec<(Moment, Limits)>>,
}

/// Plays all steps; the answer holds one list for each checkpoint, by name.
///
/// # Errors
/// When memory does not survive a restart.
pub async fn play(scenario: &Scenario, setup: &Setup) -> Result<BTreeMap<String, Vec<Played>>, PlayError> {
    let world = World::default();
    let time = Arc::new(AtomicI64::new(0));
    let clock = {
        let time = Arc::clone(&time);
        Clock::given(move || Moment::from_millis(time.load(Ordering::Relaxed)))
    };
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut state = ClusterState { clock: clock.clone(), ..ClusterState::default() };
    let mut aside = Aside::default();
    let mut played: BTreeMap<String, Vec<Played>> = BTreeMap::new();
    for step in &scenario.steps {
        time.store(step.at.millis(), Ordering::Relaxed);
        world.state().apply(step);
        if let Some(restart) = step.restart {
            if restart == Restart::WithoutLedger {
                aside = Aside::default();
            }
            state = aside.restarted(&clock)?;
        }
        acknowledge(&mut state, step);
        let target = target(&world, setup, played.keys().cloned().collect());
        let found = once(&target, &mut state, &places, DEADLINE).await;
        aside.remember(&mut state, &found)?;
        let lowered = aside.retention_lowered(&found);
        for ((query, verdict), poll) in target.queries.iter().zip(&found.verdicts).zip(&found.checkpoints) {
            let gaps = aside.gaps_of(&query.name);
            let alerts = alerts::holding(&alerts::Told {
                now: step.at,
                verdict,
                max_outage: setup.settings.max_outage,
                thresholds: setup.thresholds,
                window: setup.window,
                checkpoint_up: poll.outcome.is_ok(),
                cluster_up: found.cluster.is_ok(),
                gaps_unresolved: !gaps.is_empty(),
                retention_lowered: lowered,
            });
            let said = Played { at: step.at, verdict: verdict.clone(), gaps, alerts };
            played.entry(query.name.clone()).or_default().push(said);
        }
    }
    Ok(played)
}

fn acknowledge(state: &mut ClusterState, step: &Step) {
    for one in &step.acknowledge {
        for memory in state.memories.values_mut() {
            memory.acknowledge(one.topic.as_deref(), one.partition);
        }
    }
}

/// Every checkpoint that was ever there: one whose files are gone is not forgotten.
fn target(world: &World, setup: &Setup, mut names: BTreeSet<String>) -> ClusterTarget {
    names.extend(world.state().checkpoints.keys().cloned());
    if names.is_empty() {
        names.insert(String::new());
    }
    let queries = names.iter().map(|name| QueryTarget {
        name: name.clone(),
        checkpoint: Arc::new(WrittenCheckpoint { name: name.clone(), world: world.clone() }),
        store: None,
        sources: setup.sources.clone(),
        superseded: names.iter().any(|other| is_newer_version(other, name)),
        settings: setup.settings.clone(),
        publishing: Publishing::default(),
        risk_critical: setup.thresholds.risk_critical,
    });
    ClusterTarget {
        name: "replay".to_owned(),
        brokers: Arc::new(WrittenKafka {
            world: world.clone(),
            committed_only: setup.settings.isolation == Isolation::ReadCommitted,
        }),
        queries: queries.collect(),
        poll_interval: setup.poll_interval,
        stale_after: setup.stale_after,
    }
}

/// Whether both names are versions of one, such as `app-001` and `app-002`, and the first is the newer one.
fn is_newer_version(one: &str, other: &str) -> bool {
    let version = |name: &str| -> Option<u64> { name[stem(name).len()..].parse().ok() };
    stem(one) == stem(other) && version(one) > version(other) && version(other).is_some()
}

fn stem(name: &str) -> &str {
    name.trim_end_matches(|letter: char| letter.is_ascii_digit())
}

impl Aside {
    /// A ledger keeps what is remembered, piece by piece, and nothing else of the process.
    fn restarted(&self, clock: &Clock) -> Result<ClusterState, PlayError> {
        let memories = self.memories.memories().into_iter().map(|(query, memory)| Ok((query, memory?)));
        let memories = memories.collect::<serde_json::Result<_>>().map_err(PlayError::Memory)?;
        Ok(ClusterState::remembering(clock.clone(), memories))
    }

    fn remember(&mut self, state: &mut ClusterState, found: &Found) -> Result<(), PlayError> {
        let pieces = state.written.changes(&state.memories).map_err(PlayError::Memory)?;
        pieces.iter().for_each(|piece| self.memories.put(piece));
        state.written.accept(pieces);
        found.findings.iter().for_each(|finding| self.gaps.record(finding));
        Ok(())
    }

    fn gaps_of(&self, query: &str) -> Vec<Gap> {
        let mut gaps: Vec<Gap> = self.gaps.all().filter(|gap| gap.stream_name == query).cloned().collect();
        gaps.sort_by(|one, other| {
            (&one.topic, one.partition, one.from).cmp(&(&other.topic, other.partition, other.from))
        });
        gaps
    }

    /// Whether a topic keeps its records for less, or fewer of them, than within the last day.
    fn retention_lowered(&mut self, found: &Found) -> bool {
        let now = found.finished_at;
        for (name, sight) in found.cluster.iter().flat_map(|cluster| &cluster.topics) {
            let limits = sight.seen().and_then(|topic| topic.limits.as_ref()?.as_ref().ok());
            if let Some(limits) = limits {
                self.limits.entry(TopicName::clone(name)).or_default().push((now, limits.clone()));
            }
        }
        let mut lowered = false;
        for seen in self.limits.values_mut() {
            seen.retain(|(at, _)| now.since(*at) <= DAY);
            let Some((_, newest)) = seen.last() else { continue };
            // A negative limit is none.
            let limit = |number: Option<i64>| number.map(|number| u64::try_from(number).unwrap_or(u64::MAX));
            let below = |of: fn(&Limits) -> Option<i64>| {
                let highest = seen.iter().filter_map(|(_, limits)| limit(of(limits))).max();
                limit(of(newest)).is_some_and(|newest| Some(newest) < highest)
            };
            lowered |= below(|limits| limits.retention_ms) || below(|limits| limits.retention_bytes);
        }
        lowered
    }
}

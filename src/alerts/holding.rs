//! Which alerts a verdict holds up, without any Prometheus: the conditions of the rules, their waiting left aside.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::inputs::Thresholds;
use super::rule::Severity;
use crate::judgement::{Certainty, Condition, Deadline, EventKind, PartitionProblem, QueryVerdict, TopicVerdict};
use crate::measures::Moment;

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// A query is on schedule while its oldest unread record is younger than so many expected intervals.
const ON_SCHEDULE: f64 = 1.25;
/// Stalled so many times longer than the warning is critical.
const CRITICAL_TIMES: f64 = 6.0;

/// All that the rules are asked about, in one moment.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// The moment.
    pub now: Moment,
    /// What was said of the query.
    pub verdict: &'a QueryVerdict,
    /// How long the query may be down.
    pub max_outage: Duration,
    /// When alerts are raised.
    pub thresholds: Thresholds,
    /// How far back rules look for a value.
    pub window: Duration,
    /// Whether the checkpoint was read.
    pub checkpoint_up: bool,
    /// Whether the brokers answered.
    pub cluster_up: bool,
    /// Whether a loss waits for somebody's word.
    pub gaps_unresolved: bool,
    /// Whether a topic's retention is below what it was within the day.
    pub retention_lowered: bool,
}

/// The alerts whose conditions hold, by name, each with the highest severity that does.
#[must_use]
pub fn holding(told: &Told<'_>) -> Vec<(&'static str, Severity)> {
    let mut found = Found::default();
    let verdict = told.verdict;
    if !told.cluster_up {
        found.add("BrinkwatchKafkaUnreachable", Severity::Critical);
    }
    if verdict.conditions.contains(&Condition::Superseded) {
        return found.in_order();
    }
    for topic in verdict.topics.values() {
        loss(told, topic, &mut found);
        retention(told, topic, &mut found);
        identity(topic, &mut found);
    }
    if verdict.conditions.contains(&Condition::ClusterMismatch) {
        found.add("SparkStreamClusterMismatch", Severity::Critical);
        // One cause, one page.
        found.remove("SparkStreamTopicRecreated");
    }
    found.add_if(told.gaps_unresolved, "SparkStreamGapUnresolved", Severity::Warning);
    found.add_if(told.retention_lowered, "SparkTopicRetentionLowered", Severity::Warning);
    found.add_if(!told.checkpoint_up, "SparkStreamCheckpointUnreadable", Severity::Critical);
    found.add_if(verdict.restartable == Some(false), "SparkStreamCheckpointNotRestartable", Severity::Critical);
    stalled(told, &mut found);
    events(told, &mut found);
    found.in_order()
}

#[derive(Debug, Default)]
struct Found(BTreeMap<&'static str, BTreeSet<Severity>>);

impl Found {
    fn add(&mut self, alert: &'static str, severity: Severity) {
        self.0.entry(alert).or_default().insert(severity);
    }

    fn add_if(&mut self, holds: bool, alert: &'static str, severity: Severity) {
        if holds {
            self.add(alert, severity);
        }
    }

    fn remove(&mut self, alert: &'static str) {
        self.0.remove(alert);
    }

    fn in_order(self) -> Vec<(&'static str, Severity)> {
        self.0.into_iter().filter_map(|(alert, severities)| Some((alert, *severities.first()?))).collect()
    }
}

fn loss(told: &Told<'_>, topic: &TopicVerdict, found: &mut Found) {
    let recent = |certainty| {
        let counted = topic.lost_total.get(&certainty).is_some_and(|total| *total > 0);
        counted && topic.last_loss_at.get(&certainty).is_some_and(|at| told.now.since(*at) < HOUR)
    };
    let stands = |offsets: Option<u64>| offsets.is_some_and(|offsets| offsets > 0);
    found.add_if(stands(topic.lost) || recent(Certainty::Certain), "SparkStreamDataLost", Severity::Critical);
    let possible = stands(topic.possibly_lost) || recent(Certainty::Possible);
    found.add_if(possible, "SparkStreamDataPossiblyLost", Severity::Warning);
}

fn retention(told: &Told<'_>, topic: &TopicVerdict, found: &mut Found) {
    let left = |deadline: Option<Deadline>| deadline.map(|deadline| deadline.seconds() - told.now.seconds());
    let interval = told.thresholds.expected_interval.as_secs_f64();
    let unread_age = topic.oldest_unread.map(|at| told.now.seconds() - at.seconds());
    let on_schedule = unread_age.is_some_and(|age| age <= ON_SCHEDULE * interval);
    let share = left(topic.deadline).zip(topic.retention_seconds).map(|(left, retention)| left / retention);
    let shares = || [topic.ratio, share].into_iter().flatten();
    let below = |limit: f64| shares().any(|share| share < limit);
    found.add_if(below(told.thresholds.risk_warning) && !on_schedule, "SparkStreamRetentionRisk", Severity::Warning);
    found.add_if(below(told.thresholds.risk_critical), "SparkStreamRetentionRisk", Severity::Critical);

    let retention = topic.retention_seconds.unwrap_or(f64::INFINITY);
    let near = |limit: Duration, part: f64| {
        left(topic.forecast).is_some_and(|left| left < limit.as_secs_f64().min(part * retention))
    };
    found.add_if(
        near(told.thresholds.forecast_warning, 0.5) && !on_schedule,
        "SparkStreamLossForecast",
        Severity::Warning,
    );
    found.add_if(
        near(told.thresholds.forecast_critical, 0.2) && !on_schedule,
        "SparkStreamLossForecast",
        Severity::Critical,
    );

    let outage = told.max_outage.as_secs_f64();
    let expected = told.verdict.expected_interval.as_secs_f64();
    let short = topic.retention_seconds.is_some_and(|retention| retention < outage + expected)
        || left(topic.deadline).is_some_and(|left| left < outage);
    found.add_if(short, "SparkStreamOutageBudgetTooSmall", Severity::Warning);

    let problem = topic.problems.get(&PartitionProblem::RetentionUnknown).is_some_and(|count| *count > 0);
    let unread = topic.lag.is_some_and(|lag| lag > 0);
    found.add_if(problem && unread, "SparkStreamRetentionUnknown", Severity::Warning);

    let unread_for = told.verdict.unread_since.filter(|_| unread).map(|since| told.now.since(since).as_secs_f64());
    let old = unread_for.is_some_and(|age| age > (0.25 * retention).max(ON_SCHEDULE * interval));
    found.add_if(old, "SparkStreamLastBatchOld", Severity::Warning);
}

fn identity(topic: &TopicVerdict, found: &mut Found) {
    let has = |problem| topic.problems.get(&problem).is_some_and(|count| *count > 0);
    found.add_if(has(PartitionProblem::Recreated), "SparkStreamTopicRecreated", Severity::Critical);
    found.add_if(has(PartitionProblem::BeyondEnd), "SparkStreamOffsetBeyondEnd", Severity::Critical);
    found.add_if(has(PartitionProblem::Gone), "SparkStreamPartitionsGone", Severity::Critical);
    found.add_if(has(PartitionProblem::GoneCaughtUp), "SparkStreamPartitionsGone", Severity::Warning);
}

fn stalled(told: &Told<'_>, found: &mut Found) {
    let Some(since) = told.verdict.unread_since else { return };
    let age = told.now.since(since).as_secs_f64();
    let intervals = told.thresholds.expected_interval.saturating_mul(told.thresholds.stalled_after);
    let warning_after = intervals.max(told.window).as_secs_f64();
    found.add_if(age > warning_after, "SparkStreamStalled", Severity::Warning);
    found.add_if(age > CRITICAL_TIMES * warning_after, "SparkStreamStalled", Severity::Critical);
}

fn events(told: &Told<'_>, found: &mut Found) {
    let alerts = [
        (EventKind::PositionJumped, HOUR, "SparkStreamPositionJumped", Severity::Warning),
        (EventKind::OffsetsRewritten, HOUR, "SparkStreamTwoWriters", Severity::Warning),
        (EventKind::ContinuedPastLoss, DAY, "SparkStreamRunsPastLoss", Severity::Warning),
        (EventKind::PositionMovedBack, HOUR, "SparkStreamPositionMovedBack", Severity::Info),
        (EventKind::CheckpointReplaced, HOUR, "SparkStreamCheckpointReplaced", Severity::Info),
    ];
    for (event, within, alert, severity) in alerts {
        let seen = told.verdict.event_totals.get(&event);
        let recent = seen.is_some_and(|(count, last)| *count > 0 && told.now.since(*last) < within);
        found.add_if(recent, alert, severity);
    }
}

//! Rounds for tests: one of every kind of trouble, with numbers that agree with each other.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::snapshot::{ClusterRound, Polls, QueryRound};
use crate::checkpoint::{Problem, ProblemKind};
use crate::judgement::{
    Certainty, Condition, Deadline, EventKind, PartitionProblem, PartitionState, PartitionVerdict, QueryState,
    QueryVerdict, TopicVerdict,
};
use crate::measures::{BatchId, Moment, Offset, Reason, TopicName, TopicPartition, Unread};
use crate::retention::{ClusterReading, Limits, PartitionReading, Right, TopicReading, TopicSight};

/// Mon 30 Nov 2026, 02:53:08 UTC.
pub(crate) const NOW: Moment = Moment::from_millis(1_796_007_188_000);

pub(crate) fn ago(seconds: u64) -> Moment {
    NOW.minus(Duration::from_secs(seconds))
}

pub(crate) fn offset(number: i64) -> Option<Offset> {
    Offset::new(number)
}

/// A partition with numbers that follow from (committed, earliest, latest).
pub(crate) fn partition(committed: i64, earliest: i64, latest: i64) -> PartitionVerdict {
    let lost = u64::try_from(earliest - committed).unwrap_or(0);
    let state = match (lost, latest > committed) {
        (1.., _) => PartitionState::Lost,
        (0, true) => PartitionState::Behind,
        (0, false) => PartitionState::CaughtUp,
    };
    PartitionVerdict {
        state,
        reason: Cow::Borrowed("as the numbers say"),
        problems: BTreeSet::new(),
        committed: offset(committed),
        planned: None,
        earliest: offset(earliest),
        latest: offset(latest),
        headroom: Some(committed - earliest),
        lag: u64::try_from(latest - committed.max(earliest)).ok(),
        lost: Some(lost),
        possibly_lost: Some(0),
        beyond_end: Some(0),
        ratio: Some(if lost > 0 { 0.0 } else { 0.97 }),
        deadline: (lost == 0).then(|| Deadline::At(NOW.plus(Duration::from_secs(11_520)))),
        forecast: None,
        oldest_unread: (latest > committed).then(|| ago(600)),
        unproved: None,
    }
}

/// A partition of which nothing was read.
pub(crate) fn blind() -> PartitionVerdict {
    PartitionVerdict {
        state: PartitionState::Unknown,
        reason: Cow::Borrowed("no leader"),
        problems: BTreeSet::new(),
        committed: offset(5),
        planned: None,
        earliest: None,
        latest: None,
        headroom: None,
        lag: None,
        lost: None,
        possibly_lost: None,
        beyond_end: None,
        ratio: None,
        deadline: None,
        forecast: None,
        oldest_unread: None,
        unproved: None,
    }
}

/// A topic folded from its partitions, in the plainest way.
pub(crate) fn fold(partitions: &[PartitionVerdict]) -> TopicVerdict {
    let sum = |number: fn(&PartitionVerdict) -> Option<u64>| partitions.iter().map(number).sum::<Option<u64>>();
    let mut topic = TopicVerdict {
        lag: sum(|each| each.lag),
        committed: sum(|each| each.committed.and_then(|offset| u64::try_from(offset.get()).ok())),
        lost: Some(partitions.iter().filter_map(|each| each.lost).sum()),
        possibly_lost: Some(partitions.iter().filter_map(|each| each.possibly_lost).sum()),
        headroom: partitions.iter().filter_map(|each| each.headroom).min(),
        ratio: partitions.iter().filter(|each| each.lost == Some(0)).filter_map(|each| each.ratio).reduce(f64::min),
        deadline: partitions.iter().filter_map(|each| each.deadline).min(),
        forecast: partitions.iter().filter_map(|each| each.forecast).min(),
        oldest_unread: partitions.iter().filter_map(|each| each.oldest_unread).min(),
        retention_seconds: Some(604_800.0),
        states: PartitionState::ALL.iter().map(|state| (*state, 0)).collect(),
        problems: PartitionProblem::ALL.iter().map(|problem| (*problem, 0)).collect(),
        ..TopicVerdict::default()
    };
    for each in partitions {
        *topic.states.entry(each.state).or_default() += 1;
        for problem in super::snapshot::problems(each) {
            *topic.problems.entry(problem).or_default() += 1;
        }
    }
    topic
}

/// A verdict on topics and their partitions, numbered from 0.
pub(crate) fn verdict(state: QueryState, topics: &[(&str, Vec<PartitionVerdict>)]) -> QueryVerdict {
    let mut partitions = BTreeMap::new();
    let mut folded = BTreeMap::new();
    for (name, each) in topics {
        let name: TopicName = Arc::from(*name);
        folded.insert(Arc::clone(&name), fold(each));
        for (number, partition) in (0..).zip(each) {
            partitions.insert(TopicPartition::new(&name, number), partition.clone());
        }
    }
    QueryVerdict {
        turned_certain: Vec::new(),
        state,
        reason: Cow::Borrowed("as its partitions say"),
        conditions: Condition::ALL.iter().copied().filter(|each| each.label() == state.label()).collect(),
        partitions,
        topics: folded,
        unreadable: None,
        problems: Vec::new(),
        query_id: Some("943e4fff-ba4f-4018-99d0-a50c4477be0a".to_owned()),
        offset_log_version: Some(1),
        newest_planned: Some(BatchId(20_417)),
        newest_committed: Some(BatchId(20_417)),
        restartable: Some(true),
        last_commit_at: Some(ago(240)),
        last_progress_at: Some(ago(240)),
        unread_since: None,
        open_batch_at: None,
        expected_interval: Duration::from_secs(60),
        events: Vec::new(),
        newly_lost: Vec::new(),
        event_totals: BTreeMap::new(),
    }
}

pub(crate) fn query(verdict: QueryVerdict) -> QueryRound {
    QueryRound {
        polls: good_polls(),
        requests: [("get".to_owned(), 12), ("list".to_owned(), 8)].into(),
        verdict: Some(Arc::new(verdict)),
        gaps_unresolved: Some(BTreeMap::new()),
        ..QueryRound::waiting("file:///data/checkpoints/orders")
    }
}

pub(crate) fn good_polls() -> Polls {
    Polls {
        up: true,
        total: 4,
        failures: [(Reason::TimedOut, 1)].into(),
        last_success: Some(ago(9)),
        last_attempt: Some(ago(9)),
        duration: Some(Duration::from_millis(2400)),
        failure: None,
    }
}

/// A cluster with one query that lost data, one at risk with an open batch, one that is idle, one not read.
pub(crate) fn round() -> ClusterRound {
    let mut lost = verdict(
        QueryState::Lost,
        &[(
            "orders",
            vec![partition(39_584_558, 39_588_758, 40_726_617), partition(38_632_764, 38_628_294, 39_750_272)],
        )],
    );
    lost.restartable = Some(false);
    lost.unread_since = Some(ago(3_600));
    lost.event_totals.insert(EventKind::PositionMovedBack, (2, ago(7_200)));
    lost.problems.push(Problem {
        kind: ProblemKind::NoncanonicalBatchName,
        file: Some("offsets/005".to_owned()),
        detail: "not a batch name; Spark ignores it".to_owned(),
    });
    for topic in lost.topics.values_mut() {
        topic.lost_total.insert(Certainty::Certain, 4_200);
        topic.last_loss_at.insert(Certainty::Certain, ago(1_800));
    }

    let mut risky = partition(870_707, 100, 9_000_000);
    risky.ratio = Some(0.1612);
    risky.planned = offset(900_000);
    risky.forecast = Some(Deadline::At(NOW.plus(Duration::from_secs(20_000))));
    let mut endless = partition(10, 0, 20);
    endless.deadline = Some(Deadline::Never);
    endless.ratio = Some(1.0);
    let mut at_risk = verdict(QueryState::AtRisk, &[("clicks", vec![risky]), ("pageviews", vec![endless])]);
    at_risk.open_batch_at = Some(ago(245));
    at_risk.unread_since = Some(ago(240));
    at_risk.newest_planned = Some(BatchId(20_418));

    let mut quiet = partition(52, 0, 52);
    quiet.ratio = Some(1.0);
    let idle = verdict(QueryState::Idle, &[("prices", vec![quiet])]);

    let mut unreadable = verdict(QueryState::Unreadable, &[("orders", vec![blind()])]);
    unreadable.unreadable = Some(Unread::new(Reason::Denied, "may not list the folder"));
    let mut unread = query(unreadable);
    unread.polls.up = false;
    unread.polls.failure = Some(Unread::new(Reason::Denied, "may not list the folder"));

    ClusterRound {
        finished_at: Some(ago(9)),
        polls: good_polls(),
        reading: reading(),
        requests: [("list_offsets".to_owned(), 40), ("metadata".to_owned(), 4)].into(),
        queries: [
            ("orders-enriched".to_owned(), query(lost)),
            ("fraud-features".to_owned(), query(at_risk)),
            ("price-updates".to_owned(), query(idle)),
            ("orders-copy".to_owned(), unread),
            ("returns".to_owned(), QueryRound::waiting("s3a://lake/returns")),
        ]
        .into(),
        ..ClusterRound::waiting("ingest-eu", Duration::from_secs(30), Duration::from_secs(90))
    }
}

fn reading() -> ClusterReading {
    let bounds = |earliest, latest| {
        Ok(PartitionReading {
            earliest: offset(earliest).unwrap(),
            latest: offset(latest).unwrap(),
            stable: None,
            leader_epoch: Some(3),
            oldest: offset(earliest).map(|earliest| (earliest, ago(604_000))),
        })
    };
    let limits = Limits {
        cleanup_policy: Some("delete".to_owned()),
        retention_ms: Some(604_800_000),
        retention_bytes: Some(-1),
        ..Limits::default()
    };
    let orders = TopicReading {
        topic_id: None,
        limits: Some(Ok(limits)),
        partitions: [
            (0, bounds(39_588_758, 40_726_617)),
            (1, bounds(38_628_294, 39_750_272)),
            (2, Err(Unread::new(Reason::Unreachable, "no leader"))),
        ]
        .into(),
    };
    let prices = TopicReading {
        topic_id: None,
        limits: Some(Err(Unread::new(Reason::Denied, "may not describe configs"))),
        partitions: [(0, bounds(0, 52))].into(),
    };
    ClusterReading {
        cluster_id: Some("K1".to_owned()),
        topics: [
            (Arc::from("orders"), TopicSight::Seen(orders)),
            (Arc::from("prices"), TopicSight::Seen(prices)),
            (Arc::from("gone"), TopicSight::Absent),
        ]
        .into(),
        missing_rights: [(Right::DescribeConfigs, [Arc::from("prices")].into())].into(),
        ..ClusterReading::default()
    }
}

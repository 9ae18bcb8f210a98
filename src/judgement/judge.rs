//! One judgement, from what was seen to what is said and remembered.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::latches::{Healing, latched};
use super::memory::{Keeps, LatchKind, PartitionMemory, QueryMemory, TopicMemory};
use super::needs::{Need, needs};
use super::notes::Notes;
use super::partition::{self, Around, Blindness, Bounds, Round};
use super::query::{self, Whole};
use super::rows::TopicSigns;
use super::settings::{QuerySettings, Watch};
use super::sighting::Sighting;
use super::states::{Condition, QueryState};
use super::verdict::{LostRange, PartitionVerdict, QueryVerdict, TopicVerdict};
use super::{identity, lineage, movement, numbers, progress, topic};
use crate::checkpoint::CheckpointReading;
use crate::measures::{Moment, Offset, Reason, TopicName, TopicPartition, Unread};
use crate::retention::{ClusterReading, Limit, PartitionReading, Policy, Ruling, TopicReading, TopicSight};

/// Judges one query on one cluster, for one round.
#[must_use]
pub fn judge(settings: &QuerySettings, sighting: &Sighting<'_>, memory: QueryMemory) -> (QueryVerdict, QueryMemory) {
    if sighting.superseded || settings.watch == Watch::Retired {
        return set_aside(settings, sighting.superseded, memory);
    }
    match sighting.checkpoint {
        Ok(reading) => with_checkpoint(settings, sighting, reading, memory),
        Err(unread) => without_checkpoint(settings, sighting, unread, memory),
    }
}

type Partitions = BTreeMap<TopicPartition, PartitionVerdict>;

/// Another checkpoint took its place, or it is over for good: a row on the page and nothing else. Memory stays.
fn set_aside(settings: &QuerySettings, superseded: bool, mut memory: QueryMemory) -> (QueryVerdict, QueryMemory) {
    let interval = progress::expected_interval(settings, None, &mut memory);
    let mut verdict = facts(&memory, interval);
    verdict.state = QueryState::Superseded;
    verdict.reason =
        Cow::Borrowed(if superseded { "a newer checkpoint took its place" } else { "retired by the operator" });
    verdict.conditions = BTreeSet::from([Condition::Superseded]);
    (verdict, memory)
}

fn without_checkpoint(
    settings: &QuerySettings,
    sighting: &Sighting<'_>,
    unread: &Unread,
    mut memory: QueryMemory,
) -> (QueryVerdict, QueryMemory) {
    let interval = progress::expected_interval(settings, None, &mut memory);
    let age = memory.checkpoint.as_ref().map(|known| sighting.now.since(known.read_at));
    let mut partitions = Partitions::new();
    for (name, topic) in &memory.topics {
        let another = sighting.cluster.ok().and_then(|cluster| identity::differs(cluster, name, &memory));
        let reading = sighting.cluster.ok().filter(|_| another.is_none()).and_then(|cluster| seen(cluster, name));
        for (number, one) in topic.partitions.iter().filter(|(_, one)| !one.dismissed) {
            let read = reading.and_then(|reading| reading.partitions.get(number)?.as_ref().ok());
            let mut reason = match age {
                Some(age) => format!("{unread}; the position is {} s old", age.as_secs()),
                None => unread.to_string(),
            };
            reason.extend(another.into_iter().flat_map(|another| ["; ", another]));
            let verdict = partition::blind(Blindness::Checkpoint, Cow::Owned(reason), read, one);
            partitions.insert(TopicPartition::new(name, *number), verdict);
        }
    }
    let stalled = settings.watch == Watch::Active && memory.conditions.contains(&Condition::Stalled);
    let mut verdict = facts(&memory, interval);
    if settings.watch == Watch::Active {
        verdict.unread_since = memory.unread_since;
    }
    verdict.unreadable = Some(unread.clone());
    let whole = Whole { unreadable: Some(unread), blind: true, stalled };
    finish(settings, whole, partitions, verdict, memory)
}

fn with_checkpoint(
    settings: &QuerySettings,
    sighting: &Sighting<'_>,
    reading: &CheckpointReading,
    mut memory: QueryMemory,
) -> (QueryVerdict, QueryMemory) {
    let mut notes = Notes::default();
    lineage::follow(reading, &mut memory, &mut notes);
    let first_sight = memory.checkpoint.is_none();
    let needs = needs(reading, &memory);
    let moved = movement::observe(reading, &needs, &mut memory, &mut notes);
    lineage::remember(reading, sighting.now, &mut memory);
    let interval = progress::expected_interval(settings, Some(reading), &mut memory);
    let open_since = memory.checkpoint.as_ref().and_then(|known| known.open_batch_at);
    let round = Round {
        now: sighting.now,
        settings,
        reading,
        history: sighting.history,
        needs,
        healing: Healing {
            committed: reading
                .batches
                .iter()
                .rev()
                .find(|times| Some(times.batch) == reading.newest_committed)
                .copied(),
        },
        young: open_since
            .is_some_and(|planned| sighting.now.since(planned) <= progress::stall_after(settings, interval)),
        interval,
    };
    progress::last_progress(&round, first_sight, moved, &mut memory);
    if let Ok(cluster) = sighting.cluster {
        identity::compare(&round, cluster, &mut memory, &mut notes);
    }
    let unseen = memory.topics.values().all(|topic| topic.partitions.values().all(|one| one.state.is_none()));
    let partitions = partitions(&round, sighting.cluster, &mut memory, &mut notes);
    account(&notes.lost, sighting.now, &mut memory);
    let waiting = progress::waiting(&round, unseen, partitions.iter(), &mut memory);
    memory.unread_since = waiting.unread_since;
    let events = notes.events(sighting.now);
    for event in &events {
        let (count, last) = memory.event_totals.entry(event.kind).or_insert((0, event.at));
        *count = count.saturating_add(1);
        *last = event.at;
    }
    let mut verdict = facts(&memory, interval);
    verdict.unread_since = waiting.unread_since;
    verdict.events = events;
    verdict.newly_lost = notes.lost;
    verdict.turned_certain = notes.turned;
    let whole = Whole { unreadable: None, blind: sighting.cluster.is_err(), stalled: waiting.stalled };
    finish(settings, whole, partitions, verdict, memory)
}

/// Every partition that the checkpoint, memory, or the broker (of a topic that the query knows) names.
fn partitions(
    round: &Round<'_>,
    cluster: Result<&ClusterReading, &Unread>,
    memory: &mut QueryMemory,
    notes: &mut Notes,
) -> Partitions {
    let not_asked = Unread::new(Reason::Unreachable, "the broker was not asked for this topic");
    let other_cluster = memory.mismatch.as_ref().map(|latch| latch.detail.clone());
    let mut partitions = Partitions::new();
    for (name, needs) in &round.needs {
        let sight = cluster.map(|cluster| cluster.topics.get(name));
        let reading = sight.ok().flatten().and_then(TopicSight::seen);
        let memory = memory.topics.entry(TopicName::clone(name)).or_default();
        let policy = Policy::of(reading.and_then(|reading| reading.limits.as_ref()));
        let signs = TopicSigns::of(memory, reading.and_then(|reading| reading.topic_id));
        let mut verdicts: Vec<(TopicPartition, PartitionVerdict)> = Vec::with_capacity(needs.len());
        let mut healed = false;
        for (number, need) in all_of(needs, reading) {
            let at = TopicPartition::new(name, number);
            let bounds = match sight {
                Err(unread) | Ok(Some(TopicSight::Unread(unread))) => Bounds::Unread(unread),
                Ok(None) => Bounds::Unread(&not_asked),
                Ok(Some(TopicSight::Absent)) => Bounds::Missing,
                Ok(Some(TopicSight::Seen(reading))) => match reading.partitions.get(&number) {
                    None => Bounds::Missing,
                    Some(Err(unread)) => Bounds::Unread(unread),
                    Some(Ok(read)) => Bounds::Read(read),
                },
            };
            let one = memory.partitions.entry(number).or_default();
            if is_dismissed(&need, bounds, one) {
                continue;
            }
            let needed =
                need.offset().or_else(|| reading?.partitions.get(&number)?.as_ref().ok().map(|read| read.earliest));
            let age = cluster.ok().zip(needed).and_then(|(cluster, needed)| cluster.ages.get(&(at.clone(), needed)));
            let unproved = cluster.ok().and_then(|cluster| cluster.unproved.get(&at).copied());
            let around = Around { signs, policy, age, unproved, other_cluster: other_cluster.as_deref() };
            let before = latched(one, LatchKind::Recreated);
            let verdict = partition::judge(round, &at, &need, bounds, around, one, notes);
            // However it was healed: the position is in the topic that is there now, be it the old one again.
            healed |= before && !latched(one, LatchKind::Recreated);
            verdicts.push((at, verdict));
        }
        if healed {
            memory.topic_id = signs.id.or(memory.topic_id);
        }
        partition::vouch(memory, verdicts.iter().map(|(_, verdict)| verdict));
        if let Some(reading) = reading {
            remember_retention(round, policy, reading, memory);
        }
        partitions.extend(verdicts);
    }
    partitions
}

/// The needs of a topic, and the partitions that only the broker has.
fn all_of(needs: &BTreeMap<i32, Need>, reading: Option<&TopicReading>) -> BTreeMap<i32, Need> {
    let mut all = needs.clone();
    let not_fixed = needs.values().find(|need| need.origin == super::needs::Origin::NotFixed);
    for number in reading.into_iter().flat_map(|reading| reading.partitions.keys()) {
        let unnamed = not_fixed.map_or(Need::BROKER_ONLY, |need| Need { committed: None, planned: None, ..*need });
        all.entry(*number).or_insert(unnamed);
    }
    all
}

/// A person settled it, and neither the checkpoint nor the broker brought it up again.
fn is_dismissed(need: &Need, bounds: Bounds<'_>, one: &mut PartitionMemory) -> bool {
    let back = matches!(bounds, Bounds::Read(_)) || need.origin == super::needs::Origin::Entry && one.dropped;
    one.dismissed = one.dismissed && !back;
    one.dismissed
}

fn remember_retention(round: &Round<'_>, policy: Policy, reading: &TopicReading, memory: &mut TopicMemory) {
    let read = |number: &i32| -> Option<&PartitionReading> { reading.partitions.get(number)?.as_ref().ok() };
    let observed = memory
        .partitions
        .iter()
        .filter_map(|(number, one)| numbers::retention_here(round, policy, read(number), one))
        .min();
    let time = match policy.time {
        Limit::At(retention) => Some(retention),
        _ => None,
    };
    memory.keeps = match (policy.ruling(observed.is_some() && observed != time), observed.or(time)) {
        (Ruling::None, _) => Some(Keeps::ForEver),
        (Ruling::Unknown, None) => memory.keeps,
        (_, known) => known.and_then(|known| u64::try_from(known.as_millis()).ok()).map(Keeps::Millis),
    };
}

fn account(lost: &[LostRange], now: Moment, memory: &mut QueryMemory) {
    for range in lost {
        let topic = memory.topics.entry(TopicName::clone(&range.partition.topic)).or_default();
        let total = topic.lost_total.entry(range.certainty).or_default();
        *total = total.saturating_add(Offset::above(range.to, range.from));
        topic.last_loss_at.insert(range.certainty, now);
    }
}

fn finish(
    settings: &QuerySettings,
    whole: Whole<'_>,
    partitions: Partitions,
    mut verdict: QueryVerdict,
    mut memory: QueryMemory,
) -> (QueryVerdict, QueryMemory) {
    let (state, reason, conditions) = query::state(settings, whole, &partitions, &memory);
    verdict.topics = fold_topics(&partitions, &memory);
    verdict.partitions = partitions;
    verdict.state = state;
    verdict.reason = reason;
    if !whole.blind {
        memory.state = Some(state);
        memory.conditions.clone_from(&conditions);
    } else if whole.unreadable.is_none() {
        if whole.stalled {
            memory.conditions.insert(Condition::Stalled);
        } else {
            memory.conditions.remove(&Condition::Stalled);
        }
    }
    verdict.conditions = conditions;
    (verdict, memory)
}

fn fold_topics(partitions: &Partitions, memory: &QueryMemory) -> BTreeMap<TopicName, TopicVerdict> {
    let mut by_topic: BTreeMap<&TopicName, Vec<&PartitionVerdict>> =
        memory.topics.keys().map(|name| (name, Vec::new())).collect();
    for (at, verdict) in partitions {
        by_topic.entry(&at.topic).or_default().push(verdict);
    }
    let nothing = TopicMemory::default();
    by_topic
        .into_iter()
        .map(|(name, verdicts)| {
            (TopicName::clone(name), topic::fold(&verdicts, memory.topics.get(name).unwrap_or(&nothing)))
        })
        .collect()
}

fn seen<'a>(cluster: &'a ClusterReading, name: &TopicName) -> Option<&'a TopicReading> {
    cluster.topics.get(name).and_then(TopicSight::seen)
}

/// What memory knows of the checkpoint, as a verdict without partitions.
fn facts(memory: &QueryMemory, interval: Duration) -> QueryVerdict {
    let checkpoint = memory.checkpoint.clone().unwrap_or_default();
    QueryVerdict {
        state: QueryState::Unknown,
        reason: Cow::Borrowed(""),
        conditions: BTreeSet::new(),
        partitions: Partitions::new(),
        topics: BTreeMap::new(),
        unreadable: None,
        problems: checkpoint.problems,
        query_id: checkpoint.query_id,
        offset_log_version: checkpoint.offset_log_version,
        newest_planned: checkpoint.newest_planned,
        newest_committed: checkpoint.newest_committed,
        restartable: checkpoint.restartable,
        last_commit_at: checkpoint.last_commit_at,
        last_progress_at: memory.last_progress_at,
        unread_since: None,
        open_batch_at: checkpoint.open_batch_at,
        expected_interval: interval,
        events: Vec::new(),
        newly_lost: Vec::new(),
        turned_certain: Vec::new(),
        event_totals: memory.event_totals.clone(),
    }
}

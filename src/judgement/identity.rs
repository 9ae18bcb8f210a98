//! Whether topics and cluster are still the ones under which the positions were found sane.

use std::collections::BTreeMap;

use super::last_sight;
use super::latches::{advance, planned_later, set};
use super::loss;
use super::memory::{Identity, Latch, LatchKind, PartitionMemory, QueryMemory, TopicMemory};
use super::needs::Need;
use super::notes::Notes;
use super::partition::Round;
use super::states::EventKind;
use crate::measures::{TopicName, TopicPartition};
use crate::retention::{ClusterReading, TopicId, TopicReading, TopicSight};

/// Compares every identity with what is remembered, and sets or heals the latches of query and topics.
pub(super) fn compare(round: &Round<'_>, cluster: &ClusterReading, memory: &mut QueryMemory, notes: &mut Notes) {
    if memory.mismatch.is_some() {
        heal_mismatch(round, cluster, memory, notes);
    }
    if memory.mismatch.is_some() {
        return;
    }
    if let (Some(known), Some(now)) = (&memory.cluster_id, &cluster.cluster_id)
        && known != now
    {
        let what = format!("cluster {known} became {now}");
        let before = Identity::Cluster(known.clone());
        return mismatch(round, cluster, memory, notes, what, Some(before));
    }
    let changed = changed_ids(cluster, memory);
    if let Some(before) = every_id_changed(cluster, memory, &changed) {
        let what = "every topic has another id".to_owned();
        return mismatch(round, cluster, memory, notes, what, Some(Identity::Topics(before)));
    }
    for topic in &changed {
        recreated(round, cluster, topic, memory, notes);
    }
    suspect(round, cluster, memory, notes);
    if memory.mismatch.is_none() && memory.cluster_id.is_none() {
        memory.cluster_id.clone_from(&cluster.cluster_id);
    }
}

/// Why the remembered positions of a topic, while the checkpoint is not read, cannot be held against what is there now.
pub(super) fn differs(cluster: &ClusterReading, name: &TopicName, memory: &QueryMemory) -> Option<&'static str> {
    let topic = memory.topics.get(name)?;
    let other = |known: Option<&str>, now: Option<&str>| known.zip(now).is_some_and(|(known, now)| known != now);
    if other(memory.cluster_id.as_deref(), cluster.cluster_id.as_deref()) {
        return Some("the cluster that answers has another id");
    }
    if topic.topic_id.zip(id_now(cluster, name)).is_some_and(|(known, now)| known != now) {
        return Some("the topic has another id");
    }
    topic.suspicion.map(|_| "the topic is suspected to be another one")
}

fn reading<'a>(cluster: &'a ClusterReading, topic: &TopicName) -> Option<&'a TopicReading> {
    match cluster.topics.get(topic) {
        Some(TopicSight::Seen(reading)) => Some(reading),
        _ => None,
    }
}

fn id_now(cluster: &ClusterReading, topic: &TopicName) -> Option<TopicId> {
    reading(cluster, topic)?.topic_id
}

/// Topics whose id differs from the remembered one. Coming back to the id before a latch is no change: it heals.
fn changed_ids(cluster: &ClusterReading, memory: &QueryMemory) -> Vec<TopicName> {
    let differs = |(name, topic): &(&TopicName, &TopicMemory)| {
        let (Some(known), Some(now)) = (topic.topic_id, id_now(cluster, name)) else { return false };
        let before = Some(Identity::Topic(now));
        let back = |one: &PartitionMemory| one.latch.as_ref().is_some_and(|latch| latch.before == before);
        // One that was healed meanwhile has its position in the topic that is away now.
        let healed = |one: &PartitionMemory| one.committed.is_some() && !one.dismissed && !back(one);
        known != now && (topic.partitions.values().any(healed) || !topic.partitions.values().any(back))
    };
    memory.topics.iter().filter(differs).map(|(name, _)| TopicName::clone(name)).collect()
}

/// The ids before, when two topics or more can be compared and every one of them changed.
fn every_id_changed(
    cluster: &ClusterReading,
    memory: &QueryMemory,
    changed: &[TopicName],
) -> Option<BTreeMap<TopicName, TopicId>> {
    let known: BTreeMap<TopicName, TopicId> = memory
        .topics
        .iter()
        .filter(|(name, _)| id_now(cluster, name).is_some())
        .filter_map(|(name, topic)| Some((TopicName::clone(name), topic.topic_id?)))
        .collect();
    (known.len() >= 2 && known.len() == changed.len()).then_some(known)
}

fn mismatch(
    round: &Round<'_>,
    cluster: &ClusterReading,
    memory: &mut QueryMemory,
    notes: &mut Notes,
    what: String,
    before: Option<Identity>,
) {
    let skipped = skipped(round, cluster);
    let detail = format!("{what}; a restart would skip {skipped} offsets of the logs that are there now");
    notes.query(EventKind::ClusterChanged, detail.clone());
    let mut latch = set(LatchKind::ClusterMismatch, detail, round.now, round.newest_planned(), None);
    latch.since = before.as_ref().and_then(|before| as_now(before, cluster));
    latch.before = before;
    memory.mismatch = Some(latch);
    remember_positions(round, memory);
}

/// The same kind of identity, as it is now; `None` where not all of it is told.
fn as_now(before: &Identity, cluster: &ClusterReading) -> Option<Identity> {
    match before {
        Identity::Cluster(_) => cluster.cluster_id.clone().map(Identity::Cluster),
        Identity::Topics(topics) => {
            let ids = topics.keys().map(|name| Some((TopicName::clone(name), id_now(cluster, name)?)));
            ids.collect::<Option<BTreeMap<_, _>>>().map(Identity::Topics)
        }
        Identity::Topic(_) => None,
    }
}

/// Offsets below the positions in the logs that are there now: what a restart would silently pass over.
fn skipped(round: &Round<'_>, cluster: &ClusterReading) -> u64 {
    let below = |topic: &TopicName, partition: &i32, need: &Need| {
        let bounds = reading(cluster, topic)?.partitions.get(partition)?.as_ref().ok()?;
        Some(need.committed?.min(bounds.latest).above(bounds.earliest))
    };
    let topics = round
        .needs
        .iter()
        .flat_map(|(topic, needs)| needs.iter().map(move |(partition, need)| (topic, partition, need)));
    topics.filter_map(|(topic, partition, need)| below(topic, partition, need)).sum()
}

fn heal_mismatch(round: &Round<'_>, cluster: &ClusterReading, memory: &mut QueryMemory, notes: &mut Notes) {
    let Some(mut latch) = memory.mismatch.take() else { return };
    latch.set_back(round.now);
    let now = latch.before.as_ref().and_then(|before| as_now(before, cluster));
    if now.is_some() && now != latch.since && now != latch.before {
        // What was planned over the cluster in between says nothing of this one.
        if latch.since.is_some() {
            latch.renew(round.now, round.newest_planned());
            remember_positions(round, memory);
        }
        latch.since = now;
    }
    let back = match &latch.before {
        Some(Identity::Cluster(before)) => cluster.cluster_id.as_ref().map(|now| now == before),
        Some(Identity::Topics(before)) => {
            let compared: Vec<bool> =
                before.iter().filter_map(|(topic, before)| Some(id_now(cluster, topic)? == *before)).collect();
            (!compared.is_empty()).then(|| compared.iter().all(|same| *same))
        }
        _ => None,
    };
    match back {
        Some(true) if advance(&mut latch.back, round.now, round.settings) => return,
        Some(false) => latch.back = None,
        _ => {}
    }
    if planned_later(&latch, round.healing) && moved_into_the_log(round, cluster, memory) {
        let passed = skipped(round, cluster);
        let detail =
            format!("a batch was committed on this cluster; {passed} offsets below the positions were never read");
        notes.query(EventKind::PositionJumped, detail);
        start_anew_everywhere(memory);
        return;
    }
    if !planned_later(&latch, round.healing) {
        remember_positions(round, memory);
    }
    memory.mismatch = Some(latch);
}

/// Whether some position differs from the one before the latch, and lies in its log.
fn moved_into_the_log(round: &Round<'_>, cluster: &ClusterReading, memory: &QueryMemory) -> bool {
    round.needs.iter().any(|(topic, needs)| {
        needs.iter().any(|(partition, need)| {
            let before = memory
                .topics
                .get(topic)
                .and_then(|known| known.partitions.get(partition))
                .and_then(|one| one.before_mismatch);
            let bounds = reading(cluster, topic).and_then(|reading| reading.partitions.get(partition)?.as_ref().ok());
            let (Some(now), Some(bounds)) = (need.committed, bounds) else { return false };
            before != Some(now) && (bounds.earliest..=bounds.latest).contains(&now)
        })
    })
}

fn remember_positions(round: &Round<'_>, memory: &mut QueryMemory) {
    for (topic, needs) in &round.needs {
        let Some(known) = memory.topics.get_mut(topic) else { continue };
        for (partition, need) in needs {
            if let Some(one) = known.partitions.get_mut(partition) {
                one.before_mismatch = need.committed;
            }
        }
    }
}

fn start_anew_everywhere(memory: &mut QueryMemory) {
    memory.cluster_id = None;
    for topic in memory.topics.values_mut() {
        let totals = (std::mem::take(&mut topic.lost_total), std::mem::take(&mut topic.last_loss_at));
        *topic = TopicMemory { lost_total: totals.0, last_loss_at: totals.1, ..TopicMemory::default() };
    }
}

/// The topic has another id: all its partitions belong to a log that the positions say nothing of. What was unread of
/// the old one is lost.
fn recreated(
    round: &Round<'_>,
    cluster: &ClusterReading,
    name: &TopicName,
    memory: &mut QueryMemory,
    notes: &mut Notes,
) {
    let Some(topic) = memory.topics.get_mut(name) else { return };
    let (Some(before), Some(now)) = (topic.topic_id, id_now(cluster, name)) else { return };
    let detail = format!("topic id {before:?} became {now:?}");
    notes.topic(EventKind::TopicRecreated, name, detail.clone());
    for (partition, need) in &partitions_of(round, cluster, name) {
        let one = topic.partitions.entry(*partition).or_default();
        if let Some(latch) = &mut one.latch
            && latch.kind == LatchKind::Recreated
        {
            if latch.before != Some(Identity::Topic(now)) {
                latch.detail.clone_from(&detail);
                // What was planned over the topic in between says nothing of this one.
                latch.renew(round.now, round.newest_planned());
                latch.position = need.committed;
            }
            continue;
        }
        let at = TopicPartition::new(name, *partition);
        loss::of_the_old_topic(round, &at, need, one, notes);
        let unread = last_sight::unread(one.committed.max(need.offset()), one);
        one.committed = need.committed;
        one.start_anew();
        let mut latch = set(LatchKind::Recreated, detail.clone(), round.now, round.newest_planned(), need.committed);
        latch.before = Some(Identity::Topic(before));
        latch.unread = unread;
        one.latch = Some(latch);
    }
    topic.topic_id = Some(now);
    topic.sane = false;
    topic.suspicion = None;
    topic.accepted = true;
}

/// Every partition of a topic that the checkpoint, memory or the broker names.
fn partitions_of(round: &Round<'_>, cluster: &ClusterReading, name: &TopicName) -> BTreeMap<i32, Need> {
    let mut all = round.needs.get(name).cloned().unwrap_or_default();
    for partition in reading(cluster, name).into_iter().flat_map(|reading| reading.partitions.keys()) {
        all.entry(*partition).or_insert(Need::BROKER_ONLY);
    }
    all
}

/// Tests each topic whose id does not vouch for its positions, and latches what is confirmed.
fn suspect(round: &Round<'_>, cluster: &ClusterReading, memory: &mut QueryMemory, notes: &mut Notes) {
    let mut confirmed = BTreeMap::new();
    let mut tested = 0_usize;
    for (name, needs) in &round.needs {
        let Some(reading) = reading(cluster, name) else { continue };
        let topic = memory.topics.entry(TopicName::clone(name)).or_default();
        let vouched = topic.sane && reading.topic_id.is_some() && reading.topic_id == topic.topic_id;
        let latched = topic
            .partitions
            .values()
            .any(|one| one.latch.as_ref().is_some_and(|latch| latch.kind == LatchKind::Recreated));
        if vouched || latched {
            topic.suspicion = None;
            continue;
        }
        match super::suspicion::test(round, name, needs, reading, topic) {
            Some(why) => {
                if advance(&mut topic.suspicion, round.now, round.settings) {
                    confirmed.insert(TopicName::clone(name), why);
                }
            }
            None => {
                topic.suspicion = None;
                topic.topic_id = reading.topic_id.or(topic.topic_id);
            }
        }
        tested += 1;
    }
    if confirmed.len() >= 2 && confirmed.len() == tested && tested == round.needs.len() {
        let why = confirmed.into_values().next().unwrap_or_default();
        memory.topics.values_mut().for_each(|topic| topic.suspicion = None);
        return mismatch(round, cluster, memory, notes, format!("suspected: {why}, and so for every topic"), None);
    }
    for (name, why) in confirmed {
        let Some(topic) = memory.topics.get_mut(&name) else { continue };
        let detail = format!("suspected: {why}");
        notes.topic(EventKind::TopicRecreated, &name, detail.clone());
        topic.suspicion = None;
        topic.topic_id = id_now(cluster, &name);
        let Some(needs) = round.needs.get(&name) else { continue };
        for (partition, need) in needs.iter().filter(|(_, need)| need.offset().is_some()) {
            let one = topic.partitions.entry(*partition).or_default();
            let unread = last_sight::unread(one.committed.max(need.offset()), one);
            one.committed = need.committed;
            one.start_anew();
            let latch = set(LatchKind::Recreated, detail.clone(), round.now, round.newest_planned(), need.committed);
            one.latch = Some(Latch { unread, ..latch });
        }
    }
}

//! What the brokers can do, as their answers show it; and of what nothing can be proved for want of it.

use std::collections::{BTreeMap, BTreeSet};

use super::bounds::Bounds;
use super::librdkafka::Detail;
use super::limits;
use super::lookups::{Pass, Place};
use super::memory::Memory;
use super::topics::{Answers, describe};
use crate::measures::{Reason, TopicName, TopicPartition};
use crate::retention::{Ability, Unproved};

/// Learns from the answers of a pass. Told when something new is known.
pub(super) fn learn(memory: &mut Memory, answers: &Answers, cluster_id: Option<&String>) {
    let before = memory.abilities.clone();
    memory.abilities.saw(Ability::ClusterId, cluster_id.is_some());
    for (name, answer) in answers {
        let Ok(described) = answer else { continue };
        memory.abilities.saw(Ability::TopicIds, described.id.is_some());
        match limits::told(memory, name) {
            Some(Ok(())) => memory.abilities.saw(Ability::Settings, true),
            Some(Err(Reason::Unsupported)) => memory.abilities.saw(Ability::Settings, false),
            // A right that is missing says nothing of what the broker can do.
            Some(Err(_)) | None => {}
        }
    }
    let partitions = memory.topics.values().flat_map(|topic| topic.partitions.values());
    let shown: BTreeSet<bool> = partitions.filter_map(|known| known.times.shown()).collect();
    shown.into_iter().for_each(|shown| memory.abilities.saw(Ability::LookUpsByTime, shown));
    if memory.abilities != before {
        let of = |wanted: bool| {
            let known = memory.abilities.known().filter(|(_, shown)| *shown == wanted);
            known.map(|(ability, _)| ability.label()).collect::<Vec<_>>().join(", ")
        };
        tracing::info!(target: "kafka", cluster = memory.cluster, can = of(true), cannot = of(false), "what the brokers can do");
    }
}

/// Partitions of which nothing is proved from time: those that a broker holds whose clock runs ahead, since each replica
/// deletes by its own clock and any of them may lead next; and those whose records' times cannot be looked up.
pub(super) fn unproved(
    pass: &Pass<'_>,
    memory: &Memory,
    places: &[Place],
    bounds: &[Bounds],
) -> BTreeMap<TopicPartition, Unproved> {
    let mut unproved = BTreeMap::new();
    let mut start = 0;
    for group in places.chunk_by(|one, other| one.topic == other.topic) {
        let topic = memory.topics.get(&group[0].topic);
        for (place, read) in group.iter().zip(&bounds[start..]) {
            let known = topic.and_then(|topic| topic.partitions.get(&place.partition));
            let hidden = known.and_then(|known| known.times.hidden());
            if let (Ok(read), Some(why)) = (read, hidden)
                && read.latest > read.earliest
            {
                unproved.insert(TopicPartition::new(&place.topic, place.partition), why);
            }
        }
        start += group.len();
    }
    if !memory.clocks.are_fine() {
        unproved.extend(held_by_fast_clocks(pass, memory, places));
    }
    unproved
}

fn held_by_fast_clocks(pass: &Pass<'_>, memory: &Memory, places: &[Place]) -> BTreeMap<TopicPartition, Unproved> {
    let names: BTreeSet<TopicName> = places.iter().map(|place| TopicName::clone(&place.topic)).collect();
    // Without an answer the leaders are what is known.
    let answers = describe(pass, &names, Detail::Replicas).unwrap_or_default();
    let mut held = BTreeMap::new();
    for place in places {
        let described = answers.get(&place.topic).and_then(|answer| answer.as_ref().ok());
        let replicas = described.and_then(|described| described.replicas.get(&place.partition));
        let brokers = place.leader.iter().chain(replicas.into_iter().flatten());
        let fast = brokers.filter_map(|broker| Some((*broker, memory.clocks.ahead(*broker)?)));
        if let Some((broker, by)) = fast.max_by_key(|(_, by)| *by) {
            held.insert(TopicPartition::new(&place.topic, place.partition), Unproved::FastClock { broker, by });
        }
    }
    held
}

//! What the brokers can do, as their answers show it; and of what nothing can be proved for want of it.

use std::collections::{BTreeMap, BTreeSet};

use super::bounds::{Bounds, by_topic};
use super::limits;
use super::lookups::Place;
use super::memory::Memory;
use super::topics::Answers;
use crate::measures::{Reason, TopicPartition};
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
    memory: &Memory,
    answers: &Answers,
    places: &[Place],
    bounds: &[Bounds],
) -> BTreeMap<TopicPartition, Unproved> {
    let mut unproved = BTreeMap::new();
    for (places, bounds) in by_topic(places, bounds) {
        let name = &places[0].topic;
        let topic = memory.topics.get(name);
        let described = answers.get(name).and_then(|answer| answer.as_ref().ok());
        for (place, read) in places.iter().zip(bounds) {
            let known = topic.and_then(|topic| topic.partitions.get(&place.partition));
            let hidden = known.and_then(|known| known.times.hidden());
            let hidden = hidden.filter(|_| read.as_ref().is_ok_and(|read| read.latest > read.earliest));
            let replicas = described.and_then(|described| described.replicas.get(&place.partition));
            let fast = fast_clock(memory, place.leader.iter().chain(replicas.into_iter().flatten()));
            if let Some(why) = fast.or(hidden) {
                unproved.insert(TopicPartition::new(name, place.partition), why);
            }
        }
    }
    unproved
}

/// The fastest of the clocks that run ahead.
fn fast_clock<'a>(memory: &Memory, brokers: impl Iterator<Item = &'a i32>) -> Option<Unproved> {
    let fast = brokers.filter_map(|broker| Some((*broker, memory.clocks.ahead(*broker)?)));
    fast.max_by_key(|(_, by)| *by).map(|(broker, by)| Unproved::FastClock { broker, by })
}

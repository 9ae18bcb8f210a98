//! One pass over the topics of a cluster: identity, bounds, limits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::abilities;
use super::bounds::{self, Bounds};
use super::client::Connection;
use super::clocks::{self, OurClock};
use super::faults;
use super::librdkafka::{CallError, Described, describe_topics};
use super::limits;
use super::lookups::{Pass, Place, no_leader};
use super::memory::Memory;
use crate::measures::{Reason, TopicName, Unread};
use crate::readers::WantedTopic;
use crate::retention::{ClusterReading, PartitionReading, Right, TopicId, TopicReading, TopicSight};

const CHUNK: usize = 500;
const CALL: Duration = Duration::from_secs(3);

type Partitions = Vec<(i32, Result<PartitionReading, Unread>)>;
pub(super) type Answers = BTreeMap<TopicName, Result<Described, CallError>>;

/// Reads what is wanted. An error is for a cluster that can not be reached at all.
pub(super) fn read(
    connection: &Connection,
    memory: &mut Memory,
    wanted: &[WantedTopic],
    ours: &OurClock,
    until: Instant,
) -> Result<ClusterReading, Unread> {
    let pass = Pass::new(connection, until);
    // A name with a zero byte is no topic's, and would spoil the call for the others.
    let (names, nameless): (BTreeSet<TopicName>, BTreeSet<TopicName>) =
        wanted.iter().map(|wanted| TopicName::clone(&wanted.name)).partition(|name| !name.contains('\0'));
    memory.keep(&names);
    let mut answers = describe(&pass, &names)?;
    doubt_what_shrank(&pass, memory, &mut answers);
    memory.forget_leaders();
    note(memory, &answers);

    let stable: BTreeSet<&TopicName> =
        wanted.iter().filter(|wanted| wanted.stable).map(|wanted| &wanted.name).collect();
    let (places, mut bounds) = read_bounds(&pass, memory, &answers, &stable);
    bounds::add_oldest(&pass, memory, &places, &mut bounds);
    limits::refresh(&pass, memory, &ids_of(&answers).into_iter().collect::<Vec<_>>());
    clocks::look(&pass, memory, &places, &bounds, ours);
    let cluster_id = connection.cluster_id();
    abilities::learn(memory, &answers, cluster_id.as_ref());
    let unproved = abilities::unproved(memory, &answers, &places, &bounds);

    let mut topics: BTreeMap<TopicName, TopicSight> = BTreeMap::new();
    for name in nameless {
        topics.insert(name, TopicSight::Unread(Unread::new(Reason::Malformed, "no topic can have this name")));
    }
    let mut read: BTreeMap<TopicName, Partitions> = BTreeMap::new();
    for (place, bounds) in places.into_iter().zip(bounds) {
        let of_topic = match read.last_entry().filter(|last| Arc::ptr_eq(last.key(), &place.topic)) {
            Some(last) => last.into_mut(),
            None => read.entry(place.topic).or_default(),
        };
        of_topic.push((place.partition, bounds.map_err(|error| faults::unread(&error))));
    }
    for name in names {
        let sight = match answers.get(&name) {
            Some(Ok(described)) => {
                let partitions = read.remove(&name).unwrap_or_default();
                TopicSight::Seen(reading_of(memory, &name, described, partitions))
            }
            Some(Err(error)) if error.code == faults::UNKNOWN_TOPIC => TopicSight::Absent,
            Some(Err(error)) => TopicSight::Unread(faults::unread(error)),
            None => TopicSight::Unread(Unread::new(Reason::Unreachable, "the broker's answer lacks the topic")),
        };
        topics.insert(name, sight);
    }
    let missing_rights = missing_rights(memory, &answers);
    let abilities = memory.abilities.clone();
    Ok(ClusterReading { cluster_id, topics, missing_rights, unproved, abilities, ..ClusterReading::default() })
}

fn missing_rights(memory: &Memory, answers: &Answers) -> BTreeMap<Right, BTreeSet<TopicName>> {
    let mut missing: BTreeMap<Right, BTreeSet<TopicName>> = BTreeMap::new();
    for (name, answer) in answers {
        let right = match answer {
            Err(error) if error.code == faults::TOPIC_DENIED => Right::Describe,
            Ok(_) if limits::is_denied(memory, name) => Right::DescribeConfigs,
            _ => continue,
        };
        missing.entry(right).or_default().insert(TopicName::clone(name));
    }
    missing
}

/// Asks anew who leads the partitions of topics, and remembers it.
pub(super) fn refresh_leaders<'a>(pass: &Pass<'_>, memory: &mut Memory, names: impl Iterator<Item = &'a TopicName>) {
    let names: BTreeSet<TopicName> = names.cloned().collect();
    if let Ok(answers) = describe(pass, &names) {
        note(memory, &answers);
    }
}

fn note(memory: &mut Memory, answers: &Answers) {
    for (name, answer) in answers {
        if let Ok(described) = answer {
            memory.note(name, described);
        }
    }
}

/// Asks for topics by name, some at a time.
fn describe(pass: &Pass<'_>, names: &BTreeSet<TopicName>) -> Result<Answers, Unread> {
    let names: Vec<TopicName> = names.iter().cloned().collect();
    if names.is_empty() {
        // Nobody reads a topic; whether the cluster is there is worth knowing all the same.
        pass.connection.refresh(pass.until)?;
    }
    let mut answers = Answers::new();
    for chunk in names.chunks(CHUNK) {
        answers.extend(pass.connection.ask_any(pass.until, CALL, "describe_topics", |broker, timeout| {
            describe_topics(pass.connection.client(), chunk, broker, timeout)
        })?);
    }
    for described in answers.values_mut() {
        if described.as_ref().is_ok_and(|described| described.leaders.is_empty()) {
            *described =
                Err(CallError { code: no_leader().code, text: "the topic came without partitions".to_owned() });
        }
    }
    Ok(answers)
}

/// A broker that has just started may not know yet what the cluster has. What was there before and is not any more is
/// asked for again, from another broker where there is one, before it is believed.
fn doubt_what_shrank(pass: &Pass<'_>, memory: &Memory, answers: &mut Answers) {
    let doubtful = |name: &TopicName, answer: &Result<Described, CallError>| match answer {
        Err(error) => {
            let seen = memory.topic(name).is_some_and(|known| known.seen);
            faults::curable(error) && (error.code != faults::UNKNOWN_TOPIC || seen)
        }
        Ok(described) => {
            memory.topic(name).is_some_and(|known| known.lacks_some(described))
                || described.leaders.values().any(Option::is_none)
        }
    };
    let names: BTreeSet<TopicName> = answers
        .iter()
        .filter(|(name, answer)| doubtful(name, answer))
        .map(|(name, _)| TopicName::clone(name))
        .collect();
    if names.is_empty() {
        return;
    }
    pass.connection.ask_another_first();
    match describe(pass, &names) {
        Ok(again) => answers.extend(again),
        // Not confirmed, so not believed.
        Err(unread) => {
            tracing::debug!(target: "kafka", %unread, "a doubtful answer could not be checked");
            answers.retain(|name, _| !names.contains(name));
        }
    }
}

/// Bounds, and once more for those that newer knowledge of leaders may cure. A topic that turns out to be another one
/// by then has bounds of neither.
fn read_bounds(
    pass: &Pass<'_>,
    memory: &mut Memory,
    answers: &Answers,
    stable: &BTreeSet<&TopicName>,
) -> (Vec<Place>, Vec<Bounds>) {
    let is_stable = |place: &Place| !stable.is_empty() && stable.contains(&place.topic);
    let mut places = places_of(answers);
    let mut bounds = bounds::read(pass, &places, is_stable);
    let again: Vec<usize> = (0..places.len()).filter(|at| bounds[*at].as_ref().is_err_and(faults::curable)).collect();
    if again.is_empty() || pass.is_over() {
        return (places, bounds);
    }
    let names: BTreeSet<TopicName> = again.iter().map(|at| TopicName::clone(&places[*at].topic)).collect();
    let Ok(newer) = describe(pass, &names) else { return (places, bounds) };
    let (before, now) = (ids_of(answers), ids_of(&newer));
    let replaced: BTreeSet<&TopicName> = names.iter().filter(|name| before.get(*name) != now.get(*name)).collect();
    note(memory, &newer);
    let mut once_more: Vec<(usize, Place)> = Vec::with_capacity(again.len());
    for at in again {
        let place = &mut places[at];
        let described = newer.get(&place.topic).and_then(|answer| answer.as_ref().ok());
        place.leader = described.and_then(|described| described.leaders.get(&place.partition).copied().flatten());
        if pass.worth_asking(place) && !replaced.contains(&place.topic) {
            once_more.push((at, place.clone()));
        }
    }
    let (again, of): (Vec<usize>, Vec<Place>) = once_more.into_iter().unzip();
    for (at, read) in again.into_iter().zip(bounds::read(pass, &of, is_stable)) {
        bounds[at] = read;
    }
    for (place, read) in places.iter().zip(&mut bounds) {
        if replaced.contains(&place.topic) {
            *read = Err(CallError { code: no_leader().code, text: "the topic changed during the pass".to_owned() });
        }
    }
    (places, bounds)
}

fn reading_of(memory: &Memory, name: &TopicName, described: &Described, read: Partitions) -> TopicReading {
    let mut partitions: BTreeMap<_, _> = read.into_iter().collect();
    // The same topic had them before: the answer is incomplete.
    for at in memory.topic(name).into_iter().flat_map(|known| known.partitions.keys()) {
        let lacking = || Err(Unread::new(Reason::Unreachable, "the broker's answer lacks the partition"));
        partitions.entry(*at).or_insert_with(lacking);
    }
    TopicReading { topic_id: described.id, limits: limits::limits_of(memory, name), partitions }
}

fn places_of(answers: &Answers) -> Vec<Place> {
    let good = answers.iter().filter_map(|(name, answer)| Some((name, answer.as_ref().ok()?)));
    good.flat_map(|(name, described)| {
        let places = described.leaders.iter();
        places.map(|(at, leader)| Place { topic: TopicName::clone(name), partition: *at, leader: *leader })
    })
    .collect()
}

fn ids_of(answers: &Answers) -> BTreeMap<TopicName, Option<TopicId>> {
    let good = answers.iter().filter_map(|(name, answer)| Some((name, answer.as_ref().ok()?)));
    good.map(|(name, described)| (TopicName::clone(name), described.id)).collect()
}

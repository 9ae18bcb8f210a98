//! One pass over the topics of a cluster: identity, bounds, limits.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use super::bounds::{self, Bounds};
use super::client::Connection;
use super::faults;
use super::librdkafka::{CallError, Described, describe_topics};
use super::limits;
use super::lookups::{Leaders, Pass, no_leader};
use super::memory::{Memory, SeenTopic};
use crate::measures::{Reason, TopicName, TopicPartition, Unread};
use crate::readers::WantedTopic;
use crate::retention::{ClusterReading, Right, TopicId, TopicReading, TopicSight};

const CHUNK: usize = 500;
const CALL: Duration = Duration::from_secs(3);

type Answers = BTreeMap<TopicName, Result<Described, CallError>>;

/// Reads what is wanted. An error is for a cluster that can not be reached at all.
pub(super) fn read(
    connection: &Connection,
    memory: &mut Memory,
    wanted: &[WantedTopic],
    until: Instant,
) -> Result<ClusterReading, Unread> {
    let pass = Pass::new(connection, until);
    // A name with a zero byte is no topic's, and would spoil the call for the others.
    let (names, nameless): (BTreeSet<TopicName>, BTreeSet<TopicName>) =
        wanted.iter().map(|wanted| TopicName::clone(&wanted.name)).partition(|name| !name.contains('\0'));
    memory.keep(&names);
    let mut answers = describe(&pass, &names)?;
    doubt_what_shrank(&pass, memory, &mut answers);
    memory.leaders = leaders_of(&answers);

    let stable = wanted.iter().filter(|wanted| wanted.stable).map(|wanted| TopicName::clone(&wanted.name)).collect();
    let mut bounds = read_bounds(&pass, memory, &answers, &stable);
    let ids = ids_of(&answers);
    bounds::add_oldest(&pass, memory, &mut bounds, &ids);
    // Proofs hear of every change, also while nobody asks for ages.
    for (partition, known) in &mut memory.proofs {
        if let Some(Ok(reading)) = bounds.get(partition) {
            known.observe(ids.get(&partition.topic).copied().flatten(), reading);
        }
    }
    limits::refresh(&pass, memory, &ids.into_iter().collect::<Vec<_>>());

    let mut topics: BTreeMap<TopicName, TopicSight> = BTreeMap::new();
    for name in nameless {
        topics.insert(name, TopicSight::Unread(Unread::new(Reason::Malformed, "no topic can have this name")));
    }
    for name in names {
        let sight = match answers.get(&name) {
            Some(Ok(described)) => TopicSight::Seen(reading_of(memory, &name, described, &bounds)),
            Some(Err(error)) if error.code == faults::UNKNOWN_TOPIC => TopicSight::Absent,
            Some(Err(error)) => TopicSight::Unread(faults::unread(error)),
            None => TopicSight::Unread(Unread::new(Reason::Unreachable, "the broker's answer lacks the topic")),
        };
        if let Some(Ok(described)) = answers.get(&name) {
            let partitions = described.leaders.keys().copied().collect();
            memory.seen.insert(TopicName::clone(&name), SeenTopic { id: described.id, partitions });
        }
        topics.insert(name, sight);
    }
    let missing_rights = missing_rights(memory, &answers);
    Ok(ClusterReading { cluster_id: connection.cluster_id(), topics, missing_rights, ..ClusterReading::default() })
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

/// Asks anew who leads the partitions' topics, and remembers it.
pub(super) fn refresh_leaders(pass: &Pass<'_>, memory: &mut Memory, partitions: &BTreeSet<TopicPartition>) {
    let names: BTreeSet<TopicName> = partitions.iter().map(|partition| TopicName::clone(&partition.topic)).collect();
    if let Ok(answers) = describe(pass, &names) {
        memory.leaders.retain(|partition, _| !names.contains(&partition.topic));
        memory.leaders.extend(leaders_of(&answers));
    }
}

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
        Err(error) => faults::curable(error) && (error.code != faults::UNKNOWN_TOPIC || memory.seen.contains_key(name)),
        Ok(described) => {
            let shrank = |seen: &SeenTopic| seen.partitions.iter().any(|at| !described.leaders.contains_key(at));
            memory.seen.get(name).is_some_and(shrank) || described.leaders.values().any(Option::is_none)
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
fn read_bounds(pass: &Pass<'_>, memory: &mut Memory, answers: &Answers, stable: &BTreeSet<TopicName>) -> Bounds {
    let partitions: Vec<TopicPartition> = memory.leaders.keys().cloned().collect();
    let mut bounds = bounds::read(pass, &memory.leaders, &partitions, stable);
    let again: BTreeSet<TopicPartition> = bounds
        .iter()
        .filter(|(_, read)| read.as_ref().is_err_and(faults::curable))
        .map(|(partition, _)| partition.clone())
        .collect();
    if again.is_empty() || pass.is_over() {
        return bounds;
    }
    let names: BTreeSet<TopicName> = again.iter().map(|partition| TopicName::clone(&partition.topic)).collect();
    let Ok(newer) = describe(pass, &names) else { return bounds };
    let (before, now) = (ids_of(answers), ids_of(&newer));
    let replaced: BTreeSet<&TopicName> = names.iter().filter(|name| before.get(*name) != now.get(*name)).collect();
    memory.leaders.retain(|partition, _| !names.contains(&partition.topic));
    memory.leaders.extend(leaders_of(&newer));
    let again: Vec<TopicPartition> = again
        .into_iter()
        .filter(|partition| bounds::worth_asking(pass, &memory.leaders, partition))
        .filter(|partition| !replaced.contains(&partition.topic))
        .collect();
    bounds.extend(bounds::read(pass, &memory.leaders, &again, stable));
    for (partition, read) in &mut bounds {
        if replaced.contains(&partition.topic) {
            *read = Err(CallError { code: no_leader().code, text: "the topic changed during the pass".to_owned() });
        }
    }
    bounds
}

fn reading_of(memory: &Memory, name: &TopicName, described: &Described, bounds: &Bounds) -> TopicReading {
    let unled = || Err(faults::unread(&no_leader()));
    let read = |partition: i32| match bounds.get(&TopicPartition::new(name, partition)) {
        Some(read) => read.clone().map_err(|error| faults::unread(&error)),
        None => unled(),
    };
    let mut partitions: BTreeMap<_, _> = described.leaders.keys().map(|at| (*at, read(*at))).collect();
    // Partitions are never taken from a topic that stays the same one: an answer that lacks some is incomplete.
    if let Some(seen) = memory.seen.get(name).filter(|seen| seen.id.is_some() && seen.id == described.id) {
        for at in &seen.partitions {
            let lacking = || Err(Unread::new(Reason::Unreachable, "the broker's answer lacks the partition"));
            partitions.entry(*at).or_insert_with(lacking);
        }
    }
    TopicReading { topic_id: described.id, limits: limits::limits_of(memory, name), partitions }
}

fn leaders_of(answers: &Answers) -> Leaders {
    let good = answers.iter().filter_map(|(name, answer)| Some((name, answer.as_ref().ok()?)));
    good.flat_map(|(name, described)| {
        let led = described.leaders.iter().filter_map(|(at, leader)| Some((*at, (*leader)?)));
        led.map(|(at, leader)| (TopicPartition::new(name, at), leader))
    })
    .collect()
}

fn ids_of(answers: &Answers) -> BTreeMap<TopicName, Option<TopicId>> {
    let good = answers.iter().filter_map(|(name, answer)| Some((name, answer.as_ref().ok()?)));
    good.map(|(name, described)| (TopicName::clone(name), described.id)).collect()
}

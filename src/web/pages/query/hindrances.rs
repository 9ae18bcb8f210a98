//! What the brokers do not tell of a query's topics, and what is not known for want of it.

use std::collections::BTreeSet;

use super::super::partitions::names;
use crate::judgement::QueryVerdict;
use crate::metrics::snapshot::ClusterRound;
use crate::retention::{Ability, Right, Unproved};

/// One sentence each.
pub(super) fn hindrances(round: &ClusterRound, verdict: &QueryVerdict) -> Vec<String> {
    let mut told = missing_rights(round, verdict);
    told.extend(
        Ability::ALL.into_iter().filter(|ability| round.reading.abilities.get(*ability) == Some(false)).map(lacking),
    );
    told.extend(unproved(verdict));
    told
}

fn missing_rights(round: &ClusterRound, verdict: &QueryVerdict) -> Vec<String> {
    let own = names(verdict);
    let missing = round.reading.missing_rights.iter().flat_map(|(right, topics)| {
        let mine = topics.iter().filter(|topic| own.iter().any(|name| **name == ***topic));
        mine.map(move |topic| (*right, topic))
    });
    missing
        .map(|(right, topic)| match right {
            Right::Describe => format!(
                "The right DESCRIBE on topic {topic} is missing, or there is no such topic: nothing is known of it."
            ),
            Right::DescribeConfigs => format!(
                "The right DESCRIBE_CONFIGS on topic {topic} is missing: what limits its retention is not read."
            ),
        })
        .collect()
}

fn lacking(ability: Ability) -> String {
    match ability {
        Ability::ClusterId => "The brokers do not say which cluster they are: one that took the place of another is not noticed by that.",
        Ability::TopicIds => "The brokers name no topic by an id: one that was made again is suspected by its records' times at most.",
        Ability::Settings => "The brokers name no settings of topics: what limits retention counts as retention_overrides says it.",
        Ability::LookUpsByTime => "Look-ups by time have found no record on these brokers: no deadline is proved, and forecasts go by when records were seen to come.",
    }
    .to_owned()
}

/// Each reason once, however many partitions have it; the furthest clock of a broker.
fn unproved(verdict: &QueryVerdict) -> Vec<String> {
    let reasons: BTreeSet<String> =
        verdict.partitions.values().filter_map(|partition| partition.unproved).map(sentence).collect();
    reasons.into_iter().collect()
}

fn sentence(unproved: Unproved) -> String {
    let estimate = if unproved.hides_times() { "go by when records were seen to come" } else { "allow for that" };
    format!("Of some partitions {unproved}; their forecasts are estimates that {estimate}.")
}

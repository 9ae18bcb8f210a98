//! A retention that is shorter than ten poll intervals is named once, and once more when it is long enough again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tracing::{info, warn};

use super::rights::listed;
use super::state::ClusterState;
use super::targets::ClusterTarget;
use crate::judgement::QueryVerdict;
use crate::measures::TopicName;
use crate::retention::{ClusterReading, Policy, TopicSight, enough_to_watch};

/// A log that size cuts fills now faster and now slower: what was named is over only when it lasts for so many times
/// what is asked.
const CLEARLY: f64 = 2.0;

/// How long a topic keeps its records.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Kept {
    seconds: f64,
    /// Seen of the log, and not what is set.
    is_observed: bool,
}

/// Tells what has changed since the last round that was read.
pub(super) fn tell(
    target: &ClusterTarget,
    state: &mut ClusterState,
    reading: &ClusterReading,
    verdicts: &[QueryVerdict],
) {
    let ClusterState { topics, short_lived, .. } = state;
    short_lived.retain(|topic| topics.values().any(|watched| watched.contains(topic)));
    let enough = enough_to_watch(target.poll_interval);
    let (new, over) = changes(short_lived, &kept(reading, verdicts, short_lived, enough), enough);
    let (kafka_cluster, ten_polls) = (target.name.as_str(), humantime::format_duration(enough));
    if let Some(topics) = listed(&new.iter().map(String::as_str).collect::<Vec<_>>()) {
        warn!(
            kafka_cluster, topics, %ten_polls,
            "a retention is shorter than ten poll intervals: records may go before any warning; lengthen it, or poll \
             more often"
        );
    }
    if let Some(topics) = listed(&over.iter().map(String::as_str).collect::<Vec<_>>()) {
        info!(kafka_cluster, topics, %ten_polls, "a retention is shorter than ten poll intervals no more");
    }
}

/// Topics of which there may be something to tell: those that keep records for less than `enough`, and those that did.
/// Where queries have seen different things, the shorter one counts.
fn kept(
    reading: &ClusterReading,
    verdicts: &[QueryVerdict],
    named: &BTreeSet<TopicName>,
    enough: Duration,
) -> BTreeMap<TopicName, Kept> {
    let mut all: BTreeMap<TopicName, Kept> = BTreeMap::new();
    for (name, topic) in verdicts.iter().flat_map(|verdict| &verdict.topics) {
        let (Some(seconds), Some(TopicSight::Seen(seen))) = (topic.retention_seconds, reading.topics.get(name)) else {
            continue;
        };
        if seconds >= enough.as_secs_f64() && !named.contains(name) {
            continue;
        }
        let is_observed = seconds.is_finite() && !Policy::of(seen.limits.as_ref()).is_set_to(seconds);
        let kept = Kept { seconds, is_observed };
        let shorter = all.entry(TopicName::clone(name)).or_insert(kept);
        if kept.seconds < shorter.seconds {
            *shorter = kept;
        }
    }
    all
}

/// Topics to name now, each with how long it keeps records; and those for which that is over. A topic of which nothing
/// is known stays as it was.
fn changes(
    named: &mut BTreeSet<TopicName>,
    kept: &BTreeMap<TopicName, Kept>,
    enough: Duration,
) -> (Vec<String>, Vec<String>) {
    let enough = enough.as_secs_f64();
    let (mut new, mut over) = (Vec::new(), Vec::new());
    for (topic, kept) in kept {
        let was = named.contains(topic);
        let asked = if was && kept.is_observed { enough * CLEARLY } else { enough };
        match (was, kept.seconds < asked) {
            (false, true) => {
                new.push(format!("{topic} ({} s)", kept.seconds.round()));
                named.insert(TopicName::clone(topic));
            }
            (true, false) => {
                over.push(topic.to_string());
                named.remove(topic);
            }
            _ => {}
        }
    }
    (new, over)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_retention_is_named_once_and_again_when_it_came_back() {
        let mut named = BTreeSet::new();
        let mut check = |polls: u64, topics: &[(&str, f64, bool)], new: &[&str], over: &[&str]| {
            let kept = |(name, seconds, is_observed): &(&str, f64, bool)| {
                (TopicName::from(*name), Kept { seconds: *seconds, is_observed: *is_observed })
            };
            let kept: BTreeMap<TopicName, Kept> = topics.iter().map(kept).collect();
            let told = changes(&mut named, &kept, enough_to_watch(Duration::from_secs(polls)));
            assert_eq!(
                told,
                (new.iter().map(ToString::to_string).collect(), over.iter().map(ToString::to_string).collect())
            );
        };
        check(30, &[("a", 299.0, false), ("b", 300.0, false), ("c", f64::INFINITY, false)], &["a (299 s)"], &[]);
        check(30, &[("a", 299.0, false)], &[], &[]);
        // A round that says nothing of it changes nothing.
        check(30, &[], &[], &[]);
        check(30, &[("a", 100.0, false), ("b", 100.0, false)], &["b (100 s)"], &[]);
        check(30, &[("a", 300.0, false)], &[], &["a"]);
        check(30, &[("a", 299.0, false)], &["a (299 s)"], &[]);
        // The rhythm counts as well.
        check(1, &[("a", 299.0, false), ("b", 100.0, false)], &[], &["a", "b"]);
        // What fills now faster and now slower is told once.
        check(30, &[("d", 250.0, true)], &["d (250 s)"], &[]);
        check(30, &[("d", 320.0, true)], &[], &[]);
        check(30, &[("d", 250.0, true)], &[], &[]);
        check(30, &[("d", 600.0, true)], &[], &["d"]);
    }
}

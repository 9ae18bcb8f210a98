//! What `config check --live` says of one topic: whether all of it could be read, and whether its retention is enough.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::measures::TopicName;
use crate::retention::{Demand, Limit, Policy, Right, Shortage, TopicReading, TopicSight};

/// How bad a line is, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grade {
    /// It could not be read, so nothing can be said.
    NotRead,
    /// There is something to correct.
    Wrong,
    /// All was read, and does not tell everything.
    Unsure,
    /// All is well.
    Fine,
}

impl Grade {
    /// As the table says it.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::NotRead => "not read",
            Self::Wrong => "wrong",
            Self::Unsure => "cannot tell",
            Self::Fine => "ok",
        }
    }
}

/// A topic of a query, on one cluster.
#[derive(Debug)]
pub(super) struct Topic<'a> {
    pub query: &'a str,
    pub cluster: &'a str,
    pub name: &'a TopicName,
    pub sight: Option<&'a TopicSight>,
    pub missing_rights: &'a BTreeMap<Right, BTreeSet<TopicName>>,
    /// How long the judgement says that records are kept.
    pub kept_seconds: Option<f64>,
    pub demand: Demand,
}

impl Topic<'_> {
    /// What is to be said of it, with what to do.
    pub(super) fn finding(&self) -> (Grade, String) {
        let cluster = self.cluster;
        if self.lacks(Right::Describe) {
            let what =
                "the right DESCRIBE is missing, so that it cannot even be told whether the topic exists: grant it and";
            return (Grade::NotRead, format!("{what} DESCRIBE_CONFIGS to the user of clusters.{cluster}"));
        }
        let seen = match self.sight {
            Some(TopicSight::Seen(seen)) => seen,
            Some(TopicSight::Absent) => {
                let what = "the cluster has no such topic: was it deleted, or does the query read another cluster than";
                return (Grade::Wrong, format!("{what} {cluster}?"));
            }
            Some(TopicSight::Unread(unread)) => return (Grade::NotRead, format!("the topic was not read: {unread}")),
            None => return (Grade::NotRead, "the topic was not asked for".to_owned()),
        };
        let (grade, words) = self.retention(seen);
        match unread_partitions(seen) {
            Some(unread) => (Grade::NotRead, format!("{unread}; {words}")),
            None => (grade, words),
        }
    }

    fn lacks(&self, right: Right) -> bool {
        self.missing_rights.get(&right).is_some_and(|topics| topics.contains(self.name))
    }

    fn retention(&self, seen: &TopicReading) -> (Grade, String) {
        let by_hand = format!("clusters.{}.retention_overrides.\"{}\"", self.cluster, self.name);
        match &seen.limits {
            Some(Ok(_)) => {}
            _ if self.lacks(Right::DescribeConfigs) => {
                let what =
                    "the right DESCRIBE_CONFIGS is missing, so its retention is not known: grant it to the user of";
                return (Grade::NotRead, format!("{what} clusters.{}, or say it in {by_hand}", self.cluster));
            }
            Some(Err(unread)) => {
                return (Grade::NotRead, format!("its retention was not read: {unread}; it can be said in {by_hand}"));
            }
            None => return (Grade::NotRead, format!("its retention was not read; it can be said in {by_hand}")),
        }
        let policy = Policy::of(seen.limits.as_ref());
        if policy.time == Limit::Unknown {
            return (Grade::NotRead, format!("the brokers do not tell its retention: say it in {by_hand}"));
        }
        let Some(kept) = self.kept_seconds else {
            let what =
                "only its size limits the topic, and how long that lasts shows while it is watched; to reckon it:";
            return (Grade::Unsure, format!("{what} brinkwatch size {}", self.query));
        };
        let rules_by_time = policy.is_set_to(kept);
        let short = self.demand.unmet(kept);
        if !short.is_empty() {
            return (Grade::Wrong, self.too_short(kept, &short, rules_by_time));
        }
        let size = match policy.size {
            Limit::At(_) if rules_by_time => {
                format!("; its size limit may let them go sooner: brinkwatch size {}", self.query)
            }
            Limit::Unknown => format!("; whether its size is limited is not told, it can be said in {by_hand}"),
            _ => String::new(),
        };
        (Grade::Fine, format!("keeps its records {}{size}", lasting(kept)))
    }

    fn too_short(&self, kept: f64, short: &[Shortage], rules_by_time: bool) -> String {
        let why = short.iter().map(|shortage| {
            let asked = spoken(self.demand.asks(*shortage));
            match shortage {
                Shortage::Watching => format!("less than ten poll intervals ({asked}): they can go before any warning"),
                Shortage::Outage => {
                    format!("less than max_outage and one batch interval ({asked}): such an outage loses records")
                }
            }
        });
        let why = why.collect::<Vec<_>>().join("; ");
        let asked = short.iter().map(|shortage| self.demand.asks(*shortage)).max().unwrap_or_default();
        let longer = if rules_by_time {
            format!("set its retention.ms to {} or more", asked.as_millis())
        } else {
            format!("let it keep more bytes (brinkwatch size {} says how many)", self.query)
        };
        let otherwise = short.iter().map(|shortage| match shortage {
            Shortage::Watching => format!("poll_interval of cluster {}", self.cluster),
            Shortage::Outage => format!("max_outage of query {}", self.query),
        });
        let otherwise = otherwise.collect::<Vec<_>>().join(" and ");
        format!("keeps its records {}, {why}; {longer}, or lower {otherwise}", lasting(kept))
    }
}

fn unread_partitions(seen: &TopicReading) -> Option<String> {
    let mut unread = seen.partitions.values().filter_map(|read| read.as_ref().err());
    let first = unread.next()?;
    let (count, all) = (unread.count() + 1, seen.partitions.len());
    Some(format!("{count} of {all} partitions could not be read ({first})"))
}

fn lasting(seconds: f64) -> String {
    match Duration::try_from_secs_f64(seconds) {
        Ok(kept) => format!("for {}", spoken(kept)),
        Err(_) => "for ever".to_owned(),
    }
}

/// To the second, but for what is shorter.
fn spoken(length: Duration) -> String {
    let whole = Duration::from_secs(length.as_secs());
    humantime::format_duration(if whole.is_zero() { length } else { whole }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::{Reason, Unread};
    use crate::retention::Limits;

    fn limits(retention_ms: Option<i64>, retention_bytes: Option<i64>) -> Option<Result<Limits, Unread>> {
        let cleanup_policy = Some("delete".to_owned());
        Some(Ok(Limits { cleanup_policy, retention_ms, retention_bytes, ..Limits::default() }))
    }

    fn seen(limits: Option<Result<Limits, Unread>>) -> TopicSight {
        TopicSight::Seen(TopicReading { limits, ..TopicReading::default() })
    }

    #[test]
    fn what_was_not_read_is_never_well_and_each_shortage_says_what_to_do() {
        #[track_caller]
        fn check(sight: &TopicSight, lacks: Option<Right>, kept_seconds: Option<f64>, grade: Grade, words: &[&str]) {
            let name = TopicName::from("orders");
            let missing_rights =
                lacks.into_iter().map(|right| (right, BTreeSet::from([TopicName::clone(&name)]))).collect();
            let seconds = Duration::from_secs;
            let demand =
                Demand { poll_interval: seconds(30), max_outage: seconds(86_400), expected_interval: seconds(600) };
            let topic = Topic {
                query: "q",
                cluster: "main",
                name: &name,
                sight: Some(sight),
                missing_rights: &missing_rights,
                kept_seconds,
                demand,
            };
            let (found, said) = topic.finding();
            assert_eq!(found, grade, "{said}");
            assert!(words.iter().all(|word| said.contains(word)), "{words:?}: {said}");
        }
        let (week, hour, minute) = (604_800.0, 3600.0, 60.0);
        let away = || Unread::new(Reason::TimedOut, "no answer");
        check(&seen(limits(Some(604_800_000), Some(-1))), None, Some(week), Grade::Fine, &["for 7days"]);
        check(&seen(limits(Some(604_800_000), Some(9))), None, Some(week), Grade::Fine, &["size limit", "size q"]);
        check(&seen(limits(Some(604_800_000), None)), None, Some(week), Grade::Fine, &["not told"]);
        check(&seen(limits(Some(-1), Some(-1))), None, Some(f64::INFINITY), Grade::Fine, &["for ever"]);
        check(
            &seen(limits(Some(3_600_000), Some(-1))),
            None,
            Some(hour),
            Grade::Wrong,
            &[
                "for 1h, less than max_outage",
                "(1day 10m)",
                "retention.ms to 87000000 or",
                "lower max_outage of query q",
            ],
        );
        check(
            &seen(limits(Some(60_000), Some(-1))),
            None,
            Some(minute),
            Grade::Wrong,
            &["ten poll intervals (5m)", "max_outage", "poll_interval of cluster main and max_outage of query q"],
        );
        // Size was seen to cut the log.
        check(&seen(limits(Some(-1), Some(9))), None, Some(hour), Grade::Wrong, &["more bytes", "size q"]);
        check(&seen(limits(Some(-1), Some(9))), None, None, Grade::Unsure, &["brinkwatch size q"]);
        check(&seen(limits(None, None)), None, None, Grade::NotRead, &["retention_overrides.\"orders\""]);
        check(&seen(None), None, None, Grade::NotRead, &["not read"]);
        check(&seen(Some(Err(away()))), None, Some(week), Grade::NotRead, &["timed_out: no answer"]);
        let denied = || seen(Some(Err(Unread::new(Reason::Denied, "no right"))));
        // What was remembered of an earlier time does not count.
        check(&denied(), Some(Right::DescribeConfigs), Some(week), Grade::NotRead, &["DESCRIBE_CONFIGS is missing"]);
        // It was said by hand.
        let by_hand = seen(limits(Some(604_800_000), Some(-1)));
        check(&by_hand, Some(Right::DescribeConfigs), Some(week), Grade::Fine, &["7days"]);
        check(&TopicSight::Unread(away()), Some(Right::Describe), None, Grade::NotRead, &["right DESCRIBE is missing"]);
        check(&TopicSight::Unread(away()), None, None, Grade::NotRead, &["timed_out"]);
        check(&TopicSight::Absent, None, None, Grade::Wrong, &["no such topic", "than main?"]);
        let mut partial = TopicReading { limits: limits(Some(604_800_000), Some(-1)), ..TopicReading::default() };
        partial.partitions = [(0, Err(away())), (1, Err(away()))].into();
        check(&TopicSight::Seen(partial), None, Some(week), Grade::NotRead, &["2 of 2 partitions", "for 7days"]);
    }
}

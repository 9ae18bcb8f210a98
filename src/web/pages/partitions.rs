//! The partitions of one topic, worst first.

use std::sync::Arc;

use super::heat::{Heat, draw};
use super::picture::{Picture, Scale};
use super::row::number;
use super::tone::{Tone, of_partition};
use super::{Line, Stamp, address};
use crate::judgement::{Deadline, PartitionState, PartitionVerdict, QueryVerdict, TopicVerdict};
use crate::measures::{Moment, TopicName};
use crate::metrics::snapshot::QueryRound;
use crate::web::words::{self, count, counted};

/// So many stand open; the others of the page are folded.
const OPEN: usize = 8;
/// More than this, and the page begins with the heat strip and the worst ten.
const IN_ROWS: usize = 16;
const WORST: usize = 10;
/// So many stand on a page of all.
const A_PAGE: usize = 100;

#[derive(Debug)]
pub(super) struct Topic {
    pub(super) name: String,
    pub(super) meta: String,
    pub(super) any_lost: bool,
    pub(super) any_open: bool,
    pub(super) marks: Vec<(String, String, &'static str)>,
    pub(super) note: String,
    pub(super) open: Vec<Part>,
    pub(super) folded: Vec<Part>,
    pub(super) heat: Option<Heat>,
    /// Where the other partitions are; absent when all stand here.
    pub(super) pages: Option<Pages>,
}

/// Links to a hundred partitions at a time.
#[derive(Debug)]
pub(super) struct Pages {
    pub(super) text: String,
    pub(super) links: Vec<(String, String)>,
}

/// One partition.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) class: &'static str,
    pub(super) symbol: &'static str,
    pub(super) number: i32,
    pub(super) word: String,
    pub(super) reason: String,
    pub(super) picture: Picture,
    pub(super) lost: String,
    pub(super) lost_any: bool,
    pub(super) headroom: String,
    pub(super) lag: String,
    pub(super) due: Line,
    pub(super) due_more: String,
}

/// Without a page that is asked for, a large topic shows its worst.
pub(super) fn topics(query: &QueryRound, verdict: &QueryVerdict, asked: &Asked<'_>, now: Moment) -> Vec<Topic> {
    verdict.topics.iter().map(|(name, folded)| topic(query, verdict, name, folded, asked, now)).collect()
}

fn topic(
    query: &QueryRound,
    verdict: &QueryVerdict,
    name: &TopicName,
    folded: &TopicVerdict,
    asked: &Asked<'_>,
    now: Moment,
) -> Topic {
    let mut all: Vec<(Tone, i32, &PartitionVerdict)> = verdict
        .partitions
        .iter()
        .filter(|(place, _)| place.topic == *name)
        .map(|(place, each)| (of_partition(each.state, each.ratio, query), place.partition, each))
        .collect();
    let scale = Scale::of(all.iter().map(|(_, _, each)| *each));
    let heat = (all.len() > IN_ROWS).then(|| {
        let cells: Vec<(i32, Tone)> = all.iter().map(|(tone, number, _)| (*number, *tone)).collect();
        draw(&cells, &whole_percent(query.settings.risk_warning), &whole_percent(query.risk_critical))
    });
    all.sort_by_key(|(tone, number, each)| {
        (*tone, each.state != PartitionState::Lost, each.deadline.is_none(), each.deadline, *number)
    });
    let page = asked.page_of(name).map(|page| page.clamp(1, all.len().div_ceil(A_PAGE).max(1)));
    let (first, size) = match page {
        Some(page) => ((page - 1) * A_PAGE, A_PAGE),
        None if heat.is_some() => (0, WORST),
        None => (0, IN_ROWS),
    };
    let shown: Vec<&(Tone, i32, &PartitionVerdict)> = all.iter().skip(first).take(size).collect();
    // When all is fine the first few are enough to see that.
    let fine = heat.is_none() && shown.iter().all(|(tone, ..)| *tone == Tone::Good);
    let open = if fine { OPEN } else { size };
    let part = |entry: &&(Tone, i32, &PartitionVerdict)| part(&scale, entry.0, entry.1, entry.2, now);
    Topic {
        name: name.to_string(),
        meta: meta(number(all.len()), folded),
        any_lost: folded.lost.is_some_and(|lost| lost > 0),
        any_open: all.iter().any(|(_, _, each)| each.planned.is_some()),
        marks: scale.marks(),
        note: scale.note(),
        open: shown.iter().take(open).map(part).collect(),
        folded: shown.iter().skip(open).map(part).collect(),
        pages: heat.is_some().then(|| pages(asked, name, all.len(), page)),
        heat,
    }
}

/// The percent of a threshold, as the configuration writes it.
fn whole_percent(share: f64) -> String {
    format!("{:.0}", share * 100.0)
}

fn pages(asked: &Asked<'_>, topic: &str, all: usize, page: Option<usize>) -> Pages {
    let last = all.div_ceil(A_PAGE);
    let link = |text: String, page: usize| {
        let page = page.to_string();
        (text, format!("{}#partitions", address("", &[("topic", topic), ("page", &page)], &[])))
    };
    let mut links = Vec::new();
    let text = match page {
        None => {
            links.push(link(format!("{A_PAGE} at a time, worst first"), 1));
            format!("The worst {} of {}.", WORST.min(all), count(number(all)))
        }
        Some(page) => {
            links.push((format!("the worst {WORST}"), "?#partitions".to_owned()));
            if page > 1 {
                links.push(link("earlier".to_owned(), page - 1));
            }
            if page < last {
                links.push(link("later".to_owned(), page + 1));
            }
            format!("Page {page} of {last}, worst first.")
        }
    };
    links.push(("JSON".to_owned(), asked.api.to_owned()));
    links.push(("CSV".to_owned(), format!("{}?format=csv", asked.api)));
    Pages { text, links }
}

fn meta(partitions: u64, folded: &TopicVerdict) -> String {
    let mut words = vec![counted(partitions, "partition", "partitions")];
    words.push(match folded.retention_seconds {
        Some(f64::INFINITY) => "no limit".to_owned(),
        Some(seconds) => {
            format!("keeps data for {}", words::duration(std::time::Duration::from_secs_f64(seconds.max(0.0))))
        }
        None => "retention not known".to_owned(),
    });
    for (state, count) in &folded.states {
        if *count > 0 && !matches!(state, PartitionState::Behind | PartitionState::CaughtUp) {
            words.push(format!("{count} {}", words::spoken(state.label())));
        }
    }
    words.join(" · ")
}

fn part(scale: &Scale, tone: Tone, place: i32, partition: &PartitionVerdict, now: Moment) -> Part {
    let at_risk = tone < Tone::Unknown && matches!(partition.state, PartitionState::Behind | PartitionState::CaughtUp);
    let (due, due_more) = due(partition, now);
    let unknown = || "unknown".to_owned();
    Part {
        class: tone.class(),
        symbol: if at_risk { "at_risk" } else { words::symbol(partition.state) },
        number: place,
        word: if at_risk { "at risk".to_owned() } else { words::spoken(partition.state.label()) },
        reason: match partition.state {
            PartitionState::Behind | PartitionState::CaughtUp => {
                partition.unproved.map(|unproved| unproved.to_string()).unwrap_or_default()
            }
            _ => partition.reason.to_string(),
        },
        picture: scale.draw(partition, place),
        lost: match (partition.lost, partition.possibly_lost) {
            (Some(lost), Some(possible)) if possible > 0 => format!("{} + \u{2264} {}", count(lost), count(possible)),
            (Some(lost), _) => count(lost),
            (None, Some(possible)) if possible > 0 => format!("\u{2264} {}", count(possible)),
            (None, _) => unknown(),
        },
        lost_any: partition.lost.is_some_and(|lost| lost > 0),
        headroom: partition.headroom.map_or_else(unknown, words::signed),
        lag: partition.lag.map_or_else(unknown, count),
        due,
        due_more,
    }
}

fn due(partition: &PartitionVerdict, now: Moment) -> (Line, String) {
    let forecast = match partition.forecast {
        Some(Deadline::At(at)) => format!("forecast: {}", words::clock(at, now)),
        Some(Deadline::Never) => "forecast: never".to_owned(),
        None => String::new(),
    };
    let line = match (partition.state, partition.deadline) {
        (PartitionState::Lost, _) => return (Line::plain("going now"), String::new()),
        (PartitionState::CaughtUp, _) => return (Line::plain("nothing unread"), String::new()),
        (_, Some(Deadline::At(at))) if at <= now => Line::timed("may go since ", Stamp::clock(at, now), ""),
        (_, Some(Deadline::At(at))) => {
            let more = format!("in {}", words::duration(at.since(now)));
            return (Line::timed("", Stamp::clock(at, now), ""), more);
        }
        (_, Some(Deadline::Never)) => Line::plain("never by time"),
        (_, None) => Line::plain("no proved time"),
    };
    (line, forecast)
}

/// Which partitions are asked for.
pub(super) struct Asked<'a> {
    pub(super) topic: &'a str,
    pub(super) page: &'a str,
    /// Where all of them are, for programs.
    pub(super) api: &'a str,
}

impl Asked<'_> {
    /// A page without a topic is a page of each.
    fn page_of(&self, topic: &str) -> Option<usize> {
        if self.topic.is_empty() || self.topic == topic { self.page.parse().ok() } else { None }
    }
}

/// The topics' names of a verdict, for the line above the page.
pub(super) fn names(verdict: &QueryVerdict) -> Vec<Arc<str>> {
    verdict.topics.keys().cloned().collect()
}

//! The partitions of one topic, worst first.

use std::sync::Arc;

use super::picture::{Picture, Scale};
use super::row::number;
use super::tone::{Tone, of_partition};
use super::{Line, Stamp};
use crate::judgement::{Deadline, PartitionState, PartitionVerdict, QueryVerdict, TopicVerdict};
use crate::measures::{Moment, TopicName};
use crate::metrics::snapshot::QueryRound;
use crate::web::words::{self, count, counted};

/// So many stand open; the others of the page are folded.
const OPEN: usize = 8;
/// So many stand on a page.
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
    pub(super) page: String,
    pub(super) before: Option<usize>,
    pub(super) after: Option<usize>,
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

pub(super) fn topics(query: &QueryRound, verdict: &QueryVerdict, page: usize, now: Moment) -> Vec<Topic> {
    verdict.topics.iter().map(|(name, folded)| topic(query, verdict, name, folded, page, now)).collect()
}

fn topic(
    query: &QueryRound,
    verdict: &QueryVerdict,
    name: &TopicName,
    folded: &TopicVerdict,
    page: usize,
    now: Moment,
) -> Topic {
    let mut all: Vec<(Tone, i32, &PartitionVerdict)> = verdict
        .partitions
        .iter()
        .filter(|(place, _)| place.topic == *name)
        .map(|(place, each)| (of_partition(each.state, each.ratio, query), place.partition, each))
        .collect();
    let scale = Scale::of(all.iter().map(|(_, _, each)| *each));
    all.sort_by_key(|(tone, number, each)| {
        (*tone, each.state != PartitionState::Lost, each.deadline.is_none(), each.deadline, *number)
    });
    let pages = all.len().div_ceil(A_PAGE).max(1);
    let page = page.clamp(1, pages);
    let shown: Vec<&(Tone, i32, &PartitionVerdict)> = all.iter().skip((page - 1) * A_PAGE).take(A_PAGE).collect();
    // Sixteen rows are quickly read; beyond that, or when the rest is fine, the rest is folded.
    let open =
        if shown.len() <= 2 * OPEN && shown.iter().any(|(tone, ..)| *tone != Tone::Good) { 2 * OPEN } else { OPEN };
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
        page: if pages > 1 { format!("page {page} of {pages}, worst first") } else { String::new() },
        before: (page > 1).then(|| page - 1),
        after: (page < pages).then(|| page + 1),
    }
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
            PartitionState::Behind | PartitionState::CaughtUp => String::new(),
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

/// A page number out of an address.
pub(super) fn page_of(text: &str) -> usize {
    text.parse().unwrap_or(1)
}

/// The topics' names of a verdict, for the line above the page.
pub(super) fn names(verdict: &QueryVerdict) -> Vec<Arc<str>> {
    verdict.topics.keys().cloned().collect()
}

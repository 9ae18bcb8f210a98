//! The gaps page: what was lost, and what became of it. Records of one query, topic and fate stand together.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use askama::Template;
use serde::Deserialize;

use super::fleet::encode;
use super::row::number;
use super::settle::SettleForm;
use super::steps::{Command, of_records, reads, resolve};
use super::{Fact, Frame, Line, Stamp, address};
use crate::judgement::Certainty;
use crate::ledger::{Gap, RecoveryPath, RecoveryStatus};
use crate::measures::Moment;
use crate::web::words::{self, count, counted};

/// More groups than this go to the next page.
const GROUPS: usize = 100;
/// So many ranges of a group are listed.
const RANGES: usize = 50;

/// What the page is asked to show.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::web) struct Question {
    status: String,
    q: String,
    certainty: String,
    page: String,
}

impl Question {
    fn keeps(&self, gap: &Gap) -> bool {
        let wanted = self.q.trim().to_lowercase();
        (self.status.is_empty() || gap.recovery_status.word() == self.status)
            && (self.certainty.is_empty() || gap.certainty.label() == self.certainty)
            && (gap.stream_name.to_lowercase().contains(&wanted) || gap.topic.to_lowercase().contains(&wanted))
    }

    fn link(&self, changes: &[(&str, &str)]) -> String {
        let parts = [("status", self.status.as_str()), ("q", self.q.as_str()), ("certainty", self.certainty.as_str())];
        address("/gaps", &parts, changes)
    }
}

#[derive(Debug, Template)]
#[template(path = "gaps.html", config = "src/web/templates/askama.toml")]
pub(super) struct GapsPage {
    frame: Frame,
    title: String,
    headline: String,
    facts: Vec<Fact>,
    chips: Vec<super::Chip>,
    wanted: String,
    status: String,
    certainties: Vec<(&'static str, bool)>,
    known: bool,
    none_at_all: bool,
    groups: Vec<Group>,
    pager: Option<super::Pager>,
    commands: Vec<Command>,
    settles: bool,
    remembers: bool,
    lies_at: Option<String>,
}

/// What of the daemon around it the page depends on.
pub(super) struct Around<'a> {
    /// What ends every command of ours.
    pub(super) options: &'a [String],
    /// Whether gaps can be settled here.
    pub(super) settles: bool,
    /// Whether what is recorded outlives the process, so that commands can read it.
    pub(super) remembers: bool,
    /// Where it is recorded, if so.
    pub(super) lies_at: Option<String>,
}

/// Records of one query, topic and fate.
#[derive(Debug)]
struct Group {
    class: &'static str,
    symbol: &'static str,
    status: String,
    since: Line,
    query: String,
    link: String,
    place: String,
    lost: String,
    certainty: &'static str,
    summary: String,
    ranges: Vec<(Option<i64>, String)>,
    more: usize,
    written: Line,
    written_to: Line,
    evidence: String,
    seen: Line,
    path: String,
    by: String,
    open: bool,
    form: Option<SettleForm>,
}

/// `None` of gaps: the ledger does not answer.
pub(super) fn page(
    frame: Frame,
    gaps: Option<&[Gap]>,
    question: &Question,
    around: &Around<'_>,
    now: Moment,
) -> GapsPage {
    let all = gaps.unwrap_or_default();
    let mut groups: BTreeMap<_, Vec<&Gap>> = BTreeMap::new();
    for gap in all.iter().filter(|gap| question.keeps(gap)) {
        let fate = (gap.recovery_status.word(), gap.certainty, gap.recovery_path.map(RecoveryPath::word));
        groups.entry((&gap.stream_name, &gap.kafka_cluster, &gap.topic, fate)).or_default().push(gap);
    }
    let mut groups: Vec<Vec<&Gap>> = groups.into_values().collect();
    groups.sort_by_key(|group| {
        let newest = group.iter().map(|gap| gap.detected_at).max();
        (group.iter().all(|gap| !gap.is_open()), Reverse(newest))
    });
    let (groups, pager) = super::paged(groups, GROUPS, &question.page, |page| question.link(&[("page", page)]));
    let open = all.iter().filter(|gap| gap.is_open()).count();
    let headline = match (gaps, open) {
        (None, _) => "The gap records cannot be read".to_owned(),
        (Some([]), _) => "No gap is recorded".to_owned(),
        (Some(_), 0) => "No gap is open".to_owned(),
        (Some(_), open) => counted(number(open), "gap is open", "gaps are open"),
    };
    GapsPage {
        frame,
        title: headline.clone(),
        headline,
        facts: if gaps.is_some() { facts(all, now) } else { Vec::new() },
        chips: chips(all, question),
        wanted: question.q.clone(),
        status: question.status.clone(),
        certainties: Certainty::ALL.iter().map(|each| (each.label(), each.label() == question.certainty)).collect(),
        known: gaps.is_some(),
        none_at_all: all.is_empty(),
        groups: groups.iter().filter_map(|group| shown(group, around.settles, now)).collect(),
        pager,
        commands: commands(all, around),
        settles: around.settles,
        remembers: around.remembers,
        lies_at: around.lies_at.clone(),
    }
}

fn commands(all: &[Gap], around: &Around<'_>) -> Vec<Command> {
    if !around.remembers {
        return Vec::new();
    }
    let open = all.iter().filter(|gap| gap.is_open());
    let first = open.filter_map(|gap| gap.id).next().filter(|_| !around.settles);
    let list = reads(&of_records(&["gaps", "list", "--all", "--output", "csv"], around.options));
    std::iter::once(list).chain(first.map(|id| resolve(id, around.options))).collect()
}

fn facts(all: &[Gap], now: Moment) -> Vec<Fact> {
    let sum = |certainty: Certainty, only_open: bool| -> u64 {
        let counted = all.iter().filter(|gap| {
            gap.certainty == certainty
                && gap.recovery_status != RecoveryStatus::NotALoss
                && (!only_open || gap.is_open())
        });
        counted.map(size).sum()
    };
    let open = all.iter().filter(|gap| gap.is_open());
    let oldest = open.clone().min_by_key(|gap| gap.detected_at);
    let fact = |name, value: String, more: Line| Fact { name, value, more, toned: false };
    vec![
        fact(
            "Lost for certain",
            count(sum(Certainty::Certain, false)),
            Line::plain("offsets, an upper bound of records"),
        ),
        fact("Possibly lost besides", up_to(sum(Certainty::Possible, false)), Line::plain("offsets")),
        fact(
            "Open",
            count(number(open.count())),
            Line::plain(format!(
                "{} certain, {} possible",
                count(sum(Certainty::Certain, true)),
                up_to(sum(Certainty::Possible, true))
            )),
        ),
        match oldest {
            Some(gap) => fact(
                "Oldest open",
                format!("{} ago", words::duration(now.since(gap.detected_at))),
                Line::timed(format!("{}, seen ", gap.stream_name), Stamp::clock(gap.detected_at, now), ""),
            ),
            None => fact("Oldest open", "none".to_owned(), Line::default()),
        },
    ]
}

fn chips(all: &[Gap], question: &Question) -> Vec<super::Chip> {
    let mut chips = vec![super::Chip {
        label: "all".to_owned(),
        symbol: None,
        class: "",
        count: all.len(),
        link: question.link(&[("status", "")]),
        current: question.status.is_empty(),
    }];
    for status in RecoveryStatus::ALL {
        let count = all.iter().filter(|gap| gap.recovery_status == *status).count();
        let current = question.status == status.word();
        if count > 0 || current {
            chips.push(super::Chip {
                label: words::spoken(status.word()),
                symbol: Some(symbol(*status)),
                class: class(*status),
                count,
                link: question.link(&[("status", status.word())]),
                current,
            });
        }
    }
    chips
}

const fn symbol(status: RecoveryStatus) -> &'static str {
    match status {
        RecoveryStatus::Open => "gap_open",
        RecoveryStatus::Accepted => "gap_accepted",
        RecoveryStatus::Replayed | RecoveryStatus::Backfilled | RecoveryStatus::NotALoss => "gap_settled",
    }
}

const fn class(status: RecoveryStatus) -> &'static str {
    match status {
        RecoveryStatus::Open => "crit",
        _ => "good",
    }
}

fn shown(group: &[&Gap], settles: bool, now: Moment) -> Option<Group> {
    let newest = group.iter().max_by_key(|gap| gap.detected_at)?;
    let oldest = group.iter().map(|gap| gap.detected_at).min()?;
    let open = newest.is_open();
    let offsets = group.iter().map(|gap| size(gap)).sum();
    let mut partitions: Vec<i32> = group.iter().map(|gap| gap.partition).collect();
    partitions.sort_unstable();
    partitions.dedup();
    let mut ranges = group.to_vec();
    ranges.sort_by_key(|gap| (gap.partition, gap.from));
    let first = group.iter().filter_map(|gap| gap.first_missing_at).min();
    let last = group.iter().filter_map(|gap| gap.last_missing_at).max();
    Some(Group {
        class: class(newest.recovery_status),
        symbol: symbol(newest.recovery_status),
        status: words::spoken(newest.recovery_status.word()),
        since: if open { Line::plain(format!("for {}", words::duration(now.since(oldest)))) } else { Line::default() },
        query: newest.stream_name.clone(),
        link: format!("/queries/{}", encode(&newest.stream_name)),
        place: format!("{} · {}", newest.topic, newest.kafka_cluster),
        lost: if newest.certainty == Certainty::Certain { count(offsets) } else { up_to(offsets) },
        certainty: match newest.certainty {
            Certainty::Certain => "certain",
            Certainty::Possible => "possible, upper bound",
        },
        summary: counted(number(partitions.len()), "partition", "partitions"),
        more: ranges.len().saturating_sub(RANGES),
        ranges: ranges.into_iter().take(RANGES).map(|gap| (gap.id, range(gap))).collect(),
        written: first.map_or_else(|| Line::plain("not known"), |at| Line::timed("about ", Stamp::clock(at, now), "")),
        written_to: last.map_or_else(Line::default, |at| Line::timed("to ", Stamp::clock(at, now), "")),
        evidence: newest.evidence.clone(),
        seen: Line::timed("seen ", Stamp::clock(oldest, now), ""),
        path: newest.recovery_path.map_or_else(String::new, |path| words::spoken(path.word())),
        by: newest.recorded_by.clone(),
        open,
        form: SettleForm::of(&format!("{}, {}", newest.stream_name, newest.topic), group.iter().copied(), false)
            .filter(|_| settles),
    })
}

fn size(gap: &Gap) -> u64 {
    u64::try_from(gap.to - gap.from).unwrap_or(0)
}

fn up_to(offsets: u64) -> String {
    if offsets == 0 { "0".to_owned() } else { format!("\u{2264} {}", count(offsets)) }
}

/// A gap's place and range: `orders 3: 39,584,558 … 39,588,757 (4,200)`.
pub(super) fn range(gap: &Gap) -> String {
    let last = gap.to.saturating_sub(1);
    let size = if gap.certainty == Certainty::Certain { count(size(gap)) } else { up_to(size(gap)) };
    format!("{} {}: {} \u{2026} {} ({size})", gap.topic, gap.partition, words::signed(gap.from), words::signed(last))
}

//! The fleet page: every query, worst first.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use serde::Deserialize;

use super::row::{Row, number, row};
use super::tone::Tone;
use super::{Chip, Fact, Frame, Line, Pager, Stamp, address, paged};
use crate::judgement::{Certainty, Deadline, QueryState};
use crate::measures::Moment;
use crate::metrics::snapshot::ClusterRound;
use crate::shard::Shard;
use crate::web::fallback::nearest;
use crate::web::words::{self, counted};

/// More rows than this go to the next page.
const ROWS: usize = 200;

/// What the page is asked to show.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::web) struct Question {
    state: String,
    q: String,
    cluster: String,
    page: String,
    refresh: String,
}

impl Question {
    pub(super) fn paused(&self) -> bool {
        self.refresh == "off"
    }

    fn keeps(&self, row: &Row, cluster: &str) -> bool {
        let wanted = self.q.trim().to_lowercase();
        (self.state.is_empty() || row.state.label() == self.state)
            && (self.cluster.is_empty() || cluster == self.cluster)
            && (row.name.to_lowercase().contains(&wanted) || row.place.to_lowercase().contains(&wanted))
    }

    /// The page's address with some parts changed; what is empty is left out.
    fn link(&self, changes: &[(&str, &str)]) -> String {
        let parts = [
            ("state", self.state.as_str()),
            ("q", self.q.as_str()),
            ("cluster", self.cluster.as_str()),
            ("refresh", self.refresh.as_str()),
        ];
        address("/", &parts, changes)
    }
}

/// Percent-encodes a part of an address.
pub(in crate::web) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[derive(Debug, Template)]
#[template(path = "fleet.html", config = "src/web/templates/askama.toml")]
pub(super) struct FleetPage {
    frame: Frame,
    title: String,
    headline: String,
    summary: String,
    facts: Vec<Fact>,
    chips: Vec<Chip>,
    clusters: Vec<(String, bool)>,
    wanted: String,
    state: String,
    paused: bool,
    pause_link: String,
    rows: Vec<Row>,
    nothing: Option<Nothing>,
    pager: Option<Pager>,
}

/// Why no row is shown.
#[derive(Debug)]
struct Nothing {
    configured: bool,
    is_whole: bool,
    nearest: Vec<(String, String)>,
    all: String,
}

/// `remembers`: the ledger outlives the process.
pub(super) fn page(
    rounds: &[Arc<ClusterRound>],
    shard: Shard,
    question: &Question,
    remembers: bool,
    now: Moment,
) -> FleetPage {
    let mut all: Vec<(Row, &str)> = rounds
        .iter()
        .flat_map(|round| {
            round.queries.iter().map(|(name, query)| (row(round, name, query, now), round.cluster.as_str()))
        })
        .collect();
    all.sort_by(|(left, _), (right, _)| order(left).cmp(&order(right)));
    let (title, headline, summary) = headline(&all, rounds.len(), shard);
    let chips = chips(&all, question);
    let nearest_names: Vec<(String, String)> = nearest(question.q.trim(), all.iter().map(|(row, _)| row.name.as_str()))
        .into_iter()
        .map(|name| (name.to_owned(), format!("/queries/{}", encode(name))))
        .collect();
    let configured = !all.is_empty();
    let rows: Vec<Row> =
        all.into_iter().filter(|(row, cluster)| question.keeps(row, cluster)).map(|(row, _)| row).collect();
    let nothing = rows.is_empty().then(|| Nothing {
        configured,
        is_whole: shard.is_whole(),
        nearest: nearest_names,
        all: "/".to_owned(),
    });
    let (mut rows, pager) = paged(rows, ROWS, &question.page, |page| question.link(&[("page", page)]));
    for row in &mut rows {
        row.draw_history(rounds, now);
    }
    FleetPage {
        frame: Frame::new("fleet", rounds, shard, now),
        title,
        headline,
        summary,
        facts: facts(rounds, remembers, now),
        chips,
        clusters: rounds.iter().map(|round| (round.cluster.clone(), round.cluster == question.cluster)).collect(),
        wanted: question.q.clone(),
        state: question.state.clone(),
        paused: question.paused(),
        pause_link: question.link(&[("refresh", if question.paused() { "" } else { "off" })]),
        rows,
        nothing,
        pager,
    }
}

/// Tone, then the order of states, then the deadline, then the name, so that two pages of one board are equal.
fn order(row: &Row) -> (Tone, QueryState, (bool, Option<Deadline>), &str) {
    (row.tone, row.state, (row.due_at.is_none(), row.due_at), &row.name)
}

fn headline(all: &[(Row, &str)], clusters: usize, shard: Shard) -> (String, String, String) {
    let count = |tone: Tone| number(all.iter().filter(|(row, _)| row.tone == tone).count());
    let (now, soon, unknown, safe) =
        (count(Tone::Critical), count(Tone::Warning), count(Tone::Unknown), count(Tone::Good));
    let need = |number: u64, one: &str, many: &str| {
        format!("{} {}", counted(number, "query", "queries"), if number == 1 { one } else { many })
    };
    let headline = match (now, soon, unknown, safe) {
        (0, 0, 0, 0) if shard.is_whole() => "No query is configured yet".to_owned(),
        (0, 0, 0, 0) => "No query is this shard’s".to_owned(),
        (0, 0, 0, _) if shard.is_whole() => "All queries are safe.".to_owned(),
        (0, 0, 0, _) => "All queries of this shard are safe.".to_owned(),
        (0, 0, _, _) => format!("{}.", need(unknown, "is not known", "are not known")),
        (0, _, _, _) => format!("{}.", need(soon, "needs a look", "need a look")),
        (_, 0, _, _) => format!("{}.", need(now, "needs you now", "need you now")),
        _ => format!(
            "{}. {} more {} a look.",
            need(now, "needs you now", "need you now"),
            words::count(soon),
            if soon == 1 { "needs" } else { "need" }
        ),
    };
    let mut states: BTreeMap<(Tone, QueryState), u64> = BTreeMap::new();
    for (row, _) in all.iter().filter(|(row, _)| row.tone < Tone::Good) {
        *states.entry((row.tone, row.state)).or_default() += 1;
    }
    let mut told: Vec<(String, u64)> = Vec::new();
    for ((_, state), count) in states {
        let word = words::spoken(state.label());
        match told.iter_mut().find(|(known, _)| *known == word) {
            Some((_, sum)) => *sum += count,
            None => told.push((word, count)),
        }
    }
    let title = told.iter().map(|(word, count)| format!("{} {word}", words::count(*count))).collect::<Vec<_>>();
    let title = match (title.is_empty(), all.is_empty()) {
        (false, _) => title.join(", "),
        (true, false) => "All safe".to_owned(),
        (true, true) => "No query".to_owned(),
    };
    let summary = if all.is_empty() {
        "Nothing is watched, so nothing here says that data is safe.".to_owned()
    } else {
        format!(
            "Of {}{} on {}, {} safe and {} not known. Worst first.",
            counted(number(all.len()), "query", "queries"),
            if shard.is_whole() { "" } else { " of this shard" },
            counted(number(clusters), "cluster", "clusters"),
            if safe == 1 { "1 is".to_owned() } else { format!("{} are", words::count(safe)) },
            if unknown == 1 { "1 is".to_owned() } else { format!("{} are", words::count(unknown)) },
        )
    };
    (title, headline, summary)
}

fn chips(all: &[(Row, &str)], question: &Question) -> Vec<Chip> {
    let mut chips = vec![Chip {
        label: "all".to_owned(),
        symbol: None,
        class: "",
        count: all.len(),
        link: question.link(&[("state", "")]),
        current: question.state.is_empty(),
    }];
    for state in QueryState::ALL {
        let of_state: Vec<&Row> = all.iter().map(|(row, _)| row).filter(|row| row.state == *state).collect();
        let current = question.state == state.label();
        if of_state.is_empty() && !current {
            continue;
        }
        chips.push(Chip {
            label: words::spoken(state.label()),
            symbol: Some(state.label()),
            class: of_state.first().map_or("unk", |row| row.class),
            count: of_state.len(),
            link: question.link(&[("state", state.label())]),
            current,
        });
    }
    chips
}

fn facts(rounds: &[Arc<ClusterRound>], remembers: bool, now: Moment) -> Vec<Fact> {
    let up = rounds.iter().filter(|round| round.polls.up).count();
    let down = rounds.iter().find(|round| !round.polls.up).map_or_else(Line::default, |round| {
        let why = round
            .polls
            .failure
            .as_ref()
            .map_or("not read yet".to_owned(), |failure| words::spoken(failure.reason.label()));
        match round.polls.last_success {
            Some(at) => Line::timed(format!("{}: {why}, last read ", round.cluster), Stamp::clock(at, now), ""),
            None => Line::plain(format!("{}: {why}", round.cluster)),
        }
    });
    let newest = rounds
        .iter()
        .filter(|round| round.finished_at.is_some())
        .max_by_key(|round| (round.finished_at, Reverse(&round.cluster)));
    let (round_value, round_more) = newest.map_or_else(
        || ("none yet".to_owned(), Line::plain("the first one is under way")),
        |round| {
            let ago =
                round.finished_at.map_or_else(String::new, |at| format!("{} ago", words::duration(now.since(at))));
            let took = round.polls.duration.map_or_else(String::new, |took| format!(" took {}", words::took(took)));
            (ago, Line::plain(format!("{}{took}, every {}", round.cluster, words::duration(round.poll_interval))))
        },
    );
    let queries = || rounds.iter().flat_map(|round| &round.queries);
    let read = queries().filter(|(_, query)| query.polls.up).count();
    let unread = queries().find(|(_, query)| !query.polls.up).map_or_else(Line::default, |(name, query)| {
        let why = query
            .polls
            .failure
            .as_ref()
            .map_or("not read yet".to_owned(), |failure| words::spoken(failure.reason.label()));
        Line::plain(format!("{name}: {why}"))
    });
    let lost = |certainty: Certainty| {
        let verdicts = queries().filter_map(|(_, query)| query.verdict.as_ref());
        verdicts
            .flat_map(|verdict| verdict.topics.values())
            .filter_map(|topic| topic.lost_total.get(&certainty))
            .sum::<u64>()
    };
    let open_gaps: Option<u64> =
        queries().map(|(_, query)| Some(query.gaps_unresolved.as_ref()?.values().sum::<u64>())).sum();
    let possible = lost(Certainty::Possible);
    let mut besides = Vec::new();
    if possible > 0 {
        besides.push(format!("and up to {} possible", words::count(possible)));
    }
    besides.extend(open_gaps.filter(|open| *open > 0).map(|open| format!("{} open", counted(open, "gap", "gaps"))));
    let fact = |name, value, more| Fact { name, value, more, toned: false };
    vec![
        fact("Clusters up", format!("{up} of {}", rounds.len()), down),
        fact("Last round", round_value, round_more),
        fact("Checkpoints read", format!("{read} of {}", queries().count()), unread),
        fact(
            if remembers { "Lost, all time" } else { "Lost since the start" },
            counted(lost(Certainty::Certain), "offset", "offsets"),
            Line::plain(besides.join("; ")),
        ),
        match (open_gaps, remembers) {
            (None, true) => {
                fact("Ledger", "does not answer".to_owned(), Line::plain("what is found is kept in memory"))
            }
            (_, true) => fact("Ledger", "in a file".to_owned(), Line::plain("counts outlive the process")),
            (_, false) => {
                fact("Ledger", "in memory only".to_owned(), Line::plain("counts start anew with the process"))
            }
        },
    ]
}

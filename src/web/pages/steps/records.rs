//! Steps about the gap records.

use super::command::{Command, changes_records};
use super::{Case, Step, with};
use crate::ledger::Gap;
use crate::web::pages::row::{lost, number};
use crate::web::words::counted;

/// Whom to name, and what shows it: to be replaced by whoever types it.
const SAID: [&str; 4] = ["--evidence", "TICKET", "--by", "NAME"];

fn open_gaps<'a>(case: &'a Case<'_>) -> impl Iterator<Item = &'a Gap> {
    case.gaps.unwrap_or_default().iter().filter(|gap| gap.is_open())
}

/// What is on record; and where nothing is, though something is lost, how to put it there.
pub(super) fn on_record(case: &Case<'_>) -> Step {
    let open = open_gaps(case).count();
    let Some(first) = open_gaps(case).find_map(|gap| gap.id) else {
        let (lost, _) = lost(case.verdict);
        if lost == 0 || !case.remembers {
            return Step::default();
        }
        return with(
            "Put it on record",
            "No open record says what is lost. Write it down before anything moves on: from then on it is counted.",
            vec![changes_records(&case.subject.command(&["gaps", "record"], &[&["--found"], &SAID[..]].concat()))],
        );
    };
    let command = match (case.remembers, open) {
        (false, _) => Vec::new(),
        (true, 1) => vec![super::reads(&without_query(case, &["gaps", "show", &first.to_string()]))],
        (true, _) => vec![super::reads(&without_query(case, &["gaps", "list", "--query", &case.subject.name]))],
    };
    with(
        "Look at the gap record",
        &format!(
            "{} for this query. What is recorded stays counted after the recovery.",
            counted(number(open), "gap is open", "gaps are open")
        ),
        command,
    )
}

pub(super) fn settle(case: &Case<'_>) -> Step {
    let Some(id) = open_gaps(case).find_map(|gap| gap.id).filter(|_| case.remembers) else { return Step::default() };
    with(
        "Write down what became of it",
        "For each gap, when it is done: how it was dealt with, and what shows it.",
        vec![resolve(id, &case.subject.options)],
    )
}

/// Settles the gap with this number.
pub(in crate::web::pages) fn resolve(id: i64, options: &[String]) -> Command {
    let id = id.to_string();
    let words = [&["gaps", "resolve", &id, "--path", "accept_gap", "--status", "accepted"], &SAID[..]].concat();
    changes_records(&of_records(&words, options))
}

fn without_query(case: &Case<'_>, words: &[&str]) -> Vec<String> {
    of_records(words, &case.subject.options)
}

/// A command about records, which have numbers of their own.
pub(in crate::web::pages) fn of_records(words: &[&str], options: &[String]) -> Vec<String> {
    let words = words.iter().map(|word| (*word).to_owned());
    ["brinkwatch".to_owned()].into_iter().chain(words).chain(options.iter().cloned()).collect()
}

pub(super) fn acknowledge(case: &Case<'_>, text: &str) -> Step {
    if !case.remembers {
        return Step::default();
    }
    with(
        "When it is settled, release the state",
        text,
        vec![changes_records(&case.subject.command(&["gaps", "acknowledge"], &SAID))],
    )
}

/// So many gaps stand on a query's page.
pub(in crate::web::pages) const GAP_LINES: usize = 10;

/// The gaps of one query on one cluster, in short.
pub(in crate::web::pages) fn gap_lines(gaps: &[Gap]) -> Vec<(Option<i64>, String)> {
    let line = |gap: &Gap| {
        let status = crate::web::words::spoken(gap.recovery_status.word());
        (gap.id, format!("{}, {status}", crate::web::pages::gaps::range(gap)))
    };
    gaps.iter().take(GAP_LINES).map(line).collect()
}

//! Steps where the checkpoint itself is the trouble: not there, not readable, another one, written by two.

use super::command::into_file;
use super::{Case, Command, Step, check, plain, prove, reads, with};
use crate::measures::Reason;

/// A file of the person who runs the command.
pub(super) const STARTING_OFFSETS: &str = "starting-offsets.json";

pub(super) fn inspect(case: &Case<'_>) -> Command {
    let mut words = vec!["brinkwatch".to_owned(), "inspect".to_owned(), case.query.checkpoint.clone()];
    if let Some(store) = &case.query.store {
        words.extend(["--store".to_owned(), store.clone()]);
    }
    words.extend(case.subject.options.iter().cloned());
    reads(&words)
}

/// A query that runs keeps its positions in memory; it is the next start that meets the files.
pub(super) fn keep_running(case: &Case<'_>) -> Step {
    with(
        "Do not stop it, if it still runs",
        "Spark would not start from this checkpoint as it is. What is wrong with its files stands under Checkpoint.",
        vec![inspect(case)],
    )
}

pub(super) fn unreadable(case: &Case<'_>) -> Vec<Step> {
    if case.verdict.unreadable.as_ref().is_some_and(|unread| unread.reason == Reason::NotFound) {
        return wiped(case);
    }
    vec![
        with(
            "See what can be read of the checkpoint",
            "Its place, its rights, and its newest files are the usual reasons. The query itself may be well.",
            vec![inspect(case)],
        ),
        check(case),
    ]
}

/// Nothing lies in its place.
fn wiped(case: &Case<'_>) -> Vec<Step> {
    vec![
        with(
            "Do not start it yet",
            "Nothing lies in the checkpoint's place. Without a checkpoint Spark begins where the startingOffsets option \
             says, by default at the end, and never reads what lies before. Was the folder moved, or is the place in the \
             configuration another one? The folder as it was is the best way back.",
            vec![inspect(case)],
        ),
        last_known(case, "If it is gone for good, start where the query stood"),
        prove(case),
    ]
}

/// The checkpoint is another one than a day ago.
pub(super) fn replaced(case: &Case<'_>) -> Step {
    last_known(case, "It runs on a new checkpoint: if that was no intention, see where the old one stood")
}

fn last_known(case: &Case<'_>, title: &str) -> Step {
    if !case.remembers {
        return plain(
            title,
            "Where it stood is not known: the daemon keeps no ledger (state_dir is empty). Choose a time at which the sink \
             was certainly complete, and give it to starting-offsets with --at and each topic with --topic."
                .to_owned(),
        );
    }
    let command = case.reads(&["starting-offsets"], &["--at", "last-known"]);
    with(
        title,
        "The daemon remembers its last position. Give what is printed to a new checkpoint as startingOffsets; what that \
         skips or reads twice is told beside it.",
        vec![into_file(command, STARTING_OFFSETS)],
    )
}

/// A batch that was planned was written again, with other offsets.
pub(super) fn two_writers(case: &Case<'_>) -> Vec<Step> {
    let anew = case.reads(&["starting-offsets"], &["--at", "committed"]);
    vec![
        with(
            "Stop both drivers",
            "A batch that was planned already was written again with other offsets: a second driver uses this checkpoint, \
             or somebody edited it. When were the newest batches written, and which applications ran then?",
            vec![inspect(case)],
        ),
        check(case),
        prove(case),
        with(
            "Start one of them",
            "With this checkpoint, if its state is not in doubt. Else with a new one, from where this one stands.",
            vec![into_file(anew, STARTING_OFFSETS)],
        ),
    ]
}

//! The ways on after a loss: which fit, by what `check` says too, and what each costs.

use super::checkpoint::STARTING_OFFSETS;
use super::command::{changes_records, into_file};
use super::{Case, Choice, Command, Step, reads, with};
use crate::metrics::snapshot::total_lag;
use crate::recovery::{Way, WayOn, ways};
use crate::web::words::{count, counted};

/// What `check` would say. Nothing while it is not known what a restart would do.
fn found(case: &Case<'_>) -> Vec<WayOn> {
    let restarts = case.query.restarts.as_ref();
    restarts
        .map(|restarts| ways(&case.subject, case.verdict, &restarts.configured, &restarts.forced))
        .unwrap_or_default()
}

/// A new checkpoint, where that leads anywhere.
pub(super) fn start_anew(case: &Case<'_>, mind: &str) -> Step {
    let Some(way) = found(case).into_iter().find(|way| way.way == Way::NewCheckpoint && way.fits) else {
        return Step::default();
    };
    with(
        "Start with a new checkpoint",
        &format!(
            "{}. Give the query a new checkpoint folder, and what is printed as startingOffsets. {mind}",
            capital(&way.why)
        ),
        command(case, &way),
    )
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn command(case: &Case<'_>, way: &WayOn) -> Vec<Command> {
    let Some(words) = &way.command else { return Vec::new() };
    match way.way {
        Way::NewCheckpoint => vec![into_file(reads(words), STARTING_OFFSETS)],
        Way::AcceptGap if case.remembers => vec![changes_records(words)],
        Way::Backfill if case.remembers => vec![reads(words)],
        Way::AcceptGap | Way::Backfill => Vec::new(),
        Way::NoneNeeded => vec![reads(words)],
    }
}

pub(super) fn ways_on(case: &Case<'_>, lost: u64) -> Step {
    let lag = total_lag(case.verdict).map_or_else(
        || "all readable offsets, each once".to_owned(),
        |lag| format!("all {} readable offsets, each once", count(lag)),
    );
    let pair = |name, text: &str| (name, text.to_owned());
    let found = found(case);
    let choice = |way: Way, name, what, pairs: Vec<(&'static str, String)>| {
        let said = found.iter().find(|found| found.way == way);
        let fits = said.is_none_or(|said| said.fits);
        let pairs = match said {
            Some(said) if !said.fits => vec![("It does not fit", said.why.clone())],
            _ => pairs,
        };
        let commands = said.map(|said| command(case, said)).unwrap_or_default();
        Choice { name, what, fits, pairs, commands }
    };
    let mut choices = vec![
        choice(
            Way::NewCheckpoint,
            "New checkpoint",
            "reads all that is left, nothing twice",
            vec![
                ("You get", lag),
                pair("You lose", "exactly the gap, and it is on record"),
                pair(
                    "Mind",
                    "give the query a new checkpoint folder, and what is printed as startingOffsets: earliest where data is \
                     lost, the committed offset elsewhere. Keep the old folder. State starts empty",
                ),
            ],
        ),
        choice(
            Way::AcceptGap,
            "Accept the gap",
            "same checkpoint, keeps the state",
            vec![
                pair("You get", "the query back with its state, in one restart"),
                pair(
                    "You lose",
                    "the gap, and whatever else ages out before that restart: Spark skips it without counting",
                ),
                pair(
                    "Mind",
                    "record what is lost first; set failOnDataLoss=false for one start only, then back to true: left on, it \
                     hides every later loss",
                ),
            ],
        ),
        choice(
            Way::Backfill,
            "Backfill",
            "fetch the lost records from where they came from",
            vec![
                pair("You get", "the lost records back in the sink, if their origin still has them"),
                pair("Do", "one of the two above first, so that no more is lost meanwhile"),
                pair("Mind", "write with MERGE on the key, so that doing it twice is harmless"),
            ],
        ),
    ];
    choices.sort_by_key(|choice| !choice.fits);
    Step {
        title: "Choose how to go on".to_owned(),
        text: format!(
            "None of these brings {} back from Kafka. Only a backfill from their origin does.",
            counted(lost, "lost offset", "lost offsets")
        ),
        commands: Vec::new(),
        choices,
    }
}

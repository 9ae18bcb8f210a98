//! What to do now, and what never to do: by the state of a query, with its numbers filled in.
//!
//! Sentences about a restart are what the judgement foresees of one, and which ways on fit is what `check` says. Commands
//! are those of this program, and Kafka's own where a topic would have to be changed, which Brinkwatch never does.

mod checkpoint;
mod command;
mod records;
mod restart;
mod retention;
mod ways;

use std::time::Duration;

use self::checkpoint::{keep_running, replaced, two_writers, unreadable};
pub(super) use self::command::{Command, reads};
pub(super) use self::records::{GAP_LINES, gap_lines, of_records, resolve};
use self::records::{acknowledge, on_record, settle};
pub(super) use self::restart::restart_words;
use self::restart::skipped;
use self::retention::{size, stop_the_clock};
use self::ways::{start_anew, ways_on};
use super::row::lost;
use super::tone::refuses_restart;
use crate::judgement::{EventKind, Outcome, QueryState, QueryVerdict};
use crate::ledger::Gap;
use crate::measures::Moment;
use crate::metrics::snapshot::{ClusterRound, QueryRound};
use crate::recovery::Subject;
use crate::web::words::counted;

/// One thing to do.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) title: String,
    pub(super) text: String,
    pub(super) commands: Vec<Command>,
    pub(super) choices: Vec<Choice>,
}

/// One of several ways on.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) fits: bool,
    pub(super) pairs: Vec<(&'static str, String)>,
    pub(super) commands: Vec<Command>,
}

/// What must be left alone, and why.
pub(super) type Never = (&'static str, String);

/// What the steps are made of.
pub(super) struct Case<'a> {
    pub(super) subject: Subject,
    pub(super) round: &'a ClusterRound,
    pub(super) query: &'a QueryRound,
    pub(super) verdict: &'a QueryVerdict,
    pub(super) gaps: Option<&'a [Gap]>,
    pub(super) brokers: Option<&'a str>,
    /// Whether a command can read what the daemon remembers.
    pub(super) remembers: bool,
    pub(super) now: Moment,
}

impl Case<'_> {
    /// A command about this query that changes nothing.
    fn reads(&self, verb: &[&str], rest: &[&str]) -> Command {
        reads(&self.subject.command(verb, rest))
    }

    /// Whether it happened within a day: as long as somebody may still wonder.
    fn has_seen(&self, kind: EventKind) -> bool {
        const DAY: Duration = Duration::from_secs(86_400);
        let total = self.verdict.event_totals.get(&kind).map(|(_, at)| *at);
        let mut seen = self.verdict.events.iter().filter(|event| event.kind == kind).map(|event| event.at).chain(total);
        seen.any(|at| self.now.since(at) <= DAY)
    }
}

/// The steps for the state, in this order.
pub(super) fn steps(case: &Case<'_>) -> Vec<Step> {
    let two_drivers = case.has_seen(EventKind::OffsetsRewritten);
    let at_peace = matches!(case.query.state(), QueryState::Behind | QueryState::Idle);
    let mut all = if two_drivers && at_peace { Vec::new() } else { by_state(case) };
    if case.has_seen(EventKind::CheckpointReplaced) && case.query.state() != QueryState::Superseded {
        all.insert(0, replaced(case));
    }
    if two_drivers {
        all.splice(0..0, two_writers(case));
    }
    if refuses_restart(case.query) && case.query.state() != QueryState::Unreadable {
        all.insert(0, keep_running(case));
    }
    all.into_iter().filter(|step| !step.title.is_empty()).collect()
}

fn by_state(case: &Case<'_>) -> Vec<Step> {
    let (lost, _) = lost(case.verdict);
    if lost > 0 {
        return vec![
            stop_the_clock(case, "Stop the clock: keep what is left"),
            check(case),
            on_record(case),
            ways_on(case, lost),
            prove(case),
            settle(case),
            size(case, "See which retention lasts through the next outage"),
        ];
    }
    match case.query.state() {
        QueryState::AtRisk => vec![
            check(case),
            stop_the_clock(case, "Buy time: keep the data longer"),
            plain(
                "Make the query read faster than data arrives",
                format!(
                    "Raise maxOffsetsPerTrigger or add executors, then restart it on the same checkpoint.{}",
                    read_again(case.verdict)
                ),
            ),
            size(case, "See which retention would do"),
        ],
        QueryState::Stalled => vec![
            plain(
                "Look at the query itself",
                format!(
                    "No batch was committed for longer than expected, and data waits. Is its driver running? Its last lines \
                     say why, if it stopped.{}",
                    read_again(case.verdict)
                ),
            ),
            check(case),
            size(case, "See how long it may be down"),
            stop_the_clock(case, "If it takes longer: keep the data longer"),
        ],
        QueryState::Recreated | QueryState::BeyondEnd => vec![
            plain(
                "Keep it stopped",
                "If something restarts the query by itself, stop that first: a try that fails may leave a batch behind, and \
                 with it every later start fails too."
                    .to_owned(),
            ),
            check(case),
            on_record(case),
            start_anew(
                case,
                "If old data was copied into the log, begin where new data begins, or the sink gets it twice.",
            ),
            prove(case),
            acknowledge(case, "The state stays until the checkpoint is replaced, or someone says that it is settled."),
        ],
        QueryState::Gone => vec![
            check(case),
            plain(
                "Find out who deleted the topic or its partitions",
                "Brinkwatch never creates a topic: if it is to come back, its owner has to make it again. Before that, \
                 decide where the query goes on."
                    .to_owned(),
            ),
            start_anew(case, "What the brokers no longer have is left out."),
            prove(case),
            acknowledge(case, "If it was meant to go: say so, and the state is released."),
        ],
        QueryState::ClusterMismatch => vec![
            plain(
                "Compare the brokers in the configuration with those of the job",
                "The brokers that answered belong to another cluster than the one on which this checkpoint was first seen."
                    .to_owned(),
            ),
            check(case),
            start_anew(case, "Only if the cluster was moved or replaced on purpose."),
            acknowledge(case, "If the cluster was moved or replaced on purpose: say so."),
        ],
        QueryState::Unreadable => unreadable(case),
        QueryState::NotStarted => vec![with(
            "Nothing to do, if the query has just been made",
            "Its checkpoint holds no batch yet. If the query has run before, the configured place is not its checkpoint.",
            vec![checkpoint::inspect(case)],
        )],
        QueryState::Superseded => vec![plain(
            "Nothing to do",
            "A newer checkpoint of the same query took over. This one is no longer judged.".to_owned(),
        )],
        QueryState::Behind | QueryState::Idle if refuses_restart(case.query) => {
            vec![check(case), start_anew(case, "Only when it has stopped: while it runs, it needs none.")]
        }
        QueryState::Behind | QueryState::Idle if starts(case) => vec![
            with(
                "Nothing is needed",
                "Nothing is lost. A restart would start and read on.",
                vec![case.reads(&["check"], &[])],
            ),
            size(case, "Before it is stopped on purpose, see how long it may be down"),
        ],
        QueryState::Unverified | QueryState::Unknown | QueryState::Lost | QueryState::Behind | QueryState::Idle => {
            vec![check(case)]
        }
    }
}

fn starts(case: &Case<'_>) -> bool {
    case.query.restarts.as_ref().is_some_and(|restarts| restarts.configured.outcome == Outcome::Starts)
}

/// What never to do, for a state that is told loudly.
pub(super) fn never(case: &Case<'_>) -> Vec<Never> {
    let mut never = vec![(
        "Never edit a file in the checkpoint.",
        "One wrong digit skips or repeats data, and nothing can tell you afterwards.".to_owned(),
    )];
    let skipped = case.query.restarts.as_ref().map(|restarts| skipped(&restarts.forced)).filter(|skipped| *skipped > 0);
    never.push(match (case.query.state(), skipped) {
        (QueryState::Recreated | QueryState::BeyondEnd, Some(skipped)) => (
            "Do not restart with failOnDataLoss=false.",
            format!("It would skip {} without an error.", counted(skipped, "offset", "offsets")),
        ),
        _ => (
            "Do not leave failOnDataLoss=false on.",
            "It does not save data: it skips what is gone, without a count, and goes on.".to_owned(),
        ),
    });
    never.push(if case.query.state() == QueryState::Recreated {
        (
            "Do not wait until it fits again.",
            "When the new topic has grown past the old positions, Spark starts without any error, in the wrong place."
                .to_owned(),
        )
    } else {
        (
            "Do not delete the checkpoint.",
            "It holds the only exact position. Start a new one beside it, if need be.".to_owned(),
        )
    });
    never
}

fn read_again(verdict: &QueryVerdict) -> String {
    let again: u64 =
        verdict.partitions.values().filter_map(|partition| Some(partition.planned?.above(partition.committed?))).sum();
    if again == 0 {
        return String::new();
    }
    format!(" A batch is open: {} read twice after a restart.", counted(again, "offset is", "offsets are"))
}

fn check(case: &Case<'_>) -> Step {
    with("See what a restart would do", &restart_words(case.query.restarts.as_ref()), vec![case.reads(&["check"], &[])])
}

/// The second gate.
fn prove(case: &Case<'_>) -> Step {
    with(
        "Prove that the sink is whole",
        "While the query is stopped, read the highest offset of each partition out of the sink, as CSV or JSON with the \
         columns topic, partition and max_offset. Exit code 0 means continuous.",
        vec![case.reads(&["verify"], &["--sink-offsets", "sink.csv"])],
    )
}

fn plain(title: &str, text: String) -> Step {
    Step { title: title.to_owned(), text, ..Step::default() }
}

fn with(title: &str, text: &str, commands: Vec<Command>) -> Step {
    Step { title: title.to_owned(), text: text.to_owned(), commands, choices: Vec::new() }
}

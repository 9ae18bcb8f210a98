//! What to do now, and what never to do: by the state of a query, with its numbers filled in.
//!
//! Sentences about a restart are what the judgement foresees of one. Commands are those of this program, and Kafka's own
//! where a topic would have to be changed, which Brinkwatch never does.

mod restart;
mod ways;

pub(super) use self::restart::restart_words;
use self::restart::skipped;
use self::ways::ways_on;
use super::row::{lost, number};
use super::tone::refuses_restart;
use crate::judgement::{Deadline, QueryState, QueryVerdict};
use crate::ledger::{Gap, RecoveryStatus};
use crate::metrics::snapshot::{ClusterRound, QueryRound};
use crate::retention::TopicSight;
use crate::web::words::{counted, duration};

/// One thing to do.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) title: String,
    pub(super) text: String,
    pub(super) commands: Vec<Command>,
    pub(super) choices: Vec<Choice>,
}

/// A command line, and what it does to the world.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) effect: String,
    pub(super) changes: bool,
    pub(super) words: Vec<String>,
}

/// One of several ways on.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) pairs: Vec<(&'static str, String)>,
}

/// What must be left alone, and why.
pub(super) type Never = (&'static str, String);

/// What the steps are made of.
pub(super) struct Case<'a> {
    pub(super) name: &'a str,
    pub(super) round: &'a ClusterRound,
    pub(super) query: &'a QueryRound,
    pub(super) verdict: &'a QueryVerdict,
    pub(super) gaps: Option<&'a [Gap]>,
    pub(super) brokers: Option<&'a str>,
}

/// The steps for the state, in this order.
pub(super) fn steps(case: &Case<'_>) -> Vec<Step> {
    let mut all = by_state(case);
    if refuses_restart(case.query) && case.query.state() != QueryState::Unreadable {
        all.insert(0, keep_running(case));
    }
    all.into_iter().filter(|step| !step.title.is_empty()).collect()
}

/// A query that runs keeps its positions in memory; it is the next start that meets the files.
fn keep_running(case: &Case<'_>) -> Step {
    with(
        "Do not stop it, if it still runs",
        "Spark would not start from this checkpoint as it is. What is wrong with its files stands under Checkpoint.",
        vec![reads(&["brinkwatch", "inspect", &case.query.checkpoint])],
    )
}

fn by_state(case: &Case<'_>) -> Vec<Step> {
    let (lost, _) = lost(case.verdict);
    if lost > 0 {
        let mut steps = vec![stop_the_clock(case, "Stop the clock: keep what is left"), check(case)];
        steps.push(gap_record(case));
        steps.push(ways_on(case, lost));
        steps.push(settle(case));
        return steps;
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
            gap_record(case),
            plain(
                "Start with a new checkpoint",
                "The position in this checkpoint means nothing in the log as it is now. Give the query a new checkpoint \
                 folder and startingOffsets for every partition, and keep the old folder. State starts empty. If old data \
                 was copied into the log, begin where new data begins, or the sink gets it twice."
                    .to_owned(),
            ),
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
            acknowledge(case, "If it was meant to go: say so, and the state is released."),
        ],
        QueryState::ClusterMismatch => vec![
            plain(
                "Compare the brokers in the configuration with those of the job",
                "The brokers that answered belong to another cluster than the one on which this checkpoint was first seen."
                    .to_owned(),
            ),
            check(case),
            acknowledge(case, "If the cluster was moved or replaced on purpose: say so."),
        ],
        QueryState::Unreadable => vec![
            with(
                "See what can be read of the checkpoint",
                "Its place, its rights, and its newest files are the usual reasons. The query itself may be well.",
                vec![reads(&["brinkwatch", "inspect", &case.query.checkpoint])],
            ),
            check(case),
        ],
        QueryState::NotStarted => vec![with(
            "Nothing to do, if the query has just been made",
            "Its checkpoint holds no batch yet. If the query has run before, the configured place is not its checkpoint.",
            vec![reads(&["brinkwatch", "inspect", &case.query.checkpoint])],
        )],
        QueryState::Superseded => vec![plain(
            "Nothing to do",
            "A newer checkpoint of the same query took over. This one is no longer judged.".to_owned(),
        )],
        QueryState::Unverified | QueryState::Unknown | QueryState::Lost | QueryState::Behind | QueryState::Idle => {
            vec![check(case)]
        }
    }
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
    with(
        "See what a restart would do",
        &restart_words(case.query.restarts.as_ref()),
        vec![reads(&["brinkwatch", "check", case.name])],
    )
}

/// A longer retention, for the topic of which data goes first. Nothing where no limit of time is known.
fn stop_the_clock(case: &Case<'_>, title: &str) -> Step {
    let mut topics: Vec<(Option<Deadline>, &str, i64)> = Vec::new();
    for (name, topic) in &case.verdict.topics {
        let Some(TopicSight::Seen(seen)) = case.round.reading.topics.get(name) else { continue };
        let limit = seen.limits.as_ref().and_then(|limits| limits.as_ref().ok()).and_then(|limits| limits.retention_ms);
        if let Some(limit) = limit.filter(|limit| *limit > 0 && topic.lag != Some(0)) {
            let gone = topic.lost.is_some_and(|lost| lost > 0);
            topics.push((topic.deadline.filter(|_| !gone), name, limit));
        }
    }
    let Some((_, topic, limit)) = topics.into_iter().min() else { return Step::default() };
    const HOUR: i64 = 3_600_000;
    let longer = (limit + limit / 2).div_euclid(HOUR) * HOUR + HOUR;
    let said = |millis: i64| duration(std::time::Duration::from_millis(u64::try_from(millis).unwrap_or(0)));
    let more = (longer - limit).saturating_mul(100) / limit;
    let words = [
        "kafka-configs.sh",
        "--bootstrap-server",
        case.brokers.unwrap_or("BROKER:9092"),
        "--alter",
        "--entity-type",
        "topics",
        "--entity-name",
        topic,
        "--add-config",
        &format!("retention.ms={longer}"),
    ];
    Step {
        title: title.to_owned(),
        text: format!(
            "Works at once for data that is still there; deleted data does not come back. Put {limit} back when the query \
             has caught up."
        ),
        commands: vec![Command {
            effect: format!("changes the topic: {} instead of {}, about {more} % more disk", said(longer), said(limit)),
            changes: true,
            words: shell(&words),
        }],
        choices: Vec::new(),
    }
}

fn open_gaps<'a>(case: &'a Case<'_>) -> impl Iterator<Item = &'a Gap> {
    case.gaps.unwrap_or_default().iter().filter(|gap| gap.recovery_status == RecoveryStatus::Open)
}

fn gap_record(case: &Case<'_>) -> Step {
    let open = open_gaps(case).count();
    let Some(first) = open_gaps(case).find_map(|gap| gap.id) else { return Step::default() };
    let command = if open == 1 {
        reads(&["brinkwatch", "gaps", "show", &first.to_string()])
    } else {
        reads(&["brinkwatch", "gaps", "list", "--query", case.name])
    };
    with(
        "Look at the gap record",
        &format!(
            "{} for this query. What is recorded stays counted after the recovery.",
            counted(number(open), "gap is open", "gaps are open")
        ),
        vec![command],
    )
}

fn settle(case: &Case<'_>) -> Step {
    let Some(id) = open_gaps(case).find_map(|gap| gap.id) else { return Step::default() };
    Step {
        title: "Write down what became of it".to_owned(),
        text: "For each gap, when it is done: how it was dealt with, and what shows it.".to_owned(),
        commands: vec![resolve(id)],
        choices: Vec::new(),
    }
}

/// Settles a gap.
pub(super) fn resolve(id: i64) -> Command {
    let id = id.to_string();
    let words = [
        "brinkwatch",
        "gaps",
        "resolve",
        &id,
        "--path",
        "accept_gap",
        "--status",
        "accepted",
        "--evidence",
        "TICKET",
        "--by",
        "NAME",
    ];
    changes_records(&words)
}

fn acknowledge(case: &Case<'_>, text: &str) -> Step {
    let words = ["brinkwatch", "gaps", "acknowledge", case.name, "--evidence", "TICKET", "--by", "NAME"];
    Step {
        title: "When it is settled, release the state".to_owned(),
        text: text.to_owned(),
        commands: vec![changes_records(&words)],
        choices: Vec::new(),
    }
}

fn plain(title: &str, text: String) -> Step {
    Step { title: title.to_owned(), text, ..Step::default() }
}

fn with(title: &str, text: &str, commands: Vec<Command>) -> Step {
    Step { title: title.to_owned(), text: text.to_owned(), commands, choices: Vec::new() }
}

/// A command that changes nothing.
pub(super) fn reads(words: &[&str]) -> Command {
    Command { effect: "only reads".to_owned(), changes: false, words: shell(words) }
}

fn changes_records(words: &[&str]) -> Command {
    Command { effect: "changes the gap record only".to_owned(), changes: false, words: shell(words) }
}

fn shell(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| shell_word(word)).collect()
}

/// A word as a shell takes it.
pub(super) fn shell_word(word: &str) -> String {
    if word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:=,".contains(&byte)) && !word.is_empty() {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// So many gaps stand on a query's page.
pub(super) const GAP_LINES: usize = 10;

/// The gaps of one query on one cluster, in short.
pub(super) fn gap_lines(gaps: &[Gap]) -> Vec<(Option<i64>, String)> {
    let line = |gap: &Gap| {
        let status = crate::web::words::spoken(gap.recovery_status.word());
        (gap.id, format!("{}, {status}", super::gaps::range(gap)))
    };
    gaps.iter().take(GAP_LINES).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_command_is_one_word_of_the_shell() {
        for (name, word) in [("orders-v2", "orders-v2"), ("a b", "'a b'"), ("x'; rm y", "'x'\\''; rm y'"), ("", "''")] {
            assert_eq!(shell_word(name), word);
        }
    }
}

//! What to do now, in order, for the state that a query is in: for its page, and for whoever was woken.
//!
//! Each step says what it touches. None of our own commands touches Kafka or a checkpoint.

use super::shell::{Subject, word};
use crate::judgement::{QueryState, QueryVerdict};
use crate::measures::TopicName;

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What to do, in a few words.
    pub title: &'static str,
    /// Why, and what comes of it.
    pub text: String,
    /// What to run, if a command does it.
    pub command: Option<Command>,
}

/// A command, and what it touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// As a shell takes it.
    pub line: String,
    /// What it touches.
    pub effect: Effect,
}

/// What a command touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    OnlyReads,
    /// Our own records of gaps.
    GapRecord,
    /// A topic's settings in Kafka: it is not one of our commands.
    Topic,
}

impl Effect {
    /// The words above a command.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::OnlyReads => "only reads",
            Self::GapRecord => "changes the gap record only",
            Self::Topic => "changes the topic",
        }
    }
}

/// The steps for a query, none where nothing is to be done.
#[must_use]
pub fn steps(query: &str, verdict: &QueryVerdict) -> Vec<Step> {
    let page = Page { subject: Subject::query(query), verdict };
    match verdict.state {
        QueryState::Lost => page.lost(),
        QueryState::Recreated => page.recreated(),
        QueryState::BeyondEnd => page.beyond_end(),
        QueryState::Gone => page.gone(),
        QueryState::ClusterMismatch => page.another_cluster(),
        QueryState::Unreadable => page.unreadable(),
        QueryState::Unverified => page.unverified(),
        QueryState::AtRisk => page.at_risk(),
        QueryState::Stalled => page.stalled(),
        QueryState::Unknown
        | QueryState::NotStarted
        | QueryState::Behind
        | QueryState::Idle
        | QueryState::Superseded => Vec::new(),
    }
}

struct Page<'a> {
    subject: Subject,
    verdict: &'a QueryVerdict,
}

impl Page<'_> {
    fn lost(&self) -> Vec<Step> {
        let mut steps = self.keep_what_is_left("Stop the clock: keep what is left", "Every minute more may go.");
        steps.extend([
            self.check(),
            self.gaps_list(),
            self.reads(
                "Go on with a new checkpoint",
                "It reads all that is left, and nothing twice. State starts empty. Keep the old checkpoint's folder.",
                "starting-offsets",
                "--at committed",
            ),
            self.records(
                "Or go on with this one, without what is gone",
                "Record the ranges first. Then start once with failOnDataLoss=false, and set it back: left on, it hides \
                 every later loss.",
                "gaps record",
                "--found --evidence 'TICKET' --by NAME",
            ),
            self.reads(
                "Take what is gone from where it came from",
                "After one of the two above. Ranges, the time in which they were written, and a MERGE to fill in.",
                "gaps backfill",
                "",
            ),
        ]);
        steps.extend(self.proof());
        steps
    }

    fn recreated(&self) -> Vec<Step> {
        let mut steps = vec![
            plain(
                "Keep it stopped",
                "A start that fails leaves a batch behind, and with it every later start fails too.",
            ),
            self.check(),
            self.gaps_list(),
            self.reads(
                "Start at the beginning of the new topic, with a new checkpoint",
                "If the old data was copied into the new topic, start at the time where new data begins, or the sink gets \
                 it twice.",
                "starting-offsets",
                "--at earliest",
            ),
        ];
        steps.extend(self.proof());
        steps.push(self.acknowledge("Only if the old checkpoint is to go on after all: say so"));
        steps
    }

    fn beyond_end(&self) -> Vec<Step> {
        let mut steps = vec![
            plain("Keep it stopped", "Once the log has grown past the position, a start skips the new records silently."),
            self.check(),
            self.reads(
                "Read what was written anew, with a new checkpoint",
                "From the start of the log it reads some records twice: duplicates can be removed, holes cannot. Or name \
                 the time at which the log was cut.",
                "starting-offsets",
                "--at earliest",
            ),
        ];
        steps.extend(self.proof());
        steps.push(self.acknowledge("Only if the old checkpoint is to go on after all: say so"));
        steps
    }

    fn gone(&self) -> Vec<Step> {
        let mut steps = vec![
            self.check(),
            plain(
                "Find out whether it was meant",
                "Deleted by mistake: make the topic again, and treat it as recreated. Deleted on purpose: take it out of \
                 the subscription, and start once with failOnDataLoss=false. Brinkwatch may also have lost the right to \
                 see it (DESCRIBE).",
            ),
            self.gaps_list(),
        ];
        steps.push(self.acknowledge("If it was meant: say that it is of no interest any more"));
        steps
    }

    fn another_cluster(&self) -> Vec<Step> {
        vec![
            plain("Do not start it on these brokers", "Offsets of one cluster mean nothing on another."),
            self.check(),
            plain(
                "See who is wrong",
                "Brinkwatch's bootstrap_servers, a name in DNS, or the job. If the data moved for good, start with a new \
                 checkpoint at a time before the move.",
            ),
            self.reads(
                "Where a new checkpoint starts",
                "At the last committed batch of the old cluster. Go back further where clocks are in doubt.",
                "starting-offsets",
                "--at last-batch",
            ),
            self.acknowledge("If the positions hold here all the same: say so"),
        ]
    }

    fn unreadable(&self) -> Vec<Step> {
        vec![
            self.check(),
            plain(
                "Do not edit or delete files in the checkpoint",
                "Aggregates, deduplication and joins belong to exactly these offsets.",
            ),
            self.reads(
                "If it is gone for good: start where the query last stood",
                "From Brinkwatch's own memory of it.",
                "starting-offsets",
                "--at last-known",
            ),
        ]
    }

    fn unverified(&self) -> Vec<Step> {
        vec![self.check(), self.acknowledge("If the positions are right, or the loss is known: say so")]
    }

    fn at_risk(&self) -> Vec<Step> {
        let mut steps = vec![self.check_first("See whether a restart is safe")];
        steps.push(self.size());
        steps.extend(self.keep_what_is_left("Buy time: keep the data longer", "It takes effect at once."));
        steps.extend([
            plain(
                "Make the query read faster than data arrives",
                "Restart it from its own checkpoint, with more executors or a higher maxOffsetsPerTrigger. Do not start with \
                 a new checkpoint to catch up: what is unread would be skipped.",
            ),
            self.reads(
                "If it cannot catch up in time: note where it stands",
                "For a second query that starts there with a new checkpoint.",
                "starting-offsets",
                "--at committed",
            ),
        ]);
        steps
    }

    fn stalled(&self) -> Vec<Step> {
        vec![
            self.check_first("See whether a restart is safe"),
            plain(
                "Restart it as it is",
                "Look into the driver's log first: a query that fails at each start, or hangs in one batch, needs more than \
                 a restart.",
            ),
            self.size(),
        ]
    }

    fn check(&self) -> Step {
        self.check_first("See what a restart would do")
    }

    fn check_first(&self, title: &'static str) -> Step {
        self.reads(title, "For both values of failOnDataLoss, and which ways on fit.", "check", "")
    }

    fn size(&self) -> Step {
        self.reads("See how long an outage it survives", "And which retention would be enough.", "size", "")
    }

    fn gaps_list(&self) -> Step {
        let line = format!("brinkwatch gaps list --query {}", self.subject.arguments);
        Step {
            title: "Look at the gap records",
            text: "They are written as soon as a loss is seen, and stay after the recovery.".to_owned(),
            command: Some(Command { line, effect: Effect::OnlyReads }),
        }
    }

    fn proof(&self) -> [Step; 2] {
        let resolve = "brinkwatch gaps resolve ID --path accept_gap --status accepted --evidence 'TICKET' --by NAME";
        [
            self.reads(
                "Prove that nothing else is missing",
                "Sink, checkpoint, brokers and gap records have to agree in each partition. Exit code 0 means they do.",
                "verify",
                "--sink-offsets sink.csv",
            ),
            Step {
                title: "Settle the gap records",
                text: "With what became of them, what shows it, and who says so.".to_owned(),
                command: Some(Command { line: resolve.to_owned(), effect: Effect::GapRecord }),
            },
        ]
    }

    fn acknowledge(&self, title: &'static str) -> Step {
        self.records(
            title,
            "Numbers alone do not lift this state.",
            "gaps acknowledge",
            "--evidence 'TICKET' --by NAME",
        )
    }

    /// A longer retention, for each topic whose limit is known and of which something is unread.
    fn keep_what_is_left(&self, title: &'static str, text: &str) -> Vec<Step> {
        let mut steps = Vec::new();
        for (name, topic) in &self.verdict.topics {
            let Some(seconds) = topic.retention_seconds.filter(|seconds| seconds.is_finite()) else { continue };
            if topic.lag == Some(0) && topic.lost.unwrap_or(0) == 0 {
                continue;
            }
            steps.push(Step {
                title,
                text: format!("{text} Twice the retention needs up to twice the disk. Where size limits the topic, raise retention.bytes too. Deleted data does not come back."),
                command: Some(Command { line: lengthened(name, seconds), effect: Effect::Topic }),
            });
        }
        steps
    }

    fn reads(&self, title: &'static str, text: &str, verb: &str, rest: &str) -> Step {
        let command = Command { line: self.subject.command(verb, rest), effect: Effect::OnlyReads };
        Step { title, text: text.to_owned(), command: Some(command) }
    }

    fn records(&self, title: &'static str, text: &str, verb: &str, rest: &str) -> Step {
        let command = Command { line: self.subject.command(verb, rest), effect: Effect::GapRecord };
        Step { title, text: text.to_owned(), command: Some(command) }
    }
}

fn plain(title: &'static str, text: &str) -> Step {
    Step { title, text: text.to_owned(), command: None }
}

fn lengthened(topic: &TopicName, seconds: f64) -> String {
    let millis = format!("{:.0}", seconds * 2.0 * 1000.0);
    format!(
        "kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name {} --add-config \
         retention.ms={millis}",
        word(topic)
    )
}

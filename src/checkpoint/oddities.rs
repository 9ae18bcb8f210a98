//! What is odd about single partitions of a source.

use super::reading::{Problem, ProblemKind, SourceReading};

/// What was odd about single partitions: told once a source, since a thousand partitions are often odd together.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) negative: Noted,
    pub(super) dropped: Noted,
    pub(super) below: Noted,
}

/// The first one, and how many more there are.
#[derive(Default)]
pub(super) struct Noted {
    first: Option<String>,
    more: usize,
}

impl Noted {
    pub(super) fn add(&mut self, which: impl FnOnce() -> String) {
        match self.first {
            None => self.first = Some(which()),
            Some(_) => self.more += 1,
        }
    }
}

impl Notes {
    pub(super) fn tell(self, reading: &SourceReading, problems: &mut Vec<Problem>) {
        let mut tell = |kind, file: &Option<String>, what: &str, which: &Noted| {
            let Some(first) = &which.first else { return };
            let more = if which.more > 0 { format!(" and {} more", which.more) } else { String::new() };
            let detail = format!("source {}: {what}: {first}{more}", reading.id);
            problems.push(Problem { kind, file: file.clone(), detail });
        };
        let last = if reading.planned_from.is_some() { &reading.planned_from } else { &reading.committed_from };
        tell(ProblemKind::NegativeOffset, last, "negative offsets, which only people write", &self.negative);
        tell(
            ProblemKind::PartitionsDropped,
            &reading.committed_from,
            "partitions that the entry before had are left out; a restart that finds them reads them from earliest",
            &self.dropped,
        );
        tell(
            ProblemKind::PlannedBelowCommitted,
            &reading.planned_from,
            "the open batch ends before it starts, as after a topic was made anew or cut; each start with \
             failOnDataLoss fails on it",
            &self.below,
        );
    }
}

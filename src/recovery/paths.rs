//! Which ways on fit, which do not, and why.

use crate::checkpoint::ProblemKind;
use crate::judgement::{Condition, Outcome, PartitionState, QueryVerdict, Restart};
use crate::measures::Moment;

use super::shell::Subject;

/// A way on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Restart it as it is.
    NoneNeeded,
    /// Go on with this checkpoint, without what is gone.
    AcceptGap,
    /// Start anew, with a new checkpoint.
    NewCheckpoint,
    /// Take what is gone from elsewhere.
    Backfill,
}

impl Way {
    /// The word of the JSON.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::NoneNeeded => "none_needed",
            Self::AcceptGap => "accept_gap",
            Self::NewCheckpoint => "new_checkpoint",
            Self::Backfill => "backfill",
        }
    }
}

/// A way on, and whether it fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WayOn {
    /// Which.
    pub way: Way,
    /// Whether it leads anywhere.
    pub fits: bool,
    /// Why, or why not.
    pub why: String,
    /// What to run next, word by word; absent where it does not fit.
    pub command: Option<Vec<String>>,
}

/// Every way on, those that fit first. `configured` is what a restart would do as the job is set up, `tolerant` what it
/// would do with failOnDataLoss=false. Ask only when everything was read.
#[must_use]
pub fn ways(subject: &Subject, verdict: &QueryVerdict, configured: &Restart, tolerant: &Restart) -> Vec<WayOn> {
    let case = Case { subject, verdict, configured, tolerant };
    let mut ways = vec![case.none_needed(), case.accept_gap(), case.new_checkpoint(), case.backfill()];
    ways.sort_by_key(|way| !way.fits);
    ways
}

struct Case<'a> {
    subject: &'a Subject,
    verdict: &'a QueryVerdict,
    configured: &'a Restart,
    tolerant: &'a Restart,
}

impl Case<'_> {
    fn lost(&self) -> u64 {
        self.verdict.partitions.values().filter_map(|partition| partition.lost).sum()
    }

    fn possibly_lost(&self) -> u64 {
        self.verdict.partitions.values().filter_map(|partition| partition.possibly_lost).sum()
    }

    fn any(&self, state: PartitionState) -> bool {
        self.verdict.partitions.values().any(|partition| partition.state == state)
    }

    fn fits(&self, way: Way, why: String, verb: &[&str], rest: &[&str]) -> WayOn {
        WayOn { way, fits: true, why, command: Some(self.subject.command(verb, rest)) }
    }

    /// A way that begins in the ledger. Where none is kept, what `check` says is all there is.
    fn fits_in_the_ledger(&self, way: Way, why: String, verb: &[&str], rest: &[&str]) -> WayOn {
        let Some(of) = self.subject.no_ledger else { return self.fits(way, why, verb, rest) };
        let why = format!("{why}; no ledger is kept {of}, so keep what check says of it");
        self.fits(way, why, &["check"], &["--output", "json"])
    }

    /// A restart as it is reads everything that was not read.
    fn is_whole(&self) -> bool {
        self.configured.outcome == Outcome::Starts
            && self.lost() == 0
            && !self.any(PartitionState::Recreated)
            && !self.any(PartitionState::BeyondEnd)
            && !self.any(PartitionState::Unverified)
            && !self.verdict.conditions.contains(&Condition::ClusterMismatch)
    }

    fn none_needed(&self) -> WayOn {
        if self.is_whole() {
            let hurry = match self.verdict.conditions.contains(&Condition::AtRisk) {
                true => "; do it soon, little retention is left",
                false => "",
            };
            let why = format!("nothing is lost: restart the query as it is, with the checkpoint as it is{hurry}");
            return self.fits(Way::NoneNeeded, why, &["check"], &[]);
        }
        let why = match (self.lost(), self.configured.outcome) {
            (lost, Outcome::Starts | Outcome::StartsAndSkips) if lost > 0 => {
                format!("{lost} offsets are gone, and a restart passes over them")
            }
            (_, Outcome::Starts) => {
                format!("a restart would start, but its positions are not proved: {}", self.verdict.reason)
            }
            _ => format!("a restart does not go well: {}", self.configured.detail),
        };
        refused(Way::NoneNeeded, why)
    }

    fn accept_gap(&self) -> WayOn {
        if self.is_whole() {
            return refused(Way::AcceptGap, "nothing is lost, so there is nothing to accept".to_owned());
        }
        if self.any(PartitionState::Recreated) || self.verdict.conditions.contains(&Condition::ClusterMismatch) {
            let why =
                "the checkpoint's offsets belong to another log: going on with them would skip records that are there";
            return refused(Way::AcceptGap, why.to_owned());
        }
        match self.tolerant.outcome {
            Outcome::StartsAndSkips => {}
            Outcome::Starts => {
                return refused(
                    Way::AcceptGap,
                    "a restart passes over nothing: failOnDataLoss changes nothing".to_owned(),
                );
            }
            _ => {
                let why = format!("failOnDataLoss=false does not help: {}", self.tolerant.detail);
                return refused(Way::AcceptGap, why);
            }
        }
        let still_there = self.still_there();
        if still_there > 0 {
            let why = format!("it would also pass over {still_there} offsets that are still in Kafka");
            return refused(Way::AcceptGap, why);
        }
        let skipped: u64 = self.tolerant.skipped.iter().map(|range| range.to.above(range.from)).sum();
        let why = format!(
            "with failOnDataLoss=false this checkpoint goes on, keeps its state and passes over {skipped} offsets; record \
             them first, set it for one start only, then set it back"
        );
        let rest = ["--found", "--evidence", "TICKET", "--by", "NAME"];
        self.fits_in_the_ledger(Way::AcceptGap, why, &["gaps", "record"], &rest)
    }

    /// What a tolerant restart would pass over although Kafka has it.
    fn still_there(&self) -> u64 {
        let readable = |range: &crate::judgement::SkippedRange| {
            let earliest = self.verdict.partitions.get(&range.partition)?.earliest?;
            Some(range.to.above(range.from.max(earliest)))
        };
        self.tolerant.skipped.iter().filter_map(readable).sum()
    }

    fn new_checkpoint(&self) -> WayOn {
        if self.is_whole() {
            let why = "nothing is wrong with this checkpoint: a new one would only lose the query's state";
            return refused(Way::NewCheckpoint, why.to_owned());
        }
        const STATE: &str = "keep this one as evidence; state (aggregates, deduplication) starts empty";
        if self.verdict.conditions.contains(&Condition::ClusterMismatch) {
            let why =
                format!("offsets of another cluster mean nothing here, so a new checkpoint starts at a time; {STATE}");
            let at = self.verdict.last_commit_at.map_or_else(|| "TIME".to_owned(), written);
            return self.fits(Way::NewCheckpoint, why, &["starting-offsets"], &["--at", &at]);
        }
        let all_gone = self.verdict.partitions.values().all(|partition| partition.state == PartitionState::Gone);
        if all_gone && !self.verdict.partitions.is_empty() {
            let why =
                "none of its partitions is on the cluster: make the topic again first, or point the query elsewhere";
            return refused(Way::NewCheckpoint, why.to_owned());
        }
        if self.any(PartitionState::Recreated) || self.any(PartitionState::BeyondEnd) {
            let why = format!(
                "the log is not the one that the checkpoint knows, so a new checkpoint reads all of it from the start: \
                 duplicates can be removed, holes cannot; {STATE}"
            );
            return self.fits(Way::NewCheckpoint, why, &["starting-offsets"], &["--at", "earliest"]);
        }
        let unusable = self.verdict.problems.iter().any(|problem| problem.kind == ProblemKind::UnsupportedVersion);
        if unusable || self.verdict.partitions.is_empty() {
            let why = format!("its positions cannot be read, so a new checkpoint starts at a time; {STATE}");
            let at = self.verdict.last_commit_at.map_or_else(|| "TIME".to_owned(), written);
            return self.fits(Way::NewCheckpoint, why, &["starting-offsets"], &["--at", &at]);
        }
        let why = format!("a new checkpoint reads all that is left, and nothing twice; {STATE}");
        self.fits(Way::NewCheckpoint, why, &["starting-offsets"], &["--at", "committed"])
    }

    fn backfill(&self) -> WayOn {
        let (lost, possibly) = (self.lost(), self.possibly_lost());
        if lost + possibly == 0 {
            return refused(Way::Backfill, "no offset is known to be gone from Kafka".to_owned());
        }
        let many = match possibly {
            0 => lost.to_string(),
            _ => format!("{lost} to {}", lost + possibly),
        };
        let why = format!(
            "{many} offsets are no longer in Kafka: only where they came from has them; take one of the other ways first, \
             so that no more is lost meanwhile"
        );
        self.fits_in_the_ledger(Way::Backfill, why, &["gaps", "backfill"], &[])
    }
}

fn refused(way: Way, why: String) -> WayOn {
    WayOn { way, fits: false, why, command: None }
}

fn written(at: Moment) -> String {
    chrono::DateTime::from_timestamp_millis(at.millis())
        .map_or_else(|| at.millis().to_string(), |time| time.to_rfc3339_opts(chrono::SecondsFormat::Secs, true))
}

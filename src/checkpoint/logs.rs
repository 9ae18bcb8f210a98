//! Both logs side by side: which batch is the newest, which is committed, and what the two say of each other.

use std::collections::BTreeMap;

use super::commit_log;
use super::findings::Findings;
use super::names::{Log, OddName};
use super::reading::{Listing, ProblemKind};
use super::text::{BadFile, is_blank};
use crate::measures::BatchId;

/// Both logs and what they make of the newest batch.
pub(super) struct Logs<'a> {
    pub(super) offsets: Log<'a>,
    pub(super) commits: Log<'a>,
    pub(super) newest: Option<BatchId>,
    pub(super) previous: Option<BatchId>,
    /// Only while the newest batch is open: the entry before the one that a restart resumes from.
    pub(super) before_previous: Option<BatchId>,
    /// The newest commit file holds nothing, so that it does not count.
    newest_commit_is_blank: bool,
    pub(super) committed: Option<BatchId>,
    pub(super) open: bool,
}

impl<'a> Logs<'a> {
    pub(super) fn of(listing: &'a Listing, contents: &BTreeMap<String, Vec<u8>>) -> Self {
        let (offsets, commits) = (Log::of(&listing.offsets), Log::of(&listing.commits));
        let newest = offsets.newest();
        let previous = newest.and_then(|batch| offsets.before(batch));
        let last_commit = commits.newest();
        let newest_commit_is_blank = commits.batches.last_key_value().is_some_and(|(batch, file)| {
            file.size == 0 || contents.get(&format!("commits/{batch}")).is_some_and(|bytes| is_blank(bytes))
        });
        let committed =
            last_commit.and_then(|last| if newest_commit_is_blank { commits.before(last) } else { Some(last) });
        let open = newest.is_some() && newest != committed;
        let before_previous = previous.filter(|_| open).and_then(|batch| offsets.before(batch));
        Self { offsets, commits, newest, previous, before_previous, newest_commit_is_blank, committed, open }
    }

    /// What the two sets of ids say of each other.
    pub(super) fn check(&self, contents: &BTreeMap<String, Vec<u8>>, findings: &mut Findings) {
        let last_commit = self.commits.newest();
        if let Some(batch) = last_commit.filter(|_| self.newest_commit_is_blank) {
            findings.will_not_start();
            let detail = "the newest commit holds nothing; Spark stops at an incomplete commit log";
            findings.problem(ProblemKind::NewestCommitEmpty, Some(format!("commits/{batch}")), detail);
        } else if let Some(batch) = last_commit {
            check_commit(batch, contents, findings);
        }
        match (self.newest, last_commit) {
            (None, Some(last)) => {
                findings.will_not_start();
                let detail = format!(
                    "batch {last} is committed, but no batch is planned; Spark 4 refuses to start, older ones begin \
                     again at the initial offsets"
                );
                findings.problem(ProblemKind::OffsetsLost, None, detail);
            }
            (Some(newest), Some(last)) if last > newest => {
                findings.will_not_start();
                let detail = format!(
                    "batch {last} is committed, but {newest} is the newest planned; Spark runs {newest} again and fails at its commit"
                );
                findings.problem(ProblemKind::CommitLogAhead, Some(format!("commits/{last}")), detail);
            }
            (Some(newest), Some(last)) if self.previous.is_some_and(|previous| last < previous) => {
                let detail = format!(
                    "batch {last} is the newest commit and {newest} the newest planned; Spark runs only {newest} again \
                     (real-time and continuous mode resume from offsets/{last})"
                );
                findings.problem(ProblemKind::CommitLogLags, Some(format!("commits/{last}")), detail);
            }
            (Some(newest), None) if newest.0 > 0 => {
                let detail =
                    format!("batch {newest} is planned, so earlier ones were committed, yet there is no commit");
                findings.problem(ProblemKind::CommitsMissing, None, detail);
            }
            _ => {}
        }
        self.check_names(findings);
    }

    /// Odd names: told of, a few of them, since a directory may be full of them.
    fn check_names(&self, findings: &mut Findings) {
        const MOST: usize = 5;
        for (directory, log) in [("offsets", &self.offsets), ("commits", &self.commits)] {
            if log.odd_newest().is_some() {
                findings.will_not_start();
            }
            for OddName { name, number } in log.odd.iter().take(MOST) {
                let detail =
                    format!("Spark takes the name for batch {number} and then looks for a file named {number}");
                findings.problem(ProblemKind::NoncanonicalBatchName, Some(format!("{directory}/{name}")), detail);
            }
        }
    }
}

fn check_commit(batch: BatchId, contents: &BTreeMap<String, Vec<u8>>, findings: &mut Findings) {
    let file = format!("commits/{batch}");
    match contents.get(&file).map(|bytes| commit_log::check(bytes)) {
        None | Some(Ok(_)) => {}
        Some(Err(BadFile::Unsupported(what) | BadFile::Doubtful(what))) => {
            findings.cannot_tell();
            findings.problem(ProblemKind::UnsupportedVersion, Some(file), what);
        }
        Some(Err(BadFile::Malformed(why))) => {
            findings.will_not_start();
            findings.problem(ProblemKind::UnsupportedVersion, Some(file), why);
        }
        // counted as blank before
        Some(Err(BadFile::Empty)) => {}
    }
}

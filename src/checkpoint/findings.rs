//! What comes up while a checkpoint is read: problems, and what they mean for a restart.

use super::reading::{Problem, ProblemKind};

/// Problems so far, and whether Spark would start.
#[derive(Debug)]
pub(super) struct Findings {
    pub(super) problems: Vec<Problem>,
    /// Yes, no, or cannot tell.
    pub(super) restartable: Option<bool>,
}

impl Default for Findings {
    /// Nothing came up: Spark would start.
    fn default() -> Self {
        Self { problems: Vec::new(), restartable: Some(true) }
    }
}

impl Findings {
    pub(super) fn problem(&mut self, kind: ProblemKind, file: Option<String>, detail: impl Into<String>) {
        self.problems.push(Problem { kind, file, detail: detail.into() });
    }

    /// Certain, whatever else comes up.
    pub(super) fn will_not_start(&mut self) {
        self.restartable = Some(false);
    }

    /// It depends on what the files do not say.
    pub(super) fn cannot_tell(&mut self) {
        if self.restartable == Some(true) {
            self.restartable = None;
        }
    }
}

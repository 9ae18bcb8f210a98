//! One simulated query: plans batches, takes its time, commits them.

use std::path::Path;
use std::time::Duration;

use super::spark::Checkpoint;
use super::stand_in::Bounds;
use super::story::{Pace, Story};
use crate::measures::Moment;

/// Time from one plan to the next.
const TRIGGER: Duration = Duration::from_secs(2);
/// Time from the plan of a batch to its commit.
const BATCH_TAKES: Duration = Duration::from_millis(600);
/// Batches that a query has behind it when the demo starts.
pub(super) const PAST_BATCHES: u64 = 8;

/// Below this many thousandths of its retention the slow query catches up a little …
const BRINK_PERMILLE: i64 = 80;
/// … until it has so many, which are still too few to be safe.
const RELIEF_PERMILLE: i64 = 300;

/// How much of what is written meanwhile the slow query reads, in hundredths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slowness {
    /// The fall at the start of the demo.
    Falling,
    /// Somewhat faster than its topic.
    CatchingUp,
    /// A little slower than its topic.
    Sagging,
}

impl Slowness {
    const fn hundredths(self) -> i64 {
        match self {
            Self::Falling => 40,
            Self::CatchingUp => 250,
            Self::Sagging => 90,
        }
    }

    const fn after(self, permille: i64) -> Self {
        match self {
            Self::Falling | Self::Sagging if permille < BRINK_PERMILLE => Self::CatchingUp,
            Self::CatchingUp if permille > RELIEF_PERMILLE => Self::Sagging,
            same => same,
        }
    }
}

/// A query in mid-life. Time in here is the demo's own: since its start, and as fast as it is played.
#[derive(Debug)]
pub(super) struct Simulated {
    checkpoint: Checkpoint,
    pace: Pace,
    committed: Vec<i64>,
    /// Latest offsets at the last plan: what was written since is what a slow query measures itself by.
    seen: Vec<i64>,
    slowness: Slowness,
    next_batch: u64,
    open: Option<Open>,
    next_plan: Duration,
}

#[derive(Debug)]
struct Open {
    batch: u64,
    ends: Vec<i64>,
    done_at: Duration,
}

impl Simulated {
    /// Gives a query its past: some committed batches that lead to where its story begins.
    pub(super) fn begin(folder: &Path, story: &Story, bounds: &[Bounds], now: Moment) -> anyhow::Result<Self> {
        let mut permille = story.start_permille;
        let mut committed = Vec::with_capacity(bounds.len());
        for bound in bounds {
            committed.push(bound.at_permille(permille));
            permille += story.start_step_permille;
        }
        let ago = |triggers: u64| now.minus(TRIGGER.saturating_mul(u32::try_from(triggers).unwrap_or(u32::MAX)));
        let checkpoint = Checkpoint::create(
            folder.join(story.query),
            story.topic,
            &vec![0; committed.len()],
            ago(PAST_BATCHES + 1),
        )?;
        for batch in 0..PAST_BATCHES {
            let done = i64::try_from(batch + 1).unwrap_or(i64::MAX);
            let all = i64::try_from(PAST_BATCHES).unwrap_or(i64::MAX);
            let ends: Vec<i64> = committed.iter().map(|end| end * done / all).collect();
            let planned_at = ago(PAST_BATCHES - batch);
            checkpoint.plan(batch, &ends, planned_at)?;
            checkpoint.commit(batch, planned_at.plus(BATCH_TAKES))?;
        }
        let seen: Vec<i64> = bounds.iter().map(|bound| bound.latest).collect();
        if story.pace == Pace::Torn {
            checkpoint.tear(PAST_BATCHES, &seen, now)?;
        }
        Ok(Self {
            checkpoint,
            pace: story.pace,
            committed,
            seen,
            slowness: Slowness::Falling,
            next_batch: PAST_BATCHES,
            open: None,
            next_plan: Duration::ZERO,
        })
    }

    /// Whether the query would plan a batch now, and so needs to know the bounds of its topic.
    pub(super) fn wants_bounds(&self, at: Duration) -> bool {
        matches!(self.pace, Pace::KeepsUp | Pace::FallsBehind) && self.open.is_none() && at >= self.next_plan
    }

    /// Plans a batch if there is something to read: a stateless query without new input writes nothing.
    pub(super) fn plan(&mut self, bounds: &[Bounds], at: Duration, now: Moment) -> anyhow::Result<()> {
        self.next_plan = at + TRIGGER;
        let worst = self.committed.iter().zip(bounds).map(|(offset, bound)| bound.permille(*offset)).min();
        self.slowness = self.slowness.after(worst.unwrap_or_default());
        let ends: Vec<i64> = (self.committed.iter().zip(&self.seen).zip(bounds))
            .map(|((from, seen), bound)| match self.pace {
                Pace::KeepsUp => bound.latest,
                _ => (from + (bound.latest - seen) * self.slowness.hundredths() / 100).min(bound.latest),
            })
            .collect();
        self.seen = bounds.iter().map(|bound| bound.latest).collect();
        if ends == self.committed {
            return Ok(());
        }
        self.checkpoint.plan(self.next_batch, &ends, now)?;
        self.open = Some(Open { batch: self.next_batch, ends, done_at: at + BATCH_TAKES });
        self.next_batch += 1;
        Ok(())
    }

    /// Commits the open batch if it is done by now.
    pub(super) fn commit_if_done(&mut self, at: Duration, now: Moment) -> anyhow::Result<()> {
        let Some(open) = self.open.take_if(|open| open.done_at <= at) else { return Ok(()) };
        self.checkpoint.commit(open.batch, now)?;
        self.committed = open.ends;
        Ok(())
    }
}

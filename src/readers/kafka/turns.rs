//! Whose turn it is: one pass at a time over a cluster, and past one that never ends.
//!
//! Every call has a time limit. But librdkafka waits by the wall clock, and one that is set back by an hour makes a wait
//! an hour longer. So a pass that hangs long after its deadline is left to itself, with its client and what it
//! remembers, and the next one begins with new ones.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex as Waiting, OwnedMutexGuard};
use tokio::time::Instant;

use super::memory::Memory;
use crate::measures::TopicName;
use crate::retention::Limits;

/// So long after its deadline a pass hangs. What is only late ends sooner: its calls have deadlines of their own.
const HANGS: Duration = Duration::from_secs(15);
/// So many hanging passes are left to themselves; each costs a client and its threads until it ends.
const LEFT_AT_ONCE: usize = 3;

/// The order of the passes over one cluster.
#[derive(Debug)]
pub(super) struct Turns {
    cluster: String,
    overrides: BTreeMap<TopicName, Limits>,
    hangs: Duration,
    /// Passes that were left to themselves and have not ended.
    left: Arc<AtomicUsize>,
    now: Mutex<Now>,
}

#[derive(Debug)]
struct Now {
    /// What is remembered between passes. Who holds it has the turn.
    memory: Arc<Waiting<Memory>>,
    /// When the pass that has the turn should have ended, and whether it was left to itself.
    running: Option<(Instant, Arc<Fate>)>,
    /// The client hangs, too.
    wants_another_client: bool,
}

/// Of a pass.
#[derive(Debug)]
struct Fate {
    is_left: Mutex<bool>,
    left: Arc<AtomicUsize>,
}

/// A pass that has the turn.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) memory: OwnedMutexGuard<Memory>,
    wants_another_client: bool,
    fate: Arc<Fate>,
}

impl Turns {
    pub(super) fn new(cluster: String, overrides: BTreeMap<TopicName, Limits>) -> Self {
        Self::with_patience(cluster, overrides, HANGS)
    }

    fn with_patience(cluster: String, overrides: BTreeMap<TopicName, Limits>, hangs: Duration) -> Self {
        let memory = Arc::new(Waiting::new(Memory::new(cluster.clone(), overrides.clone())));
        let now = Now { memory, running: None, wants_another_client: false };
        Self { cluster, overrides, hangs, left: Arc::default(), now: Mutex::new(now) }
    }

    /// Waits for the turn. The pass is to end at `until`.
    pub(super) async fn take(&self, until: Instant) -> Turn {
        let memory = Arc::clone(&self.now().memory);
        let memory = memory.lock_owned().await;
        let fate = Arc::new(Fate { is_left: Mutex::new(false), left: Arc::clone(&self.left) });
        let mut now = self.now();
        now.running = Some((until, Arc::clone(&fate)));
        Turn { memory, wants_another_client: std::mem::take(&mut now.wants_another_client), fate }
    }

    /// Leaves the pass that has the turn to itself, when it hangs and not too many do already. Says whether it was.
    pub(super) fn pass_over_the_hanging(&self) -> bool {
        let mut now = self.now();
        let Some((until, fate)) = &now.running else { return false };
        if until.elapsed() < self.hangs || self.left.load(Ordering::Relaxed) >= LEFT_AT_ONCE {
            return false;
        }
        fate.leave();
        now.running = None;
        now.memory = Arc::new(Waiting::new(Memory::new(self.cluster.clone(), self.overrides.clone())));
        now.wants_another_client = true;
        true
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// Whether the client was left to a pass that hangs in it.
    pub(super) const fn wants_another_client(&self) -> bool {
        self.wants_another_client
    }
}

impl Fate {
    fn leave(&self) {
        *self.is_left() = true;
        self.left.fetch_add(1, Ordering::Relaxed);
    }

    fn is_left(&self) -> MutexGuard<'_, bool> {
        self.is_left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if *self.fate.is_left() {
            self.fate.left.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_millis(50);

    fn turns(hangs: Duration) -> Turns {
        Turns::with_patience("main".to_owned(), BTreeMap::new(), hangs)
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_that_is_late_keeps_its_turn() {
        let turns = turns(HANGS);
        let first = turns.take(Instant::now() + SOON).await;
        assert!(timeout(HANGS, turns.take(Instant::now() + HANGS)).await.is_err());
        assert!(!turns.pass_over_the_hanging());
        drop(first);
        assert!(!turns.take(Instant::now()).await.wants_another_client());
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_that_hangs_is_left_with_its_client_and_the_next_one_goes_on() {
        let turns = turns(HANGS);
        let hanging = turns.take(Instant::now()).await;
        tokio::time::advance(HANGS).await;
        assert!(turns.pass_over_the_hanging());
        let next = timeout(SOON, turns.take(Instant::now() + SOON)).await.unwrap();
        assert!(next.wants_another_client());
        drop(next);
        // The one that hung says nothing more, and the client that took its place stays.
        drop(hanging);
        assert!(!turns.take(Instant::now()).await.wants_another_client());
    }

    #[tokio::test(start_paused = true)]
    async fn clients_that_hang_do_not_pile_up() {
        let turns = turns(HANGS);
        let mut hanging = Vec::new();
        for _ in 0..LEFT_AT_ONCE {
            hanging.push(turns.take(Instant::now()).await);
            tokio::time::advance(HANGS).await;
            assert!(turns.pass_over_the_hanging());
        }
        let last = turns.take(Instant::now()).await;
        tokio::time::advance(HANGS).await;
        assert!(!turns.pass_over_the_hanging(), "too many hang already");
        drop(hanging.pop());
        assert!(turns.pass_over_the_hanging(), "one of them has ended");
        drop(last);
    }
}

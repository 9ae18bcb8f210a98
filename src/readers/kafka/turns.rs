//! Whose turn it is: one pass at a time over a cluster, and past one that never ends.
//!
//! Every call has a time limit. But librdkafka waits by the wall clock, and one that is set back by an hour makes a wait
//! an hour longer. So a pass that hangs long after its deadline is left to itself, with its client and what it
//! remembers, and the next one begins with new ones: what was known of the brokers' clocks is found out anew.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
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
    now: Mutex<Now>,
}

#[derive(Debug)]
struct Now {
    /// What is remembered between passes. Who holds it has the turn.
    memory: Arc<Waiting<Memory>>,
    /// When the pass that has the turn, or had it last, was to end.
    until: Option<Instant>,
    /// What passes remember that were left to themselves. It goes when they end.
    left: Vec<Weak<Waiting<Memory>>>,
    /// The client hangs, too.
    wants_another_client: bool,
}

/// A pass that has the turn.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) memory: OwnedMutexGuard<Memory>,
    wants_another_client: bool,
}

impl Turns {
    pub(super) fn new(cluster: String, overrides: BTreeMap<TopicName, Limits>) -> Self {
        let memory = fresh(&cluster, &overrides);
        let now = Now { memory, until: None, left: Vec::new(), wants_another_client: false };
        Self { cluster, overrides, now: Mutex::new(now) }
    }

    /// Waits for the turn. The pass is to end at `until`.
    pub(super) async fn take(&self, until: Instant) -> Turn {
        let memory = Arc::clone(&self.now().memory);
        let memory = memory.lock_owned().await;
        let mut now = self.now();
        // Who waited for one that was passed over meanwhile is none of the passes that go on.
        if Arc::ptr_eq(OwnedMutexGuard::mutex(&memory), &now.memory) {
            now.until = Some(until);
        }
        Turn { memory, wants_another_client: mem::take(&mut now.wants_another_client) }
    }

    /// Leaves the pass that has the turn to itself, when it hangs and not too many do already. Says whether it was.
    pub(super) fn pass_over_the_hanging(&self) -> bool {
        let mut now = self.now();
        now.left.retain(|one| one.strong_count() > 0);
        let hangs = now.until.is_some_and(|until| until.elapsed() >= HANGS);
        // It may have ended just now.
        if !hangs || now.left.len() >= LEFT_AT_ONCE || now.memory.try_lock().is_ok() {
            return false;
        }
        let hanging = mem::replace(&mut now.memory, fresh(&self.cluster, &self.overrides));
        now.left.push(Arc::downgrade(&hanging));
        now.until = None;
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

fn fresh(cluster: &str, overrides: &BTreeMap<TopicName, Limits>) -> Arc<Waiting<Memory>> {
    Arc::new(Waiting::new(Memory::new(cluster.to_owned(), overrides.clone())))
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_millis(50);

    fn turns() -> Turns {
        Turns::new("main".to_owned(), BTreeMap::new())
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_that_is_late_keeps_its_turn() {
        let turns = turns();
        let first = turns.take(Instant::now() + SOON).await;
        assert!(timeout(HANGS, turns.take(Instant::now() + HANGS)).await.is_err());
        assert!(!turns.pass_over_the_hanging());
        drop(first);
        assert!(!turns.take(Instant::now()).await.wants_another_client());
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_that_hangs_is_left_with_its_client_and_the_next_one_goes_on() {
        let turns = turns();
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
        let turns = turns();
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

    #[tokio::test(start_paused = true)]
    async fn a_pass_that_ended_at_last_is_not_passed_over() {
        let turns = turns();
        drop(turns.take(Instant::now()).await);
        tokio::time::advance(HANGS).await;
        assert!(!turns.pass_over_the_hanging());
    }
}

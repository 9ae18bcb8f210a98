//! Many offsets at once: by leader, 250 partitions a call, up to four calls at a time.
//!
//! librdkafka's cost of a call grows with the square of its list, so lists stay short. A broker that hangs holds each
//! call that names it until the call's time-out, so calls are made by leader, and the first time-out ends the asking
//! of that leader for the rest of the pass. Nobody else waits for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::time::Instant;

use super::client::Connection;
use super::faults;
use super::librdkafka::{CallError, Found, Isolation, NO_ANSWER, Spec, list_offsets};
use crate::measures::TopicPartition;

const CHUNK: usize = 250;
const WORKERS: usize = 4;
const CALL: Duration = Duration::from_secs(5);

/// The leader of each partition, as the newest answer said it.
pub(super) type Leaders = BTreeMap<TopicPartition, i32>;
/// What came of it, per partition.
pub(super) type Rows = BTreeMap<TopicPartition, Result<Option<Found>, CallError>>;

type Chunk<'a> = &'a [(TopicPartition, Spec)];

/// One pass over a cluster: its end, and the leaders that did not answer in it.
pub(super) struct Pass<'a> {
    pub(super) connection: &'a Connection,
    pub(super) until: Instant,
    silent: Mutex<BTreeSet<i32>>,
}

impl<'a> Pass<'a> {
    pub(super) fn new(connection: &'a Connection, until: Instant) -> Self {
        Self { connection, until, silent: Mutex::default() }
    }

    /// Whether the leader did not answer in this pass.
    pub(super) fn is_silent(&self, leader: i32) -> bool {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner).contains(&leader)
    }

    pub(super) fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Asks the leaders. A partition without one is an error of its own. No partition may stand twice in `asked`.
    pub(super) fn look_up(
        &self,
        leaders: &Leaders,
        asked: impl IntoIterator<Item = (TopicPartition, Spec)>,
        isolation: Isolation,
    ) -> Rows {
        let mut rows = Rows::new();
        let mut by_leader: BTreeMap<i32, Vec<(TopicPartition, Spec)>> = BTreeMap::new();
        for (partition, spec) in asked {
            match leaders.get(&partition) {
                Some(leader) => by_leader.entry(*leader).or_default().push((partition, spec)),
                None => drop(rows.insert(partition, Err(no_leader()))),
            }
        }
        let lanes = lanes(&by_leader);
        let turn = Mutex::new(lanes.iter());
        let done = Mutex::new(rows);
        let work = || {
            loop {
                let Some((leader, chunks)) = turn.lock().unwrap_or_else(PoisonError::into_inner).next() else { break };
                for chunk in chunks {
                    let answered = self.ask(*leader, chunk, isolation);
                    done.lock().unwrap_or_else(PoisonError::into_inner).extend(answered);
                }
            }
        };
        thread::scope(|scope| {
            // This thread is a worker too.
            for _ in 1..WORKERS.min(lanes.len()) {
                scope.spawn(work);
            }
            work();
        });
        done.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, leader: i32, chunk: Chunk<'_>, isolation: Isolation) -> Rows {
        let left = self.left();
        if self.is_silent(leader) || left.is_zero() {
            return refused(chunk, &CallError::of(NO_ANSWER));
        }
        self.connection.count("list_offsets");
        let rows = list_offsets(self.connection.client(), chunk, isolation, left.min(CALL))
            .unwrap_or_else(|error| refused(chunk, &error));
        if rows.values().any(|row| row.as_ref().is_err_and(faults::unanswered)) {
            self.silent.lock().unwrap_or_else(PoisonError::into_inner).insert(leader);
        }
        rows
    }
}

/// The error of a partition that nobody leads.
pub(super) fn no_leader() -> CallError {
    const LEADER_NOT_AVAILABLE: i32 = 5;
    CallError { code: LEADER_NOT_AVAILABLE, text: "the partition has no leader".to_owned() }
}

fn refused(chunk: Chunk<'_>, error: &CallError) -> Rows {
    chunk.iter().map(|(partition, _)| (partition.clone(), Err(error.clone()))).collect()
}

/// Deals the chunks of each leader to as many lanes as leave no worker idle when there are few leaders, and no leader
/// more than its share of workers when there are many.
fn lanes(by_leader: &BTreeMap<i32, Vec<(TopicPartition, Spec)>>) -> Vec<(i32, Vec<Chunk<'_>>)> {
    let each = (WORKERS / by_leader.len().max(1)).max(1);
    let mut lanes = Vec::new();
    for (leader, partitions) in by_leader {
        let chunks: Vec<Chunk<'_>> = partitions.chunks(CHUNK).collect();
        for first in 0..each.min(chunks.len()) {
            lanes.push((*leader, chunks.iter().skip(first).step_by(each).copied().collect()));
        }
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::TopicName;

    #[test]
    fn chunks_are_dealt_once_each_and_leave_no_worker_idle() {
        let check = |partitions: &[i32], expected: &[(i32, usize)]| {
            let topic: TopicName = "t".into();
            let by_leader = (0..).zip(partitions).map(|(leader, count)| {
                (leader, (0..*count).map(|at| (TopicPartition::new(&topic, at), Spec::Latest)).collect())
            });
            let by_leader: BTreeMap<i32, Vec<_>> = by_leader.collect();
            let dealt = lanes(&by_leader);
            let shape: Vec<(i32, usize)> = dealt.iter().map(|(leader, chunks)| (*leader, chunks.len())).collect();
            assert_eq!(shape, expected, "{partitions:?}");
            let mut seen = BTreeSet::new();
            for (leader, chunks) in &dealt {
                for (partition, _) in chunks.iter().copied().flatten() {
                    assert!(seen.insert((*leader, partition.partition)));
                }
                assert!(chunks.iter().all(|chunk| chunk.len() <= CHUNK));
            }
            assert_eq!(seen.len(), by_leader.values().map(Vec::len).sum::<usize>());
        };
        check(&[], &[]);
        check(&[1], &[(0, 1)]);
        check(&[1_251], &[(0, 2), (0, 2), (0, 1), (0, 1)]);
        check(&[600, 10], &[(0, 2), (0, 1), (1, 1)]);
        check(&[300, 300, 300, 300, 300], &[(0, 2), (1, 2), (2, 2), (3, 2), (4, 2)]);
    }
}

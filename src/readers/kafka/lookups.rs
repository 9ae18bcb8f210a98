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
use super::librdkafka::{Asked, CallError, Isolation, NO_ANSWER, Rows, Spec, ends, list_offsets};
use crate::measures::TopicName;

const CHUNK: usize = 250;
const WORKERS: usize = 4;
const CALL: Duration = Duration::from_secs(5);

/// A partition, and who leads it as the newest answer said it.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) topic: TopicName,
    pub(super) partition: i32,
    pub(super) leader: Option<i32>,
}

impl Place {
    pub(super) fn ask(&self, spec: Spec) -> Asked<'_> {
        Asked { topic: &self.topic, partition: self.partition, spec }
    }
}

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

    /// Whether asking for the partition makes sense: somebody leads it, who has not just been silent.
    pub(super) fn worth_asking(&self, place: &Place) -> bool {
        place.leader.is_some_and(|leader| !self.is_silent(leader))
    }

    pub(super) fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    fn is_silent(&self, leader: i32) -> bool {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner).contains(&leader)
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Works through partitions, those of one leader together, some at a time. The answers stand in the order of the
    /// partitions. No partition may stand twice in `places`: brokers refuse that.
    pub(super) fn spread<T: Send>(
        &self,
        places: &[Place],
        work: impl Fn(i32, &[(usize, &Place)]) -> Vec<Result<T, CallError>> + Sync,
    ) -> Vec<Result<T, CallError>> {
        let mut by_leader: BTreeMap<i32, Vec<(usize, &Place)>> = BTreeMap::new();
        for (at, place) in places.iter().enumerate() {
            if let Some(leader) = place.leader {
                by_leader.entry(leader).or_default().push((at, place));
            }
        }
        let lanes = lanes(&by_leader);
        let turn = Mutex::new(lanes.iter());
        let mut answers = Vec::new();
        answers.resize_with(places.len(), || None);
        let done = Mutex::new(answers);
        let run = || {
            loop {
                let Some((leader, chunks)) = turn.lock().unwrap_or_else(PoisonError::into_inner).next() else { break };
                for chunk in chunks {
                    let answered = work(*leader, chunk);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    for ((at, _), answer) in chunk.iter().zip(answered) {
                        done[*at] = Some(answer);
                    }
                }
            }
        };
        thread::scope(|scope| {
            // This thread is a worker too.
            for _ in 1..WORKERS.min(lanes.len()) {
                scope.spawn(run);
            }
            run();
        });
        let answers = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        answers.into_iter().map(|answer| answer.unwrap_or_else(|| Err(no_leader()))).collect()
    }

    /// Asks one leader.
    pub(super) fn ask(&self, leader: i32, asked: &[Asked<'_>], isolation: Isolation) -> Rows {
        let left = self.left();
        if asked.is_empty() || self.is_silent(leader) || left.is_zero() {
            return refused(asked, &CallError::of(NO_ANSWER));
        }
        let client = self.connection.client();
        let by_time = asked.iter().filter(|asked| asked.spec.by_time()).count();
        self.connection.count_look_ups(by_time);
        if by_time == 0 && isolation == Isolation::Uncommitted {
            self.connection.count("list_offsets");
            match ends(client, asked, left.min(CALL)) {
                Ok(rows) => return rows,
                Err(error) if faults::unanswered(&error) => {
                    self.fall_silent(leader);
                    return refused(asked, &CallError::of(NO_ANSWER));
                }
                // One row spoils it for all. The other call tells them apart.
                Err(error) => tracing::debug!(target: "kafka", leader, %error, "asked again, row by row"),
            }
        }
        self.connection.count("list_offsets");
        let left = self.left().min(CALL);
        let rows = list_offsets(client, asked, isolation, left).unwrap_or_else(|error| refused(asked, &error));
        if rows.iter().any(|row| row.as_ref().is_err_and(faults::unanswered)) {
            self.fall_silent(leader);
        }
        rows
    }

    fn fall_silent(&self, leader: i32) {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner).insert(leader);
    }
}

/// The error of a partition that nobody leads.
pub(super) fn no_leader() -> CallError {
    const LEADER_NOT_AVAILABLE: i32 = 5;
    CallError { code: LEADER_NOT_AVAILABLE, text: "the partition has no leader".to_owned() }
}

fn refused(asked: &[Asked<'_>], error: &CallError) -> Rows {
    asked.iter().map(|_| Err(error.clone())).collect()
}

/// Deals the chunks of each leader to as many lanes as leave no worker idle when there are few leaders, and no leader
/// more than its share of workers when there are many.
fn lanes<T>(by_leader: &BTreeMap<i32, Vec<T>>) -> Vec<(i32, Vec<&[T]>)> {
    let each = (WORKERS / by_leader.len().max(1)).max(1);
    let mut lanes = Vec::new();
    for (leader, partitions) in by_leader {
        let chunks: Vec<&[T]> = partitions.chunks(CHUNK).collect();
        for first in 0..each.min(chunks.len()) {
            lanes.push((*leader, chunks.iter().skip(first).step_by(each).copied().collect()));
        }
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_dealt_once_each_and_leave_no_worker_idle() {
        let check = |partitions: &[i32], expected: &[(i32, usize)]| {
            let by_leader = (0..).zip(partitions).map(|(leader, count)| (leader, (0..*count).collect()));
            let by_leader: BTreeMap<i32, Vec<i32>> = by_leader.collect();
            let dealt = lanes(&by_leader);
            let shape: Vec<(i32, usize)> = dealt.iter().map(|(leader, chunks)| (*leader, chunks.len())).collect();
            assert_eq!(shape, expected, "{partitions:?}");
            let mut seen = BTreeSet::new();
            for (leader, chunks) in &dealt {
                for partition in chunks.iter().copied().flatten() {
                    assert!(seen.insert((*leader, *partition)));
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

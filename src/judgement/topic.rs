//! A topic of a query, folded from its partitions: by the worse side, never averaged.

use std::collections::BTreeMap;
use std::time::Duration;

use super::memory::{Keeps, TopicMemory};
use super::states::{PartitionProblem, PartitionState};
use super::verdict::{PartitionVerdict, TopicVerdict};
use crate::measures::Offset;

/// Folds the verdicts of one topic. Sums of what moves are absent while a partition is unknown; what was lost, and the
/// last proved deadline, stay.
pub(super) fn fold(verdicts: &[&PartitionVerdict], memory: &TopicMemory) -> TopicVerdict {
    let unknown = verdicts.iter().any(|verdict| is_unread(verdict));
    let known_sum = |number: fn(&PartitionVerdict) -> Option<u64>| if unknown { None } else { sum(verdicts, number) };
    let at_risk = |verdict: &&&PartitionVerdict| verdict.state != PartitionState::Lost;
    let mut states: BTreeMap<_, _> = PartitionState::ALL.iter().map(|state| (*state, 0)).collect();
    let mut problems: BTreeMap<_, _> = PartitionProblem::ALL.iter().map(|problem| (*problem, 0)).collect();
    for verdict in verdicts {
        *states.entry(verdict.state).or_default() += 1;
        for problem in &verdict.problems {
            *problems.entry(*problem).or_default() += 1;
        }
    }
    TopicVerdict {
        lag: known_sum(|verdict| verdict.lag),
        committed: known_sum(|verdict| verdict.committed.map(|offset| offset.above(Offset::ZERO))),
        lost: sum(verdicts, |verdict| verdict.lost),
        possibly_lost: sum(verdicts, |verdict| verdict.possibly_lost),
        headroom: verdicts.iter().filter_map(|verdict| verdict.headroom).min(),
        ratio: verdicts.iter().filter(at_risk).filter_map(|verdict| verdict.ratio).min_by(f64::total_cmp),
        deadline: verdicts.iter().filter_map(|verdict| verdict.deadline).min(),
        forecast: verdicts.iter().filter(at_risk).filter_map(|verdict| verdict.forecast).min(),
        oldest_unread: verdicts.iter().filter_map(|verdict| verdict.oldest_unread).min(),
        retention_seconds: memory.keeps.map(|keeps| match keeps {
            Keeps::Millis(millis) => Duration::from_millis(millis).as_secs_f64(),
            Keeps::ForEver => f64::INFINITY,
        }),
        states,
        problems,
        lost_total: memory.lost_total.clone(),
        last_loss_at: memory.last_loss_at.clone(),
    }
}

/// Whether the round did not read it. A loss or another topic that is kept from an earlier round shows it by its lag,
/// which every round that reads the partition tells.
const fn is_unread(verdict: &PartitionVerdict) -> bool {
    match verdict.state {
        PartitionState::Unknown => true,
        PartitionState::Lost | PartitionState::Recreated => verdict.lag.is_none(),
        _ => false,
    }
}

fn sum(verdicts: &[&PartitionVerdict], number: fn(&PartitionVerdict) -> Option<u64>) -> Option<u64> {
    let mut known = verdicts.iter().filter_map(|verdict| number(verdict)).peekable();
    known.peek()?;
    Some(known.fold(0, u64::saturating_add))
}

//! Lines of one topic of a query: what rules use.

use super::writer::{Blocks, Labels};
use crate::judgement::{Certainty, Deadline, PartitionProblem, PartitionState, TopicVerdict};
use crate::measures::Moment;
use crate::metrics::catalogue::{
    QUERY_TOPIC_COMMITTED_OFFSETS, QUERY_TOPIC_DELETION_DEADLINE, QUERY_TOPIC_HEADROOM_OFFSETS,
    QUERY_TOPIC_LAG_OFFSETS, QUERY_TOPIC_LAST_LOSS, QUERY_TOPIC_LOST_OFFSETS, QUERY_TOPIC_OFFSETS_LOST_TOTAL,
    QUERY_TOPIC_OLDEST_UNREAD, QUERY_TOPIC_PARTITION_PROBLEMS, QUERY_TOPIC_PARTITIONS,
    QUERY_TOPIC_POSSIBLY_LOST_OFFSETS, QUERY_TOPIC_PROJECTED_LOSS, QUERY_TOPIC_RETENTION_REMAINING_RATIO,
    QUERY_TOPIC_RETENTION_SECONDS, QUERY_TOPIC_UNREAD_SINCE,
};

pub(super) fn write(blocks: &mut Blocks, labels: &Labels, topic: &TopicVerdict, unread_since: Option<Moment>) {
    blocks.put_some(&QUERY_TOPIC_LAG_OFFSETS, labels, topic.lag);
    blocks.put_some(&QUERY_TOPIC_LOST_OFFSETS, labels, topic.lost);
    blocks.put_some(&QUERY_TOPIC_POSSIBLY_LOST_OFFSETS, labels, topic.possibly_lost);
    blocks.put_some(&QUERY_TOPIC_COMMITTED_OFFSETS, labels, topic.committed);
    blocks.put_some(&QUERY_TOPIC_HEADROOM_OFFSETS, labels, topic.headroom);
    blocks.put_some(&QUERY_TOPIC_RETENTION_REMAINING_RATIO, labels, topic.ratio);
    blocks.put_some(&QUERY_TOPIC_DELETION_DEADLINE, labels, topic.deadline.map(Deadline::seconds));
    blocks.put_some(&QUERY_TOPIC_OLDEST_UNREAD, labels, topic.oldest_unread.map(Moment::seconds));
    blocks.put_some(&QUERY_TOPIC_PROJECTED_LOSS, labels, topic.forecast.map(Deadline::seconds));
    blocks.put_some(&QUERY_TOPIC_RETENTION_SECONDS, labels, topic.retention_seconds);
    // The query waits as a whole; a topic of it that is known to have nothing unread does not.
    let waits = topic.lag != Some(0);
    blocks.put_some(&QUERY_TOPIC_UNREAD_SINCE, labels, unread_since.filter(|_| waits).map(Moment::seconds));
    for certainty in Certainty::ALL {
        let labels = labels.and("certainty", certainty.label());
        let total = topic.lost_total.get(certainty).copied().unwrap_or(0);
        blocks.put(&QUERY_TOPIC_OFFSETS_LOST_TOTAL, &labels, total);
        blocks.put_some(&QUERY_TOPIC_LAST_LOSS, &labels, topic.last_loss_at.get(certainty).map(|at| at.seconds()));
    }
    for state in PartitionState::ALL {
        let count = topic.states.get(state).copied().unwrap_or(0);
        blocks.put(&QUERY_TOPIC_PARTITIONS, &labels.and("state", state.label()), count);
    }
    for problem in PartitionProblem::ALL {
        let count = topic.problems.get(problem).copied().unwrap_or(0);
        blocks.put(&QUERY_TOPIC_PARTITION_PROBLEMS, &labels.and("problem", problem.label()), count);
    }
}

//! The bounded words of the judgement. Each has its label here, once.

use serde::{Deserialize, Serialize};

/// Makes an enum of labels, its list in order, and the label's text.
macro_rules! labels {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $label:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$doc])* #[serde(rename = $label)] $variant,)+ }

        impl $name {
            /// Every value, in order.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The label's text.
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self { $(Self::$variant => $label,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.label())
            }
        }
    };
}

labels! {
    /// What stands of one partition of a query.
    PartitionState {
        /// Not read this round.
        Unknown = "unknown",
        /// A contradiction that waits for confirmation.
        Unconfirmed = "unconfirmed",
        /// The broker does not have it.
        Gone = "gone",
        /// The topic was deleted and made again.
        Recreated = "recreated",
        /// The committed offset lies beyond the log's end.
        BeyondEnd = "beyond_end",
        /// The position cannot be held against this log.
        Unverified = "unverified",
        /// On the broker, no position yet.
        Pending = "pending",
        /// Unread offsets are gone.
        Lost = "lost",
        /// Nothing unread.
        CaughtUp = "caught_up",
        /// Unread offsets, all still there.
        Behind = "behind",
    }
}

labels! {
    /// What stands of a query: the worst of its partitions and of itself. Worst first, but for `superseded`, which is
    /// decided before all others.
    QueryState {
        /// The checkpoint belongs to another cluster.
        ClusterMismatch = "cluster_mismatch",
        /// A topic was deleted and made again.
        Recreated = "recreated",
        /// Unread offsets are gone.
        Lost = "lost",
        /// A committed offset lies beyond the log's end.
        BeyondEnd = "beyond_end",
        /// Partitions are gone.
        Gone = "gone",
        /// The checkpoint was not read.
        Unreadable = "unreadable",
        /// Little retention is left.
        AtRisk = "at_risk",
        /// No progress although there is something to read.
        Stalled = "stalled",
        /// A position cannot be held against the log.
        Unverified = "unverified",
        /// Something was not read.
        Unknown = "unknown",
        /// No batch was planned yet.
        NotStarted = "not_started",
        /// Reading, not at risk.
        Behind = "behind",
        /// Nothing unread.
        Idle = "idle",
        /// A newer checkpoint took its place.
        Superseded = "superseded",
    }
}

labels! {
    /// Conditions of a query that stand each for itself, so that a worse state does not hide another's clock.
    Condition {
        /// See [`QueryState::ClusterMismatch`].
        ClusterMismatch = "cluster_mismatch",
        /// See [`QueryState::Recreated`].
        Recreated = "recreated",
        /// See [`QueryState::Lost`].
        Lost = "lost",
        /// See [`QueryState::BeyondEnd`].
        BeyondEnd = "beyond_end",
        /// See [`QueryState::Gone`].
        Gone = "gone",
        /// See [`QueryState::Unreadable`].
        Unreadable = "unreadable",
        /// See [`QueryState::AtRisk`].
        AtRisk = "at_risk",
        /// See [`QueryState::Stalled`].
        Stalled = "stalled",
        /// See [`QueryState::Unverified`].
        Unverified = "unverified",
        /// See [`QueryState::Unknown`].
        Unknown = "unknown",
        /// See [`QueryState::NotStarted`].
        NotStarted = "not_started",
        /// The operator parked it.
        Parked = "parked",
        /// See [`QueryState::Superseded`].
        Superseded = "superseded",
    }
}

labels! {
    /// What is wrong with a partition, counted per topic.
    PartitionProblem {
        /// Unread offsets are certainly gone.
        Lost = "lost",
        /// An open batch may still be reading what is gone.
        PossiblyLost = "possibly_lost",
        /// The topic was deleted and made again.
        Recreated = "recreated",
        /// The committed offset lies beyond the log's end, or did until the new log passed it.
        BeyondEnd = "beyond_end",
        /// The position cannot be held against this log.
        Unverified = "unverified",
        /// The broker does not have it, with data unread.
        Gone = "gone",
        /// The broker does not have it, and nothing was unread at the last sight.
        GoneCaughtUp = "gone_caught_up",
        /// On the broker, no position yet.
        Pending = "pending",
        /// A contradiction that waits for confirmation.
        Unconfirmed = "unconfirmed",
        /// Not read this round.
        Unknown = "unknown",
        /// Unread data, and nothing says how long it will live.
        RetentionUnknown = "retention_unknown",
        /// Something is unread, and how long it will live is estimated, not proved.
        RetentionEstimated = "retention_estimated",
    }
}

labels! {
    /// How sure a loss is.
    Certainty {
        /// Deleted unread.
        Certain = "certain",
        /// Deleted, and a batch may have read it in time.
        Possible = "possible",
    }
}

labels! {
    /// What happened, each once.
    EventKind {
        /// A topic has another id.
        TopicRecreated = "topic_recreated",
        /// The brokers belong to another cluster.
        ClusterChanged = "cluster_changed",
        /// Another query id, or batches started again.
        CheckpointReplaced = "checkpoint_replaced",
        /// A committed offset fell.
        PositionMovedBack = "position_moved_back",
        /// A committed offset rose by far more than any batch read.
        PositionJumped = "position_jumped",
        /// A dropped partition is back in a committed entry.
        PartitionsRestartedFromEarliest = "partitions_restarted_from_earliest",
        /// A known batch's offsets changed.
        OffsetsRewritten = "offsets_rewritten",
        /// A batch was committed whose range held lost offsets.
        ContinuedPastLoss = "continued_past_loss",
    }
}

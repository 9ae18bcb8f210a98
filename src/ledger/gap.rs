//! The record of a gap: offsets that Kafka deleted before the query had committed them.

use crate::judgement::Certainty;
use crate::measures::Moment;

/// One gap. Offsets are upper bounds of records: compaction and transaction markers leave holes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Number of the record; absent before it was written.
    pub id: Option<i64>,
    /// The query's name.
    pub stream_name: String,
    /// The name of the Kafka cluster in the configuration.
    pub kafka_cluster: String,
    /// The topic's name.
    pub topic: String,
    /// The topic's id, in hexadecimal digits, where it is known: a topic that is made again begins at 0 once more.
    pub topic_id: Option<String>,
    /// The partition's number.
    pub partition: i32,
    /// First offset that is missing.
    pub from: i64,
    /// Exclusive end.
    pub to: i64,
    /// How sure.
    pub certainty: Certainty,
    /// When it was first seen.
    pub detected_at: Moment,
    /// Estimated time of the first missing record.
    pub first_missing_at: Option<Moment>,
    /// Estimated time of the last missing record.
    pub last_missing_at: Option<Moment>,
    /// How it was recovered; absent while nobody decided.
    pub recovery_path: Option<RecoveryPath>,
    /// What became of it.
    pub recovery_status: RecoveryStatus,
    /// What shows it, in words.
    pub evidence: String,
    /// Who wrote it down last.
    pub recorded_by: String,
}

impl Gap {
    /// Whether nobody has said yet what became of it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.recovery_status == RecoveryStatus::Open
    }

    /// Whether both are about the same log, so that their ranges can be held against each other.
    #[must_use]
    pub fn same_log(&self, other: &Self) -> bool {
        self.partition == other.partition
            && self.topic == other.topic
            && self.topic_id == other.topic_id
            && self.stream_name == other.stream_name
            && self.kafka_cluster == other.kafka_cluster
    }
}

/// Makes an enum of words that stand in the file.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// Every value, in order.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The word in the file, in answers and on the command line.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// The value with this word.
            #[must_use]
            pub fn of_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.word() == word)
            }
        }
    };
}

words! {
    /// How a gap is dealt with.
    RecoveryPath {
        /// The query goes on, the records are given up.
        AcceptGap = "accept_gap",
        /// The query starts from a new checkpoint.
        NewCheckpoint = "new_checkpoint",
        /// The records are taken from elsewhere.
        Backfill = "backfill",
    }
}

words! {
    /// What became of a gap.
    RecoveryStatus {
        /// Nobody has settled it.
        Open = "open",
        /// The records are given up.
        Accepted = "accepted",
        /// The records were read again from Kafka or a copy of it.
        Replayed = "replayed",
        /// The records were taken from elsewhere.
        Backfilled = "backfilled",
        /// Nothing was missing after all.
        NotALoss = "not_a_loss",
    }
}

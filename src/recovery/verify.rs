//! Whether nothing is missing: sink, checkpoint, brokers and gap records held against each other, partition by partition.
//!
//! The sink's highest offset says how far it got, the checkpoint how far the query says it got, the brokers what can
//! still be read, and the gap records what is known to be missing. They are continuous when every offset below the
//! checkpoint's is in the sink or on record, and every offset from there on is in Kafka or on record.

use std::collections::{BTreeMap, BTreeSet};

use super::sink::{Sink, SinkRow};
use super::starting::Range;
use crate::measures::{Offset, TopicName, TopicPartition};
use crate::retention::{ClusterReading, PartitionReading, TopicSight};

/// Where the checkpoint stands in one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The next offset that a restart reads.
    pub committed: Option<Offset>,
    /// Exclusive end of the open batch.
    pub planned: Option<Offset>,
}

/// A gap on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnRecord {
    /// Where.
    pub at: TopicPartition,
    /// First offset.
    pub from: Offset,
    /// Exclusive end.
    pub to: Offset,
    /// Whether the sink lacks it: not so when it was filled, or turned out to be no loss.
    pub missing: bool,
}

/// What is held against each other.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// What the sink holds.
    pub sink: &'a Sink,
    /// Where the checkpoint stands.
    pub checkpoint: &'a BTreeMap<TopicPartition, Standing>,
    /// What the brokers have.
    pub cluster: &'a ClusterReading,
    /// What is on record.
    pub gaps: &'a [OnRecord],
    /// Where the checkpoint began, where it is known: below that the sink owes nothing.
    pub began: &'a BTreeMap<TopicPartition, Offset>,
    /// So many offsets hold no record and are nothing (markers of transactions).
    pub lag_floor: u64,
}

/// What does not agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Disagreement {
    /// The checkpoint passed offsets that the sink does not have.
    Hole,
    /// Between its lowest and its highest offset the sink has too few records.
    HoleInside,
    /// Kafka deleted unread offsets, and no record says so.
    MissingRecord,
    /// The sink has nothing of a partition that the query has read.
    MissingPartition,
    /// The sink is ahead of the checkpoint: a restart writes the range again.
    Overlap,
    /// The sink has more records than there are offsets.
    TooMany,
    /// Sink or checkpoint are beyond the end of the log.
    BeyondEnd,
    /// The sink has a partition that the checkpoint does not know.
    ExtraPartition,
    /// The sink has a topic that the query does not read.
    OtherTopic,
    /// The partition is not on the brokers.
    Gone,
    /// The brokers' bounds were not read.
    Unread,
    /// A count was given that nothing can be made of.
    CountUnusable,
}

impl Disagreement {
    /// The word of the JSON.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Hole => "hole",
            Self::HoleInside => "hole_inside",
            Self::MissingRecord => "missing_record",
            Self::MissingPartition => "missing_partition",
            Self::Overlap => "overlap",
            Self::TooMany => "too_many",
            Self::BeyondEnd => "beyond_end",
            Self::ExtraPartition => "extra_partition",
            Self::OtherTopic => "other_topic",
            Self::Gone => "gone",
            Self::Unread => "unread",
            Self::CountUnusable => "count_unusable",
        }
    }
}

/// One thing that does not agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub what: Disagreement,
    /// The offsets that it is about.
    pub range: Option<Range>,
    /// In words, with the numbers.
    pub words: String,
}

/// What is said of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Which.
    pub at: TopicPartition,
    /// What the sink holds.
    pub sink: Option<SinkRow>,
    /// Where the checkpoint stands.
    pub standing: Standing,
    /// Bounds of the log.
    pub bounds: Option<(Offset, Offset)>,
    /// Offsets that are on record as missing.
    pub on_record: u64,
    /// What does not agree; nothing: continuous.
    pub findings: Vec<Finding>,
}

/// Holds everything against each other. Every partition of sink and checkpoint is answered.
#[must_use]
pub fn verify(evidence: &Evidence<'_>) -> Vec<Proof> {
    let topics: BTreeSet<&TopicName> = evidence.checkpoint.keys().map(|at| &at.topic).collect();
    let all: BTreeSet<&TopicPartition> = evidence.sink.keys().chain(evidence.checkpoint.keys()).collect();
    all.into_iter().map(|at| proof(evidence, at, topics.contains(&at.topic))).collect()
}

fn proof(evidence: &Evidence<'_>, at: &TopicPartition, read_topic: bool) -> Proof {
    let standing = evidence.checkpoint.get(at).copied().unwrap_or_default();
    let sink = evidence.sink.get(at).copied();
    let missing: Vec<Range> =
        evidence.gaps.iter().filter(|gap| gap.at == *at && gap.missing).map(|gap| (gap.from, gap.to)).collect();
    let mut proof = Proof {
        at: at.clone(),
        sink,
        standing,
        bounds: None,
        on_record: covered(&missing, (Offset::ZERO, FAR)),
        findings: Vec::new(),
    };
    if !read_topic {
        proof.find(Disagreement::OtherTopic, None, format!("the query does not read topic {}", at.topic));
        return proof;
    }
    match bounds(evidence.cluster, at) {
        Ok(bounds) => proof.bounds = Some((bounds.earliest, bounds.latest)),
        Err((what, words)) => proof.find(what, None, words),
    }
    let Some(committed) = standing.committed else {
        let words = "the sink has it, and the checkpoint has no position in it".to_owned();
        proof.find(Disagreement::ExtraPartition, None, words);
        return proof;
    };
    let began = evidence.began.get(at).copied();
    match sink {
        Some(row) => {
            proof.seam(&row, committed, &missing, evidence.lag_floor);
            proof.inside(&row, began, &missing, evidence.lag_floor);
        }
        None => proof.absent(began.unwrap_or(Offset::ZERO), committed, &missing, evidence.lag_floor),
    }
    proof.log(committed, &missing);
    proof
}

fn bounds(cluster: &ClusterReading, at: &TopicPartition) -> Result<PartitionReading, (Disagreement, String)> {
    let gone = |words: &str| Err((Disagreement::Gone, words.to_owned()));
    match cluster.topics.get(&at.topic) {
        Some(TopicSight::Seen(topic)) => match topic.partitions.get(&at.partition) {
            Some(Ok(bounds)) => Ok(*bounds),
            Some(Err(unread)) => Err((Disagreement::Unread, unread.to_string())),
            None => gone("the brokers do not have the partition"),
        },
        Some(TopicSight::Absent) => gone("the brokers do not have the topic"),
        Some(TopicSight::Unread(unread)) => Err((Disagreement::Unread, unread.to_string())),
        None => Err((Disagreement::Unread, "the topic was not asked for".to_owned())),
    }
}

impl Proof {
    fn find(&mut self, what: Disagreement, range: Option<Range>, words: String) {
        self.findings.push(Finding { what, range, words });
    }

    /// Where the sink ends against where the checkpoint stands.
    fn seam(&mut self, row: &SinkRow, committed: Offset, missing: &[Range], floor: u64) {
        let next = after(row.max);
        if next < committed {
            let open = committed.above(next) - covered(missing, (next, committed));
            if open > floor {
                let words = format!(
                    "the checkpoint is at {committed}, the sink ends with {}: at most {open} records are not in it, and not \
                     on record",
                    row.max
                );
                self.find(Disagreement::Hole, Some((next, committed)), words);
            }
        }
        if next > committed {
            let twice = next.above(committed);
            let words = match self.standing.planned {
                Some(planned) if planned >= next => {
                    format!(
                        "the open batch is in the sink already: {twice} offsets are written again at the next start"
                    )
                }
                _ => format!(
                    "the sink is {twice} offsets ahead of the checkpoint: somebody else writes to it, or the checkpoint was \
                     set back; they are written again at the next start"
                ),
            };
            self.find(Disagreement::Overlap, Some((committed, next)), words);
        }
    }

    /// Counts find what the highest offset cannot show.
    fn inside(&mut self, row: &SinkRow, began: Option<Offset>, missing: &[Range], floor: u64) {
        if let (Some(min), Some(began)) = (row.min, began)
            && began < min
        {
            let open = min.above(began) - covered(missing, (began, min));
            if open > floor {
                let words = format!(
                    "the query began at {began}, the sink begins with {min}: at most {open} records are not in it"
                );
                self.find(Disagreement::HoleInside, Some((began, min)), words);
            }
        }
        let Some(count) = row.count else { return };
        let Some(first) = row.min.or(began) else {
            let words = "a count needs the lowest offset beside it: add MIN(offset)".to_owned();
            return self.find(Disagreement::CountUnusable, None, words);
        };
        let range = (first, after(row.max));
        let expected = range.1.above(first) - covered(missing, range);
        if count + floor < expected {
            let words = format!(
                "between {first} and {} there are {expected} offsets that should be in the sink, and it has {count} records: \
                 at most {} are missing (an offset may hold no record: compaction, transactions)",
                row.max,
                expected - count
            );
            self.find(Disagreement::HoleInside, Some(range), words);
        }
        if count > expected {
            let words = format!(
                "between {first} and {} there are {expected} offsets that should be in the sink, and it has {count} records: \
                 {} are there twice, or a gap on record is filled",
                row.max,
                count - expected
            );
            self.find(Disagreement::TooMany, Some(range), words);
        }
    }

    /// The sink has nothing of the partition.
    fn absent(&mut self, began: Offset, committed: Offset, missing: &[Range], floor: u64) {
        let open = committed.above(began) - covered(missing, (began, committed));
        if open > floor {
            let words = format!(
                "the sink has nothing of it, and the checkpoint is at {committed}: at most {open} records are not in it, and \
                 not on record"
            );
            self.find(Disagreement::MissingPartition, Some((began, committed)), words);
        }
    }

    /// Where the checkpoint stands against what is still there.
    fn log(&mut self, committed: Offset, missing: &[Range]) {
        let Some((earliest, latest)) = self.bounds else { return };
        if committed < earliest {
            let open = earliest.above(committed) - covered(missing, (committed, earliest));
            if open > 0 {
                let words = format!(
                    "the checkpoint is at {committed}, the log begins at {earliest}: {open} offsets are gone unread, and not \
                     on record"
                );
                self.find(Disagreement::MissingRecord, Some((committed, earliest)), words);
            }
        }
        let highest = self.sink.map_or(committed, |row| after(row.max).max(committed));
        if highest > latest {
            let words =
                format!("the log ends at {latest}: what lies beyond was read from a log that was cut or made again");
            self.find(Disagreement::BeyondEnd, Some((latest, highest)), words);
        }
    }
}

/// Beyond every offset that can be.
const FAR: Offset = Offset::MAX;

fn after(offset: Offset) -> Offset {
    Offset::new(offset.get().saturating_add(1)).unwrap_or(FAR)
}

/// How many offsets of the range lie in one of the others, each counted once.
fn covered(ranges: &[Range], (from, to): Range) -> u64 {
    let mut inside: Vec<Range> = ranges
        .iter()
        .map(|(begin, end)| ((*begin).max(from), (*end).min(to)))
        .filter(|(begin, end)| begin < end)
        .collect();
    inside.sort_unstable();
    let (mut sum, mut reached) = (0, from);
    for (begin, end) in inside {
        sum += end.above(begin.max(reached).min(end));
        reached = reached.max(end);
    }
    sum
}

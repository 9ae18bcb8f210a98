//! A simulated fleet: topics that grow and are cut, queries that read them, and what goes wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use brinkwatch::checkpoint::{BatchTimes, CheckpointReading};
use brinkwatch::measures::{BatchId, Moment, Reason, TopicName, Unread};
use brinkwatch::readers::AgeRequest;
use brinkwatch::retention::{Age, ClusterReading, TopicId, TopicSight};

use super::simulated;

pub(crate) const TICK: Duration = Duration::from_secs(30);
const PARTITIONS: usize = 3;
const RETENTION: Duration = Duration::from_secs(20 * 60);
/// Offsets per partition and second.
const RATE: i64 = 4;
const START: Moment = Moment::from_millis(1_800_000_000_000);

pub(crate) type Log = (String, i32);

pub(crate) struct Fleet {
    now: Moment,
    random: u64,
    topics: Vec<Topic>,
    lost: BTreeMap<Log, Vec<(i64, i64)>>,
    cluster_away: bool,
    faults: usize,
}

/// One topic with the one query that reads it.
struct Topic {
    id: u8,
    made_at: Moment,
    earliest: [i64; PARTITIONS],
    committed: [i64; PARTITIONS],
    planned: Option<[i64; PARTITIONS]>,
    batches: Vec<BatchTimes>,
    /// No batch is planned before this moment.
    stopped_until: Moment,
    /// When somebody deletes records of a partition, and up to where.
    purge: Option<(Moment, usize, i64)>,
    has_suffered: bool,
    recreated: bool,
    fault: Fault,
}

/// What one round sees wrong.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    StoreAway,
    NoLeader(usize),
    /// An answer of a broker that lags behind: the end lies below what was committed.
    OldLatest(usize),
    Missing(usize),
    TopicUnread,
}

impl Fleet {
    pub(crate) fn new(queries: usize) -> Self {
        // Each topic has a past that is longer than its retention.
        let begun = START.minus(RETENTION * 2);
        let topics = (0..queries).map(|_| Topic::new(begun)).collect();
        let (lost, random) = (BTreeMap::new(), 0x9e37_79b9_7f4a_7c15);
        let mut fleet = Self { now: START, random, topics, lost, cluster_away: false, faults: 0 };
        for topic in &mut fleet.topics {
            topic.committed = [topic.latest(START); PARTITIONS];
            topic.note_batch(START);
        }
        fleet.cut();
        fleet
    }

    pub(crate) fn name(number: usize) -> String {
        format!("query-{number:03}")
    }

    fn topic_name(number: usize) -> String {
        format!("topic-{number:03}")
    }

    pub(crate) fn now(&self) -> Moment {
        self.now
    }

    pub(crate) fn faults(&self) -> usize {
        self.faults
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % end
    }

    /// One tick: everything grows, is cut, read and, unless it is to be quiet, perhaps broken. Says whether the daemon is started anew.
    pub(crate) fn pass_time(&mut self, is_quiet: bool) -> bool {
        self.now = self.now.plus(TICK);
        self.cut();
        for number in 0..self.topics.len() {
            self.run(number);
            if is_quiet {
                self.topics[number].fault = Fault::None;
            } else {
                self.break_something(number);
            }
        }
        self.cluster_away = !is_quiet && self.one_in(40);
        self.faults += usize::from(self.cluster_away);
        self.one_in(30)
    }

    /// Retention by time, in steps of whole segments, as a broker cuts.
    fn cut(&mut self) {
        const SEGMENT: i64 = 97;
        for number in 0..self.topics.len() {
            let topic = &self.topics[number];
            let oldest = topic.latest(self.now.minus(RETENTION)) / SEGMENT * SEGMENT;
            for partition in 0..PARTITIONS {
                self.delete(number, partition, oldest);
            }
        }
    }

    fn delete(&mut self, number: usize, partition: usize, to: i64) {
        let topic = &mut self.topics[number];
        if to <= topic.earliest[partition] {
            return;
        }
        // What a batch has planned it has read, too: executors are quick here.
        let read = topic.planned.map_or(topic.committed[partition], |ends| ends[partition]);
        let from = read.max(topic.earliest[partition]);
        topic.earliest[partition] = to;
        // What the old positions mean in a log that was made anew, nobody can say.
        if from < to && !topic.recreated {
            topic.has_suffered = true;
            let log = (Self::topic_name(number), i32::try_from(partition).unwrap());
            let lost = self.lost.entry(log).or_default();
            match lost.last_mut() {
                Some(last) if last.1 == from => last.1 = to,
                _ => lost.push((from, to)),
            }
        }
    }

    fn run(&mut self, number: usize) {
        let now = self.now;
        let topic = &mut self.topics[number];
        if let Some(ends) = topic.planned.take() {
            topic.committed = ends;
            topic.note_batch(now);
        }
        if now >= topic.stopped_until && !topic.recreated {
            topic.planned = Some([topic.latest(now); PARTITIONS]);
        }
    }

    fn break_something(&mut self, number: usize) {
        let partition = usize::try_from(self.below(3)).unwrap();
        let fault = match self.below(60) {
            0 => Fault::StoreAway,
            1 => Fault::NoLeader(partition),
            2 => Fault::OldLatest(partition),
            3 => Fault::Missing(partition),
            4 => Fault::TopicUnread,
            _ => Fault::None,
        };
        // A contradiction that stays is one: these are of a moment.
        let again = self.topics[number].fault != Fault::None;
        self.topics[number].fault = if again { Fault::None } else { fault };
        self.faults += usize::from(!again && fault != Fault::None);
        let due = self.topics[number].purge.take_if(|(at, ..)| *at <= self.now);
        if let Some((_, partition, to)) = due {
            self.delete(number, partition, to);
        }
        if self.topics[number].recreated || self.topics[number].planned.is_none() {
            return;
        }
        match self.below(400) {
            // Down for a while; sometimes for longer than records live.
            0 => {
                let minutes = self.below(40);
                self.topics[number].stop_until(self.now.plus(Duration::from_secs(60 * minutes)));
            }
            // Down, and then somebody deletes records that were not read.
            1 => {
                self.topics[number].stop_until(self.now.plus(Duration::from_secs(300)));
                let to = self.topics[number].latest(self.now) + RATE * 20;
                self.topics[number].purge = Some((self.now.plus(TICK * 3), partition, to));
            }
            2 if self.below(3) == 0 => {
                let topic = &mut self.topics[number];
                topic.stop_until(self.now);
                topic.id += 1;
                topic.made_at = self.now;
                topic.earliest = [0; PARTITIONS];
                (topic.recreated, topic.has_suffered) = (true, true);
            }
            _ => {}
        }
    }

    /// Whether it lost something, or its topic was made anew.
    pub(crate) fn has_suffered(&self, number: usize) -> bool {
        self.topics[number].has_suffered
    }

    /// The queries whose topic was made anew.
    pub(crate) fn recreated(&self) -> Vec<String> {
        (0..self.topics.len()).filter(|number| self.topics[*number].recreated).map(Self::name).collect()
    }

    pub(crate) fn lost(&self, log: &Log) -> &[(i64, i64)] {
        self.lost.get(log).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn really_lost(&self, log: &Log, from: i64, to: i64) -> bool {
        self.lost(log).iter().any(|(begin, end)| *begin <= from && to <= *end)
    }

    /// Losses by deletion of records.
    pub(crate) fn all_lost(&self) -> impl Iterator<Item = (&Log, &Vec<(i64, i64)>)> {
        self.lost.iter()
    }

    pub(crate) fn cluster(&self) -> Result<ClusterReading, Unread> {
        if self.cluster_away {
            return Err(Unread::new(Reason::Unreachable, "no broker answered"));
        }
        let names: Vec<String> = (0..self.topics.len()).map(Self::topic_name).collect();
        let mut bounds: Vec<[(i64, i64); PARTITIONS]> = Vec::new();
        for topic in &self.topics {
            let latest = topic.latest(self.now);
            bounds.push(topic.earliest.map(|earliest| (earliest, latest.max(earliest))));
        }
        let topics: Vec<simulated::Told<'_>> = (names.iter().zip(&self.topics).zip(&bounds))
            .map(|((name, topic), bounds)| (name.as_str(), TopicId([topic.id; 16]), &bounds[..]))
            .collect();
        let mut reading = simulated::cluster(RETENTION, &topics);
        for (name, topic) in names.iter().zip(&self.topics) {
            topic.distort(name, &mut reading);
        }
        Ok(reading)
    }

    pub(crate) fn checkpoint(&self, number: usize) -> Result<CheckpointReading, Unread> {
        let topic = &self.topics[number];
        if topic.fault == Fault::StoreAway {
            return Err(Unread::new(Reason::TimedOut, "the store did not answer"));
        }
        let newest = topic.batches.last().unwrap();
        let name = Self::topic_name(number);
        let mut reading =
            simulated::checkpoint(newest.batch.0, newest.committed_at.unwrap(), &[(&name, &topic.committed)]);
        reading.batches.clone_from(&topic.batches);
        if let Some(ends) = topic.planned {
            let batch = BatchId(newest.batch.0 + 1);
            (reading.newest_planned, reading.batch_open) = (Some(batch), true);
            (reading.planned_at, reading.batch_timestamp) = (Some(self.now), Some(self.now));
            reading.batches.push(BatchTimes { batch, planned_at: Some(self.now), committed_at: None });
            let positions = reading.sources[0].topics.get_mut(name.as_str()).unwrap();
            for (position, end) in positions.values_mut().zip(ends) {
                position.planned = Some(simulated::offset(end));
            }
        }
        Ok(reading)
    }

    /// The record at an offset was written when the log had grown so far.
    pub(crate) fn age(&self, asked: &AgeRequest) -> Age {
        let number: usize = asked.partition.topic.rsplit('-').next().unwrap().parse().unwrap();
        let written = self.topics[number].written_at(asked.committed.get());
        Age { proved: Some((asked.committed, written)), below: Some(written.plus(Duration::from_millis(1))) }
    }
}

impl Topic {
    fn new(made_at: Moment) -> Self {
        Self {
            id: 1,
            made_at,
            earliest: [0; PARTITIONS],
            committed: [0; PARTITIONS],
            planned: None,
            batches: Vec::new(),
            stopped_until: START,
            purge: None,
            has_suffered: false,
            recreated: false,
            fault: Fault::None,
        }
    }

    fn latest(&self, now: Moment) -> i64 {
        i64::try_from(now.since(self.made_at).as_millis()).unwrap() * RATE / 1000
    }

    fn written_at(&self, offset: i64) -> Moment {
        self.made_at.plus(Duration::from_millis(u64::try_from(offset * 1000 / RATE).unwrap()))
    }

    /// The open batch is committed in the next tick all the same.
    fn stop_until(&mut self, until: Moment) {
        self.stopped_until = until;
    }

    fn note_batch(&mut self, at: Moment) {
        let batch = BatchId(self.batches.last().map_or(0, |last| last.batch.0 + 1));
        let planned_at = Some(at.minus(TICK));
        self.batches.push(BatchTimes { batch, planned_at, committed_at: Some(at) });
        let surplus = self.batches.len().saturating_sub(10);
        self.batches.drain(..surplus);
    }

    fn distort(&self, name: &str, reading: &mut ClusterReading) {
        let Some(sight) = reading.topics.get_mut(&TopicName::from(name)) else { return };
        let TopicSight::Seen(topic) = sight else { return };
        let number = |partition: usize| i32::try_from(partition).unwrap();
        match self.fault {
            Fault::None | Fault::StoreAway => {}
            Fault::NoLeader(partition) => {
                let unread = Unread::new(Reason::Unreachable, "no leader");
                topic.partitions.insert(number(partition), Err(unread));
            }
            Fault::OldLatest(partition) => {
                let bounds = topic.partitions.get_mut(&number(partition)).unwrap().as_mut().unwrap();
                let committed = self.committed[partition];
                bounds.latest = simulated::offset((committed - 40).max(bounds.earliest.get()));
            }
            Fault::Missing(partition) => _ = topic.partitions.remove(&number(partition)),
            Fault::TopicUnread => *sight = TopicSight::Unread(Unread::new(Reason::TimedOut, "no answer")),
        }
    }
}

//! Where each source stands: the entries and the initial offsets laid over each other.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::initial::Initial;
use super::kafka::{self, KafkaMap, Line, Tally};
use super::oddities::Notes;
use super::offset_log::{Entry, id_order};
use super::reading::{Position, Problem, ProblemKind, SourceKind, SourceReading, Start};
use super::text::BadFile;
use crate::measures::{BatchId, Offset, TopicName};

/// The entries that decide, newest last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layers<'a> {
    /// The entry before the one that a restart resumes from: shows what that one left out.
    pub(super) older: Option<(BatchId, &'a Entry)>,
    /// Whether `older` stands in for a source without an offset in `base`. It does when the newest batch is committed:
    /// Spark then starts from the entry before and lays the newest one over it.
    pub(super) older_counts: bool,
    /// The entry that a restart resumes from; without one it begins at the initial offsets.
    pub(super) base: Option<(BatchId, &'a Entry)>,
    /// The open batch.
    pub(super) planned: Option<(BatchId, &'a Entry)>,
    /// `sources/<id>/0` by id, as far as they were fetched.
    pub(super) initials: &'a BTreeMap<String, Initial>,
}

/// The sources, and what came up on the way.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) sources: Vec<SourceReading>,
    pub(super) problems: Vec<Problem>,
    /// Some source's position, or even its kind, depends on its initial offsets.
    pub(super) initial_wanted: bool,
    /// A restart needs an initial offsets file that makes no sense.
    pub(super) initial_bad: bool,
    tally: Tally,
}

/// Reads every source of the query.
pub(super) fn found(layers: &Layers<'_>) -> Found {
    let mut found = Found::default();
    let Some((_, lead)) = layers.planned.or(layers.base) else {
        from_initials(layers.initials, &mut found);
        return found;
    };
    for (index, id) in ids(layers, lead).into_iter().enumerate() {
        let source = Source::of(layers, lead, id).read(index, &mut found);
        found.sources.push(source);
    }
    found.limited()
}

impl Found {
    /// Whether there is room for one more source's positions. Many sources may share one file of initial offsets, so
    /// that little input could become very many positions; then none is told.
    fn has_room(&mut self, committed: Option<&KafkaMap>, planned: Option<&KafkaMap>) -> bool {
        let topics = |map: Option<&KafkaMap>| map.map_or(0, KafkaMap::len);
        let partitions = |map: Option<&KafkaMap>| map.map_or(0, |map| map.values().map(BTreeMap::len).sum());
        self.tally.topics += topics(committed).max(topics(planned));
        self.tally.partitions += partitions(committed).max(partitions(planned));
        self.tally.excess().is_none()
    }

    /// Tells no position when there were too many.
    fn limited(mut self) -> Self {
        if let Some(excess) = self.tally.excess() {
            self.sources.clear();
            let detail = format!("{excess} in all sources together");
            self.problems.push(Problem { kind: ProblemKind::UnsupportedVersion, file: None, detail });
        }
        self
    }
}

/// The ids of the leading entry. A version 2 entry leaves out sources without an offset, so that the entry before may
/// know more of them.
fn ids<'a>(layers: &Layers<'a>, lead: &'a Entry) -> Vec<&'a str> {
    let older = layers.older.filter(|_| layers.older_counts);
    let others = [layers.base, older].into_iter().flatten().filter(|(_, e)| lead.version == 2 && e.version == 2);
    let mut ids: Vec<&str> = lead.lines.iter().map(|(id, _)| id.as_str()).collect();
    for (id, _) in others.flat_map(|(_, entry)| &entry.lines) {
        if lead.line(id).is_none() {
            ids.push(id);
        }
    }
    if lead.version == 2 {
        ids.sort_by_key(|id| id_order(id));
        ids.dedup();
    }
    ids
}

/// One source in all layers.
struct Source<'a> {
    layers: &'a Layers<'a>,
    lead: &'a Entry,
    id: &'a str,
    older: Option<&'a Line>,
    base: Option<&'a Line>,
    planned: Option<&'a Line>,
}

impl<'a> Source<'a> {
    fn of(layers: &'a Layers<'a>, lead: &'a Entry, id: &'a str) -> Self {
        let hint = lead.line(id).and_then(map_of);
        let line = |layer: Option<(BatchId, &'a Entry)>| layer.and_then(|(_, e)| e.same_source(lead.version, id, hint));
        Self { layers, lead, id, older: line(layers.older), base: line(layers.base), planned: line(layers.planned) }
    }

    fn read(&self, index: usize, found: &mut Found) -> SourceReading {
        let lines = [self.planned, self.base, self.older];
        let known = |wanted: fn(&Line) -> bool| lines.iter().flatten().any(|line| wanted(line));
        let mut reading = SourceReading {
            index,
            id: self.id.to_owned(),
            kind: SourceKind::Other,
            committed_from: None,
            planned_from: None,
            topics: BTreeMap::new(),
        };
        if !known(|line| matches!(line, Line::Kafka(_))) {
            if known(|line| matches!(line, Line::Other)) {
                return reading;
            }
            // neither entry has an offset, or only `{}`: the initial offsets tell whether it is Kafka's
            if self.initial(found).is_none() {
                if !known(|line| matches!(line, Line::EmptyMap)) {
                    reading.kind = SourceKind::NoOffsetYet;
                }
                return reading;
            }
        }
        reading.kind = SourceKind::Kafka;
        let committed = self.committed(&mut reading, found);
        let planned = self.planned(&mut reading, found);
        if found.has_room(committed.as_deref(), planned) {
            self.lay_out(committed.as_deref(), planned, &mut reading, found);
        }
        reading
    }

    /// Where a restart resumes: the base entry, else the one before where that counts, else the initial offsets.
    fn committed(&self, reading: &mut SourceReading, found: &mut Found) -> Option<Cow<'a, KafkaMap>> {
        match (self.base, self.layers.base) {
            (Some(Line::Kafka(map)), Some((batch, _))) => {
                reading.committed_from = Some(offsets_file(batch));
                return Some(Cow::Borrowed(map));
            }
            (Some(Line::EmptyMap), Some((batch, _))) => {
                reading.committed_from = Some(offsets_file(batch));
                self.note_empty_map(batch, found);
                return Some(Cow::Owned(KafkaMap::new()));
            }
            _ => {}
        }
        if let (true, Some(Line::Kafka(map)), Some((batch, _))) =
            (self.layers.older_counts, self.older, self.layers.older)
        {
            reading.committed_from = Some(offsets_file(batch));
            return Some(Cow::Borrowed(map));
        }
        let (file, map) = self.initial(found)?;
        reading.committed_from = Some(file);
        Some(map)
    }

    fn planned(&self, reading: &mut SourceReading, found: &mut Found) -> Option<&'a KafkaMap> {
        let (batch, _) = self.layers.planned?;
        match self.planned? {
            Line::Kafka(map) => {
                reading.planned_from = Some(offsets_file(batch));
                Some(map)
            }
            Line::EmptyMap => {
                reading.planned_from = Some(offsets_file(batch));
                self.note_empty_map(batch, found);
                None
            }
            Line::NotYet | Line::Other => None,
        }
    }

    fn note_empty_map(&self, batch: BatchId, found: &mut Found) {
        let detail = format!(
            "source {} has the offset {{}}: Spark takes every partition for a new one and reads it from earliest",
            self.id
        );
        found.problems.push(Problem { kind: ProblemKind::EmptyOffsetMap, file: Some(offsets_file(batch)), detail });
    }

    /// Lays the maps over each other, partition by partition.
    fn lay_out(
        &self,
        committed: Option<&KafkaMap>,
        planned: Option<&KafkaMap>,
        reading: &mut SourceReading,
        found: &mut Found,
    ) {
        let mut notes = Notes::default();
        // without a committed map nothing tells where partitions start; with one, those it lacks start at earliest
        if let Some(committed) = committed {
            for (topic, partition, number) in partitions(committed) {
                let (offset, start) = position(number);
                if offset.is_none() {
                    notes.negative.add(|| format!("{topic}/{partition} at {number}"));
                }
                *slot(reading, topic, partition) = Position { committed: offset, start, ..Position::default() };
            }
            for (topic, partition, number) in self.dropped(committed) {
                notes.dropped.add(|| format!("{topic}/{partition}"));
                let committed = Offset::new(number);
                *slot(reading, topic, partition) =
                    Position { committed, start: Some(Start::Earliest), planned: None, dropped: true };
            }
        }
        for (topic, partition, number) in planned.into_iter().flat_map(partitions) {
            let is_new = reading.topics.get(topic).is_none_or(|known| !known.contains_key(&partition));
            let position = slot(reading, topic, partition);
            if is_new && committed.is_some() {
                position.start = Some(Start::Earliest);
            }
            position.planned = Offset::new(number);
            if position.planned.is_none() {
                notes.negative.add(|| format!("{topic}/{partition} planned to {number}"));
            }
            if let (Some(committed), Some(planned)) = (position.committed, position.planned)
                && planned < committed
                && !position.dropped
            {
                notes.below.add(|| format!("{topic}/{partition} from {committed} to {planned}"));
            }
        }
        notes.tell(reading, &mut found.problems);
    }

    /// Partitions that the entry before had and the base entry left out.
    fn dropped(&self, committed: &KafkaMap) -> Vec<(&'a TopicName, i32, i64)> {
        let base_has_it = matches!(self.base, Some(Line::Kafka(_) | Line::EmptyMap));
        let Some(older) = self.older.filter(|_| base_has_it).and_then(map_of) else { return Vec::new() };
        let left_out = |topic: &TopicName, partition: i32| {
            committed.get(topic).is_none_or(|partitions| !partitions.contains_key(&partition))
        };
        partitions(older).filter(|(topic, partition, _)| left_out(topic, *partition)).collect()
    }

    /// The initial offsets of this source. Spark numbers the directories by source and the lines by use, so that a
    /// source that is used twice (`df.union(df)`) shifts the two against each other: only topics that agree prove that
    /// a directory belongs to a line.
    fn initial(&self, found: &mut Found) -> Option<(String, Cow<'a, KafkaMap>)> {
        found.initial_wanted = true;
        let initials = self.layers.initials;
        if let Some(Initial::Bad(bad)) = initials.get(self.id) {
            note_bad_initial(self.id, bad, found);
        }
        let own = match initials.get(self.id) {
            Some(Initial::Kafka(map)) => Some((self.id, map)),
            _ => None,
        };
        let is_named = self.id.parse::<u64>().is_err();
        let line = [self.planned, self.base, self.older].into_iter().flatten().find_map(map_of);
        let Some(line) = line.filter(|_| !is_named) else {
            return own.map(|(id, map)| (initial_file(id), Cow::Borrowed(map)));
        };
        let each_has_its_own = self.lead.lines.iter().all(|(id, _)| initials.contains_key(id));
        if let Some((id, map)) = own.filter(|(_, map)| each_has_its_own && kafka::same_topics(map, line)) {
            return Some((initial_file(id), Cow::Borrowed(map)));
        }
        lowest_of(&fitting(initials, line), self.id)
    }
}

/// Directories whose topics are the line's; failing that, those whose topics are some of them (a pattern may have
/// found a new topic before the first batch).
fn fitting<'a>(initials: &'a BTreeMap<String, Initial>, line: &KafkaMap) -> Vec<(&'a str, &'a KafkaMap)> {
    let maps = || {
        initials.iter().filter_map(|(id, initial)| match initial {
            Initial::Kafka(map) => Some((id.as_str(), map)),
            Initial::Other | Initial::Bad(_) => None,
        })
    };
    let equal: Vec<_> = maps().filter(|(_, map)| kafka::same_topics(map, line)).collect();
    if equal.is_empty() {
        return maps().filter(|(_, map)| kafka::topics_within(map, line)).collect();
    }
    equal
}

/// The lowest number per partition: when several directories fit, the query may need any of them.
fn lowest_of<'a>(fitting: &[(&'a str, &'a KafkaMap)], preferred: &str) -> Option<(String, Cow<'a, KafkaMap>)> {
    let (first, map) = fitting.first()?;
    let id = fitting.iter().map(|(id, _)| *id).find(|id| *id == preferred).unwrap_or(first);
    if fitting.len() == 1 {
        return Some((initial_file(id), Cow::Borrowed(map)));
    }
    let mut lowest = KafkaMap::new();
    for (topic, partition, number) in fitting.iter().flat_map(|(_, map)| partitions(map)) {
        let slot = lowest.entry(TopicName::clone(topic)).or_default().entry(partition).or_insert(number);
        *slot = number.min(*slot);
    }
    Some((initial_file(id), Cow::Owned(lowest)))
}

/// Before the first batch the directories are all there is.
fn from_initials(initials: &BTreeMap<String, Initial>, found: &mut Found) {
    found.initial_wanted = true;
    let mut ids: Vec<&String> = initials.keys().collect();
    ids.sort_by_key(|id| id_order(id));
    for (index, id) in ids.into_iter().enumerate() {
        let mut reading = SourceReading {
            index,
            id: id.clone(),
            kind: SourceKind::Other,
            committed_from: None,
            planned_from: None,
            topics: BTreeMap::new(),
        };
        match initials.get(id) {
            Some(Initial::Kafka(map)) => {
                reading.kind = SourceKind::Kafka;
                reading.committed_from = Some(initial_file(id));
                let mut notes = Notes::default();
                for (topic, partition, number) in partitions(map) {
                    let (committed, start) = position(number);
                    if committed.is_none() {
                        notes.negative.add(|| format!("{topic}/{partition} at {number}"));
                    }
                    *slot(&mut reading, topic, partition) = Position { committed, start, ..Position::default() };
                }
                notes.tell(&reading, &mut found.problems);
            }
            Some(Initial::Bad(bad)) => {
                reading.kind = SourceKind::NoOffsetYet;
                note_bad_initial(id, bad, found);
            }
            Some(Initial::Other) | None => {}
        }
        found.sources.push(reading);
    }
}

fn note_bad_initial(id: &str, bad: &BadFile, found: &mut Found) {
    found.initial_bad |= !matches!(bad, BadFile::Doubtful(_));
    let (kind, detail) = match bad {
        BadFile::Empty => (ProblemKind::InitialOffsetsMalformed, "the file is empty".to_owned()),
        BadFile::Malformed(why) | BadFile::Doubtful(why) => (ProblemKind::InitialOffsetsMalformed, why.clone()),
        BadFile::Unsupported(what) => (ProblemKind::UnsupportedVersion, what.clone()),
    };
    found.problems.push(Problem { kind, file: Some(initial_file(id)), detail });
}

/// −2 and −1 are Kafka's words for earliest and latest.
fn position(number: i64) -> (Option<Offset>, Option<Start>) {
    match number {
        -1 => (None, Some(Start::Latest)),
        -2 => (None, Some(Start::Earliest)),
        _ => (Offset::new(number), None),
    }
}

fn slot<'a>(reading: &'a mut SourceReading, topic: &TopicName, partition: i32) -> &'a mut Position {
    reading.topics.entry(TopicName::clone(topic)).or_default().entry(partition).or_default()
}

fn map_of(line: &Line) -> Option<&KafkaMap> {
    if let Line::Kafka(map) = line { Some(map) } else { None }
}

fn partitions(map: &KafkaMap) -> impl Iterator<Item = (&TopicName, i32, i64)> {
    map.iter().flat_map(|(topic, numbers)| numbers.iter().map(move |(partition, number)| (topic, *partition, *number)))
}

/// The path of an offset log entry.
pub(super) fn offsets_file(batch: BatchId) -> String {
    format!("offsets/{batch}")
}

/// The path of a source's initial offsets.
pub(super) fn initial_file(id: &str) -> String {
    format!("sources/{id}/0")
}

//! A query that works on while it is read: whatever it does between two requests of a reading, it is never told to be
//! broken, and no position is ever one that it did not have.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

use super::DEADLINE;
use crate::checkpoint::CheckpointReading;
use crate::measures::BatchId;
use crate::readers::CheckpointReader;
use crate::readers::stores::{CheckpointStore, RequestCounts, Stores};

/// What Spark keeps of its logs, at least.
const RETENTION: u64 = 2;
const FIRST: u64 = 10;

/// Files in memory, of a query that does some steps before each request.
#[derive(Debug)]
struct Busy {
    files: InMemory,
    query: Mutex<Query>,
    /// Whether the store has tags.
    tags: bool,
    dialect: Mutex<Dialect>,
}

/// How the store writes tags, and whether it knows conditions.
#[derive(Clone, Copy, Debug)]
struct Dialect {
    in_listings: &'static str,
    knows_conditions: bool,
}

#[derive(Debug, Default)]
struct Query {
    batch: u64,
    is_open: bool,
    /// How many steps it does before the next request, and before the ones after it.
    steps: VecDeque<u64>,
    /// Files that the next listings do not show yet.
    hidden: VecDeque<&'static str>,
}

impl Busy {
    /// All batches up to the first are committed.
    async fn new(tags: bool) -> Arc<Self> {
        let files = InMemory::new();
        let dialect = Dialect { in_listings: "", knows_conditions: true };
        let query = Query { batch: FIRST, ..Query::default() };
        let busy = Self { files, query: Mutex::new(query), tags, dialect: Mutex::new(dialect) };
        busy.write("metadata", "{\"id\":\"943e4fff-ba4f-4018-99d0-a50c4477be0a\"}".to_owned()).await;
        busy.write("sources/0/0", "\0v1\n{\"orders\":{\"0\":0}}".to_owned()).await;
        for batch in 0..=FIRST {
            busy.write(&format!("offsets/{batch}"), entry(batch)).await;
            busy.write(&format!("commits/{batch}"), "v1\n{}".to_owned()).await;
        }
        Arc::new(busy)
    }

    fn reader(self: &Arc<Self>) -> CheckpointStore {
        let mut stores = Stores::default();
        stores.replace("s3a://busy", Arc::<Self>::clone(self)).unwrap();
        stores.open("s3a://busy/cp", None).unwrap()
    }

    async fn write(&self, file: &str, text: String) {
        self.files.put(&Path::from(format!("cp/{file}")), text.into()).await.unwrap();
    }

    async fn work(&self) {
        let steps = self.query.lock().unwrap().steps.pop_front().unwrap_or_default();
        for _ in 0..steps {
            let (batch, is_open) = {
                let mut query = self.query.lock().unwrap();
                query.batch += u64::from(!query.is_open);
                query.is_open = !query.is_open;
                (query.batch, query.is_open)
            };
            if is_open {
                self.write(&format!("offsets/{batch}"), entry(batch)).await;
                continue;
            }
            self.write(&format!("commits/{batch}"), "v1\n{}".to_owned()).await;
            for log in ["offsets", "commits"] {
                self.files.delete(&Path::from(format!("cp/{log}/{}", batch - RETENTION))).await.ok();
            }
        }
    }

    /// The newest committed batch.
    fn committed(&self) -> u64 {
        let query = self.query.lock().unwrap();
        query.batch - u64::from(query.is_open)
    }

    fn without_tag(&self, meta: ObjectMeta) -> ObjectMeta {
        ObjectMeta { e_tag: meta.e_tag.filter(|_| self.tags), ..meta }
    }
}

/// Each batch reads ten records.
fn entry(batch: u64) -> String {
    format!("v1\n\n{{\"orders\":{{\"0\":{}}}}}", batch * 10)
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a store of a busy query")
    }
}

#[async_trait]
impl ObjectStore for Busy {
    async fn get_opts(&self, location: &Path, mut options: GetOptions) -> Result<GetResult> {
        self.work().await;
        if !self.dialect.lock().unwrap().knows_conditions {
            options.if_none_match = None;
        }
        let found = self.files.get_opts(location, options).await?;
        Ok(GetResult { meta: self.without_tag(found.meta.clone()), ..found })
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.work().await;
        let mut found = self.files.list_with_delimiter(prefix).await?;
        let hidden = {
            let mut query = self.query.lock().unwrap();
            let is_here = |file: &&'static str| prefix.is_some_and(|prefix| Path::from(*file).prefix_matches(prefix));
            if query.hidden.front().is_some_and(is_here) { query.hidden.pop_front() } else { None }
        };
        found.objects.retain(|meta| hidden != Some(meta.location.as_ref()));
        let quote = self.dialect.lock().unwrap().in_listings;
        for meta in &mut found.objects {
            meta.e_tag = meta.e_tag.take().filter(|_| self.tags).map(|tag| format!("{quote}{tag}{quote}"));
        }
        Ok(found)
    }

    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        unreachable!("a reader only reads")
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        unreachable!("a reader only reads")
    }

    fn delete_stream(&self, _: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        unreachable!("a reader only reads")
    }

    fn list(&self, _: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        unreachable!("a reader lists one directory at a time")
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        unreachable!("a reader only reads")
    }
}

fn position(reading: &CheckpointReading) -> Option<i64> {
    reading.sources[0].topics["orders"][&0].committed.map(|offset| offset.get())
}

/// Every schedule of so many requests, with one of these numbers of steps before each.
fn schedules<const N: usize>(steps: [u64; N], length: u32) -> impl Iterator<Item = Vec<u64>> {
    (0..N.pow(length)).map(move |number| (0..length).map(|place| steps[number / N.pow(place) % N]).collect())
}

#[tokio::test(start_paused = true)]
async fn a_query_at_work_is_never_told_to_be_broken() {
    for steps in schedules([0, 1, 2], 5).chain(schedules([0, 3], 6)).chain(schedules([0, 9], 4)) {
        let busy = Busy::new(true).await;
        let remembering = busy.reader();
        remembering.read(DEADLINE).await.unwrap();
        busy.query.lock().unwrap().steps = steps.clone().into();
        let fresh = busy.reader();
        for reader in [&remembering, &fresh, &remembering] {
            let before = busy.committed();
            let reading = reader.read(DEADLINE).await.unwrap();
            assert_eq!(reading.problems, [], "{steps:?}");
            let committed = reading.newest_committed.unwrap().0;
            assert!((before..=busy.committed()).contains(&committed), "{steps:?}: {committed}");
            assert_eq!(position(&reading), i64::try_from(committed * 10).ok(), "{steps:?}");
            let open = reading.newest_planned.unwrap().0 - committed;
            assert_eq!(u64::from(reading.batch_open), open, "{steps:?}");
        }
    }
}

/// Never heard of at the big clouds any more, but of what speaks like them.
#[tokio::test(start_paused = true)]
async fn a_listing_that_lags_behind_is_asked_again() {
    for file in ["cp/offsets/10", "cp/offsets/9"] {
        let busy = Busy::new(true).await;
        busy.query.lock().unwrap().hidden = [file].into();
        let reading = busy.reader().read(DEADLINE).await.unwrap();
        assert_eq!((reading.problems, reading.newest_committed), (Vec::new(), Some(BatchId(10))), "{file}");
    }
}

/// Azure quotes tags with a file and not in a listing; some stores answer a condition with the file.
#[tokio::test]
async fn tags_that_are_written_in_two_ways_and_conditions_that_are_not_known_spare_as_much() {
    for (in_listings, knows_conditions) in [("", true), ("\"", true), ("\"", false)] {
        let busy = Busy::new(true).await;
        let reader = busy.reader();
        *busy.dialect.lock().unwrap() = Dialect { in_listings, knows_conditions };
        reader.read(DEADLINE).await.unwrap();
        let first = reader.requests();
        reader.read(DEADLINE).await.unwrap();
        assert_eq!(reader.requests(), RequestCounts { list: first.list, get: first.get + 2 }, "{in_listings}");
        busy.write("offsets/11", entry(11)).await;
        reader.read(DEADLINE).await.unwrap();
        // the two that told, the new entry, and `metadata` under its tag: the others are as they were
        assert_eq!(reader.requests(), RequestCounts { list: first.list + 2, get: first.get + 6 }, "{in_listings}");
    }
}

#[tokio::test]
async fn without_tags_every_file_is_fetched_each_time() {
    let busy = Busy::new(false).await;
    let reader = busy.reader();
    for round in 1..4 {
        let rewritten = entry(u64::try_from(round).unwrap() + 20);
        busy.write("offsets/10", rewritten).await;
        assert_eq!(position(&reader.read(DEADLINE).await.unwrap()), Some(200 + round * 10));
        let round = u64::try_from(round).unwrap();
        assert_eq!(reader.requests(), RequestCounts { list: 2 * round, get: 4 * round });
    }
}

//! What a reading costs, and that sparing requests never changes what is read.

use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use object_store::path::Path;

use super::{DEADLINE, ENTRY};
use crate::checkpoint::CheckpointReading;
use crate::measures::BatchId;
use crate::readers::CheckpointReader;
use crate::readers::stores::{CheckpointStore, RequestCounts, Stores};

/// A checkpoint in memory, one reader that remembers, and as many as wanted that do not.
struct Watched {
    store: Arc<InMemory>,
    reader: CheckpointStore,
}

impl Watched {
    async fn with_batches(planned: &[u64], committed: &[u64]) -> Self {
        let store = Arc::new(InMemory::new());
        let watched = Self { reader: reader(&store), store };
        watched.write("metadata", "{\"id\":\"943e4fff-ba4f-4018-99d0-a50c4477be0a\"}").await;
        watched.write("sources/0/0", "\0v1\n{\"orders\":{\"0\":0}}").await;
        for batch in planned {
            watched.write(&format!("offsets/{batch}"), ENTRY).await;
        }
        for batch in committed {
            watched.write(&format!("commits/{batch}"), "v1\n{}").await;
        }
        watched
    }

    async fn write(&self, file: &str, text: &str) {
        self.store.put(&Path::from(format!("cp/{file}")), text.to_owned().into()).await.unwrap();
    }

    async fn delete(&self, file: &str) {
        self.store.delete(&Path::from(format!("cp/{file}"))).await.unwrap();
    }

    /// Reads, compares with what a fresh reader sees, and tells the requests.
    async fn read(&self) -> (CheckpointReading, RequestCounts) {
        let before = self.reader.requests();
        let reading = self.reader.read(DEADLINE).await.unwrap();
        let after = self.reader.requests();
        assert_eq!(reading, reader(&self.store).read(DEADLINE).await.unwrap());
        (reading, RequestCounts { list: after.list - before.list, get: after.get - before.get })
    }

    /// Reads, and tells the newest batch.
    async fn newest(&self) -> Option<BatchId> {
        self.reader.read(DEADLINE).await.unwrap().newest_committed
    }

    /// Reads, and tells the requests.
    async fn seen(&self) -> RequestCounts {
        let before = self.reader.requests();
        self.reader.read(DEADLINE).await.unwrap();
        let after = self.reader.requests();
        RequestCounts { list: after.list - before.list, get: after.get - before.get }
    }

    async fn cost(&self) -> (u64, u64) {
        let (_, requests) = self.read().await;
        (requests.list, requests.get)
    }
}

fn reader(store: &Arc<InMemory>) -> CheckpointStore {
    let mut stores = Stores::default();
    stores.replace("s3://memory", Arc::<InMemory>::clone(store)).unwrap();
    stores.open("s3://memory/cp", None).unwrap()
}

#[tokio::test]
async fn a_checkpoint_that_stands_still_costs_two_small_requests_and_no_listing() {
    let idle = Watched::with_batches(&[4, 5, 6], &[4, 5, 6]).await;
    assert_eq!(idle.cost().await, (2, 4));
    // listed again more and more rarely, in case a batch was left out
    for quiet in [2, 4, 8, 16] {
        for _ in 0..quiet {
            assert_eq!(idle.cost().await, (0, 2));
        }
        assert_eq!(idle.cost().await, (2, 1), "after {quiet}");
    }
    let open = Watched::with_batches(&[4, 5, 6], &[4, 5]).await;
    open.cost().await;
    assert_eq!(open.cost().await, (0, 2));
}

#[tokio::test]
async fn every_step_of_the_query_is_seen_at_the_next_reading() {
    let query = Watched::with_batches(&[4, 5, 6], &[4, 5, 6]).await;
    query.cost().await;
    for batch in 7..10_u64 {
        query.write(&format!("offsets/{batch}"), &ENTRY.replace('5', &batch.to_string())).await;
        let (reading, requests) = query.read().await;
        assert_eq!((reading.newest_planned, reading.batch_open), (Some(BatchId(batch)), true));
        // the two probes; the new entry, its predecessor's changed tag or none, `metadata` asked under its tag
        assert_eq!(requests.list, 2);
        query.write(&format!("commits/{batch}"), "v1\n{}").await;
        let (reading, requests) = query.read().await;
        assert_eq!((reading.newest_committed, reading.batch_open), (Some(BatchId(batch)), false));
        assert_eq!(requests.list, 2);
        assert_eq!(query.cost().await, (0, 2));
    }
}

#[tokio::test]
async fn damage_at_the_newest_batch_is_seen_at_the_next_reading() {
    let query = Watched::with_batches(&[4, 5, 6], &[4, 5, 6]).await;
    query.cost().await;
    query.delete("commits/6").await;
    assert!(query.read().await.0.batch_open);
    query.write("offsets/6", &ENTRY.replace('5', "9")).await;
    assert_ne!(query.cost().await, (0, 2));
}

/// An edit of the newest committed entry used to be noticed after up to ten minutes.
#[tokio::test]
async fn an_entry_that_is_rewritten_in_place_is_noticed_at_the_second_reading_at_the_latest() {
    for (committed, edited) in [(&[4, 5, 6][..], "offsets/6"), (&[4, 5, 6], "commits/6"), (&[4, 5], "offsets/5")] {
        for idle in [1, 2] {
            let query = Watched::with_batches(&[4, 5, 6], committed).await;
            for _ in 0..=idle {
                query.cost().await;
            }
            query.write(edited, if edited.starts_with('c') { "v1\n{ }" } else { "v1\n\n{\"orders\":{\"0\":3}}" }).await;
            let costs = [query.seen().await, query.seen().await];
            assert!(costs.iter().any(|requests| requests.list == 2), "{edited} after {idle}: {costs:?}");
            // `cost` compares with what a reader sees that remembers nothing
            query.cost().await;
        }
    }
}

#[tokio::test]
async fn a_log_with_gaps_is_listed_each_time() {
    for (planned, committed) in [(&[0, 8, 16][..], &[0, 8, 16][..]), (&[0, 4, 5], &[0, 4, 5]), (&[5, 6], &[5, 6])] {
        let query = Watched::with_batches(planned, committed).await;
        query.cost().await;
        // unchanged files are not fetched again; only `metadata` is asked for, under its tag
        assert_eq!(query.cost().await, (2, 1), "{planned:?}");
    }
}

/// The next batch of a log without a gap was looked for under its number alone: a query with asynchronous progress
/// tracking that left out a batch for the first time seemed to stand still for ten minutes.
#[tokio::test]
async fn the_first_batch_that_is_left_out_is_noticed_soon_and_the_query_known_by_it() {
    let query = Watched::with_batches(&[4, 5, 6], &[4, 5, 6]).await;
    query.seen().await;
    query.write("offsets/8", &ENTRY.replace('5', "8")).await;
    query.write("commits/8", "v1\n{}").await;
    for _ in 0..3 {
        query.seen().await;
    }
    assert_eq!(query.newest().await, Some(BatchId(8)));
    // of a log that was cleaned up to here nothing tells, and it is remembered
    for batch in 4..8 {
        query.delete(&format!("offsets/{batch}")).await;
        query.delete(&format!("commits/{batch}")).await;
    }
    for batch in [9, 10] {
        query.write(&format!("offsets/{batch}"), &ENTRY.replace('5', &batch.to_string())).await;
        query.write(&format!("commits/{batch}"), "v1\n{}").await;
    }
    assert_eq!(query.newest().await, Some(BatchId(10)));
    for batch in [12, 15] {
        query.write(&format!("offsets/{batch}"), &ENTRY.replace('5', &batch.to_string())).await;
        query.write(&format!("commits/{batch}"), "v1\n{}").await;
        assert_eq!(query.newest().await, Some(BatchId(batch)));
    }
}

#[tokio::test(start_paused = true)]
async fn the_logs_are_listed_again_every_ten_minutes() {
    let query = Watched::with_batches(&[4, 5, 6], &[4, 5, 6]).await;
    query.cost().await;
    tokio::time::advance(Duration::from_secs(440)).await;
    assert_eq!(query.cost().await, (0, 2));
    tokio::time::advance(Duration::from_secs(160)).await;
    assert_eq!(query.cost().await, (2, 1));
    assert_eq!(query.cost().await, (0, 2));
}

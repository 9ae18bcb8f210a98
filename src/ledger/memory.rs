//! A ledger that ends with the process.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, ready};

use super::desk::{DeskError, Settlement};
use super::gap::Gap;
use super::merge::merged;
use super::seam::{Acknowledgement, Health, Ledger, Loaded, Remembered, RoundNotes};
use crate::measures::TopicName;

/// Gaps in memory, merged as those in a file are.
#[derive(Clone, Debug, Default)]
pub struct Book {
    gaps: Vec<Gap>,
}

impl Book {
    /// Puts what is known of one cluster in the place of what was.
    pub(super) fn replace(&mut self, cluster: &str, gaps: Vec<Gap>) {
        self.gaps.retain(|gap| gap.kafka_cluster != cluster);
        self.gaps.extend(gaps);
    }

    /// Every gap.
    pub fn all(&self) -> impl Iterator<Item = &Gap> {
        self.gaps.iter()
    }

    /// Puts one finding in.
    pub fn record(&mut self, found: &Gap) {
        let (log, others): (Vec<Gap>, Vec<Gap>) = self.gaps.drain(..).partition(|gap| gap.same_log(found));
        self.gaps = others;
        self.gaps.extend(merged(log, found));
    }

    /// The open gaps of one cluster, counted by query and topic.
    pub(super) fn unresolved(&self, cluster: &str) -> BTreeMap<String, BTreeMap<TopicName, u64>> {
        let mut counts: BTreeMap<String, BTreeMap<TopicName, u64>> = BTreeMap::new();
        let open = self.gaps.iter().filter(|gap| gap.is_open());
        for gap in open.filter(|gap| gap.kafka_cluster == cluster) {
            let of_query = counts.entry(gap.stream_name.clone()).or_default();
            *of_query.entry(gap.topic.as_str().into()).or_default() += 1;
        }
        counts
    }
}

/// What stands in for the file when none is configured. It cannot fail, and it does not last.
#[derive(Debug, Default)]
pub struct MemoryLedger {
    book: Mutex<Book>,
}

impl MemoryLedger {
    fn remembered(&self, cluster: &str, findings: &[Gap]) -> Remembered {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        findings.iter().for_each(|found| book.record(found));
        let health = Health { persistent: false, up: true };
        Remembered { health, unresolved: Some(book.unresolved(cluster)), opened: 0 }
    }
}

impl Ledger for MemoryLedger {
    fn keeps_memories(&self) -> bool {
        false
    }

    fn load(&self, cluster: &str) -> BoxFuture<'_, Loaded> {
        ready(Loaded::nothing(true, self.remembered(cluster, &[]))).boxed()
    }

    fn acknowledgements(&self, _cluster: &str) -> BoxFuture<'_, Vec<Acknowledgement>> {
        ready(Vec::new()).boxed()
    }

    fn gaps(&self) -> BoxFuture<'_, Option<Vec<Gap>>> {
        let book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        let mut gaps: Vec<Gap> = book.all().cloned().collect();
        gaps.sort_by_key(|gap| std::cmp::Reverse(gap.detected_at));
        ready(Some(gaps)).boxed()
    }

    /// Its records have no numbers.
    fn settle(&self, id: i64, _settlement: Settlement) -> BoxFuture<'_, Result<Gap, DeskError>> {
        ready(Err(DeskError::NoGap { id })).boxed()
    }

    fn remember(&self, round: RoundNotes) -> BoxFuture<'_, Remembered> {
        ready(self.remembered(&round.cluster, &round.findings)).boxed()
    }
}

//! The loop of a cluster whose ledger is slow: it answers no load, or no round.

use std::collections::BTreeSet;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

const TEN_SECONDS: Duration = Duration::from_secs(10);

/// Remembers five events of each query, and keeps what it is brought.
#[derive(Debug, Default)]
struct Slow {
    loads_fail: AtomicBool,
    /// Then the writer hangs: whatever it is brought waits in its queue.
    hangs: AtomicBool,
    /// Queries whose memory is to be written, since it is another daemon's.
    adopted: BTreeSet<String>,
    notes: Mutex<Vec<RoundNotes>>,
}

impl Slow {
    fn notes(&self) -> MutexGuard<'_, Vec<RoundNotes>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many pieces of a query were brought.
    fn pieces(&self, query: &str) -> usize {
        self.notes().iter().flat_map(|notes| &notes.memories).filter(|piece| piece.query == query).count()
    }
}

impl Ledger for Slow {
    fn gaps(&self) -> BoxFuture<'_, Option<Vec<crate::ledger::Gap>>> {
        ready(None).boxed()
    }

    fn load(&self, _: &str) -> BoxFuture<'_, Loaded> {
        let is_known = !self.loads_fail.load(Ordering::Relaxed);
        let event_totals = BTreeMap::from([(EventKind::PositionJumped, (5, Moment::from_millis(0)))]);
        let memory = QueryMemory { event_totals, ..QueryMemory::default() };
        let memories = ["first", "second"].map(|query| (query.to_owned(), memory.clone())).into();
        let loaded = Loaded::nothing(is_known, Counting::remembered());
        ready(if is_known { Loaded { memories, adopted: self.adopted.clone(), ..loaded } } else { loaded }).boxed()
    }

    fn acknowledgements(&self, _: &str) -> BoxFuture<'_, Vec<Acknowledgement>> {
        ready(Vec::new()).boxed()
    }

    fn settle(&self, id: i64, _: Settlement) -> BoxFuture<'_, Result<crate::ledger::Gap, DeskError>> {
        ready(Err(DeskError::NoGap { id })).boxed()
    }

    fn remember(&self, notes: RoundNotes) -> BoxFuture<'_, Remembered> {
        self.notes().push(notes);
        let health = Health { persistent: false, up: false };
        let silent = Remembered { health, unresolved: None, opened: 0 };
        ready(if self.hangs.load(Ordering::Relaxed) { silent } else { Counting::remembered() }).boxed()
    }
}

/// A loop over a first query, once it has polled.
async fn looping(ledger: &Arc<Slow>) -> (watch::Sender<Arc<ClusterTarget>>, Arc<Board>, CancellationToken) {
    let targets = watch::Sender::new(target(&["first"], TEN_SECONDS));
    let (board, stop) = (Arc::new(Board::default()), CancellationToken::new());
    let (known, places) = (Arc::clone(ledger) as Arc<dyn Ledger>, Arc::new(Semaphore::new(AT_ONCE)));
    tokio::spawn(run(targets.subscribe(), known, Arc::clone(&board), places, Clock::default(), stop.clone()));
    assert_eq!(told(after(&board, 1).await.as_ref()), [("first", 1, 5)]);
    (targets, board, stop)
}

#[tokio::test(start_paused = true)]
async fn a_query_that_joins_meanwhile_gets_its_memory_when_the_ledger_answers() {
    let ledger = Arc::new(Slow::default());
    let (targets, board, stop) = looping(&ledger).await;
    ledger.loads_fail.store(true, Ordering::Relaxed);
    targets.send_replace(target(&["first", "second"], TEN_SECONDS));
    assert_eq!(told(after(&board, 3).await.as_ref()), [("first", 3, 5), ("second", 2, 0)]);
    assert_eq!(ledger.pieces("second"), 0, "what the ledger remembers of it is not overwritten");
    ledger.loads_fail.store(false, Ordering::Relaxed);
    assert_eq!(told(after(&board, 4).await.as_ref()), [("first", 4, 5), ("second", 3, 5)]);
    assert_eq!(ledger.pieces("second"), 0, "it was just read from there");
    stop.cancel();
}

/// Each round used to put all that the ledger lacked into the queue once more, for as long as the disk hung.
#[tokio::test(start_paused = true)]
async fn pieces_wait_in_the_queue_of_a_ledger_that_hangs_once_and_are_brought_again_when_it_answers() {
    let adopted = BTreeSet::from(["first".to_owned()]);
    let ledger = Arc::new(Slow { hangs: AtomicBool::new(true), adopted, ..Slow::default() });
    let (_targets, board, stop) = looping(&ledger).await;
    after(&board, 100).await;
    assert_eq!(ledger.pieces("first"), 1);
    assert!(ledger.notes().len() >= 100, "what each round found is brought all the same");
    ledger.hangs.store(false, Ordering::Relaxed);
    after(&board, 110).await;
    assert_eq!(ledger.pieces("first"), 2, "nobody knows what became of the first");
    stop.cancel();
}

//! The clock jumps an hour forth and back, while the ledger remembers: nothing is invented, nothing is negative.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod simulated;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use brinkwatch::ledger::{DatabaseLedger, Desk, Ledger};
use brinkwatch::measures::Moment;
use brinkwatch::process::clock::Clock;
use brinkwatch::retention::{Age, TopicId};
use brinkwatch::rounds::board::{Board, plain};
use brinkwatch::rounds::{self, AT_ONCE};
use simulated::{Brokers, Checkpoint};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

const START: i64 = 1_800_000_000_000;
const HOUR: i64 = 3_600_000;

/// What is so, whatever any clock shows.
#[derive(Debug)]
struct Truth {
    now: AtomicI64,
    earliest: AtomicI64,
    committed: AtomicI64,
}

struct Daemon {
    board: Arc<Board>,
    truth: Arc<Truth>,
    stop: CancellationToken,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Daemon {
    async fn start(folder: &Path, truth: &Arc<Truth>) -> Self {
        let opened = DatabaseLedger::open(folder).await.unwrap();
        let seen = Arc::clone(truth);
        let bounds = move || {
            let log = [(seen.earliest.load(Ordering::Relaxed), 1000), (0, 500)];
            Ok(simulated::cluster(Duration::from_secs(7200), &[("orders", TopicId([7; 16]), &log)]))
        };
        // The next unread record is half an hour old at the beginning.
        let written = Moment::from_millis(START - HOUR / 2);
        let brokers =
            Brokers::new(bounds, move |asked| Age { proved: Some((asked.committed, written)), below: Some(written) });
        let seen = Arc::clone(truth);
        let checkpoint = Checkpoint::new(move || {
            let committed = [seen.committed.load(Ordering::Relaxed), 500];
            let batch = u64::try_from(committed[0]).unwrap();
            Ok(simulated::checkpoint(batch, Moment::from_millis(START), &[("orders", &committed)]))
        });
        let target = simulated::target(brokers, vec![simulated::query("orders", checkpoint)], Duration::from_millis(5));
        let board = Arc::new(Board::default());
        let stop = CancellationToken::new();
        let ledger: Arc<dyn Ledger> = Arc::new(opened.ledger);
        let told = Arc::clone(truth);
        let clock = Clock::given(move || Moment::from_millis(told.now.load(Ordering::Relaxed)));
        let places = Arc::new(Semaphore::new(AT_ONCE));
        let targets = tokio::sync::watch::channel(Arc::new(target)).1;
        let rounds = rounds::run(targets, ledger, Arc::clone(&board), places, clock, stop.clone());
        let tasks = vec![tokio::spawn(opened.writer), tokio::spawn(rounds)];
        Self { board, truth: Arc::clone(truth), stop, tasks }
    }

    fn scrape(&self) -> String {
        let now = Moment::from_millis(self.truth.now.load(Ordering::Relaxed));
        String::from_utf8(plain(&self.board.scrape(now, "")).unwrap()).unwrap()
    }

    /// What is published once a round that began after now has ended.
    async fn after_a_round(&self) -> String {
        let rounds = |text: &str| number(text, "brinkwatch_cluster_polls_total{").unwrap_or(0.0);
        let before = rounds(&self.scrape());
        for _ in 0..5000 {
            tokio::time::sleep(Duration::from_millis(2)).await;
            assert!(self.tasks.iter().all(|task| !task.is_finished()), "a part of the daemon ended");
            let now = self.scrape();
            if rounds(&now) >= before + 2.0 {
                return now;
            }
        }
        panic!("no round ends:\n{}", self.scrape());
    }

    async fn stop(self) {
        self.stop.cancel();
        for task in self.tasks {
            task.await.unwrap();
        }
    }
}

/// The only series whose line begins so.
fn number(text: &str, start: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with(start))?;
    line.rsplit_once(' ')?.1.parse().ok()
}

fn lost(text: &str, certainty: &str) -> f64 {
    let label = format!("certainty=\"{certainty}\"");
    let lines = text.lines().filter(|line| line.starts_with("brinkwatch_query_topic_offsets_lost_total{"));
    let of_it = lines.filter(|line| line.contains(&label));
    of_it.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
}

/// Only headroom may be negative: a position below the log start.
fn nothing_is_negative(text: &str) {
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.contains("headroom")) {
        let value = line.rsplit_once(' ').unwrap().1;
        assert!(!value.starts_with('-'), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_jumps_invents_no_loss_and_no_negative_age() {
    let folder = tempfile::tempdir().unwrap();
    let truth = Arc::new(Truth { now: START.into(), earliest: 100.into(), committed: 100.into() });
    let mut daemon = Daemon::start(folder.path(), &truth).await;
    daemon.after_a_round().await;
    let mut expected = 0.0;
    for (step, jump) in [HOUR, -HOUR, -HOUR, HOUR, 2 * HOUR, -3 * HOUR, 24 * HOUR, -24 * HOUR].into_iter().enumerate() {
        truth.now.fetch_add(jump, Ordering::Relaxed);
        let text = daemon.after_a_round().await;
        nothing_is_negative(&text);
        assert_eq!((lost(&text, "certain"), lost(&text, "possible")), (expected, 0.0), "step {step}");
        match step {
            // A loss that happens under a wrong clock is counted all the same, and once.
            2 | 5 => {
                truth.earliest.fetch_add(10, Ordering::Relaxed);
                expected += 10.0;
                assert_eq!(lost(&daemon.after_a_round().await, "certain"), expected);
            }
            // The query goes on behind it.
            3 => {
                truth.committed.store(truth.earliest.load(Ordering::Relaxed), Ordering::Relaxed);
                daemon.after_a_round().await;
            }
            _ => {}
        }
        // Whatever the clock shows, the next process goes on where this one was.
        daemon.stop().await;
        daemon = Daemon::start(folder.path(), &truth).await;
        let text = daemon.after_a_round().await;
        nothing_is_negative(&text);
        assert_eq!(lost(&text, "certain"), expected, "after the restart of step {step}");
    }
    daemon.stop().await;
    let gaps = Desk::open_to_read(folder.path()).await.unwrap().gaps().await.unwrap();
    let ranges: Vec<(i64, i64)> = gaps.iter().map(|gap| (gap.from, gap.to)).collect();
    assert_eq!(ranges, [(100, 120)], "one neighbour of the other, one record");
}

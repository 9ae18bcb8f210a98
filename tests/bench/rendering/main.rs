//! What rendering a round and scraping it cost inside the process, and brokers over which the daemon itself is scraped.
//!
//! - `cargo bench --bench rendering`: a real round is judged over positions and bounds that are made up and differ from
//!   partition to partition; then its text is rendered, and joined for scrapes, again and again on one thread. Allocations
//!   are counted. HTTP is not in it: `tests/bench/scrapes.py` measures the daemon from outside.
//! - `SERVE=100000 cargo bench --bench rendering`: librdkafka's mock cluster with so many partitions; prints its address, and
//!   serves until its standard input ends.

#![expect(clippy::unwrap_used, reason = "run by hand: it may stop")]

use std::env::var;
use std::io::{Read, stdin};
use std::time::Duration;

use brinkwatch::metrics::snapshot::ClusterRound;
use brinkwatch::process::clock::now;
use brinkwatch::rounds::board::plain;
use rdkafka::mocking::MockCluster;
use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

use self::made_up::judged;

#[path = "../checkpoint.rs"]
mod checkpoint;
mod made_up;

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
const TIMES: usize = 10;

fn main() {
    if let Ok(partitions) = var("SERVE") {
        serve(partitions.parse().unwrap());
        return;
    }
    println!(
        "| partitions | series | text, bytes | gzip, bytes | what | ms | CPU ms | allocations | bytes allocated |"
    );
    println!("|---:|---:|---:|---:|---|---:|---:|---:|---:|");
    for partitions in SIZES {
        let board = judged(partitions);
        let round = board.snapshot(now()).remove(0);
        let gzip = board.scrape(now(), "");
        let text = plain(&gzip).unwrap();
        let series =
            text.split(|byte| *byte == b'\n').filter(|line| !matches!(line.first(), None | Some(b'#'))).count();
        let row = |what: &str, cost: &Cost| {
            let size = format!("{partitions} | {series} | {} | {}", text.len(), gzip.len());
            println!(
                "| {size} | {what} | {:.3} | {:.3} | {} | {} |",
                cost.wall * 1e3,
                cost.cpu * 1e3,
                cost.allocations,
                cost.bytes
            );
        };
        row("render, once a round", &Cost::of(|| ClusterRound::clone(&round), |round| board.publish(round)));
        row("scrape, gzip", &Cost::of(|| (), |()| drop(board.scrape(now(), ""))));
        row("scrape, plain", &Cost::of(|| (), |()| drop(plain(&board.scrape(now(), "")).unwrap())));
    }
}

/// The medians of repetitions of some work on this thread.
struct Cost {
    wall: f64,
    cpu: f64,
    allocations: u64,
    bytes: u64,
}

impl Cost {
    /// What `prepare` does is not measured.
    fn of<T>(mut prepare: impl FnMut() -> T, mut work: impl FnMut(T)) -> Self {
        let (mut wall, mut cpu, mut memory) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..TIMES {
            let mut prepared = Some(prepare());
            let (began, spent) = (Instant::now(), on_this_thread());
            memory.push(allocation_counter::measure(|| work(prepared.take().unwrap())));
            cpu.push((on_this_thread() - spent).as_secs_f64());
            wall.push(began.elapsed().as_secs_f64());
        }
        let [wall, cpu] = [wall, cpu].map(|mut values| {
            values.sort_by(f64::total_cmp);
            values[TIMES / 2]
        });
        memory.sort_by_key(|each| each.count_total);
        let memory = &memory[TIMES / 2];
        Self { wall, cpu, allocations: memory.count_total, bytes: memory.bytes_total }
    }
}

fn on_this_thread() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(spent.tv_sec.try_into().unwrap(), spent.tv_nsec.try_into().unwrap())
}

fn serve(partitions: i32) {
    let mock = MockCluster::new(3).unwrap();
    for topic in 0..partitions / 100 {
        mock.create_topic(&format!("bench-{topic:04}"), 100, 1).unwrap();
    }
    println!("{}", mock.bootstrap_servers());
    stdin().read_to_end(&mut Vec::new()).unwrap();
}

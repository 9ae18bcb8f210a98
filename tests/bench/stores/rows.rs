//! Rounds over more and more checkpoints. Each size has a process of its own, so that its memory is its own.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use brinkwatch::readers::CheckpointReader;
use brinkwatch::readers::stores::{CheckpointStore, RequestCounts, Stores};

use crate::machine::{cpu, forget_peak, memory, quantile};
use crate::{Server, files, round};

const DEADLINE: Duration = Duration::from_secs(60);
const SIZES: [usize; 3] = [1, 100, 1000];

/// How many rounds of each kind: `ROUNDS=5` for a slow machine.
fn rounds_wanted() -> u32 {
    std::env::var("ROUNDS").map_or(15, |rounds| rounds.parse().unwrap())
}

/// Prints the whole table.
pub(crate) fn all() {
    println!(
        "| store | checkpoints | first, ms | idle, ms (10 %–90 %) | CPU ms | LIST | GET | moving, ms (10 %–90 %) | \
         CPU ms | LIST | GET | memory idle, MiB | moving, at most |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (place, latency) in [("local", "0"), ("s3", "0"), ("s3", "20")] {
        for size in SIZES {
            let row = ["row", place, &size.to_string(), latency];
            let done = Command::new(std::env::current_exe().unwrap()).args(row).status().unwrap();
            assert!(done.success(), "{row:?}");
        }
    }
}

/// What rounds of one kind took.
#[derive(Default)]
struct Cost {
    wall_ms: Vec<f64>,
    cpu: Duration,
    requests: RequestCounts,
}

impl Cost {
    fn cells(&self) -> String {
        let [low, median, high] = [0.1, 0.5, 0.9].map(|share| quantile(&self.wall_ms, share));
        let count = u32::try_from(self.wall_ms.len()).unwrap();
        let cpu = self.cpu.as_secs_f64() * 1e3 / f64::from(count);
        let each = u64::from(count);
        let (list, get) = (self.requests.list / each, self.requests.get / each);
        format!("{median:.1} ({low:.1}–{high:.1}) | {cpu:.0} | {list} | {get}")
    }
}

/// Measures one row, and prints it.
pub(crate) async fn measure(place: &str, checkpoints: usize, latency_ms: u64) {
    let folder = tempfile::tempdir().unwrap();
    let server = (place == "s3").then(|| Server::start(checkpoints, latency_ms));
    let settings = server.as_ref().map(|server| ("lake".to_owned(), server.settings()));
    if server.is_none() {
        (0..checkpoints).for_each(|number| write(folder.path(), files::checkpoint(number)));
    }
    let before = memory("VmRSS");
    let mut stores = Stores::new(settings.into_iter().collect(), DEADLINE);
    let store = server.as_ref().map(|_| "lake");
    let root = server.as_ref().map_or_else(|| folder.path().display().to_string(), |_| "s3a://lake".to_owned());
    let readers: Vec<CheckpointStore> =
        (0..checkpoints).map(|number| stores.open(&format!("{root}/cp{number}"), store).unwrap()).collect();
    let readers: Vec<_> = readers.iter().map(|reader| (reader, DEADLINE)).collect();

    let mut first = Cost::default();
    rounds(&readers, 1, &mut first, || {}).await;
    let mut idle = Cost::default();
    rounds(&readers, rounds_wanted(), &mut idle, || {}).await;
    let idle_memory = memory("VmRSS").saturating_sub(before);
    let mut newest = files::NEWEST;
    let mut moving = Cost::default();
    forget_peak();
    let advance = || match &server {
        Some(server) => server.advance(),
        None => {
            newest += 1;
            for number in 0..checkpoints {
                let (written, removed) = files::next(number, newest);
                write(folder.path(), written);
                removed.iter().for_each(|key| std::fs::remove_file(folder.path().join(key)).unwrap());
            }
        }
    };
    rounds(&readers, rounds_wanted(), &mut moving, advance).await;
    let peak = memory("VmHWM").saturating_sub(before);
    let place = if latency_ms > 0 { format!("{place}, {latency_ms} ms away") } else { place.to_owned() };
    let mib = |kib: u64| f64::from(u32::try_from(kib).unwrap()) / 1024.0;
    println!(
        "| {place} | {checkpoints} | {:.0} | {} | {} | {:.1} | {:.1} |",
        first.wall_ms[0],
        idle.cells(),
        moving.cells(),
        mib(idle_memory),
        mib(peak)
    );
}

async fn rounds(readers: &[(&CheckpointStore, Duration)], count: u32, cost: &mut Cost, mut advance: impl FnMut()) {
    for _ in 0..count {
        advance();
        let (before, cpu_before, began) = (requests(readers), cpu(), Instant::now());
        let outcomes = round(readers).await;
        cost.wall_ms.push(began.elapsed().as_secs_f64() * 1e3);
        cost.cpu += cpu() - cpu_before;
        let after = requests(readers);
        cost.requests.list += after.list - before.list;
        cost.requests.get += after.get - before.get;
        assert!(outcomes.iter().all(|(is_good, _)| *is_good), "a checkpoint was not read");
    }
}

fn requests(readers: &[(&CheckpointStore, Duration)]) -> RequestCounts {
    let mut sum = RequestCounts::default();
    for counts in readers.iter().map(|(reader, _)| reader.requests()) {
        sum.list += counts.list;
        sum.get += counts.get;
    }
    sum
}

fn write(folder: &Path, written: Vec<(String, String)>) {
    for (key, content) in written {
        let path = folder.join(key);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

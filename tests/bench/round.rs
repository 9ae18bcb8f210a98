//! Measures rounds beside the bare look-ups that no round can do without.
//!
//! - `BOOTSTRAP=localhost:9092 TOPICS=bench- cargo bench --bench round`: on a real broker. Bare look-ups and rounds
//!   alternate in one process, and each ratio is the median over the pairs. A round is whole: checkpoints (made up, read
//!   from memory), topics, limits, bounds, ages, judgement. CPU is that of all threads of this process.
//! - `… MEMORY=1000 …`: resident memory over so many rounds instead.
//! - `MOCK="10000 100000" cargo bench --bench round`: so many partitions on librdkafka's own mock cluster, which runs in
//!   this process and whose work is counted too.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "run by hand: it may stop, and it measures wall time"
)]

use std::collections::BTreeMap;
use std::env::var;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rdkafka::mocking::MockCluster;

use self::bare::Bare;
use self::cost::{Cost, resident};
use self::fleet::{Fleet, read_well};

mod bare;
mod checkpoint;
mod cost;
mod fleet;

const ROUNDS: usize = 20;
const TOPICS: i32 = 100;
/// Back to the middle of the records that `topics.py` writes.
const MIDDLE: Duration = Duration::from_secs(15 * 60);

fn main() -> ExitCode {
    if let Ok(sizes) = var("MOCK") {
        on_mock_clusters(&sizes);
        return ExitCode::SUCCESS;
    }
    let (Ok(bootstrap), Ok(prefix)) = (var("BOOTSTRAP"), var("TOPICS")) else {
        eprintln!("set BOOTSTRAP to a broker's host and port, and TOPICS to the prefix of the topics to read");
        return ExitCode::from(2);
    };
    let bare = Bare::connect(&bootstrap, &prefix);
    if bare.partitions.is_empty() {
        eprintln!("no topic begins with {prefix}");
        return ExitCode::from(2);
    }
    match var("MEMORY") {
        Ok(rounds) => memory(&bootstrap, &bare, rounds.parse().unwrap()),
        Err(_) => costs(&bootstrap, &bare),
    }
    ExitCode::SUCCESS
}

/// One line of the table.
struct Line {
    what: &'static str,
    bare: Cost,
    round: Cost,
    /// Look-ups by time, requests, and partitions that they may be counted on.
    look_ups: u64,
    requests: BTreeMap<&'static str, u64>,
    partitions: usize,
}

impl Line {
    fn new(what: &'static str) -> Self {
        let (bare, round) = (Cost::default(), Cost::default());
        Self { what, bare, round, look_ups: 0, requests: BTreeMap::new(), partitions: 0 }
    }

    /// One pair: bare look-ups, then a round, in which `partitions` have something new to be looked up.
    fn pair(&mut self, bare: &Bare, fleet: &mut Fleet, partitions: usize) -> brinkwatch::rounds::Found {
        assert_eq!(self.bare.measure(|| bare.read()), bare.partitions.len());
        let (look_ups, requests) =
            (fleet.reader.look_ups(), brinkwatch::readers::BrokerReader::requests(&*fleet.reader));
        let found = self.round.measure(|| fleet.round());
        assert_eq!(read_well(&found), bare.partitions.len());
        self.look_ups += fleet.reader.look_ups() - look_ups;
        for (api, count) in brinkwatch::readers::BrokerReader::requests(&*fleet.reader) {
            *self.requests.entry(api).or_default() += count - requests.get(api).copied().unwrap_or(0);
        }
        self.partitions += partitions;
        found
    }

    fn print(&self, rounds: usize) {
        let (wall, cpu) = self.round.over(&self.bare);
        let of = |api| share(self.requests.get(api).copied().unwrap_or(0), rounds);
        println!(
            "| {:<24} | {:>7.1} | {:>7.1} | {:>7.1} | {:>7.1} | {wall:>5.2} | {cpu:>5.2} | {:>8.1} | {:>8.1} | {:>8.1} | {:>8.2} |",
            self.what,
            self.bare.wall(),
            self.round.wall(),
            self.bare.cpu(),
            self.round.cpu(),
            of("describe_topics"),
            of("describe_configs"),
            of("list_offsets"),
            share(self.look_ups, self.partitions.max(1)),
        );
    }
}

fn share(count: u64, of: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap()) / f64::from(u32::try_from(of).unwrap())
}

/// Four situations, each beside the bare look-ups.
fn costs(bootstrap: &str, bare: &Bare) {
    let all = bare.partitions.len();
    bare.read();
    println!(
        "{all} partitions; medians of {ROUNDS} pairs; requests per round; look-ups per partition that lags anew or moved"
    );
    println!(
        "|                          | bare ms | round ms | bare CPU | round CPU | wall | CPU | topics | configs | offsets | look-ups |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let mut fleet = Fleet::open(bootstrap, &bare.partitions);
    let seen = fleet.round();
    fleet.place(&seen, |_, _, latest| latest);
    fleet.round();
    let mut nothing = Line::new("nothing lags");
    for _ in 0..ROUNDS {
        nothing.pair(bare, &mut fleet, 0);
    }
    nothing.print(ROUNDS);
    assert_eq!(nothing.look_ups, 0);

    let mut first = Line::new("all lag for the first time");
    for _ in 0..ROUNDS / 2 {
        // A client that knows the cluster, and has proved nothing yet.
        fleet = Fleet::open(bootstrap, &bare.partitions);
        fleet.place(&seen, |_, _, latest| latest);
        fleet.round();
        fleet.place(&seen, |number, earliest, latest| between(number, earliest, latest, 0));
        first.pair(bare, &mut fleet, all);
    }
    first.print(ROUNDS / 2);
    one_look_up(bare);

    let mut moving = Line::new("all lag, two of three move");
    for round in 1..=ROUNDS {
        let shift = i64::try_from(round).unwrap();
        let place =
            |number, earliest, latest| between(number, earliest, latest, if number % 3 == 0 { 0 } else { shift });
        fleet.place(&seen, place);
        moving.pair(bare, &mut fleet, bare.partitions.iter().filter(|(_, number)| number % 3 != 0).count());
    }
    moving.print(ROUNDS);

    let mut still = Line::new("all lag, none moves");
    for _ in 0..ROUNDS {
        still.pair(bare, &mut fleet, 0);
    }
    still.print(ROUNDS);
}

/// What one bare look-up by time for each partition costs beside their two ends: brokers read records for it.
fn one_look_up(bare: &Bare) {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() - MIDDLE;
    let time = i64::try_from(time.as_millis()).unwrap();
    let (mut ends, mut look_ups) = (Cost::default(), Cost::default());
    for _ in 0..ROUNDS / 2 {
        ends.measure(|| bare.read());
        assert_eq!(look_ups.measure(|| bare.look_up(time)), bare.partitions.len());
    }
    let (wall, cpu) = look_ups.over(&ends);
    println!(
        "| {:<24} | {:>7.1} | {:>7.1} | {:>7.1} | {:>7.1} | {wall:>5.2} | {cpu:>5.2} |          |          |          |          |",
        "one bare look-up each",
        ends.wall(),
        look_ups.wall(),
        ends.cpu(),
        look_ups.cpu(),
    );
}

/// A place in the log, another one for each partition, that moves on by one record a round.
fn between(number: i32, earliest: i64, latest: i64, moved: i64) -> i64 {
    let length = latest - earliest;
    (earliest + length * (10 + i64::from(number) % 60) / 100 + moved).min(latest - 1)
}

fn memory(bootstrap: &str, bare: &Bare, rounds: usize) {
    let mut fleet = Fleet::open(bootstrap, &bare.partitions);
    let seen = fleet.round();
    let mut after_ten = 0;
    for round in 1..=rounds {
        let shift = i64::try_from(round / 20).unwrap();
        fleet.place(&seen, |number, earliest, latest| between(number, earliest, latest, shift));
        fleet.round();
        if round == 10 {
            after_ten = resident();
        }
        if round == 10 || round == rounds || round % (rounds / 10).max(1) == 0 {
            println!("after {round:>5} rounds: {:>8} KiB resident", resident());
        }
    }
    let grown = i64::try_from(resident()).unwrap() - i64::try_from(after_ten).unwrap();
    println!("{} partitions: {grown} KiB more after {rounds} rounds than after 10", bare.partitions.len());
}

fn on_mock_clusters(sizes: &str) {
    println!("| partitions | round ms | CPU ms | list_offsets a round |");
    println!("|---|---|---|---|");
    let mut walls = Vec::new();
    for size in sizes.split_whitespace() {
        let size: i32 = size.parse().unwrap();
        let mock = MockCluster::new(3).unwrap();
        // Always a hundred topics: the mock cluster's thread may sleep for a third of a second before it makes the next one.
        for topic in 0..TOPICS {
            mock.create_topic(&format!("bench-{topic:04}"), size / TOPICS, 1).unwrap();
        }
        let bare = Bare::connect(&mock.bootstrap_servers(), "bench-");
        let mut fleet = Fleet::open(&mock.bootstrap_servers(), &bare.partitions);
        fleet.round();
        let mut cost = Cost::default();
        let before = brinkwatch::readers::BrokerReader::requests(&*fleet.reader)["list_offsets"];
        for _ in 0..ROUNDS / 2 {
            assert_eq!(read_well(&cost.measure(|| fleet.round())), bare.partitions.len());
        }
        let after = brinkwatch::readers::BrokerReader::requests(&*fleet.reader)["list_offsets"];
        println!("| {size} | {:.1} | {:.1} | {:.0} |", cost.wall(), cost.cpu(), share(after - before, ROUNDS / 2));
        walls.push((cost.wall(), cost.cpu()));
    }
    if let [(wall, cpu), .., (more_wall, more_cpu)] = walls[..] {
        println!("the last over the first: wall {:.1}, CPU {:.1}", more_wall / wall, more_cpu / cpu);
    }
}

//! Killed at random moments of two hundred rounds, while losses go on: the ledger opens, holds every gap that was ever
//! visible on `/metrics`, and none twice. In a file, or in the PostgreSQL that `BRINKWATCH_TEST_POSTGRES` names: then for
//! fewer rounds.
//!
//! No test harness: the same program is the daemon that is killed, when it finds a folder in its environment.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod simulated;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use brinkwatch::ledger::{DatabaseLedger, Desk, Gap, Ledger, Place, Server};
use brinkwatch::measures::Moment;
use brinkwatch::process::clock::{self, Clock};
use brinkwatch::retention::{Age, TopicId};
use brinkwatch::rounds::board::{Board, plain};
use brinkwatch::rounds::{self, AT_ONCE};
use simulated::{Brokers, Checkpoint};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const PLACE: &str = "LEDGER_KILL_PLACE";
const NAMED: &str = "BRINKWATCH_TEST_POSTGRES";
const BEGAN: &str = "LEDGER_KILL_BEGAN";
const NAME: &str = "after_a_kill_at_any_moment_every_gap_that_was_visible_is_there_once";
const ROUNDS: usize = 200;
const FEWEST_KILLS: usize = 40;
/// Many times what a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(150);

/// Offsets lost, by topic and certainty.
type Totals = BTreeMap<(String, String), i64>;

fn main() {
    if let Ok(place) = std::env::var(PLACE) {
        return Runtime::new().unwrap().block_on(rounds_until_killed(&place_of(&place)));
    }
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let chosen = asked.is_empty() || asked.iter().any(|part| NAME.contains(part.as_str()));
    if chosen {
        every_gap_is_there_once();
        println!("test {NAME} ... ok");
    }
    println!("\ntest result: ok. {} passed; 0 failed; 0 ignored; 0 measured", u8::from(chosen));
}

/// A folder, or the URL of a database.
fn place_of(text: &str) -> Place {
    if text.starts_with("postgres") {
        return Place::Server(Server::new(text, "here:9917", None));
    }
    Place::Folder(PathBuf::from(text))
}

/// The log starts of both topics move on by one offset each millisecond, whoever asks and however often. The query of
/// `orders` stands still. The one of `returns` skips ahead three times a second and is overtaken again.
async fn rounds_until_killed(place: &Place) {
    let began = Moment::from_millis(std::env::var(BEGAN).unwrap().parse().unwrap());
    let passed = move || i64::try_from(clock::now().since(began).as_millis()).unwrap();
    let bounds = move || {
        let log = [(passed(), passed() + 10_000)];
        let topics = [("orders", TopicId([7; 16]), &log[..]), ("returns", TopicId([8; 16]), &log[..])];
        Ok(simulated::cluster(Duration::from_secs(3600), &topics))
    };
    let brokers = Brokers::new(bounds, |_| Age::default());
    let checkpoint = Checkpoint::new(move || {
        let skips = passed() / 300;
        let batch = u64::try_from(skips).unwrap();
        Ok(simulated::checkpoint(batch, began, &[("orders", &[0]), ("returns", &[skips * 300 + 150])]))
    });
    let opened = DatabaseLedger::open(place).await.unwrap();
    tokio::spawn(opened.writer);
    let board = Arc::new(Board::default());
    let target = simulated::target(brokers, vec![simulated::query("orders", checkpoint)], Duration::from_millis(15));
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let ledger: Arc<dyn Ledger> = Arc::new(opened.ledger);
    let stop = CancellationToken::new();
    let targets = tokio::sync::watch::channel(Arc::new(target)).1;
    tokio::spawn(rounds::run(targets, ledger, Arc::clone(&board), places, Clock::default(), stop));
    let mut before = Totals::new();
    loop {
        tokio::time::sleep(Duration::from_millis(2)).await;
        let visible = totals(&plain(&board.scrape(clock::now(), "")).unwrap());
        if visible == before || visible.is_empty() {
            continue;
        }
        let mut lines = String::from("round\n");
        for ((topic, certainty), total) in &visible {
            lines.push_str(&format!("visible {topic} {certainty} {total}\n"));
        }
        std::io::stdout().write_all(lines.as_bytes()).unwrap();
        std::io::stdout().flush().unwrap();
        before = visible;
    }
}

/// The counters as a scrape shows them.
fn totals(scrape: &[u8]) -> Totals {
    let text = String::from_utf8_lossy(scrape);
    let lines = text.lines().filter(|line| line.starts_with("brinkwatch_query_topic_offsets_lost_total{"));
    let label = |line: &str, name: &str| {
        let value = line.split_once(&format!("{name}=\"")).unwrap().1;
        value.split_once('"').unwrap().0.to_owned()
    };
    let number = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<i64>().unwrap();
    lines.map(|line| ((label(line, "topic"), label(line, "certainty")), number(line))).collect()
}

/// One life of the daemon.
#[derive(Default)]
struct Life {
    rounds: usize,
    visible: Totals,
}

/// Lets the rounds go on for a while, kills them, and answers with what was visible.
fn live(place: &str, began: Moment, lasts: Duration) -> Life {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .env(PLACE, place)
        .env(BEGAN, began.millis().to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    thread::sleep(lasts);
    child.kill().unwrap();
    child.wait().unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    let mut life = Life::default();
    for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        match line.split(' ').collect::<Vec<_>>().as_slice() {
            ["round"] => life.rounds += 1,
            ["visible", topic, certainty, total] => {
                let known = life.visible.entry(((*topic).to_owned(), (*certainty).to_owned())).or_default();
                *known = (*known).max(total.parse().unwrap());
            }
            other => panic!("{other:?}"),
        }
    }
    life
}

fn every_gap_is_there_once() {
    let folder = tempfile::tempdir().unwrap();
    let named = std::env::var(NAMED).ok();
    let (least_rounds, least_kills) = if named.is_some() { (60, 15) } else { (ROUNDS, FEWEST_KILLS) };
    let text = named.unwrap_or_else(|| folder.path().display().to_string());
    let place = place_of(&text);
    let runtime = Runtime::new().unwrap();
    let (began, started) = (clock::now(), Instant::now());
    let (mut seen, mut rounds, mut kills, mut random) = (Totals::new(), 0, 0, 7_u64);
    while rounds < least_rounds || kills < least_kills {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let life = live(&text, began, Duration::from_millis(15 + (random >> 33) % 220));
        (rounds, kills) = (rounds + life.rounds, kills + 1);
        assert!(started.elapsed() < PATIENCE, "{rounds} rounds in {kills} lives");
        for (what, total) in life.visible {
            let known = seen.entry(what.clone()).or_default();
            assert!(total >= *known, "life {kills}: {what:?} fell from {known} to {total}");
            *known = total;
        }
        if seen.values().any(|total| *total > 0) {
            runtime.block_on(check(&place, &seen, kills));
        }
    }
    let kinds = seen.values().filter(|total| **total > 0).count();
    assert!(kinds >= 3, "both certainties were at work: {seen:?}");
    let memory = runtime.block_on(async {
        let opened = DatabaseLedger::open(&place).await.unwrap();
        let writer = tokio::spawn(opened.writer);
        let memory = opened.ledger.load("main").await.memories;
        drop(opened.ledger);
        writer.await.unwrap();
        memory
    });
    let gaps = runtime.block_on(gaps(&place));
    for (topic, known) in &memory["orders"].topics {
        for (certainty, counted) in &known.lost_total {
            let recorded = recorded(&gaps, topic, certainty.label());
            assert_eq!(i64::try_from(*counted).unwrap(), recorded, "counter and records of {topic} tell the same");
        }
    }
    println!("{place}: {rounds} rounds, {kills} kills, {} records, {:?}", gaps.len(), started.elapsed());
}

async fn gaps(place: &Place) -> Vec<Gap> {
    Desk::open_to_read(place).await.unwrap().gaps().await.unwrap()
}

async fn check(place: &Place, seen: &Totals, life: usize) {
    let mut gaps = gaps(place).await;
    for ((topic, certainty), visible) in seen {
        let recorded = recorded(&gaps, topic, certainty);
        assert!(
            recorded >= *visible,
            "life {life}: {visible} {certainty} of {topic} were visible, {recorded} recorded"
        );
    }
    gaps.sort_by(|one, other| (&one.topic, one.from).cmp(&(&other.topic, other.from)));
    for pair in gaps.windows(2).filter(|pair| pair[0].same_log(&pair[1])) {
        assert!(pair[0].to <= pair[1].from, "life {life}: an offset stands in two records: {pair:?}");
    }
    let stopped = gaps.iter().filter(|gap| gap.topic == "orders").count();
    assert!(stopped <= 1, "life {life}: one loss is one record");
}

fn recorded(gaps: &[Gap], topic: &str, certainty: &str) -> i64 {
    let of_kind = gaps.iter().filter(|gap| gap.topic == topic && gap.certainty.label() == certainty);
    of_kind.map(|gap| gap.to - gap.from).sum()
}

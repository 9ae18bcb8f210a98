//! Hours of a fleet with random faults, in minutes: every loss that happened is found, none that did not, and what is
//! remembered does not grow.
//!
//! Eighty minutes by itself; `SOAK_MINUTES=360 cargo test --test soak -- --nocapture` for the whole of it.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod fleet;
mod simulated;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brinkwatch::judgement::{Certainty, QueryState};
use brinkwatch::ledger::{Book, Gap, Pieces};
use brinkwatch::process::clock::Clock;
use brinkwatch::rounds::{AT_ONCE, ClusterState, once};
use fleet::{Fleet, TICK};
use simulated::{Brokers, Checkpoint};
use tokio::sync::Semaphore;
use tokio::time::Instant;

const QUERIES: usize = 200;
/// A window of bounds reaches back an hour; from then on nothing may grow.
const SETTLED: usize = 125;

const QUIET: usize = 5;

/// What of the states is a finding.
const FINDINGS: [QueryState; 5] =
    [QueryState::ClusterMismatch, QueryState::Recreated, QueryState::Lost, QueryState::BeyondEnd, QueryState::Gone];

fn rounds() -> usize {
    let minutes: usize = std::env::var("SOAK_MINUTES").map_or(80, |minutes| minutes.parse().unwrap());
    minutes * 60 / usize::try_from(TICK.as_secs()).unwrap()
}

/// The daemon's process ends, and another one takes up what the ledger has.
fn restarted(clock: &Clock, kept: &Pieces) -> ClusterState {
    let memories = kept.memories().into_iter().map(|(query, memory)| (query, memory.unwrap()));
    ClusterState::remembering(clock.clone(), memories.collect())
}

fn remembered_bytes(state: &ClusterState) -> usize {
    state.memories.values().map(|memory| serde_json::to_string(memory).unwrap().len()).sum()
}

#[tokio::test]
async fn hours_of_faults_hide_no_loss_invent_none_and_cost_no_memory() {
    let began = Instant::now();
    let fleet = Arc::new(Mutex::new(Fleet::new(QUERIES)));
    let clock = {
        let fleet = Arc::clone(&fleet);
        Clock::given(move || fleet.lock().unwrap().now())
    };
    let (told, proving) = (Arc::clone(&fleet), Arc::clone(&fleet));
    let brokers = Brokers::new(move || told.lock().unwrap().cluster(), move |asked| proving.lock().unwrap().age(asked));
    let queries = (0..QUERIES).map(|number| {
        let fleet = Arc::clone(&fleet);
        let reading = Checkpoint::new(move || fleet.lock().unwrap().checkpoint(number));
        simulated::query(&Fleet::name(number), reading)
    });
    let target = simulated::target(brokers, queries.collect(), TICK);
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let (mut state, mut book, mut kept) = (restarted(&clock, &Pieces::default()), Book::default(), Pieces::default());
    let (mut settled, mut most, mut restarts) = (0, 0, 0);
    for round in 0..rounds() {
        // The last rounds see everything as it is.
        let is_quiet = round + QUIET >= rounds();
        if fleet.lock().unwrap().pass_time(is_quiet) {
            state = restarted(&clock, &kept);
            restarts += 1;
        }
        let found = once(&target, &mut state, &places, Duration::from_secs(30)).await;
        found.findings.iter().for_each(|finding| book.record(finding));
        let changes = state.written.changes(&state.memories).unwrap();
        changes.iter().for_each(|piece| kept.put(piece));
        state.written.accept(changes);
        for (number, verdict) in found.verdicts.iter().enumerate() {
            let is_finding = FINDINGS.contains(&verdict.state);
            let happened = fleet.lock().unwrap().has_suffered(number);
            assert!(
                !is_finding || happened,
                "round {round}: {} is {}: {}",
                Fleet::name(number),
                verdict.state,
                verdict.reason
            );
        }
        if round == SETTLED {
            settled = remembered_bytes(&state);
        } else if round > SETTLED && round % 20 == 0 {
            most = most.max(remembered_bytes(&state));
        }
        if round + 1 == rounds() {
            let recreated: Vec<String> = (target.queries.iter().zip(&found.verdicts))
                .filter(|(_, verdict)| verdict.state == QueryState::Recreated)
                .map(|(query, _)| query.name.clone())
                .collect();
            assert_eq!(recreated, fleet.lock().unwrap().recreated(), "latched until the end");
        }
    }
    let fleet = fleet.lock().unwrap();
    let (losses, certain, possible) = check_losses(&fleet, &book);
    assert!(most > 0 && most * 10 <= settled * 12, "what is remembered grew from {settled} to {most} bytes");
    println!(
        "{} rounds of {QUERIES} queries in {:?}: {losses} losses, {certain} offsets certain, {possible} possible, \
         {restarts} restarts, {} faults; {settled} bytes remembered, {most} at most later",
        rounds(),
        began.elapsed(),
        fleet.faults()
    );
    assert!(losses > 0 && restarts > 0 && fleet.faults() > 0, "something happened");
}

/// Certain records hold only what was really lost; all that was lost stands in some record.
fn check_losses(fleet: &Fleet, book: &Book) -> (usize, i64, i64) {
    let mut by_log: BTreeMap<(String, i32), Vec<&Gap>> = BTreeMap::new();
    for gap in book.all() {
        by_log.entry((gap.topic.clone(), gap.partition)).or_default().push(gap);
    }
    let sum = |certainty: Certainty| -> i64 {
        book.all().filter(|gap| gap.certainty == certainty).map(|gap| gap.to - gap.from).sum()
    };
    for (log, gaps) in &mut by_log {
        gaps.sort_by_key(|gap| gap.from);
        assert!(gaps.windows(2).all(|pair| pair[0].to <= pair[1].from), "an offset stands in two records: {gaps:?}");
        for gap in gaps.iter().filter(|gap| gap.certainty == Certainty::Certain) {
            assert!(fleet.really_lost(log, gap.from, gap.to), "{gap:?}, really lost: {:?}", fleet.lost(log));
        }
    }
    let mut losses = 0;
    for (log, lost) in fleet.all_lost() {
        losses += lost.len();
        let gaps = by_log.get(log).map_or(&[][..], Vec::as_slice);
        for (from, to) in lost {
            let found: i64 = gaps.iter().map(|gap| (gap.to.min(*to) - gap.from.max(*from)).max(0)).sum();
            assert_eq!(found, to - from, "{log:?} lost [{from}, {to}), recorded: {gaps:?}");
        }
    }
    (losses, sum(Certainty::Certain), sum(Certainty::Possible))
}

//! Ten stores, of which one is sick: what that costs the nine others. Rounds with it and without it alternate, and are
//! compared with their neighbours, since the machine is never quiet. The sick one is opened anew for each round, so that
//! every round is its first one and no rest spares it; a daemon gives it rests.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use brinkwatch::readers::stores::{CheckpointStore, Stores};

use crate::machine::quantile;
use crate::server::SICK;
use crate::{Server, round};

const STORES: usize = 10;
const CHECKPOINTS: usize = 5;
const LATENCY_MS: u64 = 20;
/// Enough for the healthy ones on any machine.
const DEADLINE: Duration = Duration::from_secs(60);
/// So much less for the tenth store that a table does not take hours: one that hangs is waited for a third of it.
const DEADLINE_OF_TENTH: Duration = Duration::from_millis(1500);

/// Prints the table.
pub(crate) async fn all() {
    let server = Server::start(CHECKPOINTS, LATENCY_MS);
    let names: Vec<String> = (0..STORES).map(|number| format!("lake{number}")).collect();
    let settings = names.iter().chain(&SICK.map(str::to_owned)).map(|name| (name.clone(), server.settings())).collect();
    let open = |stores: &mut Stores, name: &str| -> Vec<CheckpointStore> {
        (0..CHECKPOINTS).map(|number| stores.open(&format!("s3a://{name}/cp{number}"), Some(name)).unwrap()).collect()
    };
    let fresh = |settings: &BTreeMap<_, _>, deadline| Stores::new(settings.clone(), deadline);
    let mut stores = fresh(&settings, DEADLINE);
    let nine: Vec<CheckpointStore> = names.iter().take(STORES - 1).flat_map(|name| open(&mut stores, name)).collect();
    let kinds: Vec<&str> = std::iter::once("healthy").chain(SICK).collect();
    let mut ratios = vec![Vec::new(); kinds.len()];
    let mut ends = vec![Vec::new(); kinds.len()];
    let mut alone_ms = Vec::new();
    time(&nine, &[]).await;
    let cycles = std::env::var("CYCLES").map_or(40, |cycles| cycles.parse().unwrap());
    for _ in 0..cycles {
        for (at, kind) in kinds.iter().enumerate() {
            let tenth = open(&mut fresh(&settings, DEADLINE_OF_TENTH), if *kind == "healthy" { "lake9" } else { kind });
            let before = time(&nine, &[]).await.0;
            let (with, end) = time(&nine, &tenth).await;
            let after = time(&nine, &[]).await.0;
            alone_ms.extend([before, after]);
            ratios[at].push(with / ((before + after) / 2.0));
            ends[at].push(end);
        }
    }
    println!();
    println!(
        "Nine stores of {CHECKPOINTS} checkpoints, {LATENCY_MS} ms away, alone: {:.1} ms (10 %–90 %: {:.1}–{:.1}).",
        quantile(&alone_ms, 0.5),
        quantile(&alone_ms, 0.1),
        quantile(&alone_ms, 0.9)
    );
    println!();
    println!(
        "| a tenth store that | the nine's time, of that alone: median (25 %–75 %) | the tenth is done after, ms |"
    );
    println!("|---|---:|---:|");
    for (at, kind) in kinds.iter().enumerate() {
        let [low, median, high] = [0.25, 0.5, 0.75].map(|share| quantile(&ratios[at], share));
        let kind = if *kind == "healthy" { "is healthy" } else { kind };
        println!("| {kind} | {median:.3} ({low:.3}–{high:.3}) | {:.0} |", quantile(&ends[at], 0.5));
    }
}

/// When the last checkpoint of the nine was read, and when the last of the tenth was done with, in ms.
async fn time(nine: &[CheckpointStore], tenth: &[CheckpointStore]) -> (f64, f64) {
    // the tenth comes first: nobody is spared by being asked before it
    let of_tenth = tenth.iter().map(|reader| (reader, DEADLINE_OF_TENTH));
    let readers: Vec<_> = of_tenth.chain(nine.iter().map(|reader| (reader, DEADLINE))).collect();
    let began = Instant::now();
    let outcomes = round(&readers).await;
    let all = began.elapsed();
    let (of_tenth, of_nine) = outcomes.split_at(tenth.len());
    assert!(of_nine.iter().all(|(is_good, _)| *is_good), "a healthy store was not read");
    let last = of_nine.iter().map(|(_, done)| *done).max().unwrap_or(all);
    let end = of_tenth.iter().map(|(_, done)| *done).max().unwrap_or_default();
    (last.as_secs_f64() * 1e3, end.as_secs_f64() * 1e3)
}

//! The loop, on a place that a script plays. Time stands still but for the loop's own waiting.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, pending, ready};

use super::*;
use crate::measures::Reason;
use crate::process::clock;
use crate::readers::{Looked, RequestCounts};
use crate::rounds::board::plain;

/// The paths that a look shows, or why it fails; `None` hangs until the look has to end.
type Look = Option<Result<Vec<&'static str>, Reason>>;

/// Plays its script, and hangs for ever at its end.
#[derive(Debug)]
struct Played {
    script: Mutex<VecDeque<Look>>,
    looks: Mutex<Vec<(Instant, BTreeSet<String>)>>,
}

impl CheckpointFinder for Played {
    fn look<'a>(&'a self, known: &'a BTreeSet<String>, deadline: Duration) -> BoxFuture<'a, Result<Looked, Unread>> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner).push((Instant::now(), known.clone()));
        match self.script.lock().unwrap_or_else(PoisonError::into_inner).pop_front() {
            None => pending().boxed(),
            Some(None) => async move {
                sleep(deadline).await;
                Err(Unread::new(Reason::TimedOut, "hangs"))
            }
            .boxed(),
            Some(Some(Ok(paths))) => {
                let paths = paths.into_iter().map(str::to_owned).collect();
                ready(Ok(Looked { paths, unread: Vec::new() })).boxed()
            }
            Some(Some(Err(reason))) => ready(Err(Unread::new(reason, "played"))).boxed(),
        }
    }

    fn location_of(&self, path: &str) -> String {
        format!("play://{path}")
    }

    fn requests(&self) -> RequestCounts {
        RequestCounts { list: 7, get: 0 }
    }
}

/// What `take` was told, when each look began (in seconds from the start), and what a scrape says at the end.
async fn play(interval: Duration, script: Vec<Look>) -> (Vec<String>, Vec<u64>, String) {
    let number = script.len();
    let finder = Arc::new(Played { script: Mutex::new(script.into()), looks: Mutex::default() });
    let target = DiscoveryTarget { name: "lake".to_owned(), finder: Arc::<Played>::clone(&finder), interval };
    let board = Arc::new(Board::default());
    board.set_discovery(DiscoveryRound::waiting("lake"));
    assert!(!board.is_ready(), "before the first look");
    let (stop, told) = (CancellationToken::new(), Arc::new(Mutex::new(Vec::new())));
    let took = Arc::clone(&told);
    let take = move |paths: &BTreeSet<String>| {
        let words = paths.iter().cloned().collect::<Vec<_>>().join(" ");
        took.lock().unwrap_or_else(PoisonError::into_inner).push(words);
        Taken { watched: paths.len(), refused: 1 }
    };
    let began = Instant::now();
    let looping = tokio::spawn(discover(target, take, Arc::clone(&board), stop.clone()));
    while finder.looks.lock().unwrap_or_else(PoisonError::into_inner).len() <= number {
        sleep(Duration::from_secs(1)).await;
    }
    assert!(board.is_ready());
    stop.cancel();
    looping.await.unwrap();
    let looks = finder.looks.lock().unwrap_or_else(PoisonError::into_inner);
    let at = looks.iter().map(|(at, _)| (*at - began).as_secs()).collect();
    let text = String::from_utf8(plain(&board.scrape(clock::now(), "")).unwrap()).unwrap();
    let told = told.lock().unwrap_or_else(PoisonError::into_inner).clone();
    (told, at, text)
}

const MINUTES: Duration = Duration::from_secs(300);

#[tokio::test(start_paused = true)]
async fn a_look_comes_at_each_interval_and_soon_after_something_vanished() {
    let script = [vec!["a", "b"], vec!["a"], vec!["a"], vec!["a"]];
    let (told, at, text) = play(MINUTES, script.map(|paths| Some(Ok(paths))).to_vec()).await;
    assert_eq!(told, ["a b", "a b", "a", "a"]);
    assert_eq!(at, [0, 300, 310, 610, 910]);
    for line in [
        "brinkwatch_discovery_up{discovery=\"lake\"} 1",
        "brinkwatch_discovery_polls_total{discovery=\"lake\"} 4",
        "brinkwatch_discovery_queries{discovery=\"lake\"} 1",
        "brinkwatch_discovery_refused_checkpoints{discovery=\"lake\"} 1",
        "brinkwatch_discovery_store_requests_total{discovery=\"lake\",operation=\"list\"} 7",
    ] {
        assert!(text.contains(&format!("\n{line}\n")), "{line} is not in\n{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_look_that_fails_or_hangs_keeps_what_is_known_and_says_why() {
    let script = vec![Some(Ok(vec!["a"])), Some(Err(Reason::Denied)), None, Some(Ok(vec![]))];
    let (told, at, text) = play(MINUTES, script).await;
    assert_eq!(told, ["a", "a", "a", "a"]);
    // a look that hangs ends before the next one is due
    assert_eq!(at, [0, 300, 600, 900, 1200]);
    let failures = |reason: &str, count: u64| {
        let line =
            format!("brinkwatch_discovery_poll_failures_total{{discovery=\"lake\",reason=\"{reason}\"}} {count}");
        assert!(text.contains(&format!("\n{line}\n")), "{line} is not in\n{text}");
    };
    failures("denied", 1);
    failures("timed_out", 1);
    failures("not_found", 1);
    failures("unreachable", 0);
    assert!(text.contains("brinkwatch_discovery_up{discovery=\"lake\"} 0\n"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_first_look_that_fails_tells_no_number_of_queries() {
    let (told, _, text) = play(MINUTES, vec![Some(Err(Reason::Unreachable))]).await;
    assert_eq!(told, Vec::<String>::new());
    assert!(text.contains("brinkwatch_discovery_up{discovery=\"lake\"} 0\n"), "{text}");
    assert!(!text.contains("brinkwatch_discovery_queries"), "{text}");
}

//! The whole demo, as a person starts it: the program, its page, its metrics, and what it leaves behind.

#![expect(clippy::unwrap_used, reason = "in a test, what cannot be unwrapped has failed")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::time::Instant;

/// What a person may be asked to wait for.
const PATIENCE: Duration = Duration::from_secs(120);

/// A demo at work, ended at the latest when the test is.
struct Demo {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    said: String,
}

impl Demo {
    fn start(arguments: &[&str], temporary: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_brinkwatch"))
            .arg("demo")
            .args(arguments)
            .env("TMPDIR", temporary)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output, said: String::new() }
    }

    /// The page's address, once the demo says it.
    fn address(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the demo ended early: {}", self.said);
            self.said.push_str(&line);
            if let Some(address) = line.trim().strip_prefix("open ") {
                return address.to_owned();
            }
        }
    }

    fn end_with(&mut self, signal: &str) -> Option<i32> {
        let killed = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        self.output.read_to_string(&mut self.said).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // Both fail when it has ended already, which is what is wanted.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn get(url: &str) -> String {
    ureq::get(url).call().unwrap().body_mut().read_to_string().unwrap()
}

/// The samples of a metric of one query.
fn samples(exposition: &str, metric: &str, query: &str) -> Vec<f64> {
    let label = format!("query=\"{query}\"");
    exposition
        .lines()
        .filter(|line| line.strip_prefix(metric).is_some_and(|rest| rest.starts_with('{')) && line.contains(&label))
        .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
        .collect()
}

#[test]
fn a_loss_and_a_risk_are_seen_within_two_minutes_and_nothing_is_left_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let mut demo = Demo::start(&["--listen", "127.0.0.1:0", "--speed", "3"], temporary.path());
    let address = demo.address();
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 1);

    let begun = Instant::now();
    loop {
        let exposition = get(&format!("{address}metrics"));
        let lost = samples(&exposition, "brinkwatch_query_topic_lost_offsets", "payments");
        let ratio = |query| samples(&exposition, "brinkwatch_query_topic_retention_remaining_ratio", query);
        let restartable = |query| samples(&exposition, "brinkwatch_query_restartable", query);
        if lost.iter().any(|lost| *lost > 0.0)
            && ratio("clickstream").iter().any(|ratio| *ratio < 0.5)
            && ratio("orders").iter().any(|ratio| *ratio > 0.8)
            && restartable("invoices") == [0.0]
            && restartable("orders") == [1.0]
        {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{exposition}");
        std::thread::sleep(Duration::from_millis(250));
    }
    let page = get(&address);
    for query in ["orders", "clickstream", "payments", "invoices"] {
        assert!(demo.said.contains(query) && page.contains(query), "{query}: {page}");
    }

    assert_eq!(demo.end_with("-TERM"), Some(0));
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
}

#[test]
fn a_signal_at_any_moment_leaves_nothing_behind() {
    for signal in ["-INT", "-HUP", "-TERM"] {
        let temporary = tempfile::tempdir().unwrap();
        let mut demo = Demo::start(&["--listen", "127.0.0.1:0"], temporary.path());
        // The first words are said before anything is set up, with the signals already taken over.
        demo.output.read_line(&mut demo.said).unwrap();
        assert_eq!(demo.end_with(signal), Some(0), "{signal}: {}", demo.said);
        assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0, "{signal}");
    }
}

#[test]
fn an_address_that_was_asked_for_and_is_taken_is_an_error() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let ended = Command::new(env!("CARGO_BIN_EXE_brinkwatch"))
        .args(["demo", "--listen", &taken.local_addr().unwrap().to_string()])
        .env("TMPDIR", temporary.path())
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(1));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.contains("cannot listen on"), "{said}");
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
}

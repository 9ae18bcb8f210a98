//! Measures readings of checkpoints: `cargo bench --bench stores`. Everything runs on this machine, the store server
//! included, in a process of its own.
//!
//! `-- rows` reads 1, 100 and 1,000 checkpoints a round, on local disk and on S3: time, CPU, requests, memory.
//! `-- sick` reads ten stores, of which one is sick in several ways; what that costs the others. Without a word, both.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "run by hand: it may stop, and it measures wall time"
)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use brinkwatch::readers::CheckpointReader;
use brinkwatch::readers::stores::{CheckpointStore, StoreKind, StoreSecret, StoreSettings};
use brinkwatch::rounds::AT_ONCE;
use futures::future::join_all;
use tokio::sync::Semaphore;

mod files;
mod machine;
mod rows;
mod server;
mod sick;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    match words[..] {
        ["serve", checkpoints, latency] => {
            let latency = Duration::from_millis(latency.parse().unwrap());
            runtime.block_on(server::serve(server::Setup { checkpoints: checkpoints.parse().unwrap(), latency }));
        }
        ["row", place, checkpoints, latency] => {
            runtime.block_on(rows::measure(place, checkpoints.parse().unwrap(), latency.parse().unwrap()));
        }
        ["rows"] => rows::all(),
        ["sick"] => runtime.block_on(sick::all()),
        _ => {
            rows::all();
            runtime.block_on(sick::all());
        }
    }
}

/// The server, until it is dropped.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(checkpoints: usize, latency_ms: u64) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["serve", &checkpoints.to_string(), &latency_ms.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, port: line.trim().parse().unwrap() }
    }

    fn settings(&self) -> StoreSettings {
        let mut settings = StoreSettings::new(StoreKind::S3);
        settings.endpoint = Some(format!("http://127.0.0.1:{}", self.port));
        settings.region = Some("us-east-1".to_owned());
        settings.access_key_id = Some("AKIAEXAMPLE".to_owned());
        settings.secret_access_key = Some(StoreSecret::given("nobody-checks-it"));
        settings.allow_http = true;
        settings
    }

    fn advance(&self) {
        ureq::post(&format!("http://127.0.0.1:{}/advance", self.port)).send_empty().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// One round over all of these, each with its deadline, as a daemon reads them. For each: whether it was read, and when
/// it was done.
async fn round(readers: &[(&CheckpointStore, Duration)]) -> Vec<(bool, Duration)> {
    let places = Semaphore::new(AT_ONCE);
    let began = Instant::now();
    let (places, began) = (&places, &began);
    let read = async |reader: &'_ CheckpointStore, deadline| {
        let _place = places.acquire().await.unwrap();
        let is_good = reader.read(deadline).await.is_ok_and(|reading| reading.problems.is_empty());
        (is_good, began.elapsed())
    };
    join_all(readers.iter().map(|(reader, deadline)| read(reader, *deadline))).await
}

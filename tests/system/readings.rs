//! What the system's tests need of the library, and no command does: commands on files in memory, readings one after
//! another without a pause, and answers held against their schemas.

#![expect(clippy::unwrap_used, reason = "a part of the tests: it may stop")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use brinkwatch::checkpoint::{CheckpointReading, ProblemKind};
use brinkwatch::commands::config::ConfigSource;
use brinkwatch::commands::inspect::Inspected;
use brinkwatch::commands::{self, discover, inspect};
use brinkwatch::daemon::store_settings;
use brinkwatch::measures::BatchId;
use brinkwatch::readers::CheckpointReader;
use brinkwatch::readers::stores::{CheckpointStore, Stores};
use clap::{Args, Parser, Subcommand};
use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use serde_json::{Value, json};

#[derive(Debug, Parser)]
struct CommandLine {
    /// Takes what lies in this folder into memory, and reads it there as s3a://lake
    #[arg(long)]
    memory: Option<PathBuf>,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// As of brinkwatch
    Inspect(inspect::InspectArgs),
    /// As of brinkwatch
    Discover(discover::DiscoverArgs),
    /// Reads one checkpoint whenever a line comes, by a reader that remembers, and tells the requests
    Watch(Watched),
    /// Reads many checkpoints once, and tells what each says, in their order
    Each {
        checkpoints: Vec<String>,
        #[arg(long)]
        store: Option<String>,
        #[command(flatten)]
        config: ConfigSource,
    },
    /// Holds the JSON on standard input against a schema, and tells what does not agree
    Agrees { schema: PathBuf },
    /// Reads one checkpoint again and again, and tells what was odd
    Poll {
        #[command(flatten)]
        watched: Watched,
        /// How many readings
        #[arg(long)]
        polls: u64,
    },
}

#[derive(Args, Debug)]
struct Watched {
    checkpoint: String,
    #[arg(long)]
    store: Option<String>,
    #[command(flatten)]
    config: ConfigSource,
}

/// So much as one reading may take in a daemon that polls every 30 s.
const DEADLINE: Duration = Duration::from_secs(9);
/// Each so-manieth reading is made by a reader that remembers nothing.
const FRESH_EVERY: u64 = 3;

#[tokio::main]
async fn main() -> ExitCode {
    let CommandLine { memory, what } = CommandLine::parse();
    let mut memory = memory.map(Memory::of);
    let mut out = std::io::stdout();
    match what {
        What::Inspect(args) => {
            let mut stores = stores(memory.as_mut(), args.store.as_deref(), &args.config).await;
            commands::end(inspect::run_in(&mut stores, &args, &mut out).await, &mut out).into()
        }
        What::Discover(args) => {
            let mut stores = stores(memory.as_mut(), args.store.as_deref(), &args.source).await;
            commands::end(discover::run_in(&mut stores, &args, &mut out).await, &mut out).into()
        }
        What::Agrees { schema } => {
            let schema = serde_json::from_slice(&std::fs::read(schema).unwrap()).unwrap();
            let document: Value = serde_json::from_reader(std::io::stdin()).unwrap();
            let schema = jsonschema::validator_for(&schema).unwrap();
            let wrong: Vec<String> =
                schema.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path())).collect();
            println!("{}", wrong.join("\n"));
            ExitCode::from(u8::from(!wrong.is_empty()))
        }
        What::Watch(watched) => {
            let mut stores = stores(memory.as_mut(), watched.store.as_deref(), &watched.config).await;
            let reader = stores.open(&watched.checkpoint, watched.store.as_deref()).unwrap();
            for _line in std::io::stdin().lines() {
                if let Some(memory) = &mut memory {
                    memory.load().await;
                }
                println!("{}", watch(&reader).await);
            }
            ExitCode::SUCCESS
        }
        What::Each { checkpoints, store, config } => {
            let mut stores = stores(memory.as_mut(), store.as_deref(), &config).await;
            for checkpoint in checkpoints {
                println!("{}", watch(&stores.open(&checkpoint, store.as_deref()).unwrap()).await);
            }
            ExitCode::SUCCESS
        }
        What::Poll { watched, polls } => {
            let mut stores = stores(memory.as_mut(), watched.store.as_deref(), &watched.config).await;
            println!("{}", poll(&mut stores, &watched, polls).await);
            ExitCode::SUCCESS
        }
    }
}

async fn stores(memory: Option<&mut Memory>, store: Option<&str>, config: &ConfigSource) -> Stores {
    let settings = store.map(|_| store_settings(&config.load().unwrap()).unwrap()).unwrap_or_default();
    let mut stores = Stores::new(settings, DEADLINE);
    if let Some(memory) = memory {
        memory.load().await;
        stores.replace("s3a://lake", Arc::<InMemory>::clone(&memory.store)).unwrap();
    }
    stores
}

/// A folder whose files are kept in memory as well.
struct Memory {
    folder: PathBuf,
    store: Arc<InMemory>,
    kept: BTreeMap<String, Vec<u8>>,
}

impl Memory {
    fn of(folder: PathBuf) -> Self {
        Self { folder, store: Arc::default(), kept: BTreeMap::new() }
    }

    /// Takes over what changed in the folder.
    async fn load(&mut self) {
        let mut found = BTreeMap::new();
        let mut left = vec![self.folder.clone()];
        while let Some(path) = left.pop() {
            if path.is_dir() {
                left.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            } else {
                let key = path.strip_prefix(&self.folder).unwrap().to_str().unwrap().to_owned();
                found.insert(key, std::fs::read(&path).unwrap());
            }
        }
        for (key, content) in found.iter().filter(|(key, content)| self.kept.get(*key) != Some(*content)) {
            self.store.put(&path(key), content.clone().into()).await.unwrap();
        }
        for key in self.kept.keys().filter(|key| !found.contains_key(*key)) {
            self.store.delete(&path(key)).await.unwrap();
        }
        self.kept = found;
    }
}

fn path(key: &str) -> Path {
    Path::parse(key).unwrap()
}

async fn watch(reader: &CheckpointStore) -> Value {
    let before = reader.requests();
    let outcome = reader.read(DEADLINE).await;
    let after = reader.requests();
    let read = match outcome {
        Ok(reading) => json!({ "reading": Inspected::new(reader.location(), &reading) }),
        Err(unread) => json!({ "reason": unread.reason.label(), "detail": unread.detail }),
    };
    json!({ "read": read, "get": after.get - before.get, "list": after.list - before.list })
}

async fn poll(stores: &mut Stores, watched: &Watched, polls: u64) -> Value {
    let mut open = || stores.open(&watched.checkpoint, watched.store.as_deref()).unwrap();
    let remembering = open();
    let mut seen = Seen::default();
    for number in 1..=polls {
        if number % FRESH_EVERY == 0 {
            seen.read(number, true, &open()).await;
        } else {
            seen.read(number, false, &remembering).await;
        }
    }
    seen.told()
}

/// What was seen so far.
#[derive(Debug, Default)]
struct Seen {
    polls: u64,
    open: u64,
    spared: u64,
    committed: BTreeSet<BatchId>,
    newest: BTreeMap<(bool, &'static str), BatchId>,
    positions: BTreeMap<(bool, String, String, i32), i64>,
    /// Readings by the one that remembers which were older than what one that remembers nothing had seen.
    late: u64,
    untold: u64,
    odd: Vec<Value>,
    slowest: Duration,
}

impl Seen {
    async fn read(&mut self, number: u64, is_new: bool, reader: &CheckpointStore) {
        let listed = reader.requests().list;
        let began = tokio::time::Instant::now();
        let outcome = reader.read(DEADLINE).await;
        self.slowest = self.slowest.max(began.elapsed());
        self.polls += 1;
        self.spared += u64::from(reader.requests().list == listed);
        match outcome {
            Ok(reading) => self.note(number, is_new, &reading),
            Err(unread) => self.odd(number, "not read", unread.to_string()),
        }
    }

    fn note(&mut self, number: u64, is_new: bool, reading: &CheckpointReading) {
        for problem in &reading.problems {
            // Of a query with asynchronous progress tracking few entries may be left: then nothing tells it from a
            // damaged log, and that is what is said.
            if problem.kind == ProblemKind::GapInBatches && reading.restartable.is_none() {
                self.untold += 1;
            } else {
                self.odd(number, problem.kind.label(), &problem.detail);
            }
        }
        self.open += u64::from(reading.batch_open);
        self.committed.extend(reading.newest_committed);
        for (log, newest) in [("planned", reading.newest_planned), ("committed", reading.newest_committed)] {
            let Some(newest) = newest else { continue };
            let before = self.newest.insert((is_new, log), newest);
            self.late += u64::from(!is_new && self.newest.get(&(true, log)).is_some_and(|seen| *seen > newest));
            if before.is_some_and(|before| before > newest) {
                self.odd(number, "batch went back", format!("{log}: {before:?} to {newest}"));
            }
        }
        for source in &reading.sources {
            for (topic, partitions) in &source.topics {
                for (partition, position) in partitions {
                    let Some(committed) = position.committed else { continue };
                    let key = (is_new, source.id.clone(), topic.to_string(), *partition);
                    let before = self.positions.insert(key, committed.get());
                    if before.is_some_and(|before| before > committed.get()) {
                        self.odd(
                            number,
                            "position went back",
                            format!("{topic}-{partition}: {before:?} to {committed}"),
                        );
                    }
                }
            }
        }
    }

    fn odd(&mut self, number: u64, what: &str, detail: impl Into<String>) {
        self.odd.push(json!({ "poll": number, "what": what, "detail": detail.into() }));
    }

    fn told(&self) -> Value {
        json!({
            "polls": self.polls,
            "with_open_batch": self.open,
            "without_listing": self.spared,
            "committed_batches_seen": self.committed.len(),
            "newest_committed": self.newest.get(&(false, "committed")).map(|batch| batch.0),
            "late": self.late,
            "partitions": self.positions.keys().filter(|(is_new, ..)| !is_new).count(),
            "slowest_ms": u64::try_from(self.slowest.as_millis()).unwrap(),
            "untold": self.untold,
            "odd": self.odd,
        })
    }
}

//! The show: stand-in, writer and queries on one thread of their own, until it is dropped.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::simulated::Simulated;
use super::stand_in::{Batching, Bounds, StandIn};
use super::story::Story;
use crate::process::clock;

/// How often something is written.
const TICK: Duration = Duration::from_millis(200);
/// The most that one tick plays, however long it took: after the machine was suspended the story goes on where it
/// was, and no query loses what its story does not lose.
const LONGEST_TICK: Duration = Duration::from_millis(600);
/// Below one record a second each record travels in a batch of its own.
const SLOW_TOPIC_RECORDS_PER_KILOSECOND: u64 = 1000;

/// A running show. Dropping it stops it and waits for its end.
#[derive(Debug)]
pub(super) struct Show {
    /// Where the stand-in listens.
    pub(super) bootstrap_servers: String,
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    failure: oneshot::Receiver<anyhow::Error>,
}

impl Show {
    /// Fills the topics, writes the checkpoints of the past into `folder`, and starts to play. Takes a moment.
    pub(super) fn start(folder: PathBuf, stories: &'static [Story], speed: u32) -> anyhow::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let (ready, is_ready) = mpsc::channel();
        let (fail, failure) = oneshot::channel();
        let play = move || {
            // The stand-in may not leave its thread, so all of its life is here.
            let mut stage = match Stage::set(&folder, stories) {
                Ok(stage) => stage,
                Err(error) => return drop(ready.send(Err(error))),
            };
            if ready.send(Ok(stage.stand_in.bootstrap_servers())).is_err() {
                return;
            }
            if let Err(error) = stage.play(&stopped, speed) {
                drop(fail.send(error));
            }
        };
        let thread =
            std::thread::Builder::new().name("demo".to_owned()).spawn(play).context("cannot start a thread")?;
        let bootstrap_servers = is_ready.recv().context("the demo's thread ended early")??;
        Ok(Self { bootstrap_servers, stop: Some(stop), thread: Some(thread), failure })
    }

    /// Waits until the show fails; for ever if it does not.
    pub(super) async fn failed(&mut self) -> anyhow::Error {
        match (&mut self.failure).await {
            Ok(error) => error,
            Err(_) => anyhow::anyhow!("the demo's thread ended early"),
        }
    }
}

impl Drop for Show {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic has been printed by its own thread.
            drop(thread.join());
        }
    }
}

/// One topic and its query.
struct Act {
    story: &'static Story,
    query: Simulated,
    /// Millionths of a record that are due in each partition and not written yet.
    due: u64,
}

/// Everything that is played. Its time is its own: since the start, and as fast as it is played.
pub(super) struct Stage {
    pub(super) stand_in: StandIn,
    acts: Vec<Act>,
    at: Duration,
}

impl Stage {
    pub(super) fn set(folder: &Path, stories: &'static [Story]) -> anyhow::Result<Self> {
        let mut stand_in = StandIn::start()?;
        for story in stories {
            // A slow topic will be written record by record, so its past must be as well: the log's start moves by
            // whole batches, and else would not be seen to move for a long time.
            let slow = story.records_per_kilosecond < SLOW_TOPIC_RECORDS_PER_KILOSECOND;
            let batching = if slow { Batching::Single } else { Batching::Few };
            stand_in.create_full_topic(story.topic, story.partitions, story.record_bytes, batching)?;
        }
        let mut acts = Vec::with_capacity(stories.len());
        for story in stories {
            let bounds = bounds(&stand_in, story)?;
            let query = Simulated::begin(folder, story, &bounds, clock::now())?;
            acts.push(Act { story, query, due: 0 });
        }
        Ok(Self { stand_in, acts, at: Duration::ZERO })
    }

    fn play(&mut self, stopped: &mpsc::Receiver<()>, speed: u32) -> anyhow::Result<()> {
        let mut last = Instant::now();
        while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            let passed = last.elapsed().min(LONGEST_TICK).saturating_mul(speed);
            last = Instant::now();
            self.advance(passed)?;
        }
        Ok(())
    }

    /// Plays so much of the story at once.
    pub(super) fn advance(&mut self, passed: Duration) -> anyhow::Result<()> {
        self.at += passed;
        for act in &mut self.acts {
            act.play(&mut self.stand_in, passed, self.at)?;
        }
        Ok(())
    }
}

impl Act {
    fn play(&mut self, stand_in: &mut StandIn, passed: Duration, at: Duration) -> anyhow::Result<()> {
        const ONE_RECORD: u64 = 1_000_000;
        let passed = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        self.due = self.due.saturating_add(self.story.records_per_kilosecond.saturating_mul(passed));
        for partition in 0..self.story.partitions {
            stand_in.write(self.story.topic, partition, self.due / ONE_RECORD, self.story.record_bytes)?;
        }
        self.due %= ONE_RECORD;
        self.query.commit_if_done(at, clock::now())?;
        if self.query.wants_bounds(at) {
            let bounds = bounds(stand_in, self.story)?;
            self.query.plan(&bounds, at, clock::now())?;
        }
        Ok(())
    }
}

fn bounds(stand_in: &StandIn, story: &Story) -> anyhow::Result<Vec<Bounds>> {
    (0..story.partitions).map(|partition| stand_in.bounds(story.topic, partition)).collect()
}

//! Kafka, read through librdkafka.
//!
//! One consumer-type client per cluster, without a group: it can neither create a topic nor a group, and makes the
//! broker create nothing for it. Topics are found by DescribeTopics (identity and leaders), bounds by ListOffsets, limits
//! by DescribeConfigs in a slower rhythm, ages by ListOffsets for a time.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use self::access::Current;
use self::client::Connection;
use self::clocks::OurClock;
use self::memory::Memory;
use self::turns::Turns;
use super::{AgeRequest, BrokerReader, FirstSince, WantedTopic};
use crate::measures::{Moment, Offset, Reason, TopicName, TopicPartition, Unread};
use crate::retention::{Age, ClusterReading, Limits};

mod abilities;
mod access;
mod ages;
mod bounds;
mod certificates;
mod client;
mod clocks;
mod context;
mod faults;
mod kerberos;
#[expect(unsafe_code, reason = "the thin wrapper over librdkafka calls that rust-rdkafka lacks")]
mod librdkafka;
mod limits;
mod lookups;
mod memory;
mod msk;
mod probe;
mod properties;
mod times;
mod tokens;
mod topics;
mod turns;
mod words;

pub use access::{Access, AccessError, AccessSource};
pub use client::check_access;
pub use properties::{FORBIDDEN, OpenError};
pub use tokens::{ClientCredentials, TokenKind, TokenSource};

/// How much later than its deadline a pass may hand over what it has.
const GRACE: Duration = Duration::from_millis(500);

/// What a reader is made from.
#[derive(Clone, Default)]
pub struct KafkaOptions {
    /// The cluster's name, for the log.
    pub cluster: String,
    /// Host and port pairs, separated by commas.
    pub bootstrap_servers: String,
    /// What the client logs in with.
    pub access: AccessSource,
    /// Limits of topics given by hand, where the broker does not tell.
    pub retention_overrides: BTreeMap<TopicName, Limits>,
    /// How far the brokers' clocks may be ahead of ours.
    pub clock_skew: Duration,
}

impl fmt::Debug for KafkaOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaOptions")
            .field("cluster", &self.cluster)
            .field("bootstrap_servers", &self.bootstrap_servers)
            .field("access", &self.access)
            .field("retention_overrides", &self.retention_overrides)
            .field("clock_skew", &self.clock_skew)
            .finish()
    }
}

/// The reader of one cluster.
pub struct KafkaReader {
    cluster: String,
    clock_skew: Duration,
    current: Arc<Current>,
    turns: Turns,
}

impl fmt::Debug for KafkaReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaReader").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

impl KafkaReader {
    /// Makes the client. Connects to nothing yet, so a cluster that is away is no error.
    ///
    /// Dropping the reader never waits: its threads end by themselves, in a second or as soon as a call under way is
    /// answered or times out.
    ///
    /// # Errors
    /// When a secret cannot be read, a property is forbidden or refused, or the system has no thread left.
    pub fn open(options: KafkaOptions) -> Result<Self, OpenError> {
        let current = Current::open(&options.cluster, &options.bootstrap_servers, options.access)?;
        let turns = Turns::new(options.cluster.clone(), options.retention_overrides);
        let (cluster, clock_skew) = (options.cluster, options.clock_skew);
        Ok(Self { cluster, clock_skew, current: Arc::new(current), turns })
    }

    /// How many look-ups by time were made since the start, one for each partition that was asked for.
    #[must_use]
    pub fn look_ups(&self) -> u64 {
        self.current.requests().look_ups()
    }

    /// Runs blocking work on a thread of its own, when it is our turn.
    async fn in_turn<T: Send + 'static>(
        &self,
        deadline: Duration,
        work: impl FnOnce(&Connection, &mut Memory, Instant) -> T + Send + 'static,
    ) -> Result<T, Unread> {
        let until = Instant::now() + deadline;
        let Ok(mut turn) = timeout_at(until, self.turns.take(until)).await else {
            if self.turns.pass_over_the_hanging() {
                let cluster = &self.cluster;
                tracing::warn!(target: "kafka", cluster, "a call to the client does not end; another client takes its place");
            }
            return Err(Unread::new(Reason::Overrun, "the pass before this one still runs"));
        };
        let current = Arc::clone(&self.current);
        let (tell, told) = oneshot::channel();
        let spawned = thread::Builder::new().name("kafka-pass".to_owned()).spawn(move || {
            if turn.wants_another_client() {
                current.leave();
            }
            let connection = current.connection();
            let answer = work(&connection, &mut turn.memory, until);
            drop(turn);
            if tell.send(answer).is_err() {
                tracing::debug!(target: "kafka", "nobody waits for this pass any more");
            }
        });
        if let Err(error) = spawned {
            return Err(Unread::new(Reason::Unreachable, format!("no thread for a pass: {error}")));
        }
        match timeout_at(until + GRACE, told).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(Unread::new(Reason::Unreachable, "the pass ended without an answer")),
            Err(_) => Err(Unread::new(Reason::TimedOut, "the pass did not end at its deadline")),
        }
    }
}

impl BrokerReader for KafkaReader {
    fn topics(
        &self,
        wanted: &[WantedTopic],
        now: Moment,
        deadline: Duration,
    ) -> BoxFuture<'_, Result<ClusterReading, Unread>> {
        let wanted = wanted.to_vec();
        let ours = OurClock::shows(now, self.clock_skew);
        async move {
            let work = move |connection: &Connection, memory: &mut Memory, until| {
                topics::read(connection, memory, &wanted, &ours, until)
            };
            self.in_turn(deadline, work).await?
        }
        .boxed()
    }

    fn latest(
        &self,
        partitions: &[TopicPartition],
        deadline: Duration,
    ) -> BoxFuture<'_, BTreeMap<TopicPartition, Result<Offset, Unread>>> {
        let partitions = partitions.to_vec();
        let asked = partitions.clone();
        async move {
            let work = move |connection: &Connection, memory: &mut Memory, until| {
                bounds::latest(connection, memory, &partitions, until)
            };
            let none = |unread: Unread| asked.into_iter().map(|partition| (partition, Err(unread.clone()))).collect();
            self.in_turn(deadline, work).await.unwrap_or_else(none)
        }
        .boxed()
    }

    fn first_since(
        &self,
        asked: &[(TopicPartition, Moment)],
        deadline: Duration,
    ) -> BoxFuture<'_, BTreeMap<TopicPartition, FirstSince>> {
        let asked: BTreeMap<TopicPartition, Moment> = asked.iter().cloned().collect();
        let partitions: Vec<TopicPartition> = asked.keys().cloned().collect();
        async move {
            let work = move |connection: &Connection, memory: &mut Memory, until| {
                bounds::first_since(connection, memory, &asked, until)
            };
            let none =
                |unread: Unread| partitions.into_iter().map(|partition| (partition, Err(unread.clone()))).collect();
            self.in_turn(deadline, work).await.unwrap_or_else(none)
        }
        .boxed()
    }

    fn ages(
        &self,
        asked: &[AgeRequest],
        now: Moment,
        deadline: Duration,
    ) -> BoxFuture<'_, BTreeMap<(TopicPartition, Offset), Age>> {
        let asked = asked.to_vec();
        let keys: Vec<_> = asked.iter().map(|request| (request.partition.clone(), request.committed)).collect();
        async move {
            let work = move |connection: &Connection, memory: &mut Memory, until| {
                ages::read(connection, memory, &asked, now, until)
            };
            match self.in_turn(deadline, work).await {
                Ok(ages) => ages,
                Err(unread) => {
                    tracing::warn!(target: "kafka", cluster = self.cluster, %unread, "no look-ups by time");
                    keys.into_iter().map(|key| (key, Age::default())).collect()
                }
            }
        }
        .boxed()
    }

    fn requests(&self) -> BTreeMap<&'static str, u64> {
        self.current.requests().counted()
    }
}

//! One long-lived client per cluster, and the threads that may wait for it.
//!
//! Every call of librdkafka blocks, and dropping a client joins its threads. So calls run on threads of their own, and
//! the last hold on a client is let go by one of those, never by a worker of the async runtime.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rdkafka::client::Client;
use rdkafka::config::FromClientConfigAndContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use tokio::time::Instant;

use super::access::{Access, AccessSource};
use super::context::Context;
use super::librdkafka::{CallError, cluster_id};
use super::properties::{OpenError, check_served, client_config, refusal};
use crate::measures::{Reason, Unread};

/// How often the client's events (logs, errors, token refreshes) are served when none wakes us.
const SERVE: Duration = Duration::from_millis(500);
/// One slice of waiting for a first answer, so that a wrong password is not waited out.
const SLICE: Duration = Duration::from_secs(1);
/// How long a look at what is there may wait for each answer.
const LOOK: Duration = Duration::from_millis(600);
/// The same, when the time is over: within what a pass may take longer.
const AT_THE_END: Duration = Duration::from_millis(100);
/// The longest wait for a first answer.
const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// A consumer-type client without a group, which can neither create a topic nor a group.
pub(super) struct Connection {
    consumer: BaseConsumer<Context>,
    /// Ids of brokers, the one that answered last first.
    brokers: Mutex<Vec<i32>>,
    pub(super) requests: Requests,
    bootstrap_servers: String,
}

/// Requests by API, and look-ups by time, counted on from one client of a cluster to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    by_api: Arc<Mutex<BTreeMap<&'static str, u64>>>,
    look_ups: Arc<AtomicU64>,
}

impl Requests {
    pub(super) fn counted(&self) -> BTreeMap<&'static str, u64> {
        self.by_api.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn look_ups(&self) -> u64 {
        self.look_ups.load(Ordering::Relaxed)
    }
}

impl Connection {
    pub(super) fn client(&self) -> &Client<Context> {
        self.consumer.client()
    }

    /// Counts one request to one broker.
    pub(super) fn count(&self, api: &'static str) {
        let mut requests = self.requests.by_api.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry(api).or_default() += 1;
    }

    /// Counts look-ups by time, one for each partition.
    pub(super) fn count_look_ups(&self, partitions: usize) {
        self.requests.look_ups.fetch_add(u64::try_from(partitions).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// The cluster's id, once a broker said it.
    pub(super) fn cluster_id(&self) -> Option<String> {
        cluster_id(self.client(), Duration::from_millis(100))
    }

    /// Asks whichever broker can be reached for the list of brokers. This also refreshes what the client knows of
    /// leaders.
    pub(super) fn refresh(&self, until: Instant) -> Result<(), Unread> {
        let until = until.min(Instant::now() + FIRST_ANSWER);
        let mut looked = false;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let none = || Unread::new(Reason::TimedOut, "no broker answered in time");
                return Err(self.explained(AT_THE_END).unwrap_or_else(none));
            }
            self.count("metadata");
            match self.client().fetch_metadata(None, left.min(SLICE)) {
                Ok(metadata) if !metadata.brokers().is_empty() => {
                    let ids = metadata.brokers().iter().map(rdkafka::metadata::MetadataBroker::id).collect();
                    *self.brokers.lock().unwrap_or_else(PoisonError::into_inner) = ids;
                    self.client().context().forget_troubles();
                    return Ok(());
                }
                Ok(_) => thread::sleep(left.min(Duration::from_millis(100))),
                Err(_) if self.client().context().hopeless() => {
                    // A connection that is closed without a word leaves no cause.
                    let closed = "no broker keeps a connection: not Kafka, or security.protocol is not right";
                    let unexplained = || Unread::new(Reason::Unreachable, closed);
                    return Err(self.explained(LOOK.min(left)).unwrap_or_else(unexplained));
                }
                // Nothing was refused and nobody speaks: whoever is there is asked in another way, while there is time.
                Err(_) if self.client().context().is_silent() && left > LOOK * 3 && !looked => {
                    looked = true;
                    drop(self.explained(LOOK));
                }
                Err(_) => {}
            }
        }
    }

    /// Asks one broker, and another when the first does not answer; then learns anew which brokers there are, and
    /// tries once more.
    pub(super) fn ask_any<T>(
        &self,
        until: Instant,
        longest: Duration,
        api: &'static str,
        ask: impl Fn(i32, Duration) -> Result<T, CallError>,
    ) -> Result<T, Unread> {
        if self.brokers().is_empty() {
            self.refresh(until)?;
        }
        let mut last = None;
        let mut tried = 0;
        while tried < 3 {
            if tried == 2 {
                self.refresh(until)?;
            }
            let Some(broker) = self.brokers().first().copied() else { break };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            self.count(api);
            match ask(broker, left.min(longest)) {
                Ok(answer) => {
                    self.client().context().forget_troubles();
                    return Ok(answer);
                }
                Err(error) => {
                    tracing::debug!(target: "kafka", broker, api, %error, "no answer");
                    last = Some(error);
                    self.ask_another_first();
                    tried += 1;
                }
            }
        }
        let timed_out = || Unread::new(Reason::TimedOut, "the deadline passed");
        let error = last.map(|error| super::faults::unread(&error));
        Err(self.explained(AT_THE_END).or(error).unwrap_or_else(timed_out))
    }

    /// Why nothing was read, in words for a person.
    fn explained(&self, wait: Duration) -> Option<Unread> {
        self.client().context().explained(&self.bootstrap_servers, wait)
    }

    /// The next call that may go to any broker goes to another one.
    pub(super) fn ask_another_first(&self) {
        let mut brokers = self.brokers.lock().unwrap_or_else(PoisonError::into_inner);
        if !brokers.is_empty() {
            brokers.rotate_left(1);
        }
    }

    fn brokers(&self) -> Vec<i32> {
        self.brokers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Makes a client and the thread that serves its events. Nothing is connected yet.
///
/// That thread holds the client until it is the last to do so, passes under way included. So the client is taken down
/// there, where waiting harms nobody.
pub(super) fn open(
    cluster: &str,
    bootstrap_servers: &str,
    access: Access,
    requests: &Requests,
) -> Result<Arc<Connection>, OpenError> {
    let consumer = consumer(cluster, bootstrap_servers, access)?;
    let connection = Arc::new(Connection {
        consumer,
        brokers: Mutex::default(),
        requests: requests.clone(),
        bootstrap_servers: bootstrap_servers.to_owned(),
    });
    let served = Arc::clone(&connection);
    thread::Builder::new()
        .name("kafka-events".to_owned())
        .spawn(move || {
            // Unpolled events pile up, and a token is never refreshed. No message can come: nothing is assigned.
            while Arc::strong_count(&served) > 1 {
                drop(served.consumer.poll(SERVE));
            }
        })
        .map_err(OpenError::Thread)?;
    Ok(connection)
}

fn consumer(cluster: &str, bootstrap_servers: &str, access: Access) -> Result<BaseConsumer<Context>, OpenError> {
    let mut config = client_config(bootstrap_servers, &access.properties)?;
    check_served(&access.properties)?;
    if bootstrap_servers.is_empty() {
        config.remove("bootstrap.servers");
    }
    let properties = access.properties.clone();
    BaseConsumer::from_config_and_context(&config, Context::new(cluster, access))
        .map_err(|error| refusal(&error, &properties))
}

/// Finds out whether a client can be made of this, without any broker: the certificates are read, the passwords of
/// keys tried, and the linked librdkafka says whether it knows the way to log in.
///
/// # Errors
/// As [`super::KafkaReader::open`].
pub fn check_access(source: &AccessSource) -> Result<(), OpenError> {
    consumer("", "", source.read()?).map(drop)
}

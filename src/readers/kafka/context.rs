//! What librdkafka says beside its answers: the only place where the cause of a failure is put into words.

use std::error::Error;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rdkafka::ClientContext;
use rdkafka::client::OAuthToken;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use tokio::time::Instant;

use super::access::Access;
use super::words;
use crate::measures::{Reason, Unread};

/// What was found is looked at anew after so long: it may be another thing by then.
const EXPLAINED_FOR: Duration = Duration::from_secs(60);
/// The rank of a token that did not come: nothing that follows from it tells more.
const NO_TOKEN: u8 = 5;

/// Listens to one client. Keeps the most telling trouble since the last good answer.
#[derive(Default)]
pub(super) struct Context {
    cluster: String,
    access: Access,
    troubles: Mutex<Troubles>,
}

#[derive(Debug, Default)]
struct Troubles {
    /// The most telling error, with its rank.
    cause: Option<(u8, Reason, String)>,
    /// All brokers are down.
    all_down: bool,
    /// What the cause was found to be, and until when that is believed.
    explained: Option<(Option<Unread>, Unread, Instant)>,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

impl Context {
    pub(super) fn new(cluster: &str, access: Access) -> Self {
        Self { cluster: cluster.to_owned(), access, troubles: Mutex::default() }
    }

    /// An answer came: what was in the way before is over.
    pub(super) fn forget_troubles(&self) {
        *self.troubles() = Troubles::default();
    }

    /// Why the cluster can not be reached, if librdkafka said so.
    pub(super) fn cause(&self) -> Option<Unread> {
        self.troubles().cause.as_ref().map(|(_, reason, words)| Unread::new(*reason, words.clone()))
    }

    /// The same, after a look at what is there: librdkafka's own words leave open which of several things is wrong.
    /// Takes no longer than `wait` for each of a few connections. What was found is kept as long as it stands.
    pub(super) fn explained(&self, first_server: &str, wait: Duration) -> Option<Unread> {
        let told = self.cause();
        let known = self.troubles().explained.clone();
        if let Some((of, explained, until)) = known
            && of == told
            && Instant::now() < until
        {
            return Some(explained);
        }
        let explained = words::explain(told.as_ref(), &self.access, first_server, wait).or_else(|| told.clone())?;
        let mut troubles = self.troubles();
        troubles.explained = Some((told, explained.clone(), Instant::now() + EXPLAINED_FOR));
        Some(explained)
    }

    /// Whether librdkafka has said anything yet.
    pub(super) fn is_silent(&self) -> bool {
        self.troubles().cause.is_none()
    }

    /// Whether waiting longer is of no use in this round: refused by all, or the credentials are wrong.
    pub(super) fn hopeless(&self) -> bool {
        let troubles = self.troubles();
        let is_clear = |(rank, reason, _): &(u8, Reason, String)| *rank == NO_TOKEN || *reason == Reason::Denied;
        troubles.all_down || troubles.cause.as_ref().is_some_and(is_clear)
    }

    fn troubles(&self) -> MutexGuard<'_, Troubles> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, code: Option<RDKafkaErrorCode>, words: &str) {
        let (rank, reason) = match code {
            Some(RDKafkaErrorCode::Authentication | RDKafkaErrorCode::SaslAuthenticationFailed) => (4, Reason::Denied),
            Some(RDKafkaErrorCode::SSL) => (3, Reason::Unreachable),
            Some(RDKafkaErrorCode::Resolve) => (2, Reason::Unreachable),
            Some(RDKafkaErrorCode::AllBrokersDown) => {
                self.troubles().all_down = true;
                return;
            }
            Some(RDKafkaErrorCode::OperationTimedOut | RDKafkaErrorCode::RequestTimedOut) => (1, Reason::TimedOut),
            _ => (1, Reason::Unreachable),
        };
        self.keep(rank, reason, words);
    }

    fn keep(&self, rank: u8, reason: Reason, words: &str) {
        let mut troubles = self.troubles();
        if troubles.cause.as_ref().is_none_or(|(known, _, _)| *known <= rank) {
            troubles.cause = Some((rank, reason, words.to_owned()));
        }
    }
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, words: &str) {
        let cluster = self.cluster.as_str();
        // Some failures of a connection, like one that hangs while it is set up, are only logged.
        if facility == "FAIL" {
            let reason = if words.contains("timed out") { Reason::TimedOut } else { Reason::Unreachable };
            // The thread's name in front is of no use to a person.
            self.keep(0, reason, words.split_once("]: ").map_or(words, |(_, rest)| rest));
        }
        match level {
            // It comes with each try; the same words, in FAIL, do not.
            _ if facility == "LIBSASL" => tracing::debug!(target: "kafka", cluster, facility, "{words}"),
            RDKafkaLogLevel::Emerg | RDKafkaLogLevel::Alert | RDKafkaLogLevel::Critical => {
                tracing::error!(target: "kafka", cluster, facility, "{words}");
            }
            RDKafkaLogLevel::Error | RDKafkaLogLevel::Warning => {
                tracing::warn!(target: "kafka", cluster, facility, "{words}");
            }
            RDKafkaLogLevel::Notice | RDKafkaLogLevel::Info => {
                tracing::info!(target: "kafka", cluster, facility, "{words}");
            }
            RDKafkaLogLevel::Debug => tracing::debug!(target: "kafka", cluster, facility, "{words}"),
        }
    }

    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    // Nobody asked for statistics; parsing them would be the default.
    fn stats_raw(&self, _: &[u8]) {}

    fn error(&self, error: KafkaError, words: &str) {
        tracing::debug!(target: "kafka", cluster = self.cluster.as_str(), "{words}");
        self.note(error.rdkafka_error_code(), words);
    }

    /// Runs on the thread that serves events, and may take its time there.
    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        let Some(source) = &self.access.token else {
            return Err("nothing says where tokens come from: write a sasl table for the cluster".into());
        };
        source.fetch().map_err(|unread| {
            // What librdkafka makes of it, a failed login, is less to the point.
            self.keep(NO_TOKEN, unread.reason, &unread.detail);
            unread.detail.into()
        })
    }
}

impl ConsumerContext for Context {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_telling_trouble_is_kept_until_an_answer_comes() {
        let context = Context::new("main", Access::default());
        assert_eq!(context.cause(), None);
        context.log(RDKafkaLogLevel::Info, "FAIL", "b1: connection setup timed out");
        assert_eq!(context.cause().map(|cause| cause.reason), Some(Reason::TimedOut));
        let say = |code, words: &str| context.error(KafkaError::Global(code), words);
        say(RDKafkaErrorCode::BrokerTransportFailure, "connection refused");
        assert_eq!(context.cause(), Some(Unread::new(Reason::Unreachable, "connection refused")));
        assert!(!context.hopeless());
        say(RDKafkaErrorCode::Authentication, "wrong password");
        say(RDKafkaErrorCode::BrokerTransportFailure, "disconnected");
        say(RDKafkaErrorCode::AllBrokersDown, "1/1 brokers are down");
        assert_eq!(context.cause(), Some(Unread::new(Reason::Denied, "wrong password")));
        assert!(context.hopeless());
        context.forget_troubles();
        assert_eq!((context.cause(), context.hopeless()), (None, false));
    }
}

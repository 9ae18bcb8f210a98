//! One store, shared by all checkpoints in it: how many requests run at once, and the rest that it is given when it
//! asks for fewer or does not answer. So a sick store costs its own queries little time, and the others none.

use std::hash::{BuildHasher, RandomState};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{GetOptions, ListResult, ObjectMeta, ObjectStore};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::answers::{Answers, noting};
use super::failure::{Failure, Verdict, classify, is_missing};
use super::renewal::Renewal;
use crate::measures::Reason;

/// No file of a checkpoint comes near it: ten thousand partitions take 180 kB.
pub(super) const LARGEST_FILE: u64 = 32 * 1024 * 1024;
/// The first rest after a store asked for fewer requests; each further one is twice as long.
const FIRST_REST: Duration = Duration::from_secs(5);
const LONGEST_REST: Duration = Duration::from_secs(300);
/// A store that does not answer may be back at any time.
const LONGEST_REST_OF_SILENT: Duration = Duration::from_secs(20);
/// Operations on the file systems of this machine at once: each takes a thread while it lasts, which is mostly less than
/// it takes to start one.
const FILES_AT_ONCE: usize = 16;
/// One that takes longer hangs, and gives its place to others: a directory that hangs must not hold up the rest.
const LENT: Duration = Duration::from_millis(100);
/// How long a reading waits for a request that tries whether a store is back.
const PATIENCE_WITH_A_TRIAL: Duration = Duration::from_secs(1);

/// A store and what all its users must agree on.
#[derive(Debug)]
pub(super) struct SharedStore {
    client: Client,
    places: Semaphore,
    /// How long an operation keeps its place at most; `None`: until it ends.
    lent: Option<Duration>,
    /// For clients that keep no time limit of their own.
    limit: Option<Duration>,
    /// `None`: the file systems of this machine, of which one directory says nothing about another.
    rest: Option<Mutex<Rest>>,
}

/// What reads the store.
#[derive(Debug)]
enum Client {
    Fixed(Arc<dyn ObjectStore>),
    /// Made again when its secrets change.
    Renewed(Box<Renewal>),
}

#[derive(Debug, Default)]
struct Rest {
    until: Option<Instant>,
    /// Rests in a row.
    rests: u32,
    /// One request is out to see whether the store is back.
    is_tried: bool,
    why: &'static str,
    /// Of the failure that began it: while the store rests nothing new is known.
    reason: Option<Reason>,
}

/// What came of fetching a file.
#[derive(Debug)]
pub(super) enum Fetched {
    File(ObjectMeta, Bytes),
    /// It is still the one whose tag was given.
    Unchanged,
    Missing,
    /// Larger than any file of a checkpoint, in bytes.
    TooLarge(u64),
}

impl SharedStore {
    /// A store whose client stays as it is.
    pub(super) fn new(store: Arc<dyn ObjectStore>, at_once: usize, limit: Option<Duration>) -> Self {
        Self::of(Client::Fixed(store), at_once, limit)
    }

    /// A store whose secrets may change.
    pub(super) fn renewed(renewal: Renewal, at_once: usize, limit: Option<Duration>) -> Self {
        Self::of(Client::Renewed(Box::new(renewal)), at_once, limit)
    }

    fn of(client: Client, at_once: usize, limit: Option<Duration>) -> Self {
        let at_once = at_once.clamp(1, Semaphore::MAX_PERMITS);
        Self { client, places: Semaphore::new(at_once), lent: None, limit, rest: Some(Mutex::default()) }
    }

    /// The file systems of this machine.
    pub(super) fn of_this_machine(store: Arc<dyn ObjectStore>) -> Self {
        Self { rest: None, lent: Some(LENT), ..Self::new(store, FILES_AT_ONCE, None) }
    }

    /// What lies directly below a directory; nothing when there is no such directory.
    pub(super) async fn list(
        self: &Arc<Self>,
        directory: &Path,
        count: &Arc<AtomicU64>,
    ) -> Result<ListResult, Failure> {
        let list = |store: Arc<dyn ObjectStore>| {
            let directory = directory.clone();
            async move { store.list_with_delimiter(Some(&directory)).await }
        };
        self.run(count, list).await
    }

    /// One file, unless it is still the one with the tag `unless`.
    pub(super) async fn fetch(
        self: &Arc<Self>,
        file: &Path,
        unless: Option<&str>,
        count: &Arc<AtomicU64>,
    ) -> Result<Fetched, Failure> {
        let fetch = |store: Arc<dyn ObjectStore>| fetch(store, file.clone(), unless.map(str::to_owned));
        self.run(count, fetch).await
    }

    /// Once; and once more when it was denied, and the secrets have changed since the client was made.
    async fn run<T, O>(
        self: &Arc<Self>,
        count: &Arc<AtomicU64>,
        operation: impl Fn(Arc<dyn ObjectStore>) -> O,
    ) -> Result<T, Failure>
    where
        T: Send + 'static,
        O: Future<Output = object_store::Result<T>> + Send + 'static,
    {
        let (store, renewal) = match &self.client {
            Client::Fixed(store) => (Arc::clone(store), None),
            Client::Renewed(renewal) => (renewal.client(), Some(renewal)),
        };
        let outcome = self.run_once(count, operation(Arc::clone(&store))).await;
        let is_denied = outcome.as_ref().is_err_and(|failure| failure.reason == Reason::Denied);
        match renewal.filter(|_| is_denied).and_then(|renewal| renewal.after_denial(&store)) {
            Some(newer) => self.run_once(count, operation(newer)).await,
            None => outcome,
        }
    }

    async fn run_once<T: Send + 'static>(
        self: &Arc<Self>,
        count: &Arc<AtomicU64>,
        operation: impl Future<Output = object_store::Result<T>> + Send + 'static,
    ) -> Result<T, Failure> {
        let place = self.places.acquire().await;
        let role = self.enter()?;
        // counted before it runs: the reading's deadline may end it
        count.fetch_add(1, Ordering::Relaxed);
        if role == Role::Usual {
            return self.in_place(place, self.complete(role, operation, count)).await;
        }
        // whoever is answered late must not hold up the round in which it is only tried: the next one knows
        let (store, count) = (Arc::clone(self), Arc::clone(count));
        let trial = tokio::spawn(async move { store.complete(role, operation, &count).await });
        match tokio::time::timeout(PATIENCE_WITH_A_TRIAL, trial).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) | Err(_) => Err(self.refusal()),
        }
    }

    /// Runs in a place that is given back at the end, or when it has been lent for too long.
    async fn in_place<T>(&self, place: impl Sized, operation: impl Future<Output = T>) -> T {
        let mut operation = pin!(operation);
        let ended = match self.lent {
            Some(lent) => tokio::time::timeout(lent, &mut operation).await.ok(),
            None => Some(operation.as_mut().await),
        };
        drop(place);
        match ended {
            Some(outcome) => outcome,
            None => operation.await,
        }
    }

    async fn complete<T>(
        &self,
        role: Role,
        operation: impl Future<Output = object_store::Result<T>>,
        count: &AtomicU64,
    ) -> Result<T, Failure> {
        let (outcome, answers) = self.limited(operation, role).await?;
        count.fetch_add(answers.requests.saturating_sub(1), Ordering::Relaxed);
        let outcome = outcome.map_err(|error| classify(&error, answers));
        match &outcome {
            Ok(_) => self.note(role, Verdict::Answers, None),
            Err(failure) => self.note(role, failure.verdict, Some(failure.reason)),
        }
        outcome
    }

    async fn limited<T>(&self, operation: impl Future<Output = T>, role: Role) -> Result<(T, Answers), Failure> {
        let Some(limit) = self.limit else { return Ok(noting(operation).await) };
        tokio::time::timeout(limit, noting(operation)).await.map_err(|_| {
            self.note(role, Verdict::Silent, Some(Reason::TimedOut));
            let words = format!("no answer within {}", humantime::format_duration(limit));
            Failure { reason: Reason::TimedOut, words, verdict: Verdict::Silent }
        })
    }

    fn rest(&self) -> Option<MutexGuard<'_, Rest>> {
        self.rest.as_ref().map(|rest| rest.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Refuses while the store rests. The first request after a rest tries alone; the others wait for what it finds.
    fn enter(&self) -> Result<Role, Failure> {
        let Some(mut rest) = self.rest() else { return Ok(Role::Usual) };
        let Some(until) = rest.until else { return Ok(Role::Usual) };
        let now = Instant::now();
        if until <= now {
            rest.is_tried = true;
            // in case that the trial never has an answer
            rest.until = Some(now + FIRST_REST);
            return Ok(Role::Trial);
        }
        drop(rest);
        Err(self.refusal())
    }

    fn refusal(&self) -> Failure {
        let refusal = |reason: Option<Reason>, words| Failure {
            reason: reason.unwrap_or(Reason::Unreachable),
            words,
            verdict: Verdict::Answers,
        };
        let Some(rest) = self.rest() else { return refusal(None, String::new()) };
        let why = rest.why;
        let words = match rest.until {
            Some(until) if !rest.is_tried => {
                let left = until.saturating_duration_since(Instant::now()).as_secs_f64();
                format!("the store {why}; it is asked again in {left:.1} s")
            }
            _ => format!("the store {why}; one request is trying whether it is back"),
        };
        refusal(rest.reason, words)
    }

    /// Requests that were under way together fail together: that is one rest, not many.
    fn note(&self, role: Role, verdict: Verdict, reason: Option<Reason>) {
        let Some(mut rest) = self.rest() else { return };
        if role == Role::Usual && rest.until.is_some() {
            return;
        }
        let (why, longest, at_least) = match verdict {
            Verdict::Answers => {
                *rest = Rest::default();
                return;
            }
            Verdict::Throttles { at_least } => ("asked for fewer requests", LONGEST_REST, at_least),
            Verdict::Silent => ("did not answer a moment ago", LONGEST_REST_OF_SILENT, None),
        };
        let length = FIRST_REST.saturating_mul(1 << rest.rests.min(10)).min(longest);
        let at_least = at_least.unwrap_or_default().min(LONGEST_REST);
        let until = Some(Instant::now() + jittered(length).max(at_least));
        *rest = Rest { until, rests: rest.rests + 1, is_tried: false, why, reason };
    }
}

async fn fetch(store: Arc<dyn ObjectStore>, file: Path, unless: Option<String>) -> object_store::Result<Fetched> {
    let options = GetOptions::default().with_if_none_match(unless.as_deref());
    let answer = match store.get_opts(&file, options).await {
        Ok(answer) if answer.meta.size > LARGEST_FILE => return Ok(Fetched::TooLarge(answer.meta.size)),
        Ok(answer) => answer,
        Err(object_store::Error::NotModified { .. }) => return Ok(Fetched::Unchanged),
        Err(error) if is_missing(&error) => return Ok(Fetched::Missing),
        Err(error) => return Err(error),
    };
    // some stores do not know conditions, and send the file
    if let (Some(unless), Some(tag)) = (&unless, &answer.meta.e_tag)
        && is_same_tag(unless, tag)
    {
        return Ok(Fetched::Unchanged);
    }
    let meta = answer.meta.clone();
    match answer.bytes().await {
        Ok(bytes) => Ok(Fetched::File(meta, bytes)),
        Err(error) if is_missing(&error) => Ok(Fetched::Missing),
        Err(error) => Err(error),
    }
}

/// What a request is for the store's rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Usual,
    /// It finds out whether the store is back.
    Trial,
}

/// Whether two tags are of the same content. Azure quotes them with a file, and not in a listing.
pub(super) fn is_same_tag(one: &str, other: &str) -> bool {
    one.trim_matches('"') == other.trim_matches('"')
}

/// Between three quarters of a time and all of it, so that those who wait together do not come back together.
pub(super) fn jittered(length: Duration) -> Duration {
    let quarter = length / 4;
    let chance = u32::try_from(RandomState::new().hash_one(()) % 1000).unwrap_or_default();
    length - quarter * chance / 1000
}

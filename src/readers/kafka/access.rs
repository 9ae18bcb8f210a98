//! What a client logs in with, and a new client when that has changed.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

use super::client::{Connection, Requests, open};
use super::properties::OpenError;
use super::tokens::TokenSource;
use crate::measures::with_causes;

/// Properties that name files which librdkafka reads once, when a client is made.
const FILES: [&str; 5] = [
    "sasl.kerberos.keytab",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
    "ssl.keystore.location",
];

/// What a client logs in with, as it is now. May hold secrets.
#[derive(Clone, Default)]
pub struct Access {
    /// librdkafka properties by their own, dotted names.
    pub properties: BTreeMap<String, String>,
    /// Where tokens come from, for OAUTHBEARER.
    pub token: Option<TokenSource>,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("properties", &self.properties.keys()).field("token", &self.token).finish()
    }
}

/// A secret that could not be read.
#[derive(Debug, thiserror::Error)]
#[error("{key}")]
pub struct AccessError {
    /// The setting that names it.
    pub key: String,
    /// Why not.
    #[source]
    pub cause: Box<dyn Error + Send + Sync>,
}

type Read = dyn Fn() -> Result<Access, AccessError> + Send + Sync;

/// Reads what to log in with. Asked at each pass, since secrets are rotated while we run.
#[derive(Clone)]
pub struct AccessSource(Arc<Read>);

impl AccessSource {
    /// Wraps a way to read it.
    pub fn new(read: impl Fn() -> Result<Access, AccessError> + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    pub(super) fn read(&self) -> Result<Access, AccessError> {
        (self.0)()
    }
}

impl Default for AccessSource {
    fn default() -> Self {
        BTreeMap::new().into()
    }
}

/// Properties that never change.
impl From<BTreeMap<String, String>> for AccessSource {
    fn from(properties: BTreeMap<String, String>) -> Self {
        Self::new(move || Ok(Access { properties: properties.clone(), token: None }))
    }
}

impl fmt::Debug for AccessSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.read() {
            Ok(access) => access.fmt(f),
            Err(error) => error.fmt(f),
        }
    }
}

/// The client of a cluster, made anew when what it logs in with has changed.
pub(super) struct Current {
    cluster: String,
    bootstrap_servers: String,
    source: AccessSource,
    requests: Requests,
    held: Mutex<Held>,
}

struct Held {
    connection: Arc<Connection>,
    /// Absent where the client was left: the next look makes another.
    made_from: Option<[u8; 32]>,
    /// Why no newer client could be made, once it was logged.
    trouble: Option<String>,
}

impl Current {
    pub(super) fn open(cluster: &str, bootstrap_servers: &str, source: AccessSource) -> Result<Self, OpenError> {
        let access = source.read()?;
        let made_from = Some(fingerprint(&access));
        let requests = Requests::default();
        let connection = open(cluster, bootstrap_servers, access, &requests)?;
        Ok(Self {
            cluster: cluster.to_owned(),
            bootstrap_servers: bootstrap_servers.to_owned(),
            source,
            requests,
            held: Mutex::new(Held { connection, made_from, trouble: None }),
        })
    }

    /// The client to ask. Reads files, so it is for threads that may wait.
    pub(super) fn connection(&self) -> Arc<Connection> {
        let mut held = self.held();
        match self.renewed(held.made_from) {
            Ok(None) => held.trouble = None,
            Ok(Some(newer)) => {
                let why = if held.made_from.is_some() { "what logs in has changed" } else { "a call does not end" };
                tracing::info!(target: "kafka", cluster = self.cluster, why, "a new client is made");
                *held = newer;
            }
            // Half of a rotation, perhaps: the client that there is may still be let in.
            Err(error) => {
                let words = with_causes(&error);
                if held.trouble.as_ref() != Some(&words) {
                    tracing::warn!(target: "kafka", cluster = self.cluster, error = words, "the client stays as it was");
                    held.trouble = Some(words);
                }
            }
        }
        Arc::clone(&held.connection)
    }

    /// Leaves the client to whoever waits in it for a call that does not end: the next one asked for is another.
    pub(super) fn leave(&self) {
        self.held().made_from = None;
    }

    fn renewed(&self, made_from: Option<[u8; 32]>) -> Result<Option<Held>, OpenError> {
        let access = self.source.read()?;
        let fingerprint = fingerprint(&access);
        if Some(fingerprint) == made_from {
            return Ok(None);
        }
        let connection = open(&self.cluster, &self.bootstrap_servers, access, &self.requests)?;
        Ok(Some(Held { connection, made_from: Some(fingerprint), trouble: None }))
    }

    pub(super) fn requests(&self) -> &Requests {
        &self.requests
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a client is made from, files included.
fn fingerprint(access: &Access) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    };
    for (key, value) in &access.properties {
        add(key.as_bytes());
        add(value.as_bytes());
        if FILES.contains(&key.as_str()) {
            // A file that is not there is news as well.
            add(&std::fs::read(value).unwrap_or_default());
        }
    }
    if let Some(token) = &access.token {
        token.each_part(&mut add);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(pairs: &[(&str, &str)]) -> Access {
        let properties = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Access { properties, token: None }
    }

    #[test]
    fn a_fingerprint_changes_with_each_value_and_each_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let named = access(&[("ssl.ca.location", file.to_str().unwrap())]);
        let absent = fingerprint(&named);
        std::fs::write(&file, "one").unwrap();
        let one = fingerprint(&named);
        std::fs::write(&file, "two").unwrap();
        let two = fingerprint(&named);
        assert!(absent != one && one != two);
        assert_eq!(two, fingerprint(&named));
        assert_ne!(fingerprint(&access(&[("a", "bc")])), fingerprint(&access(&[("ab", "c")])));
    }

    #[test]
    fn a_client_is_made_anew_only_when_its_secret_changed() {
        let secret = Arc::new(Mutex::new(Some("first".to_owned())));
        let read = Arc::clone(&secret);
        let source = AccessSource::new(move || match &*read.lock().unwrap() {
            Some(password) => Ok(access(&[("ssl.key.password", password)])),
            None => Err(AccessError { key: "a".to_owned(), cause: "gone".into() }),
        });
        let current = Current::open("main", "127.0.0.1:1", source).unwrap();
        let first = current.connection();
        assert!(Arc::ptr_eq(&first, &current.connection()));
        *secret.lock().unwrap() = None;
        assert!(Arc::ptr_eq(&first, &current.connection()), "a secret that is away changes nothing");
        *secret.lock().unwrap() = Some("second".to_owned());
        let second = current.connection();
        assert!(!Arc::ptr_eq(&first, &second));
        current.leave();
        *secret.lock().unwrap() = None;
        assert!(Arc::ptr_eq(&second, &current.connection()), "no other one can be made");
        *secret.lock().unwrap() = Some("second".to_owned());
        let third = current.connection();
        assert!(!Arc::ptr_eq(&second, &third), "the second one hangs");
        assert!(Arc::ptr_eq(&third, &current.connection()));
        second.count("metadata");
        assert_eq!(current.requests().counted(), first.requests.counted(), "requests are counted on");
    }
}

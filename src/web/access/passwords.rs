//! Names and passwords. A password is held against its bcrypt hash, which takes a tenth of a second by intent: so a pair
//! that was right is remembered, and a scrape costs no hash.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::warn;

/// So many hashes are computed at once. Whoever guesses passwords may take a processor or two, never all threads.
const AT_ONCE: usize = 2;
/// Whoever has to wait longer for its turn is told to come again.
const PATIENCE: Duration = Duration::from_secs(5);

/// Too many passwords are being tried to try this one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Busy;

/// Who may ask, and which passwords were right before.
pub(super) struct Users {
    hashes: BTreeMap<String, String>,
    /// The hash that takes longest. A name that nobody has is tried against it: a guesser shall not learn from the time
    /// of an answer which names there are.
    slowest: String,
    right: Mutex<BTreeMap<String, [u8; 32]>>,
    places: Arc<Semaphore>,
}

impl Users {
    /// These users with the hashes of their passwords; `None` when there are none.
    pub(super) fn new(hashes: BTreeMap<String, String>) -> Option<Self> {
        let cost = |hash: &&String| hash.parse::<bcrypt::HashParts>().map_or(0, |parts| parts.get_cost());
        let slowest = hashes.values().max_by_key(cost)?.clone();
        let places = Arc::new(Semaphore::new(AT_ONCE));
        Some(Self { hashes, slowest, right: Mutex::default(), places })
    }

    /// Whether this is a user's name with the user's password.
    pub(super) async fn admit(&self, name: &str, password: &str) -> Result<bool, Busy> {
        let hash = self.hashes.get(name);
        let tried = self.tried(name).clone();
        let proof = proof(&tried, password);
        if self.was_right(name, &proof) {
            return Ok(true);
        }
        // Never closed.
        let place = timeout(PATIENCE, Arc::clone(&self.places).acquire_owned()).await.map_err(|_| Busy)?;
        // Several that came at once wait here, and the first has found it out for all.
        if self.was_right(name, &proof) {
            return Ok(true);
        }
        let password = password.to_owned();
        let matches = spawn_blocking(move || {
            // Kept until the work is done, also when the client has gone meanwhile.
            let _place = place;
            bcrypt::verify(password, &tried)
        });
        let matches = match matches.await {
            Ok(Ok(matches)) => matches,
            Ok(Err(cause)) => {
                warn!(user = name, error = %cause, "a password could not be held against its hash, and is refused");
                false
            }
            // The process ends.
            Err(_) => false,
        };
        let admitted = matches && hash.is_some();
        if admitted {
            self.right.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), proof);
        }
        Ok(admitted)
    }

    /// What a password is held against.
    fn tried(&self, name: &str) -> &String {
        self.hashes.get(name).unwrap_or(&self.slowest)
    }

    fn was_right(&self, name: &str, proof: &[u8; 32]) -> bool {
        let right = self.right.lock().unwrap_or_else(PoisonError::into_inner);
        right.get(name).is_some_and(|known| known.ct_eq(proof).into())
    }
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Users").field("names", &self.hashes.keys()).finish_non_exhaustive()
    }
}

/// What is remembered in place of the password: of no use against another hash of it.
fn proof(hash: &str, password: &str) -> [u8; 32] {
    let whole = Sha256::new().chain_update(hash).chain_update(password);
    whole.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users(all: &[(&str, &str, u32)]) -> Users {
        let hashed =
            |(name, password, cost): &(&str, &str, u32)| ((*name).to_owned(), bcrypt::hash(password, *cost).unwrap());
        Users::new(all.iter().map(hashed).collect()).unwrap()
    }

    #[tokio::test]
    async fn a_name_is_admitted_with_its_own_password_only() {
        let users = users(&[("anna", "a", 4), ("bert", "b", 5)]);
        for (name, password, expected) in [
            ("anna", "a", true),
            ("anna", "b", false),
            ("anna", "", false),
            ("bert", "b", true),
            ("bert", "a", false),
            ("carl", "a", false),
            ("carl", "b", false),
            ("", "", false),
        ] {
            for time in ["first", "second"] {
                assert_eq!(users.admit(name, password).await, Ok(expected), "{name} {password}, {time} time");
            }
        }
    }

    /// Of the forms that are about, from the same password by different programs.
    #[tokio::test]
    async fn hashes_of_other_programs_are_understood() {
        for version in [bcrypt::Version::TwoA, bcrypt::Version::TwoB, bcrypt::Version::TwoY] {
            let hash = bcrypt::hash_with_result("wörd", 4).unwrap().format_for_version(version);
            let users = Users::new([("anna".to_owned(), hash.clone())].into()).unwrap();
            assert_eq!(users.admit("anna", "wörd").await, Ok(true), "{hash}");
            assert_eq!(users.admit("anna", "word").await, Ok(false), "{hash}");
        }
    }

    /// With every place taken no hash can be computed, so whoever is let in was let in without one.
    #[tokio::test(start_paused = true)]
    async fn a_password_that_was_right_costs_no_hash_again_and_a_wrong_one_does() {
        let users = users(&[("anna", "a", 4)]);
        assert_eq!(users.admit("anna", "a").await, Ok(true));
        let _all = users.places.acquire_many(u32::try_from(AT_ONCE).unwrap()).await.unwrap();
        assert_eq!(users.admit("anna", "a").await, Ok(true));
        for (name, password) in [("anna", "b"), ("carl", "a")] {
            assert_eq!(users.admit(name, password).await, Err(Busy), "{name} {password}");
        }
    }

    /// So the time of an answer tells nothing about which names there are.
    #[test]
    fn a_name_that_nobody_has_is_tried_against_the_hash_that_takes_longest() {
        let users = users(&[("anna", "a", 5), ("bert", "b", 4)]);
        assert_eq!(users.tried("nobody"), &users.hashes["anna"]);
        assert_eq!(users.tried("bert"), &users.hashes["bert"]);
    }
}

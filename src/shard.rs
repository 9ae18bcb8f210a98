//! Which queries of a fleet are this process's, where several processes share one configuration.
//!
//! Rendezvous hashing: every shard has a weight for every name, and the heaviest one watches the query. Nothing is
//! agreed on between the processes: each works out the same answer from the name alone. With one shard more, a query
//! either stays or moves to the new one, because the weights of the others are what they were.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use sha2::{Digest, Sha256};
use thiserror::Error;

/// One of the shards that a fleet is cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    ordinal: u32,
    count: NonZeroU32,
}

/// Why a text names no shard.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ShardError {
    /// There is no slash in it, or more than one.
    #[error("write ORDINAL/SHARDS, such as 0/3 for the first of three")]
    Form,
    /// What stands before the slash does not end in a number.
    #[error("the ordinal {0:?} is no number, and no name that ends with one, such as brinkwatch-2")]
    Ordinal(String),
    /// What stands behind the slash is no number.
    #[error("the number of shards {0:?} is no number from 1 to {max}", max = Shard::MOST)]
    Count(String),
    /// The shards are fewer.
    #[error("ordinals count from 0: there is no shard {ordinal} of {count}, and the last one is {last}/{count}", last = .count - 1)]
    Beyond {
        /// What was asked for.
        ordinal: u32,
        /// So many there are.
        count: u32,
    },
}

impl Shard {
    /// More than this is a slip of the finger.
    pub const MOST: u32 = 1_000;

    /// The only one: every query is its own.
    #[must_use]
    pub const fn whole() -> Self {
        Self { ordinal: 0, count: NonZeroU32::MIN }
    }

    /// One of several.
    ///
    /// # Errors
    /// When there is no such shard.
    pub fn new(ordinal: u32, count: u32) -> Result<Self, ShardError> {
        let shards = NonZeroU32::new(count).filter(|_| count <= Self::MOST);
        let shards = shards.ok_or_else(|| ShardError::Count(count.to_string()))?;
        if ordinal >= count {
            return Err(ShardError::Beyond { ordinal, count });
        }
        Ok(Self { ordinal, count: shards })
    }

    /// Which one it is, from 0.
    #[must_use]
    pub const fn ordinal(self) -> u32 {
        self.ordinal
    }

    /// How many there are.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.count.get()
    }

    /// Whether there is no other.
    #[must_use]
    pub const fn is_whole(self) -> bool {
        self.count.get() == 1
    }

    /// Whether it watches the query of this name.
    #[must_use]
    pub fn holds(self, query: &str) -> bool {
        self.holder(query) == self.ordinal
    }

    /// Which one of the shards watches the query of this name. Never changed: an upgrade must not move queries.
    #[must_use]
    pub fn holder(self, query: &str) -> u32 {
        if self.is_whole() {
            return 0;
        }
        (0..self.count()).max_by_key(|ordinal| weight(*ordinal, query)).unwrap_or_default()
    }
}

/// `printf '2/orders' | sha256sum` prints it: anybody can work out where a query is. Two that are equal would be a
/// collision of SHA-256.
fn weight(ordinal: u32, query: &str) -> [u8; 32] {
    Sha256::digest(format!("{ordinal}/{query}")).into()
}

impl Default for Shard {
    fn default() -> Self {
        Self::whole()
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.ordinal, self.count)
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    /// The ordinal may be the name of a pod, which ends with it, so that every pod of a set has the same arguments. Pods
    /// are dealt out in turn: with twice as many pods as shards, each shard has two.
    fn from_str(text: &str) -> Result<Self, ShardError> {
        let (before, count) = text.split_once('/').ok_or(ShardError::Form)?;
        if count.contains('/') {
            return Err(ShardError::Form);
        }
        let shards = number(count).filter(|count| (1..=Self::MOST).contains(count));
        let shards = shards.ok_or_else(|| ShardError::Count(count.to_owned()))?;
        let pod = before.rsplit_once('-').filter(|(name, _)| !name.is_empty()).map(|(_, ordinal)| ordinal);
        let ordinal = number(pod.unwrap_or(before)).ok_or_else(|| ShardError::Ordinal(before.to_owned()))?;
        Self::new(if pod.is_some() { ordinal % shards } else { ordinal }, shards)
    }
}

/// Digits and nothing else: no sign, no space.
fn number(text: &str) -> Option<u32> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) { None } else { text.parse().ok() }
}

#[cfg(test)]
mod tests;

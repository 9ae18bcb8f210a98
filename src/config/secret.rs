//! Text that must not be seen: no log line, error, page or `Debug` print shows it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

/// What is printed in place of a secret.
const REDACTED: &str = "<secret>";

/// Text that prints as `<secret>` in every way there is. Whoever really needs it calls [`Secret::expose`].
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes text into custody.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself. The only reader.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(REDACTED)
    }
}

/// A secret, or the file that holds it: `password` and its twin `password_file`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// Written in the configuration.
    Given(Secret),
    /// In a file of its own, as systemd, Kubernetes and Docker hand secrets over.
    File(PathBuf),
}

impl SecretSource {
    /// Chooses between a secret and its `_file` twin. Both at once is a mistake: nobody could say which one counts.
    ///
    /// # Errors
    /// When both are given.
    pub fn of_twins(given: Option<Secret>, file: Option<PathBuf>) -> Result<Option<Self>, BothTwins> {
        match (given, file) {
            (Some(_), Some(_)) => Err(BothTwins),
            (Some(secret), None) => Ok(Some(Self::Given(secret))),
            (None, Some(path)) => Ok(Some(Self::File(path))),
            (None, None) => Ok(None),
        }
    }

    /// The secret as it is now. A file is read at each call, so that a rotated secret counts from the next use on;
    /// one line end after it is left out, since most tools write one.
    ///
    /// # Errors
    /// When the file cannot be read or is empty.
    pub fn read(&self) -> Result<Secret, SecretError> {
        match self {
            Self::Given(secret) => Ok(secret.clone()),
            Self::File(path) => read_file(path),
        }
    }
}

fn read_file(path: &Path) -> Result<Secret, SecretError> {
    let text =
        std::fs::read_to_string(path).map_err(|source| SecretError::Unreadable { path: path.to_owned(), source })?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.is_empty() {
        return Err(SecretError::Empty { path: path.to_owned() });
    }
    Ok(Secret::new(line))
}

/// A secret and its `_file` twin are both given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("both the secret and its file are given; keep one")]
pub struct BothTwins;

/// Why a secret's file did not yield it.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file is not there, or not for us, or not text.
    #[error("secret file {} cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file holds nothing.
    #[error("secret file {} is empty", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

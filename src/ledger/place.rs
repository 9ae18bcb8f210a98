//! Where a ledger lies: in a file of a folder, or in a database that several daemons share.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The ledger's file in its folder.
pub const FILE_NAME: &str = "brinkwatch.sqlite";

/// Yields the password as it is now: a file is read anew for each connection, so that a rotated password counts.
pub type ReadPassword = Arc<dyn Fn() -> Result<String, Box<dyn Error + Send + Sync>> + Send + Sync>;

/// Where a ledger lies.
#[derive(Clone, Debug)]
pub enum Place {
    /// In a file of this folder, for one daemon.
    Folder(PathBuf),
    /// In PostgreSQL, for any number of daemons.
    Server(Server),
}

/// A database in PostgreSQL.
#[derive(Clone)]
pub struct Server {
    pub(super) url: String,
    pub(super) password: Option<ReadPassword>,
    pub(super) watcher: String,
}

impl Server {
    /// The database behind a URL, for the daemon with this name. The URL holds no password: it is shown.
    ///
    /// Each daemon keeps its own memory under its name, so no two at work may have the same.
    #[must_use]
    pub fn new(url: impl Into<String>, watcher: impl Into<String>, password: Option<ReadPassword>) -> Self {
        Self { url: url.into(), password, watcher: watcher.into() }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("url", &self.url).field("watcher", &self.watcher).finish_non_exhaustive()
    }
}

impl Place {
    /// Under which name a daemon remembers and hears. A file has one daemon, whatever its machine is called.
    pub(super) fn watcher(&self) -> &str {
        match self {
            Self::Folder(_) => "",
            Self::Server(server) => &server.watcher,
        }
    }
}

/// The file, or the URL.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => write!(f, "{}", folder.join(FILE_NAME).display()),
            Self::Server(server) => f.write_str(&server.url),
        }
    }
}

impl From<&Path> for Place {
    fn from(folder: &Path) -> Self {
        Self::Folder(folder.to_owned())
    }
}

impl From<&Self> for Place {
    fn from(place: &Self) -> Self {
        place.clone()
    }
}

//! From the text that an operator writes to the store that it means.

use std::path::{Component, PathBuf};
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, path};
use thiserror::Error;

/// Why a location is not one that can be read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Nothing was given.
    #[error("the location is empty")]
    Empty,
    /// A scheme without a store behind it.
    #[error("locations of the kind \"{scheme}:\" are not supported")]
    UnsupportedScheme {
        /// The scheme.
        scheme: String,
    },
    /// A file URL that names another machine.
    #[error("\"{location}\" names the host \"{host}\"; write file:///path")]
    RemoteFile {
        /// The whole location.
        location: String,
        /// What stands where a host would.
        host: String,
    },
    /// A relative path or one with `..` that does not resolve.
    #[error("\"{location}\" is no path here")]
    Unresolved {
        /// The whole location.
        location: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A path that the store can not express.
    #[error("\"{location}\" is no path that can be read")]
    Path {
        /// The whole location.
        location: String,
        /// What is wrong with it.
        source: path::Error,
    },
}

/// A store, and a checkpoint's root in it.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) root: Path,
    /// The directory, where it is one of this machine.
    pub(super) directory: Option<PathBuf>,
    /// As it is shown to people.
    pub(super) display: String,
}

/// Finds the store of a location: `/path`, `relative/path`, `file:/path`, `file:///path`.
pub(super) fn open(location: &str) -> Result<Place, StoreError> {
    if location.is_empty() {
        return Err(StoreError::Empty);
    }
    match scheme(location) {
        None => local(location, location),
        Some(("file", rest)) => local(location, file_path(location, rest)?),
        Some((scheme, _)) => Err(StoreError::UnsupportedScheme { scheme: scheme.to_owned() }),
    }
}

/// `s3` and the rest of `s3://bucket/key`. A colon after a slash belongs to a path.
fn scheme(location: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = location.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    (is_scheme && rest.starts_with('/')).then_some((scheme, rest))
}

/// Hadoop writes `file:/path`, everyone else `file:///path`.
fn file_path<'a>(location: &str, rest: &'a str) -> Result<&'a str, StoreError> {
    let Some(authority) = rest.strip_prefix("//") else { return Ok(rest) };
    let (host, _) = authority.split_once('/').unwrap_or((authority, ""));
    if host.is_empty() {
        return Ok(authority);
    }
    if host == "localhost" {
        return Ok(authority.get(host.len()..).unwrap_or_default());
    }
    Err(StoreError::RemoteFile { location: location.to_owned(), host: host.to_owned() })
}

fn local(location: &str, path: &str) -> Result<Place, StoreError> {
    let unresolved = |source| StoreError::Unresolved { location: location.to_owned(), source };
    let mut directory = std::path::absolute(path).map_err(unresolved)?;
    // links are followed anew at each reading, since they may be moved; only `..` has to be resolved now
    if directory.components().any(|part| part == Component::ParentDir) {
        directory = std::fs::canonicalize(&directory).map_err(unresolved)?;
    }
    let root = Path::from_absolute_path(&directory)
        .map_err(|source| StoreError::Path { location: location.to_owned(), source })?;
    let shown = directory.display().to_string();
    let display = format!("file://{}", shown.trim_end_matches('/'));
    Ok(Place { store: Arc::new(LocalFileSystem::new()), root, directory: Some(directory), display })
}

//! From the text that an operator writes to the place that it means. Spark's own ways of writing are understood.

use std::path::{Component, PathBuf};

use object_store::path::{Path, PathPart};
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
    /// A location that only its vendor's own interface can read; something else names the same files.
    #[error("\"{location}\" {advice}")]
    Elsewhere {
        /// The whole location.
        location: String,
        /// What to write instead.
        advice: &'static str,
    },
    /// A URL that carries a password or a signature. It is not repeated here.
    #[error("the location must not hold a password or a signature; give them in a table [stores.…]")]
    HoldsSecret,
    /// A file URL that names another machine.
    #[error("\"{location}\" names the host \"{host}\"; write file:///path")]
    RemoteFile {
        /// The whole location.
        location: String,
        /// What stands where a host would.
        host: String,
    },
    /// A URL without a bucket, container or account.
    #[error("\"{location}\" lacks {what}")]
    Incomplete {
        /// The whole location.
        location: String,
        /// What should be there.
        what: &'static str,
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
        source: object_store::path::Error,
    },
    /// A query names settings that do not exist.
    #[error("no store is named \"{name}\"")]
    UnknownStore {
        /// The name.
        name: String,
    },
    /// The settings are those of another kind of store.
    #[error("\"{location}\" does not lie in a store of kind {kind}")]
    OtherKind {
        /// The whole location.
        location: String,
        /// The kind that the settings are for.
        kind: &'static str,
    },
    /// A file of certificates that yields none.
    #[error("{} cannot be read as certificates", path.display())]
    Certificates {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A secret that cannot be read.
    #[error("a secret of the store cannot be read")]
    Secret {
        /// What is wrong with it.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The store's client does not take its settings.
    #[error("the store's client refuses its settings: {words}")]
    Client {
        /// What it says, without secrets.
        words: String,
    },
}

/// A store, without its settings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Address {
    /// The file systems of this machine.
    Local,
    S3 {
        bucket: String,
    },
    Azure {
        container: String,
        /// Absent in `az://container/…`.
        account: Option<String>,
        /// Where the account answers, unless it is Azure's public cloud.
        endpoint: Option<String>,
    },
    Gcs {
        bucket: String,
    },
    Hdfs {
        /// `host:port` or the name of a name service; absent in `hdfs:///path`, which Hadoop's configuration completes.
        authority: Option<String>,
        /// The scheme is `viewfs`: a tree of mounts over several name services.
        is_view: bool,
    },
}

/// A store and a checkpoint's root in it.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) address: Address,
    pub(super) root: Path,
    /// The directory, where it is one of this machine.
    pub(super) directory: Option<PathBuf>,
    /// As it is shown to people.
    pub(super) display: String,
}

const GIVE_CLOUD_URL: &str = "can only be read through Databricks itself; give the cloud URL under it, such as \
                              s3://bucket/path or abfss://container@account.dfs.core.windows.net/path";
const IS_RETIRED: &str = "lies in Azure Data Lake Storage Gen1, which no longer exists; give the abfss:// URL";
const GIVE_STORE_URL: &str = "is a web address; give the URL that the job uses, such as s3a://bucket/path, \
                              abfss://container@account.dfs.core.windows.net/path or gs://bucket/path";

/// A location as it is shown to people, and as it can be given again. Nothing is read.
///
/// # Errors
/// When it is of a kind that is not supported, or makes no sense.
pub fn shown(location: &str) -> Result<String, StoreError> {
    parse(location).map(|place| place.display)
}

/// Finds the place of a location.
pub(super) fn parse(location: &str) -> Result<Place, StoreError> {
    if location.is_empty() {
        return Err(StoreError::Empty);
    }
    if let Some((_, rest)) = location.split_once("://") {
        refuse_passwords(rest.split('/').next().unwrap_or_default())?;
    }
    let elsewhere = |advice| Err(StoreError::Elsewhere { location: location.to_owned(), advice });
    let Some((scheme, rest)) = scheme(location) else {
        if location == "/Volumes" || location.starts_with("/Volumes/") || location.starts_with("/dbfs/") {
            return elsewhere(GIVE_CLOUD_URL);
        }
        return local(location, location);
    };
    match scheme.to_ascii_lowercase().as_str() {
        "file" => local(location, file_path(location, rest)?),
        "s3" | "s3a" | "s3n" => remote(location, rest, s3),
        "gs" => remote(location, rest, gcs),
        "abfs" | "abfss" | "wasb" | "wasbs" | "az" | "azure" => remote(location, rest, azure),
        "hdfs" => remote(location, rest, |location, authority| hdfs(location, authority, false)),
        "viewfs" => remote(location, rest, |location, authority| hdfs(location, authority, true)),
        "dbfs" => elsewhere(GIVE_CLOUD_URL),
        "adl" => elsewhere(IS_RETIRED),
        "http" | "https" => {
            refuse_secrets(rest)?;
            elsewhere(GIVE_STORE_URL)
        }
        _ => Err(StoreError::UnsupportedScheme { scheme: scheme.to_owned() }),
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
    let host = authority.split('/').next().unwrap_or_default();
    if host.is_empty() || host == "localhost" {
        let path = authority.get(host.len()..).unwrap_or_default();
        return Ok(if path.is_empty() { "/" } else { path });
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
    Ok(Place { address: Address::Local, root, directory: Some(directory), display })
}

fn remote(
    location: &str,
    rest: &str,
    address: impl Fn(&str, &str) -> Result<Address, StoreError>,
) -> Result<Place, StoreError> {
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_once('/').unwrap_or((rest, "")),
        None => ("", rest),
    };
    refuse_secrets(rest)?;
    let root = segments(path).map_err(|source| StoreError::Path { location: location.to_owned(), source })?;
    let mut display = location.trim_end_matches('/').to_owned();
    if display.ends_with(':') {
        // nothing but the scheme is left of hdfs:///
        display.push_str("//");
    }
    Ok(Place { address: address(location, authority)?, root, directory: None, display })
}

/// Neither what stands before the host nor a signed query belongs on pages and in logs.
fn refuse_secrets(rest: &str) -> Result<(), StoreError> {
    refuse_passwords(rest.trim_start_matches('/').split('/').next().unwrap_or_default())?;
    let query = rest.split_once('?').map_or("", |(_, query)| query).to_ascii_lowercase();
    let is_signed = ["sig=", "signature=", "credential=", "token="].iter().any(|word| query.contains(word));
    if is_signed { Err(StoreError::HoldsSecret) } else { Ok(()) }
}

fn refuse_passwords(authority: &str) -> Result<(), StoreError> {
    let has_password = authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'));
    if has_password { Err(StoreError::HoldsSecret) } else { Ok(()) }
}

/// Hadoop takes a path as it stands, without percent signs that mean other letters, and makes one slash of several.
fn segments(path: &str) -> Result<Path, object_store::path::Error> {
    let parts = path.split('/').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            PathPart::parse(part)
                .map_err(|source| object_store::path::Error::BadSegment { path: path.to_owned(), source })
        })
        .collect()
}

fn incomplete(location: &str, what: &'static str) -> StoreError {
    StoreError::Incomplete { location: location.to_owned(), what }
}

fn s3(location: &str, bucket: &str) -> Result<Address, StoreError> {
    // old jobs write s3n://key:secret@bucket; refused above
    match bucket {
        "" => Err(incomplete(location, "a bucket")),
        bucket => Ok(Address::S3 { bucket: bucket.to_owned() }),
    }
}

fn gcs(location: &str, bucket: &str) -> Result<Address, StoreError> {
    match bucket {
        "" => Err(incomplete(location, "a bucket")),
        bucket => Ok(Address::Gcs { bucket: bucket.to_owned() }),
    }
}

/// `container@account.dfs.core.windows.net`, or only a container. Whatever the scheme and the host, the account's Blob
/// endpoint is asked: it shows the same files.
fn azure(location: &str, authority: &str) -> Result<Address, StoreError> {
    let (container, host) = match authority.split_once('@') {
        Some((container, host)) => (container, Some(host)),
        None => (authority, None),
    };
    if container.is_empty() {
        return Err(incomplete(location, "a container"));
    }
    let Some(host) = host else {
        return Ok(Address::Azure { container: container.to_owned(), account: None, endpoint: None });
    };
    let account = host.split('.').next().unwrap_or_default();
    if account.is_empty() {
        return Err(incomplete(location, "an account, as in container@account.dfs.core.windows.net"));
    }
    let blob = host.replacen(".dfs.", ".blob.", 1);
    let is_public = blob.strip_prefix(account) == Some(".blob.core.windows.net");
    Ok(Address::Azure {
        container: container.to_owned(),
        account: Some(account.to_owned()),
        endpoint: (!is_public && host.contains('.')).then(|| format!("https://{blob}")),
    })
}

fn hdfs(_location: &str, authority: &str, is_view: bool) -> Result<Address, StoreError> {
    let authority = Some(authority).filter(|authority| !authority.is_empty()).map(str::to_owned);
    Ok(Address::Hdfs { authority, is_view })
}

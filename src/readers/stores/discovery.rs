//! Looks through a place for checkpoints.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::stream::{self, StreamExt};
use futures::{FutureExt, future::BoxFuture};

use super::checkpoint_store::{CheckpointStore, Children};
use super::glob;
use super::location::StoreError;
use super::opening::Stores;
use crate::checkpoint::{is_pipeline, is_root, may_hold_roots};
use crate::measures::{Reason, Unread};
use crate::readers::{CheckpointFinder, Looked, RequestCounts};

/// More directories than any sensible place for checkpoints has; behind them lies somebody's data.
const MOST_DIRECTORIES: usize = 20_000;
/// A pipeline's tables have a catalog, a schema and a name; then come flow and version.
const DEPTH_OF_PIPELINES: usize = 6;
/// How many directories are listed at once. The store's places are handed out in order, so that a reading of a round
/// waits for no more listings than these.
const LISTED_AT_ONCE: usize = 4;

/// What to look for.
#[derive(Clone, Debug)]
pub struct Search {
    /// How many levels of directories to go down.
    pub depth: usize,
    /// Checkpoints whose path matches one of these patterns count; with none, all do.
    pub include: Vec<String>,
    /// Those that match one of these do not.
    pub exclude: Vec<String>,
}

/// A place below which checkpoints lie.
#[derive(Debug)]
pub struct Prefix {
    place: CheckpointStore,
    search: Search,
}

impl Stores {
    /// Opens a place to look through. Nothing is read yet.
    ///
    /// # Errors
    /// When the location makes no sense, or does not go with the settings.
    pub fn prefix(&mut self, location: &str, store: Option<&str>, search: Search) -> Result<Prefix, StoreError> {
        Ok(Prefix { place: self.open(location, store)?, search })
    }
}

impl CheckpointFinder for Prefix {
    fn look<'a>(&'a self, known: &'a BTreeSet<String>, deadline: Duration) -> BoxFuture<'a, Result<Looked, Unread>> {
        async move {
            let looked = tokio::time::timeout(deadline, self.through(known)).await;
            looked.unwrap_or_else(|_| {
                let (place, time) = (self.place.location_of(""), humantime::format_duration(deadline));
                Err(Unread::new(Reason::TimedOut, format!("{place}: not looked through within {time}")))
            })
        }
        .boxed()
    }

    fn location_of(&self, path: &str) -> String {
        self.place.location_of(path)
    }

    fn requests(&self) -> RequestCounts {
        crate::readers::CheckpointReader::requests(&self.place)
    }
}

impl Prefix {
    /// Level by level. A directory that cannot be listed hides what lies below it, and nothing else.
    async fn through(&self, known: &BTreeSet<String>) -> Result<Looked, Unread> {
        let mut looked = Looked::default();
        let mut level = vec![(String::new(), self.search.depth)];
        let mut listed = 0;
        while !level.is_empty() {
            listed += level.len();
            if listed > MOST_DIRECTORIES {
                let detail = format!("more than {MOST_DIRECTORIES} directories; begin further down, or go less deep");
                return Err(Unread::new(Reason::Unsupported, detail));
            }
            let list = |(path, left): (String, usize)| async move {
                let children = self.place.list(&path).await;
                (path, left, children)
            };
            let listings: Vec<_> = stream::iter(level).map(list).buffered(LISTED_AT_ONCE).collect().await;
            let mut next = Vec::new();
            for (path, left, children) in listings {
                let children = match children {
                    Ok(children) => children,
                    Err(unread) if path.is_empty() => return Err(unread),
                    Err(unread) => {
                        looked.unread.push((path, unread));
                        continue;
                    }
                };
                if is_checkpoint(&children) {
                    looked.paths.insert(path);
                } else if left > 0 {
                    let directories = children.directories.iter().filter(|name| may_hold_roots(name));
                    for name in directories {
                        let path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
                        if known.contains(&path) {
                            looked.paths.insert(path);
                        } else {
                            next.push((path, if is_pipeline(name) { DEPTH_OF_PIPELINES } else { left - 1 }));
                        }
                    }
                }
            }
            level = next;
        }
        looked.paths.retain(|path| self.wants(path));
        Ok(looked)
    }

    fn wants(&self, path: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| glob::matches(pattern, path));
        (self.search.include.is_empty() || any(&self.search.include)) && !any(&self.search.exclude)
    }
}

fn is_checkpoint(children: &Children) -> bool {
    let files = children.files.iter().map(|file| file.name.as_str());
    is_root(files, children.directories.iter().map(String::as_str))
}

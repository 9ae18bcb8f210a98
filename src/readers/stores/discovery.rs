//! Looks through a place for checkpoints.

use std::time::Duration;

use futures::future::join_all;

use super::checkpoint_store::{CheckpointStore, Children};
use super::glob;
use super::location::StoreError;
use super::opening::Stores;
use crate::checkpoint::{Root, is_pipeline, is_root, may_hold_roots, roots};
use crate::measures::{Reason, Unread};

/// More directories than any sensible place for checkpoints has; behind them lies somebody's data.
const MOST_DIRECTORIES: usize = 20_000;
/// A pipeline's tables have a catalog, a schema and a name; then come flow and version.
const DEPTH_OF_PIPELINES: usize = 6;

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

/// A checkpoint that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundCheckpoint {
    /// Where it lies, as a query's configuration wants it.
    pub location: String,
    /// What it is among the others.
    pub root: Root,
}

impl Stores {
    /// Finds the checkpoints below a location, in the order of their paths. Nothing but directories is read.
    ///
    /// # Errors
    /// When the location makes no sense (the outer error), or can not be looked through within the deadline.
    pub async fn find(
        &mut self,
        location: &str,
        store: Option<&str>,
        search: &Search,
        deadline: Duration,
    ) -> Result<Result<Vec<FoundCheckpoint>, Unread>, StoreError> {
        let place = self.open(location, store)?;
        let found = tokio::time::timeout(deadline, find(&place, search)).await;
        Ok(found.unwrap_or_else(|_| {
            let time = humantime::format_duration(deadline);
            Err(Unread::new(Reason::TimedOut, format!("{location}: not looked through within {time}")))
        }))
    }
}

async fn find(place: &CheckpointStore, search: &Search) -> Result<Vec<FoundCheckpoint>, Unread> {
    let mut found = Vec::new();
    let mut level = vec![(String::new(), search.depth)];
    let mut listed = 0;
    while !level.is_empty() {
        listed += level.len();
        if listed > MOST_DIRECTORIES {
            let detail = format!("more than {MOST_DIRECTORIES} directories; begin further down, or go less deep");
            return Err(Unread::new(Reason::Unsupported, detail));
        }
        let listings = join_all(level.iter().map(|(path, _)| place.list(path))).await;
        let mut next = Vec::new();
        for ((path, left), children) in level.into_iter().zip(listings) {
            let children = children?;
            if is_checkpoint(&children) {
                found.push(path);
            } else if left > 0 {
                next.extend(children.directories.iter().filter(|name| may_hold_roots(name)).map(|name| {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
                    (path, if is_pipeline(name) { DEPTH_OF_PIPELINES } else { left - 1 })
                }));
            }
        }
        level = next;
    }
    let wanted = |path: &String| {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| glob::matches(pattern, path));
        (search.include.is_empty() || any(&search.include)) && !any(&search.exclude)
    };
    found.retain(wanted);
    let located = |root: Root| FoundCheckpoint { location: place.location_of(&root.path), root };
    Ok(roots(found).into_iter().map(located).collect())
}

fn is_checkpoint(children: &Children) -> bool {
    let files = children.files.iter().map(|file| file.name.as_str());
    is_root(files, children.directories.iter().map(String::as_str))
}

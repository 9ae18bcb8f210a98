//! Which directories are checkpoints, and which of several belong to one query.
//!
//! A checkpoint's root directly holds `metadata` and a log. Nothing below a root is one: sources keep logs of their
//! own there, with the same names. A query that starts over from nothing leaves its old checkpoint behind: pipelines
//! count up a last directory, people write `_v2` behind the name. Only the newest lives; the others stand still
//! for ever, and would look like queries that are stuck.

use std::collections::BTreeMap;

/// Whether a directory with these files and directories is a checkpoint's root.
#[must_use]
pub fn is_root<'a>(files: impl IntoIterator<Item = &'a str>, directories: impl IntoIterator<Item = &'a str>) -> bool {
    files.into_iter().any(|name| name == "metadata")
        && directories.into_iter().any(|name| matches!(name, "offsets" | "commits" | "sources"))
}

/// Whether checkpoints may lie below a directory of this name. Those of a damaged root are not entered either.
#[must_use]
pub fn may_hold_roots(name: &str) -> bool {
    !matches!(name, "offsets" | "commits" | "sources" | "state" | "metadata" | "_spark_metadata" | "_delta_log")
        && !name.starts_with('.')
        && !name.starts_with("__tmp_path_dir")
}

/// Whether a pipeline keeps its checkpoints below a directory of this name, as deep as its tables' names have parts.
#[must_use]
pub fn is_pipeline(name: &str) -> bool {
    matches!(name, "_checkpoints" | "_dlt_metadata")
}

/// What of a path is a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Versioning {
    /// `_v2` at the end of a name, and a pipeline's last directory.
    #[default]
    Marked,
    /// Any number at the end of a name as well: some jobs begin anew with each submission, in `app-001`, `app-002`.
    Numbered,
    /// Nothing: every checkpoint lives.
    None,
}

/// One checkpoint among those that were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Its path below the place that was looked through.
    pub path: String,
    /// What all checkpoints of this query have in common: the path without its version.
    pub family: String,
    /// The path of the newer checkpoint that took its place.
    pub superseded_by: Option<String>,
}

/// Tells of each path whether a newer version of it is among them. In the order of the paths.
#[must_use]
pub fn roots(mut paths: Vec<String>, versioning: Versioning) -> Vec<Root> {
    let version = |path: &str| version(path, versioning);
    paths.sort();
    let mut newest: BTreeMap<String, (u64, String)> = BTreeMap::new();
    for path in &paths {
        if let Some((family, version)) = version(path)
            && newest.get(&family).is_none_or(|(newest, _)| *newest < version)
        {
            newest.insert(family, (version, path.clone()));
        }
    }
    let root = |path: String| {
        let family = version(&path).map_or_else(|| path.clone(), |(family, _)| family);
        let living = newest.get(&family).map(|(_, living)| living).filter(|living| **living != path);
        Root { superseded_by: living.cloned(), family, path }
    };
    paths.into_iter().map(root).collect()
}

/// The path without its version, and the version: `orders_v2`, or a pipeline's `…/flow/2`.
fn version(path: &str, versioning: Versioning) -> Option<(String, u64)> {
    if versioning == Versioning::None {
        return None;
    }
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    if let Ok(version) = name.parse() {
        let is_numbered = versioning == Versioning::Numbered && !parent.is_empty();
        let is_flow = parent.contains('/') && parent.split('/').any(|part| is_pipeline(part) || part == "checkpoints");
        return (is_flow || is_numbered).then(|| (parent.to_owned(), version));
    }
    let digits = name.len() - name.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
    let (stem, number) = name.split_at(name.len() - digits);
    let marked = ["_v", "-v", ".v"].iter().find_map(|mark| stem.strip_suffix(mark)).filter(|base| !base.is_empty());
    let numbered = Some(stem.trim_end_matches(['-', '_', '.'])).filter(|base| !base.is_empty());
    let base = marked.or(numbered.filter(|_| versioning == Versioning::Numbered))?;
    let family = if parent.is_empty() { base.to_owned() } else { format!("{parent}/{base}") };
    Some((family, number.parse().ok()?))
}

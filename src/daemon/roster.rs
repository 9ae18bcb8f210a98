//! Which of the checkpoints that were found are watched, and under which names.
//!
//! The answer depends on what is there and on nothing that was there before: two daemons on one configuration, and one
//! daemon before and after a restart, watch the same checkpoints under the same names.

use std::collections::{BTreeMap, BTreeSet};

use crate::checkpoint::{Root, Versioning, roots};
use crate::config::{Config, Discovery, NameParts, Versions};

/// What each discovery found, in order of their names, which is the order in which they take names.
pub(super) type Found<P> = BTreeMap<String, Vec<FoundRoot<P>>>;

/// A checkpoint that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundRoot<P> {
    /// What it is among the others of its discovery.
    pub(super) root: Root,
    /// Where it lies, as a query's configuration wants it.
    pub(super) location: String,
    /// What two spellings of one location have in common.
    pub(super) place: P,
}

/// A query that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) discovery: String,
    pub(super) location: String,
    /// A newer version of it is there.
    pub(super) superseded: bool,
}

/// A checkpoint that was found and can not be watched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Refusal {
    pub(super) discovery: String,
    pub(super) location: String,
    pub(super) name: String,
    pub(super) why: String,
}

impl Refusal {
    pub(super) fn of(member: &Member, why: String) -> Self {
        let Member { name, discovery, location, .. } = member.clone();
        Self { discovery, location, name, why }
    }
}

/// The checkpoints below a place, each with what it is among the others.
pub(super) fn versions_of(discovery: &Discovery, paths: &BTreeSet<String>) -> Vec<Root> {
    let versioning = match discovery.versions {
        Versions::Newest => Versioning::Marked,
        Versions::Numbered => Versioning::Numbered,
        Versions::All => Versioning::None,
    };
    roots(paths.iter().cloned().collect(), versioning)
}

/// Gives names. A configured query keeps its name and its checkpoint; among the others the discovery that comes first
/// in the alphabet wins, in it the path that does, and a living version wins over superseded ones.
pub(super) fn roster<P: Ord + Clone>(
    config: &Config,
    configured: &BTreeSet<P>,
    found: &Found<P>,
) -> (Vec<Member>, Vec<Refusal>) {
    let mut names: BTreeMap<String, String> =
        config.queries.keys().map(|name| (name.clone(), "a configured query".to_owned())).collect();
    let mut places = configured.clone();
    let (mut members, mut refusals) = (Vec::new(), Vec::new());
    for (discovery, roots) in found {
        let Some(settings) = config.discoveries.get(discovery) else { continue };
        let (superseded, living): (Vec<_>, Vec<_>) = roots.iter().partition(|one| one.root.superseded_by.is_some());
        let mut families = BTreeSet::new();
        for one in living.into_iter().chain(superseded) {
            // What is watched already is no second query, whoever names it.
            if !places.insert(one.place.clone()) {
                continue;
            }
            let name = name_of(settings, one);
            let superseded = one.root.superseded_by.is_some();
            // A name without the version is the living one's; the others then have none.
            if superseded && families.contains(&name) {
                continue;
            }
            if let Some(why) = why_refused(config, discovery, &name, &names) {
                let (discovery, location) = (discovery.clone(), one.location.clone());
                refusals.push(Refusal { discovery, location, name, why });
                continue;
            }
            families.insert(name.clone());
            names.insert(name.clone(), format!("the query of {}", one.location));
            members.push(Member { name, discovery: discovery.clone(), location: one.location.clone(), superseded });
        }
    }
    (members, refusals)
}

fn name_of<P>(settings: &Discovery, found: &FoundRoot<P>) -> String {
    let Root { path, family, .. } = &found.root;
    // the place that was looked through is a checkpoint itself
    let last = found.location.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let parts = if path.is_empty() { NameParts { path: last, family: last } } else { NameParts { path, family } };
    settings.name.name(parts)
}

fn why_refused(config: &Config, discovery: &str, name: &str, names: &BTreeMap<String, String>) -> Option<String> {
    if let Some(owner) = names.get(name) {
        return Some(format!("{owner} has this name"));
    }
    let others = config.discoveries.iter().filter(|(other, _)| *other != discovery);
    let mut claims = others.filter(|(_, other)| other.has_own_rules() && name.starts_with(other.name.prefix()));
    let (other, _) = claims.next()?;
    Some(format!("alert rules would take it for a query of discovery {other}, which has other thresholds"))
}

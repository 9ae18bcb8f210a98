//! Tries each setting alone, and says of each that does not fit why.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::check::Checks;
use super::key::Key;
use super::layers::Leaf;
use super::mistake::{Layer, nearest};
use super::typed::{Misfit, Typed};
use super::written::Written;

/// Parts the settings that fit from those that do not; what is found out goes into the `Checks`.
pub(super) fn sieve(leaves: Vec<Leaf>) -> (Vec<Leaf>, Checks) {
    let mut checks = Checks::default();
    let mut good: Vec<Leaf> = Vec::new();
    let mut seen: BTreeMap<Key, Layer> = BTreeMap::new();
    for leaf in leaves {
        if seen.get(&leaf.key).is_some_and(|earlier| is_same_layer(earlier, &leaf.layer)) {
            let problem = "is given twice; names that differ only in case, or in dots and underscores, are the same";
            checks.refuse(leaf.key.clone(), problem, leaf.layer.clone());
        }
        seen.insert(leaf.key.clone(), leaf.layer.clone());
        match fit(&leaf) {
            Ok(()) => {
                checks.note(leaf.key.clone(), leaf.layer.clone());
                good.push(leaf);
            }
            Err(misfit) => {
                // The table stays: what refers to it by its name is right.
                if let [kind @ ("clusters" | "stores" | "queries" | "discovery"), name, ..] =
                    leaf.key.words().as_slice()
                {
                    good.push(Leaf::table(Key::of(&[kind, name]), &leaf.layer));
                }
                refuse(&leaf, misfit, &mut checks);
            }
        }
    }
    (good, checks)
}

/// The command line may say a thing twice: the last word counts there.
fn is_same_layer(a: &Layer, b: &Layer) -> bool {
    matches!((a, b), (Layer::File(_), Layer::File(_)) | (Layer::Environment(_), Layer::Environment(_)))
}

fn fit(leaf: &Leaf) -> Result<(), Misfit> {
    Written::deserialize(Typed::new(leaf.tree())).map(|_| ())
}

fn refuse(leaf: &Leaf, misfit: Misfit, checks: &mut Checks) {
    match misfit {
        Misfit::Unknown { key, known } => {
            let words = key.words();
            let Some((word, table)) = words.split_last() else { return };
            if let Some(problem) = misplaced(word, table, known, &leaf.layer) {
                return checks.refuse(key.clone(), problem, leaf.layer.clone());
            }
            let Some(meant) = nearest(word, known.iter().copied()) else {
                return checks.refuse(key, "unknown key", leaf.layer.clone());
            };
            // Whoever misspelt a required key has given it, after all.
            checks.excuse(Key::of(&[table, &[meant]].concat()));
            checks.refuse(key, format!("unknown key; did you mean {meant:?}?"), leaf.layer.clone());
        }
        Misfit::Wrong(problem) => match value_taken_for_table(leaf) {
            Some(key) => {
                checks.refuse(key, "is one value, not a table; nothing can stand inside it", leaf.layer.clone())
            }
            None => checks.refuse(leaf.key.clone(), problem, leaf.layer.clone()),
        },
    }
}

/// Names that are right in another place.
fn misplaced(word: &str, table: &[&str], known: &[&str], layer: &Layer) -> Option<&'static str> {
    let is_joined = |name: &str| word.strip_prefix(name).is_some_and(|rest| rest.starts_with('_'));
    match (table, word) {
        (
            ["queries" | "discovery", _, "alerts"],
            "window" | "scrape_interval" | "runbook_base_url" | "dashboard_base_url",
        ) => Some("counts for all queries; set it in [alerts]"),
        _ if matches!(layer, Layer::Environment(_)) && known.iter().any(|name| is_joined(name)) => {
            Some("unknown key; write two underscores between the names of tables and settings")
        }
        _ => None,
    }
}

/// The outermost setting on the way to this one that is no table. `…__OPEN_PATHS__0` comes here: a list is given as
/// a whole.
fn value_taken_for_table(leaf: &Leaf) -> Option<Key> {
    let tables: Vec<Key> = leaf.key.upwards().skip(1).collect();
    tables.into_iter().rev().find(|table| fit(&Leaf::table(table.clone(), &leaf.layer)).is_err())
}

//! One round → its lines of the exposition, text format 0.0.4, family by family.
//!
//! Pure and byte-stable: the same round gives the same bytes. Families are kept apart, because the text of all
//! clusters has to stand under one `# TYPE` line each.

mod about;
mod cluster;
mod discovery;
mod query;
#[cfg(test)]
mod tests;
mod topic;
mod writer;

pub use about::{About, LedgerHealth, about, ledger};
pub use discovery::discovery;
pub use writer::{Blocks, Labels, Sample, header};

use super::snapshot::ClusterRound;

/// The lines of one cluster's round, as they are when the round is believed.
#[must_use]
pub fn of_round(round: &ClusterRound) -> Blocks {
    let mut blocks = Blocks::default();
    cluster::write(&mut blocks, round);
    for (name, query) in &round.queries {
        query::write(&mut blocks, &round.cluster, name, query);
    }
    blocks
}

/// The whole text of several rounds: every family once, in order of names.
#[must_use]
pub fn text<'a>(sources: impl IntoIterator<Item = &'a Blocks>) -> String {
    let mut families: std::collections::BTreeMap<&str, (String, String)> = std::collections::BTreeMap::new();
    for blocks in sources {
        for (metric, lines) in blocks.families() {
            let family = families.entry(metric.name).or_insert_with(|| (header(metric), String::new()));
            family.1.push_str(lines);
        }
    }
    families.into_values().map(|(head, lines)| head + &lines).collect()
}

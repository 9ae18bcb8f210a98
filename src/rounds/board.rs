//! The board: where the newest finished round of each cluster hangs, swapped whole.
//!
//! A round publishes by exchanging one pointer. A scrape and a page take what hangs there and never wait for a round,
//! nor a round for them. The text of a round is written and compressed once, when it is published; a scrape joins the
//! finished pieces. A round that grows too old while the next one hangs is told by the rule of
//! [`ClusterRound::aged`]: that text is made when it is first asked for, and kept as well.

mod pieces;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use flate2::read::GzDecoder;

use self::pieces::{Piece, join};
use crate::measures::Moment;
use crate::metrics::exposition::{About, Blocks, LedgerHealth, about, discovery, header, ledger, of_round};
use crate::metrics::snapshot::{ClusterRound, DiscoveryRound};

/// The newest finished round of each cluster.
#[derive(Debug, Default)]
pub struct Board {
    hanging: ArcSwap<Hanging>,
}

#[derive(Clone, Debug, Default)]
struct Hanging {
    clusters: BTreeMap<String, Arc<Published>>,
    discoveries: BTreeMap<String, Arc<(DiscoveryRound, Pieces)>>,
    about: Arc<Pieces>,
    ledger: Arc<Pieces>,
}

/// A round, and its text as long as it is believed and afterwards.
#[derive(Debug)]
struct Published {
    round: Arc<ClusterRound>,
    fresh: Pieces,
    aged: OnceLock<(Arc<ClusterRound>, Pieces)>,
}

/// Compressed lines by name of family, each with the compressed head of the family.
type Pieces = BTreeMap<&'static str, (Piece, Piece)>;

impl Board {
    /// Hangs up the newest round of a cluster in place of the one before. Hang up [`ClusterRound::waiting`] for every
    /// cluster at the start: what is known beforehand is told from then on, and readiness waits for the first round.
    pub fn publish(&self, round: ClusterRound) {
        let fresh = pieces_of(&of_round(&round));
        let cluster = round.cluster.clone();
        let published = Arc::new(Published { round: Arc::new(round), fresh, aged: OnceLock::new() });
        self.hanging.rcu(|hanging| {
            let mut next = Hanging::clone(hanging);
            next.clusters.insert(cluster.clone(), Arc::clone(&published));
            next
        });
    }

    /// Takes a cluster down that is no longer configured.
    pub fn take_down(&self, cluster: &str) {
        self.hanging.rcu(|hanging| {
            let mut next = Hanging::clone(hanging);
            next.clusters.remove(cluster);
            next
        });
    }

    /// Hangs up how a discovery does. Hang up [`DiscoveryRound::waiting`] for every one at the start.
    pub fn set_discovery(&self, round: DiscoveryRound) {
        let pieces = pieces_of(&discovery(&round));
        let told = Arc::new((round, pieces));
        self.hanging.rcu(|hanging| {
            let mut next = Hanging::clone(hanging);
            next.discoveries.insert(told.0.discovery.clone(), Arc::clone(&told));
            next
        });
    }

    /// Takes a discovery down that is no longer configured.
    pub fn take_discovery_down(&self, discovery: &str) {
        self.hanging.rcu(|hanging| {
            let mut next = Hanging::clone(hanging);
            next.discoveries.remove(discovery);
            next
        });
    }

    /// How every discovery does, in order of their names.
    #[must_use]
    pub fn discoveries(&self) -> Vec<DiscoveryRound> {
        self.hanging.load().discoveries.values().map(|told| told.0.clone()).collect()
    }

    /// Sets what the process says of itself.
    pub fn set_about(&self, of_process: &About) {
        let pieces = Arc::new(pieces_of(&about(of_process)));
        self.hanging.rcu(|hanging| Hanging { about: Arc::clone(&pieces), ..Hanging::clone(hanging) });
    }

    /// Sets what is said of the ledger.
    pub fn set_ledger(&self, health: LedgerHealth) {
        let pieces = Arc::new(pieces_of(&ledger(health)));
        self.hanging.rcu(|hanging| Hanging { ledger: Arc::clone(&pieces), ..Hanging::clone(hanging) });
    }

    /// Every round as it is to be told at this moment, in order of the clusters' names.
    #[must_use]
    pub fn snapshot(&self, now: Moment) -> Vec<Arc<ClusterRound>> {
        let hanging = self.hanging.load();
        hanging.clusters.values().map(|published| Arc::clone(published.at(now).0)).collect()
    }

    /// Whether the first round of every cluster and the first look of every discovery have ended, well or badly. A
    /// board without any is ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let hanging = self.hanging.load();
        hanging.clusters.values().all(|published| published.round.finished_at.is_some())
            && hanging.discoveries.values().all(|told| told.0.has_looked())
    }

    /// The whole exposition at this moment as one gzip member; `extra` is text that was only just made, with families
    /// whose names come after all of ours.
    #[must_use]
    pub fn scrape(&self, now: Moment, extra: &str) -> Vec<u8> {
        let hanging = self.hanging.load();
        let sources: Vec<&Pieces> = hanging
            .clusters
            .values()
            .map(|published| published.at(now).1)
            .chain(hanging.discoveries.values().map(|told| &told.1))
            .chain([hanging.about.as_ref(), hanging.ledger.as_ref()])
            .collect();
        let mut families: BTreeMap<&str, Vec<&Piece>> = BTreeMap::new();
        for pieces in sources {
            for (name, (head, lines)) in pieces {
                families.entry(name).or_insert_with(|| vec![head]).push(lines);
            }
        }
        let extra = Piece::of(extra);
        join(families.values().flatten().copied().chain(std::iter::once(&extra)))
    }
}

impl Published {
    fn at(&self, now: Moment) -> (&Arc<ClusterRound>, &Pieces) {
        if !self.round.is_stale(now) {
            return (&self.round, &self.fresh);
        }
        let (round, pieces) = self.aged.get_or_init(|| {
            let aged = self.round.aged();
            let pieces = pieces_of(&of_round(&aged));
            (Arc::new(aged), pieces)
        });
        (round, pieces)
    }
}

fn pieces_of(blocks: &Blocks) -> Pieces {
    blocks.families().map(|(metric, lines)| (metric.name, (Piece::of(&header(metric)), Piece::of(lines)))).collect()
}

/// The plain text of a scrape, for those who cannot read gzip.
///
/// # Errors
/// When `gzip` is not what [`Board::scrape`] gave.
pub fn plain(gzip: &[u8]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    GzDecoder::new(gzip).read_to_end(&mut text)?;
    Ok(text)
}

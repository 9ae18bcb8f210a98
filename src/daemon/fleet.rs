//! All that is watched: what is configured, and what was found. What is found changes while the rounds run; each
//! cluster's rounds are told their newest targets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tracing::{info, warn};

use super::kept::Kept;
use super::roster::{Found, FoundRoot, Member, Refusal, roster, versions_of};
use super::stores::store_settings;
use super::targets::{TargetError, cluster_reader, query_target, reads};
use crate::config::{Config, Discovery, Query};
use crate::readers::stores::{PlaceKey, Search, StoreError, Stores};
use crate::readers::{CheckpointFinder, CheckpointReader};
use crate::rounds::{ClusterTarget, DiscoveryTarget, QueryTarget, Taken, reading_deadline};

/// The name of a store's settings, and a location in it.
pub(super) type Opened = (Option<String>, String);
/// Readers of checkpoints, which remember what they read.
pub(super) type Readers = BTreeMap<Opened, Arc<dyn CheckpointReader>>;

/// What is watched, and whoever has to hear of its changes.
#[derive(Debug)]
pub(super) struct Fleet {
    pub(super) config: Config,
    pub(super) stores: Stores,
    /// Where the configured queries' checkpoints lie.
    configured: BTreeSet<PlaceKey>,
    pub(super) discoveries: BTreeMap<String, Arc<dyn CheckpointFinder>>,
    /// The checkpoints that each discovery knows.
    pub(super) known: BTreeMap<String, BTreeSet<String>>,
    found: Found<PlaceKey>,
    /// The queries that were found, and the readers of their checkpoints, which remember what they read.
    members: Vec<Member>,
    pub(super) opened: Readers,
    /// The readers of the configured queries.
    pub(super) readers: Readers,
    /// With the configured queries only.
    pub(super) base: BTreeMap<String, ClusterTarget>,
    told: BTreeMap<String, watch::Sender<Arc<ClusterTarget>>>,
    refused: BTreeSet<Refusal>,
}

impl Fleet {
    /// What is configured. Nothing is asked yet.
    pub(super) fn new(config: Config) -> Result<Self, TargetError> {
        Self::built(config, None)
    }

    /// What is configured now, with all that stays as it was: clients, readers, what was found. Nobody is told yet.
    pub(super) fn after(&self, config: Config) -> Result<Self, TargetError> {
        Self::built(config, Some(self))
    }

    fn built(config: Config, before: Option<&Self>) -> Result<Self, TargetError> {
        let kept = Kept::new(&config, before);
        let mut stores = Stores::new(store_settings(&config)?, deadline(&config));
        kept.stores(&mut stores);
        let mut readers = BTreeMap::new();
        let mut configured = BTreeSet::new();
        for (name, query) in &config.queries {
            let refused = |cause| TargetError::Checkpoint { query: name.clone(), cause };
            let opened = (query.store.clone(), query.checkpoint.clone());
            let reader = match kept.reader(&opened) {
                Some(reader) => reader,
                None => open(&mut stores, query).map_err(refused)?,
            };
            readers.insert(opened, reader);
            configured.insert(stores.place(&query.checkpoint, query.store.as_deref()).map_err(refused)?);
        }
        let mut base = BTreeMap::new();
        for (name, cluster) in &config.clusters {
            let queries = config.queries.iter().filter(|(_, query)| reads(query, name)).map(|(query_name, query)| {
                let reader = Arc::clone(&readers[&(query.store.clone(), query.checkpoint.clone())]);
                query_target(&config, name, query_name, query, reader)
            });
            let target = ClusterTarget {
                name: name.clone(),
                brokers: match kept.brokers(name) {
                    Some(brokers) => brokers,
                    None => cluster_reader(name, cluster)?,
                },
                queries: queries.collect(),
                poll_interval: cluster.poll_interval,
                stale_after: cluster.stale_after,
            };
            base.insert(name.clone(), target);
        }
        let mut discoveries: BTreeMap<String, Arc<dyn CheckpointFinder>> = BTreeMap::new();
        for (name, discovery) in &config.discoveries {
            let finder = match kept.finder(name) {
                Some(finder) => finder,
                None => finder(&mut stores, name, discovery)?,
            };
            discoveries.insert(name.clone(), finder);
        }
        let told = base.iter().map(|(name, target)| {
            let new = || watch::Sender::new(Arc::new(target.clone()));
            (name.clone(), before.and_then(|before| before.told.get(name)).cloned().unwrap_or_else(new))
        });
        let (known, told) = (kept.known(), told.collect());
        let mut fleet = Self {
            stores,
            configured,
            discoveries,
            known,
            found: Found::new(),
            members: before.map(|before| before.members.clone()).unwrap_or_default(),
            opened: kept.opened(),
            readers,
            told,
            base,
            refused: before.map(|before| before.refused.clone()).unwrap_or_default(),
            config,
        };
        for (discovery, paths) in fleet.known.clone() {
            let roots = fleet.found_roots(&discovery, &paths);
            fleet.found.insert(discovery, roots);
        }
        fleet.recount();
        Ok(fleet)
    }

    /// The configured queries alone.
    pub(super) fn into_targets(self) -> Vec<ClusterTarget> {
        self.base.into_values().collect()
    }

    /// Where each cluster's rounds hear of their targets.
    pub(super) fn clusters(&self) -> BTreeMap<String, watch::Receiver<Arc<ClusterTarget>>> {
        self.told.iter().map(|(name, told)| (name.clone(), told.subscribe())).collect()
    }

    /// Where to look.
    pub(super) fn discoveries(&self) -> Vec<DiscoveryTarget> {
        let target = |(name, finder): (&String, &Arc<dyn CheckpointFinder>)| DiscoveryTarget {
            name: name.clone(),
            finder: Arc::clone(finder),
            interval: self.config.discoveries[name].interval,
        };
        self.discoveries.iter().map(target).collect()
    }

    /// Takes in which checkpoints a discovery knows, and tells the rounds of what changed.
    pub(super) fn take(&mut self, discovery: &str, paths: &BTreeSet<String>) -> Taken {
        self.known.insert(discovery.to_owned(), paths.clone());
        let roots = self.found_roots(discovery, paths);
        self.found.insert(discovery.to_owned(), roots);
        if self.recount() {
            self.announce();
        }
        let here = |name: &str| name == discovery;
        Taken {
            watched: self.members.iter().filter(|member| here(&member.discovery)).count(),
            refused: self.refused.iter().filter(|refusal| here(&refusal.discovery)).count(),
        }
    }

    /// Tells the rounds of every cluster whose targets are others than before.
    pub(super) fn announce(&self) {
        for (cluster, told) in &self.told {
            let mut target = self.base[cluster].clone();
            let found = self.members.iter().filter(|member| reads(self.defaults(member), cluster));
            target.queries.extend(found.map(|member| self.target_of(cluster, member)));
            if !told.borrow().is_same(&target) {
                told.send_replace(Arc::new(target));
            }
        }
    }

    /// Works out which queries were found; whether they are others than before.
    fn recount(&mut self) -> bool {
        let (mut members, mut refusals) = roster(&self.config, &self.configured, &self.found);
        members.retain(|member| match self.open(member) {
            Ok(()) => true,
            Err(cause) => {
                refusals.push(Refusal::of(member, format!("it cannot be opened: {cause}")));
                false
            }
        });
        self.tell_refusals(refusals);
        let is_changed = members != self.members;
        let before = std::mem::replace(&mut self.members, members);
        log_changes(&before, &self.members);
        let here: BTreeSet<Opened> = self.members.iter().map(|member| self.opened_as(member)).collect();
        self.opened.retain(|opened, _| here.contains(opened));
        is_changed
    }

    /// The queries that were found, as if they were configured; superseded ones as retired.
    pub(super) fn found_queries(&self) -> BTreeMap<String, Query> {
        let query = |member: &Member| {
            let mut query = self.query_of(member);
            if member.superseded {
                query.watch = crate::judgement::Watch::Retired;
            }
            (member.name.clone(), query)
        };
        self.members.iter().map(query).collect()
    }

    fn found_roots(&self, discovery: &str, paths: &BTreeSet<String>) -> Vec<FoundRoot<PlaceKey>> {
        let (Some(settings), Some(finder)) = (self.config.discoveries.get(discovery), self.discoveries.get(discovery))
        else {
            return Vec::new();
        };
        let found = versions_of(settings, paths).into_iter().filter_map(|root| {
            let location = finder.location_of(&root.path);
            let place = self.stores.place(&location, settings.defaults.store.as_deref());
            // A name that no location can hold, such as one with a password's signs in it, is nobody's checkpoint.
            Some(FoundRoot { root, place: place.ok()?, location })
        });
        found.collect()
    }

    /// Each is told once, as long as it stands.
    fn tell_refusals(&mut self, refusals: Vec<Refusal>) {
        let refusals: BTreeSet<Refusal> = refusals.into_iter().collect();
        for refusal in &refusals - &self.refused {
            let Refusal { discovery, location, name, why } = refusal;
            warn!(discovery, checkpoint = location, query = name, why, "a checkpoint was found and is not watched");
        }
        self.refused = refusals;
    }

    fn target_of(&self, cluster: &str, member: &Member) -> QueryTarget {
        let reader = Arc::clone(&self.opened[&self.opened_as(member)]);
        let target = query_target(&self.config, cluster, &member.name, &self.query_of(member), reader);
        QueryTarget { superseded: member.superseded, ..target }
    }

    fn defaults(&self, member: &Member) -> &Query {
        &self.config.discoveries[&member.discovery].defaults
    }

    fn query_of(&self, member: &Member) -> Query {
        Query { checkpoint: member.location.clone(), ..self.defaults(member).clone() }
    }

    fn opened_as(&self, member: &Member) -> Opened {
        (self.defaults(member).store.clone(), member.location.clone())
    }

    fn open(&mut self, member: &Member) -> Result<(), StoreError> {
        let opened = self.opened_as(member);
        if !self.opened.contains_key(&opened) {
            let query = self.query_of(member);
            self.opened.insert(opened, open(&mut self.stores, &query)?);
        }
        Ok(())
    }
}

/// What of the quickest round's time one reading of a checkpoint may take.
pub(super) fn deadline(config: &Config) -> Duration {
    let quickest = config.clusters.values().map(|cluster| cluster.poll_interval).min();
    reading_deadline(quickest.unwrap_or(config.poll_interval))
}

fn finder(stores: &mut Stores, name: &str, discovery: &Discovery) -> Result<Arc<dyn CheckpointFinder>, TargetError> {
    let search = Search {
        depth: usize::try_from(discovery.depth).unwrap_or(usize::MAX),
        include: discovery.include.clone(),
        exclude: discovery.exclude.clone(),
    };
    let prefix = stores
        .prefix(&discovery.location, discovery.defaults.store.as_deref(), search)
        .map_err(|cause| TargetError::Location { discovery: name.to_owned(), cause })?;
    Ok(Arc::new(prefix))
}

fn log_changes(before: &[Member], after: &[Member]) {
    for Member { name, discovery, location, superseded } in after.iter().filter(|member| !before.contains(member)) {
        info!(discovery, query = name, checkpoint = location, superseded, "a checkpoint was found");
    }
    let names: BTreeSet<&String> = after.iter().map(|member| &member.name).collect();
    for Member { name, discovery, location, .. } in before.iter().filter(|member| !names.contains(&member.name)) {
        info!(discovery, query = name, checkpoint = location, "a checkpoint is gone");
    }
}

fn open(stores: &mut Stores, query: &Query) -> Result<Arc<dyn CheckpointReader>, StoreError> {
    Ok(Arc::new(stores.open(&query.checkpoint, query.store.as_deref())?))
}

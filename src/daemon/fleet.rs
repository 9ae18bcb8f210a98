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
use crate::measures::with_causes;
use crate::readers::stores::{PlaceKey, Search, StoreError, Stores};
use crate::readers::{BrokerReader, CheckpointFinder, CheckpointReader};
use crate::rounds::{ClusterTarget, DiscoveryTarget, QueryTarget, Taken, reading_deadline};
use crate::shard::Shard;

/// The name of a store's settings, and a location in it.
pub(super) type Opened = (Option<String>, String);
/// Readers of checkpoints, which remember what they read.
pub(super) type Readers = BTreeMap<Opened, Arc<dyn CheckpointReader>>;

/// Who tells each cluster's rounds of their targets.
pub(super) type Tellers = BTreeMap<String, watch::Sender<Arc<ClusterTarget>>>;

/// What is watched, and whoever has to hear of its changes.
#[derive(Debug)]
pub(super) struct Fleet {
    pub(super) config: Config,
    /// Only its queries are watched; names are given among all, so that every shard gives the same.
    shard: Shard,
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
    /// The configured queries of every cluster.
    base: BTreeMap<String, Vec<QueryTarget>>,
    /// Of the clusters that are watched: all of them, unless the fleet is cut into shards. Then a cluster is left alone
    /// until one of this shard's queries reads it.
    pub(super) clients: BTreeMap<String, Arc<dyn BrokerReader>>,
    /// Has the same keys.
    pub(super) told: Tellers,
    refused: BTreeSet<Refusal>,
}

impl Fleet {
    /// What is configured. Nothing is asked yet.
    pub(super) fn new(config: Config, shard: Shard) -> Result<Self, TargetError> {
        Self::built(config, shard, None)
    }

    /// What is configured now, with all that stays as it was: clients, readers, what was found. Nobody is told yet.
    pub(super) fn after(&self, config: Config) -> Result<Self, TargetError> {
        Self::built(config, self.shard, Some(self))
    }

    fn built(config: Config, shard: Shard, before: Option<&Self>) -> Result<Self, TargetError> {
        let kept = Kept::new(&config, before);
        let mut stores = Stores::new(store_settings(&config)?, deadline(&config));
        kept.stores(&mut stores);
        let mut readers = BTreeMap::new();
        let mut configured = BTreeSet::new();
        for (name, query) in &config.queries {
            let refused = |cause| TargetError::Checkpoint { query: name.clone(), cause };
            configured.insert(stores.place(&query.checkpoint, query.store.as_deref()).map_err(refused)?);
            if !shard.holds(name) {
                continue;
            }
            let opened = (query.store.clone(), query.checkpoint.clone());
            let reader = match kept.reader(&opened) {
                Some(reader) => reader,
                None => open(&mut stores, query).map_err(refused)?,
            };
            readers.insert(opened, reader);
        }
        let (mut base, mut clients) = (BTreeMap::new(), BTreeMap::new());
        for (name, cluster) in &config.clusters {
            let own = config.queries.iter().filter(|(query, _)| shard.holds(query));
            let queries = own.filter(|(_, query)| reads(query, name)).map(|(query_name, query)| {
                let reader = Arc::clone(&readers[&(query.store.clone(), query.checkpoint.clone())]);
                query_target(&config, name, query_name, query, reader)
            });
            let queries: Vec<QueryTarget> = queries.collect();
            if let Some(client) = kept.brokers(name) {
                clients.insert(name.clone(), client);
            } else if shard.is_whole() || !queries.is_empty() {
                clients.insert(name.clone(), cluster_reader(name, cluster)?);
            }
            base.insert(name.clone(), queries);
        }
        let mut discoveries: BTreeMap<String, Arc<dyn CheckpointFinder>> = BTreeMap::new();
        for (name, discovery) in &config.discoveries {
            let finder = match kept.finder(name) {
                Some(finder) => finder,
                None => finder(&mut stores, name, discovery)?,
            };
            discoveries.insert(name.clone(), finder);
        }
        let (known, told) = (kept.known(), kept.told());
        let mut fleet = Self {
            shard,
            stores,
            configured,
            discoveries,
            known,
            found: Found::new(),
            members: before.map(|before| before.members.clone()).unwrap_or_default(),
            opened: kept.opened(),
            readers,
            base,
            clients,
            told,
            refused: before.map(|before| before.refused.clone()).unwrap_or_default(),
            config,
        };
        for (discovery, paths) in fleet.known.clone() {
            let roots = fleet.found_roots(&discovery, &paths);
            fleet.found.insert(discovery, roots);
        }
        fleet.recount();
        fleet.leave_alone();
        Ok(fleet)
    }

    /// The configured queries alone.
    pub(super) fn targets(&self) -> Vec<ClusterTarget> {
        self.clients.keys().map(|cluster| self.base_of(cluster)).collect()
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

    /// Takes in which checkpoints a discovery knows, and tells the rounds of what changed. A cluster that none of the
    /// queries read before has no rounds yet.
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
            let mut target = self.base_of(cluster);
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
        members.retain(|member| self.shard.holds(&member.name));
        members.retain(|member| match self.open(member) {
            Ok(()) => true,
            Err(why) => {
                refusals.push(Refusal::of(member, why));
                false
            }
        });
        for cluster in self.clients.keys() {
            if !self.told.contains_key(cluster) {
                let target = Arc::new(self.base_of(cluster));
                self.told.insert(cluster.clone(), watch::Sender::new(target));
            }
        }
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

    /// Opens what reads its checkpoint and its clusters; or says why that cannot be.
    fn open(&mut self, member: &Member) -> Result<(), String> {
        let (opened, query) = (self.opened_as(member), self.query_of(member));
        if !self.opened.contains_key(&opened) {
            let reader = open(&mut self.stores, &query).map_err(|cause| format!("it cannot be opened: {cause}"))?;
            self.opened.insert(opened, reader);
        }
        for (name, cluster) in self.config.clusters.iter().filter(|(name, _)| reads(&query, name)) {
            if !self.clients.contains_key(name) {
                let client = cluster_reader(name, cluster)
                    .map_err(|cause| format!("its cluster has no client: {}", with_causes(&cause)))?;
                self.clients.insert(name.clone(), client);
            }
        }
        Ok(())
    }

    /// Lets go of the clusters that nothing of this shard reads any more. Only while no loop can begin: one that goes
    /// over a cluster holds on to what tells it of its targets.
    fn leave_alone(&mut self) {
        if self.shard.is_whole() {
            return;
        }
        let found: Vec<&Query> = self.members.iter().map(|member| self.defaults(member)).collect();
        let is_read =
            |cluster: &String| !self.base[cluster].is_empty() || found.iter().any(|query| reads(query, cluster));
        let idle: Vec<String> = self.clients.keys().filter(|cluster| !is_read(cluster)).cloned().collect();
        for cluster in idle {
            self.clients.remove(&cluster);
        }
        // Also of one that got no client, because its settings changed and nothing reads it any more.
        self.told.retain(|cluster, _| self.clients.contains_key(cluster));
    }

    /// A cluster with its configured queries.
    fn base_of(&self, cluster: &str) -> ClusterTarget {
        let settings = &self.config.clusters[cluster];
        ClusterTarget {
            name: cluster.to_owned(),
            brokers: Arc::clone(&self.clients[cluster]),
            queries: self.base[cluster].clone(),
            poll_interval: settings.poll_interval,
            stale_after: settings.stale_after,
        }
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

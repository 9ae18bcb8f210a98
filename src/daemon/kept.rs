//! What stays of a fleet when its configuration is read again: whatever the new one wants as it was goes on unharmed,
//! with its connections and with all that it remembers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::fleet::{Fleet, Opened, Readers, Tellers, deadline};
use crate::config::{Config, Discovery};
use crate::readers::stores::Stores;
use crate::readers::{BrokerReader, CheckpointFinder, CheckpointReader};

/// A new configuration, and the fleet before it.
pub(super) struct Kept<'a> {
    config: &'a Config,
    before: Option<&'a Fleet>,
}

impl<'a> Kept<'a> {
    pub(super) const fn new(config: &'a Config, before: Option<&'a Fleet>) -> Self {
        Self { config, before }
    }

    /// Hands over the clients of stores.
    pub(super) fn stores(&self, stores: &mut Stores) {
        if let Some(before) = self.before {
            stores.keep(&before.stores, |name| self.keeps_store(name));
        }
    }

    /// The reader of a checkpoint.
    pub(super) fn reader(&self, opened: &Opened) -> Option<Arc<dyn CheckpointReader>> {
        let before = self.before.filter(|_| self.keeps_store(opened.0.as_deref()))?;
        before.readers.get(opened).or_else(|| before.opened.get(opened)).cloned()
    }

    /// The readers of checkpoints that were found.
    pub(super) fn opened(&self) -> Readers {
        let Some(before) = self.before else { return Readers::new() };
        let kept = before.opened.iter().filter(|((store, _), _)| self.keeps_store(store.as_deref()));
        kept.map(|(opened, reader)| (opened.clone(), Arc::clone(reader))).collect()
    }

    /// The client of a cluster.
    pub(super) fn brokers(&self, cluster: &str) -> Option<Arc<dyn BrokerReader>> {
        let before = self.before?;
        let (old, new) = (before.config.clusters.get(cluster)?, self.config.clusters.get(cluster)?);
        let is_same = old.bootstrap_servers == new.bootstrap_servers
            && (&old.tls, &old.sasl) == (&new.tls, &new.sasl)
            && old.librdkafka == new.librdkafka
            && old.retention_overrides == new.retention_overrides;
        before.clients.get(cluster).filter(|_| is_same).cloned()
    }

    /// Who tells the rounds of clusters that are still there.
    pub(super) fn told(&self) -> Tellers {
        let Some(before) = self.before else { return Tellers::new() };
        let kept = before.told.iter().filter(|(cluster, _)| self.config.clusters.contains_key(*cluster));
        kept.map(|(cluster, told)| (cluster.clone(), told.clone())).collect()
    }

    /// What looks through a place.
    pub(super) fn finder(&self, discovery: &str) -> Option<Arc<dyn CheckpointFinder>> {
        let before = self.before.filter(|_| self.keeps_place(discovery))?;
        let (old, new) = (before.config.discoveries.get(discovery)?, self.config.discoveries.get(discovery)?);
        let search = |one: &Discovery| (one.depth, one.include.clone(), one.exclude.clone());
        (search(old) == search(new)).then(|| Arc::clone(&before.discoveries[discovery]))
    }

    /// The checkpoints that were found, of places that are looked through as before or otherwise: the next look corrects
    /// them, and no query leaves the page in between.
    pub(super) fn known(&self) -> BTreeMap<String, BTreeSet<String>> {
        let Some(before) = self.before else { return BTreeMap::new() };
        let kept = before.known.iter().filter(|(discovery, _)| self.keeps_place(discovery));
        kept.map(|(discovery, paths)| (discovery.clone(), paths.clone())).collect()
    }

    fn keeps_place(&self, discovery: &str) -> bool {
        let place = |config: &Config| {
            let discovery = config.discoveries.get(discovery)?;
            Some((discovery.location.clone(), discovery.defaults.store.clone()))
        };
        let new = place(self.config);
        let store = new.as_ref().and_then(|(_, store)| store.as_deref());
        new.is_some() && self.before.is_some_and(|before| place(&before.config) == new) && self.keeps_store(store)
    }

    /// Whether a store's settings are as they were, and its requests are given up as early.
    fn keeps_store(&self, name: Option<&str>) -> bool {
        let Some(before) = self.before else { return false };
        let settings = |config: &Config| name.and_then(|name| config.stores.get(name).cloned());
        settings(&before.config) == settings(self.config) && deadline(&before.config) == deadline(self.config)
    }
}

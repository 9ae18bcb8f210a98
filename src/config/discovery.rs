//! `[discovery.…]`: as written, as valid, and the way from one to the other.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::check::{Checks, at_least_a_second, discovered, table_name};
use super::duration;
use super::key::Key;
use super::store::Store;
use super::template::NameTemplate;
use super::valid::{Cluster, Query, Thresholds};
use super::written::{WrittenQuery, WrittenQueryAlerts, WrittenSource, list_or_text};
use crate::judgement::{Isolation, Subscribe, Watch};
use crate::metrics::snapshot::{Granularity, PartitionMetrics};

/// Deeper trees hold data, not checkpoints.
const DEEPEST: u32 = 32;

/// A place whose checkpoints are watched without being named.
#[derive(Clone, Debug, PartialEq)]
pub struct Discovery {
    /// Where to look.
    pub location: String,
    /// How many levels of directories to go down; 1 or more.
    pub depth: u32,
    /// Checkpoints whose path below the location matches one of these patterns count; with none, all do.
    pub include: Vec<String>,
    /// Those that match one of these do not.
    pub exclude: Vec<String>,
    /// How what is found is called.
    pub name: NameTemplate,
    /// Which of several versions of one checkpoint live.
    pub versions: Versions,
    /// Time from the start of one look to the start of the next.
    pub interval: Duration,
    /// What counts for every query that is found. Its checkpoint is empty.
    pub defaults: Query,
}

impl Discovery {
    /// Whether alert rules have to tell the queries that are found from others.
    #[must_use]
    pub fn has_own_rules(&self) -> bool {
        !self.defaults.alerts.overridden.is_empty() || self.defaults.expected_batch_interval.is_some()
    }
}

/// Which of several versions of one checkpoint live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Versions {
    /// Of `…_v1`, `…_v2`, and of a pipeline's numbered directories, the highest.
    #[default]
    Newest,
    /// The same, with every number at the end of a name for a version: `app-001`, `app-002`.
    Numbered,
    /// All of them: nothing in a name is a version.
    All,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WrittenDiscovery {
    location: String,
    depth: u32,
    #[serde(deserialize_with = "list_or_text")]
    include: Vec<String>,
    #[serde(deserialize_with = "list_or_text")]
    exclude: Vec<String>,
    name: String,
    versions: Versions,
    #[serde(with = "duration::always")]
    interval: Duration,
    // From here on the keys of a query, but for its checkpoint. Flattened, unknown keys would no longer be seen.
    store: String,
    cluster: String,
    subscribe: Subscribe,
    fail_on_data_loss: bool,
    isolation_level: Isolation,
    #[serde(with = "duration::or_empty")]
    expected_batch_interval: Option<Duration>,
    #[serde(with = "duration::always")]
    max_outage: Duration,
    lag_floor: u64,
    watch: Watch,
    granularity: Granularity,
    partition_metrics: PartitionMetrics,
    series_limit: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    sources: BTreeMap<String, WrittenSource>,
    #[serde(skip_serializing_if = "WrittenQueryAlerts::is_empty")]
    alerts: WrittenQueryAlerts,
}

impl Default for WrittenDiscovery {
    fn default() -> Self {
        let place = Place {
            location: String::new(),
            depth: 2,
            include: vec!["**".to_owned()],
            exclude: Vec::new(),
            name: "{path}".to_owned(),
            versions: Versions::default(),
            interval: Duration::from_secs(300),
        };
        Self::of(place, WrittenQuery::default())
    }
}

/// The keys that are discovery's own.
struct Place {
    location: String,
    depth: u32,
    include: Vec<String>,
    exclude: Vec<String>,
    name: String,
    versions: Versions,
    interval: Duration,
}

impl WrittenDiscovery {
    fn of(place: Place, query: WrittenQuery) -> Self {
        Self {
            location: place.location,
            depth: place.depth,
            include: place.include,
            exclude: place.exclude,
            name: place.name,
            versions: place.versions,
            interval: place.interval,
            store: query.store,
            cluster: query.cluster,
            subscribe: query.subscribe,
            fail_on_data_loss: query.fail_on_data_loss,
            isolation_level: query.isolation_level,
            expected_batch_interval: query.expected_batch_interval,
            max_outage: query.max_outage,
            lag_floor: query.lag_floor,
            watch: query.watch,
            granularity: query.granularity,
            partition_metrics: query.partition_metrics,
            series_limit: query.series_limit,
            sources: query.sources,
            alerts: query.alerts,
        }
    }

    /// As if its location were the checkpoint of one query: what is right for that is right for all that is found.
    fn into_parts(self) -> (Place, WrittenQuery) {
        let query = WrittenQuery {
            checkpoint: self.location.clone(),
            store: self.store,
            cluster: self.cluster,
            subscribe: self.subscribe,
            fail_on_data_loss: self.fail_on_data_loss,
            isolation_level: self.isolation_level,
            expected_batch_interval: self.expected_batch_interval,
            max_outage: self.max_outage,
            lag_floor: self.lag_floor,
            watch: self.watch,
            granularity: self.granularity,
            partition_metrics: self.partition_metrics,
            series_limit: self.series_limit,
            sources: self.sources,
            alerts: self.alerts,
        };
        let place = Place {
            location: self.location,
            depth: self.depth,
            include: self.include,
            exclude: self.exclude,
            name: self.name,
            versions: self.versions,
            interval: self.interval,
        };
        (place, query)
    }
}

/// Checks all discoveries, each for itself and against the names of others.
pub(super) fn discoveries(
    written: BTreeMap<String, WrittenDiscovery>,
    queries: &BTreeMap<String, Query>,
    clusters: &BTreeMap<String, Cluster>,
    stores: &BTreeMap<String, Store>,
    global: &Thresholds,
    checks: &mut Checks,
) -> BTreeMap<String, Discovery> {
    let mut discoveries = BTreeMap::new();
    for (name, written) in written {
        table_name("discovery", &name, checks);
        let table = Key::of(&["discovery", &name]);
        let (place, query) = written.into_parts();
        let query = discovered(&table, query, clusters, stores, global, checks);
        discoveries.insert(name, discovery(&table, place, query, checks));
    }
    for (name, discovery) in discoveries.iter().filter(|(_, discovery)| discovery.has_own_rules()) {
        check_prefix(name, discovery, queries, &discoveries, checks);
    }
    discoveries
}

fn discovery(table: &Key, place: Place, query: Query, checks: &mut Checks) -> Discovery {
    if place.depth == 0 || place.depth > DEEPEST {
        checks.report(table.child("depth"), format!("must be 1 to {DEEPEST}"));
    }
    for (key, patterns) in [("include", &place.include), ("exclude", &place.exclude)] {
        if patterns.iter().any(|pattern| pattern.is_empty() || pattern.starts_with('/')) {
            let problem = "holds a pattern that matches nothing: paths below the location begin with no slash";
            checks.report(table.child(key), problem);
        }
    }
    at_least_a_second(table.child("interval"), place.interval, checks);
    let name = NameTemplate::parse(&place.name).unwrap_or_else(|problem| {
        checks.report(table.child("name"), problem);
        NameTemplate::parse("{path}").expect("it is the default")
    });
    Discovery {
        location: place.location,
        depth: place.depth,
        include: place.include,
        exclude: place.exclude,
        name,
        versions: place.versions,
        interval: place.interval,
        defaults: query,
    }
}

/// Alert rules are written before anything is found, and know these queries only by what their names begin with.
fn check_prefix(
    own: &str,
    discovery: &Discovery,
    queries: &BTreeMap<String, Query>,
    all: &BTreeMap<String, Discovery>,
    checks: &mut Checks,
) {
    let prefix = discovery.name.prefix();
    let key = Key::of(&["discovery", own, "name"]);
    if prefix.is_empty() {
        let problem = "must begin with words of its own, such as \"lake/{path}\": alert rules with the thresholds of \
                       this table know its queries by them";
        return checks.report(key, problem);
    }
    if let Some(query) = queries.keys().find(|query| query.starts_with(prefix)) {
        let problem =
            format!("begins as that of query {query:?}, which has other thresholds; begin it with other words");
        return checks.report(key, problem);
    }
    let begins_alike = |(name, other): &(&String, &Discovery)| {
        let theirs = other.name.prefix();
        *name != own && !theirs.is_empty() && (theirs.starts_with(prefix) || prefix.starts_with(theirs))
    };
    if let Some((other, _)) = all.iter().find(begins_alike) {
        let problem =
            format!("begins as that of discovery {other:?}, which has other thresholds; begin it with other words");
        checks.report(key, problem);
    }
}

/// The discovery as it could have been written.
pub(super) fn written_discovery(discovery: &Discovery, defaults: WrittenQuery) -> WrittenDiscovery {
    let place = Place {
        location: discovery.location.clone(),
        depth: discovery.depth,
        include: discovery.include.clone(),
        exclude: discovery.exclude.clone(),
        name: discovery.name.to_string(),
        versions: discovery.versions,
        interval: discovery.interval,
    };
    WrittenDiscovery::of(place, defaults)
}

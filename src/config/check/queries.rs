//! `[queries.…]`.

use std::collections::BTreeMap;

use super::{Checks, above_zero, alerts, table_name};
use crate::config::key::Key;
use crate::config::mistake::hint;
use crate::config::store::{Store, StoreKind};
use crate::config::valid::{Cluster, Query, SourceSetting, Thresholds};
use crate::config::written::WrittenQuery;

/// Checks all queries against the clusters there are and the global thresholds.
pub(super) fn queries(
    written: BTreeMap<String, WrittenQuery>,
    clusters: &BTreeMap<String, Cluster>,
    stores: &BTreeMap<String, Store>,
    global: &Thresholds,
    checks: &mut Checks,
) -> BTreeMap<String, Query> {
    let mut owners: BTreeMap<Place, String> = BTreeMap::new();
    let mut queries = BTreeMap::new();
    for (name, written) in written {
        table_name("queries", &name, checks);
        let table = Key::of(&["queries", &name]);
        check_checkpoint(&table, &name, &written, stores, &mut owners, checks);
        let store = store(&table, &written, stores, checks);
        queries.insert(name, Query { store, ..query(&table, written, clusters, global, checks) });
    }
    queries
}

fn check_checkpoint(
    table: &Key,
    name: &str,
    written: &WrittenQuery,
    stores: &BTreeMap<String, Store>,
    owners: &mut BTreeMap<Place, String>,
    checks: &mut Checks,
) {
    let key = table.child("checkpoint");
    let checkpoint = written.checkpoint.as_str();
    let place = place(checkpoint, stores.get(&written.store));
    if checkpoint.is_empty() {
        checks.report(key, "is required; write the location of the query's checkpoint, a path or a URL");
    } else if holds_password(checkpoint) {
        checks.report(key, "must not hold a password: locations are shown on pages and in metrics");
    } else if let Some(owner) = owners.get(&place) {
        checks
            .report(key, format!("is the checkpoint of query {owner:?} already; one checkpoint belongs to one query"));
    } else {
        owners.insert(place, name.to_owned());
    }
}

/// Checks what `[discovery.…]` says of the queries that it finds. Its location stands where a checkpoint would.
pub(in crate::config) fn discovered(
    table: &Key,
    written: WrittenQuery,
    clusters: &BTreeMap<String, Cluster>,
    stores: &BTreeMap<String, Store>,
    global: &Thresholds,
    checks: &mut Checks,
) -> Query {
    let key = table.child("location");
    if written.checkpoint.is_empty() {
        checks.report(key, "is required; write the place below which checkpoints lie, a path or a URL");
    } else if holds_password(&written.checkpoint) {
        checks.report(key, "must not hold a password: locations are shown on pages and in metrics");
    }
    let store = store(table, &written, stores, checks);
    Query { checkpoint: String::new(), store, ..query(table, written, clusters, global, checks) }
}

/// Whether it reads `scheme://user:password@…`. A name alone is no secret: Azure's `abfss://container@account` has one.
fn holds_password(checkpoint: &str) -> bool {
    let authority = checkpoint.split_once("://").and_then(|(_, rest)| rest.split('/').next());
    let user = authority.and_then(|authority| authority.rsplit_once('@')).map(|(user, _)| user);
    user.is_some_and(|user| user.contains(':'))
}

/// Where the store answers, if that is configured, and the location in one spelling.
type Place = (Option<String>, String);

/// One spelling for a location that can be written in several ways. Two servers may each have a bucket of one name.
fn place(checkpoint: &str, store: Option<&Store>) -> Place {
    (store.and_then(|store| store.endpoint.clone()), location(checkpoint))
}

fn location(checkpoint: &str) -> String {
    let path = checkpoint.trim_end_matches('/');
    let local = path.strip_prefix("file://").or_else(|| path.strip_prefix("file:")).unwrap_or(path);
    let bucket = local.strip_prefix("s3a://").or_else(|| local.strip_prefix("s3n://"));
    bucket.map_or_else(|| local.to_owned(), |rest| format!("s3://{rest}"))
}

fn query(
    table: &Key,
    written: WrittenQuery,
    clusters: &BTreeMap<String, Cluster>,
    global: &Thresholds,
    checks: &mut Checks,
) -> Query {
    let cluster = main_cluster(table.child("cluster"), written.cluster, clusters, checks);
    if let Some(interval) = written.expected_batch_interval {
        above_zero(table.child("expected_batch_interval"), interval, checks);
    }
    if written.series_limit == 0 {
        checks.report(table.child("series_limit"), "must be 1 or more");
    }
    let mut sources = BTreeMap::new();
    for (source, setting) in written.sources {
        let key = table.child("sources").child(&source).child("cluster");
        let own = Some(setting.cluster).filter(|own| !own.is_empty());
        let cluster = own.map_or_else(|| cluster.clone(), |own| existing(key, own, clusters, checks));
        sources.insert(source, SourceSetting { kind: setting.kind, cluster });
    }
    Query {
        checkpoint: written.checkpoint,
        store: None,
        cluster,
        subscribe: written.subscribe,
        fail_on_data_loss: written.fail_on_data_loss,
        isolation_level: written.isolation_level,
        expected_batch_interval: written.expected_batch_interval,
        max_outage: written.max_outage,
        lag_floor: written.lag_floor,
        watch: written.watch,
        granularity: written.granularity,
        partition_metrics: written.partition_metrics,
        series_limit: written.series_limit,
        sources,
        alerts: alerts::of_query(&table.child("alerts"), &written.alerts, global, checks),
    }
}

/// The named settings, if they are there and go with the checkpoint.
fn store(table: &Key, written: &WrittenQuery, stores: &BTreeMap<String, Store>, checks: &mut Checks) -> Option<String> {
    let name = Some(&written.store).filter(|name| !name.is_empty())?;
    let key = table.child("store");
    match stores.get(name) {
        None => {
            let near = hint(name, stores.keys().map(String::as_str));
            checks.report(key, format!("no store is named {name:?}{near}"));
        }
        Some(store) if StoreKind::of_location(&written.checkpoint) != Some(store.kind) => {
            let problem = format!("is of kind {}; the checkpoint does not lie in such a store", store.kind.label());
            checks.report(key, problem);
        }
        Some(_) => {}
    }
    Some(name.clone())
}

/// The cluster of a query: the named one, else the only one there is.
fn main_cluster(key: Key, name: String, clusters: &BTreeMap<String, Cluster>, checks: &mut Checks) -> String {
    if !name.is_empty() {
        return existing(key, name, clusters, checks);
    }
    let mut names = clusters.keys();
    match (names.next(), names.next()) {
        (Some(only), None) => return only.clone(),
        (None, _) => checks.report(key, NO_CLUSTER),
        (Some(_), Some(_)) => {
            let names: Vec<&str> = clusters.keys().map(String::as_str).collect();
            checks.report(key, format!("is required, since there are several clusters: {}", names.join(", ")));
        }
    }
    name
}

const NO_CLUSTER: &str = "no cluster is configured; add [clusters.main] with bootstrap_servers";

fn existing(key: Key, name: String, clusters: &BTreeMap<String, Cluster>, checks: &mut Checks) -> String {
    if clusters.is_empty() {
        checks.report(key, NO_CLUSTER);
    } else if !clusters.contains_key(&name) {
        let near = hint(&name, clusters.keys().map(String::as_str));
        checks.report(key, format!("no cluster is named {name:?}{near}"));
    }
    name
}

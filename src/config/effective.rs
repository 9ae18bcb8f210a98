//! The configuration in force, as a file that could have been written: what `config show` and `/config` print.

use std::collections::BTreeMap;

use super::check::{three_times, written_name};
use super::discovery::{Discovery, WrittenDiscovery, written_discovery};
use super::ledger::written_ledger;
use super::secret::SecretSource;
use super::security::written_security;
use super::server::written_server;
use super::store::written_store;
use super::valid::{Cluster, Config, Property, Query, Threshold};
use super::written::{
    Written, WrittenAlerts, WrittenCluster, WrittenLog, WrittenQuery, WrittenQueryAlerts, WrittenSource,
};

/// The configuration in force as TOML: every key with its value, secrets as `<secret>`. Loaded again, it gives the
/// same configuration, but for the secrets.
#[must_use]
pub fn effective_toml(config: &Config) -> String {
    toml::to_string(&written(config)).expect("a configuration is made of tables, texts, numbers and booleans")
}

fn written(config: &Config) -> Written {
    let alerts = &config.alerts;
    Written {
        state_dir: config.state_dir.as_ref().map(|path| path.display().to_string()).unwrap_or_default(),
        poll_interval: config.poll_interval,
        stale_after: stale_after(config),
        confirm_polls: config.confirm_polls,
        confirm_time: config.confirm_time,
        server: written_server(&config.server),
        ledger: written_ledger(config.ledger.as_ref()),
        log: WrittenLog { level: config.log.level, format: config.log.format },
        alerts: WrittenAlerts {
            risk_warning: alerts.thresholds.risk_warning,
            risk_critical: alerts.thresholds.risk_critical,
            forecast_warning: alerts.thresholds.forecast_warning,
            forecast_critical: alerts.thresholds.forecast_critical,
            stalled_after: alerts.thresholds.stalled_after,
            window: Some(alerts.window),
            scrape_interval: alerts.scrape_interval,
            runbook_base_url: alerts.runbook_base_url.clone().unwrap_or_default(),
            dashboard_base_url: alerts.dashboard_base_url.clone().unwrap_or_default(),
        },
        clusters: config.clusters.iter().map(|(name, cluster)| (name.clone(), written_cluster(cluster))).collect(),
        stores: config.stores.iter().map(|(name, store)| (name.clone(), written_store(store))).collect(),
        queries: config.queries.iter().map(|(name, query)| (name.clone(), written_query(query))).collect(),
        discovery: config.discoveries.iter().map(|(name, one)| (name.clone(), written_found(one))).collect(),
    }
}

/// Empty where each cluster has its own: only an empty one makes several.
fn stale_after(config: &Config) -> Option<std::time::Duration> {
    let is_common = config.clusters.values().all(|cluster| cluster.stale_after == config.stale_after);
    let is_usual = config.clusters.values().all(|cluster| cluster.stale_after == three_times(cluster.poll_interval));
    (is_common || !is_usual).then_some(config.stale_after)
}

fn written_cluster(cluster: &Cluster) -> WrittenCluster {
    let key = |(property, value): (&String, &Property)| {
        let file = if matches!(value, Property::Secret(SecretSource::File(_))) { "_file" } else { "" };
        (written_name(property) + file, value.clone())
    };
    let (tls, sasl) = written_security(cluster.tls.as_ref(), cluster.sasl.as_ref());
    WrittenCluster {
        bootstrap_servers: cluster.bootstrap_servers.clone(),
        poll_interval: Some(cluster.poll_interval),
        clock_skew: cluster.clock_skew,
        tls,
        sasl,
        librdkafka: cluster.librdkafka.iter().map(key).collect(),
        retention_overrides: cluster.retention_overrides.clone(),
    }
}

fn written_query(query: &Query) -> WrittenQuery {
    let sources: BTreeMap<String, WrittenSource> = query
        .sources
        .iter()
        .map(|(name, source)| (name.clone(), WrittenSource { kind: source.kind, cluster: source.cluster.clone() }))
        .collect();
    WrittenQuery {
        checkpoint: query.checkpoint.clone(),
        store: query.store.clone().unwrap_or_default(),
        cluster: query.cluster.clone(),
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
        sources,
        alerts: written_alerts(query),
    }
}

fn written_found(discovery: &Discovery) -> WrittenDiscovery {
    written_discovery(discovery, written_query(&discovery.defaults))
}

fn written_alerts(query: &Query) -> WrittenQueryAlerts {
    let own = |threshold| query.alerts.overridden.contains(&threshold);
    let thresholds = query.alerts.thresholds;
    WrittenQueryAlerts {
        risk_warning: own(Threshold::RiskWarning).then_some(thresholds.risk_warning),
        risk_critical: own(Threshold::RiskCritical).then_some(thresholds.risk_critical),
        forecast_warning: own(Threshold::ForecastWarning).then_some(thresholds.forecast_warning),
        forecast_critical: own(Threshold::ForecastCritical).then_some(thresholds.forecast_critical),
        stalled_after: own(Threshold::StalledAfter).then_some(thresholds.stalled_after),
    }
}

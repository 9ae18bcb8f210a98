//! `[clusters.…]`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::{Checks, at_least_a_second, table_name, three_times};
use crate::config::key::Key;
use crate::config::secret::{BothTwins, Secret, SecretSource};
use crate::config::security::{Mechanism, decided, security};
use crate::config::valid::{Cluster, Property, RetentionOverride};
use crate::config::written::WrittenCluster;

/// Checks all clusters; the global poll interval counts where one has none of its own.
pub(super) fn clusters(
    written: BTreeMap<String, WrittenCluster>,
    poll_interval: Duration,
    stale_after: Option<Duration>,
    checks: &mut Checks,
) -> BTreeMap<String, Cluster> {
    let mut clusters = BTreeMap::new();
    for (name, written) in written {
        table_name("clusters", &name, checks);
        let table = Key::of(&["clusters", &name]);
        clusters.insert(name, cluster(&table, written, poll_interval, stale_after, checks));
    }
    one_principal(&clusters, checks);
    clusters
}

/// The tickets that `kinit` gets belong to the process: of two principals each cluster would get whichever came last.
fn one_principal(clusters: &BTreeMap<String, Cluster>, checks: &mut Checks) {
    let with_kinit = clusters.iter().filter_map(|(name, cluster)| Some((name, principal(cluster)?)));
    let mut known: Option<(&String, &str)> = None;
    for (name, principal) in with_kinit {
        let (first, one) = *known.get_or_insert((name, principal));
        if one != principal {
            let key = Key::of(&["clusters", name, "librdkafka", &written_name(PRINCIPAL)]);
            let problem = format!(
                "is another one than {one:?} of clusters.{first}: tickets belong to the process; run one brinkwatch for each principal"
            );
            checks.report(key, problem);
        }
    }
}

const PRINCIPAL: &str = "sasl.kerberos.principal";
/// librdkafka's own.
const USUAL_PRINCIPAL: &str = "kafkaclient";

/// Whom `kinit` gets tickets for; `None` where it is not run. librdkafka takes names in any case, and Kerberos where a
/// login names no mechanism.
fn principal(cluster: &Cluster) -> Option<&str> {
    let plain = |property| match cluster.librdkafka.get(property) {
        Some(Property::Plain(value)) => Some(value.as_str()),
        _ => None,
    };
    let kerberos = Mechanism::Gssapi.label();
    let by_properties = || {
        let logs_in = plain("security.protocol")?.to_ascii_uppercase().starts_with("SASL");
        logs_in.then(|| plain("sasl.mechanism").or_else(|| plain("sasl.mechanisms")).unwrap_or(kerberos))
    };
    let mechanism = cluster.sasl.as_ref().map(|sasl| sasl.mechanism.label()).or_else(by_properties)?;
    let with_kinit = plain("sasl.kerberos.min.time.before.relogin").is_none_or(|time| time != "0");
    (mechanism.eq_ignore_ascii_case(kerberos) && with_kinit).then(|| plain(PRINCIPAL).unwrap_or(USUAL_PRINCIPAL))
}

fn cluster(
    table: &Key,
    written: WrittenCluster,
    global: Duration,
    stale_after: Option<Duration>,
    checks: &mut Checks,
) -> Cluster {
    if written.bootstrap_servers.trim().is_empty() {
        let problem = "is required; write such as \"broker1:9092,broker2:9092\"";
        checks.report(table.child("bootstrap_servers"), problem);
    }
    if let Some(own) = written.poll_interval {
        at_least_a_second(table.child("poll_interval"), own, checks);
    }
    let overrides = table.child("retention_overrides");
    for (topic, limits) in &written.retention_overrides {
        check_override(&overrides.child(topic), limits, checks);
    }
    let poll_interval = written.poll_interval.unwrap_or(global);
    let (tls, sasl) = security(table, written.tls, written.sasl, checks);
    let librdkafka = properties(&table.child("librdkafka"), written.librdkafka, checks);
    for (property, owner) in decided(tls.as_ref(), sasl.as_ref()) {
        if librdkafka.contains_key(property) {
            let key = table.child("librdkafka").child(&written_name(property));
            checks.report(key, format!("is decided by the cluster's {owner} table already; keep one"));
        }
    }
    Cluster {
        bootstrap_servers: written.bootstrap_servers,
        poll_interval,
        stale_after: stale_after.unwrap_or_else(|| three_times(poll_interval)),
        clock_skew: written.clock_skew,
        tls,
        sasl,
        librdkafka,
        retention_overrides: written.retention_overrides,
    }
}

fn check_override(table: &Key, limits: &RetentionOverride, checks: &mut Checks) {
    for (name, limit) in [("retention_ms", limits.retention_ms), ("retention_bytes", limits.retention_bytes)] {
        if let Some(limit) = limit.filter(|limit| *limit < -1) {
            checks.report(table.child(name), format!("{limit} makes no sense; write -1 for no limit"));
        }
    }
}

/// Checks the names, gives them their dots back, and finds out which values are secrets.
fn properties(table: &Key, written: BTreeMap<String, Property>, checks: &mut Checks) -> BTreeMap<String, Property> {
    let mut plain = BTreeMap::new();
    let mut secrets: BTreeMap<String, (Option<Secret>, Option<PathBuf>)> = BTreeMap::new();
    for (name, value) in written {
        // All that comes from a file or a variable is a given text; nothing else can be written.
        let Property::Secret(SecretSource::Given(value)) = value else { continue };
        let property = real_name(&name);
        if let Some(why) = why_refused(&property) {
            checks.report(table.child(&name), why);
        } else if let Some(twin) = property.strip_suffix(".file").filter(|twin| is_secret(twin)) {
            secrets.entry(twin.to_owned()).or_default().1 = Some(PathBuf::from(value.expose()));
        } else if is_secret(&property) {
            secrets.entry(property).or_default().0 = Some(value);
        } else {
            plain.insert(property, Property::Plain(value.expose().to_owned()));
        }
    }
    for (property, (given, file)) in secrets {
        match SecretSource::of_twins(given, file) {
            Ok(source) => plain.extend(source.map(|source| (property, Property::Secret(source)))),
            Err(BothTwins) => {
                let name = written_name(&property);
                checks.report(table.child(&name), format!("{name} and {name}_file are both given; keep one"));
            }
        }
    }
    plain
}

/// The one property that people set and whose real name has an underscore.
const LOG_LEVEL: &str = "log_level";

fn real_name(written: &str) -> String {
    if written == LOG_LEVEL { written.to_owned() } else { written.replace('_', ".") }
}

/// The key under which a property is written.
pub(in crate::config) fn written_name(property: &str) -> String {
    property.replace('.', "_")
}

fn why_refused(property: &str) -> Option<&'static str> {
    match property {
        "group.id" => Some("cannot be set: Brinkwatch never joins or creates a consumer group"),
        "allow.auto.create.topics" => Some("cannot be set: Brinkwatch never creates a topic"),
        "enable.auto.commit" => Some("cannot be set: Brinkwatch never commits an offset"),
        "bootstrap.servers" | "metadata.broker.list" => {
            Some("cannot be set here; the cluster's own bootstrap_servers does it")
        }
        _ => None,
    }
}

/// Whether the name speaks of something that must not be seen. Better one too many than one too few.
fn is_secret(property: &str) -> bool {
    let words = ["password", "passphrase", "secret", "key.pem", "jaas", "oauthbearer.config"];
    words.iter().any(|word| property.contains(word))
}

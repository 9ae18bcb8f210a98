//! From the written configuration to the valid one. Each check reports and goes on with some value, since the result
//! is thrown away when there was any mistake.

mod alerts;
mod clusters;
mod queries;

pub(super) use clusters::written_name;
pub(super) use queries::discovered;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::discovery::discoveries;
use super::duration::show;
use super::key::Key;
use super::ledger::ledger;
use super::mistake::{Layer, Mistake};
use super::server::server;
use super::store;
use super::valid::{Config, Log};
use super::written::Written;

/// Who wrote what, and the mistakes so far.
#[derive(Default)]
pub(super) struct Checks {
    origins: BTreeMap<Key, Layer>,
    /// Settings of which enough has been said.
    settled: BTreeSet<Key>,
    mistakes: Vec<Mistake>,
}

impl Checks {
    /// Notes who wrote a setting; the last word counts.
    pub(super) fn note(&mut self, key: Key, layer: Layer) {
        self.origins.insert(key, layer);
    }

    /// Says nothing more about a setting.
    pub(super) fn excuse(&mut self, key: Key) {
        self.settled.insert(key);
    }

    /// A mistake of one layer.
    pub(super) fn refuse(&mut self, key: Key, problem: impl Into<String>, layer: Layer) {
        self.excuse(key.clone());
        self.mistakes.push(Mistake { key, problem: problem.into(), layer });
    }

    /// A mistake of the merged configuration, unless something was already said about the setting.
    pub(super) fn report(&mut self, key: Key, problem: impl Into<String>) {
        if self.is_sound(&key) {
            let layer = self.layer_of(&key);
            self.refuse(key, problem, layer);
        }
    }

    /// Whether nothing was said against the setting or a table around it.
    fn is_sound(&self, key: &Key) -> bool {
        !key.upwards().any(|around| self.settled.contains(&around))
    }

    /// Who wrote the setting, or else its table.
    fn layer_of(&self, key: &Key) -> Layer {
        let writer = |around: Key| self.origins.iter().find(|(key, _)| key.is_within(&around));
        key.upwards().find_map(writer).map_or(Layer::Default, |(_, layer)| layer.clone())
    }

    pub(super) fn into_mistakes(self) -> Vec<Mistake> {
        self.mistakes
    }
}

/// Checks the whole.
pub(super) fn config(written: Written, checks: &mut Checks) -> Config {
    at_least_a_second(Key::of(&["poll_interval"]), written.poll_interval, checks);
    if written.confirm_polls == 0 {
        checks.report(Key::of(&["confirm_polls"]), "must be 1 or more");
    }
    let server = server(written.server, checks);
    let ledger = ledger(written.ledger, checks);
    let clusters = clusters::clusters(written.clusters, written.poll_interval, written.stale_after, checks);
    let slowest = clusters.values().map(|cluster| cluster.poll_interval).max().unwrap_or(written.poll_interval);
    stale_after(written.stale_after, slowest, checks);
    let alerts = alerts::settings(&written.alerts, slowest, checks);
    let stores = store::stores(written.stores, checks);
    let queries = queries::queries(written.queries, &clusters, &stores, &alerts.thresholds, checks);
    let discoveries = discoveries(written.discovery, &queries, &clusters, &stores, &alerts.thresholds, checks);
    Config {
        state_dir: (!written.state_dir.is_empty()).then(|| written.state_dir.into()),
        poll_interval: written.poll_interval,
        stale_after: written.stale_after.unwrap_or_else(|| three_times(written.poll_interval)),
        confirm_polls: written.confirm_polls,
        confirm_time: written.confirm_time,
        server,
        ledger,
        log: Log { level: written.log.level, format: written.log.format },
        alerts,
        clusters,
        stores,
        queries,
        discoveries,
    }
}

/// Values may not be withdrawn while the next poll is merely on its way.
fn stale_after(stale_after: Option<Duration>, slowest: Duration, checks: &mut Checks) {
    let least = slowest.saturating_mul(2);
    if let Some(given) = stale_after.filter(|given| *given < least) {
        let (given, slowest, least) = (show(given), show(slowest), show(least));
        let problem =
            format!("{given} is less than twice the longest poll interval ({slowest}); write \"{least}\" or more");
        checks.report(Key::of(&["stale_after"]), problem);
    }
}

/// What an empty `stale_after` means.
pub(super) fn three_times(poll_interval: Duration) -> Duration {
    poll_interval.saturating_mul(3)
}

pub(super) fn at_least_a_second(key: Key, poll_interval: Duration, checks: &mut Checks) {
    if poll_interval < Duration::from_secs(1) {
        checks.report(key, format!("{} is too short; write \"1s\" or more", show(poll_interval)));
    }
}

fn above_zero(key: Key, duration: Duration, checks: &mut Checks) {
    if duration.is_zero() {
        checks.report(key, "must be longer than zero");
    }
}

/// A name that the environment can write too.
pub(super) fn table_name(kind: &str, name: &str, checks: &mut Checks) {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let begins_well = name.chars().next().is_some_and(is_plain);
    let goes_on_well = name.chars().all(|c| is_plain(c) || c == '_' || c == '-') && !name.contains("__");
    if begins_well && goes_on_well {
        return;
    }
    let rule = "is no name for a table: a-z, 0-9, \"_\" and \"-\", beginning with a letter or digit, without \"__\"";
    let why = "environment variables, which are lower-cased and parted at \"__\", would make a second table";
    checks.report(Key::of(&[kind, name]), format!("{rule}; {why}"));
}

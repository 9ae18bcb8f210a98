//! What a command goes over: configured queries, or one checkpoint and one cluster given by hand.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;

use super::Ended;
use super::config::{ConfigSource, key_and_value};
use super::look::hurry;
use crate::config::{self, Config};
use crate::daemon::{LookedThrough, cluster_targets, with_found};
use crate::ledger::Gap;
use crate::process::exit_code::ExitCode;
use crate::recovery::Subject;
use crate::rounds::ClusterTarget;

/// The names under which a pair given by hand is answered.
const BY_HAND: &str = "given";

/// One checkpoint and one cluster, in place of a configured query.
#[derive(Args, Clone, Default)]
pub struct ByHand {
    /// A checkpoint's location, in place of a configured query
    #[arg(long, value_name = "LOCATION", requires = "bootstrap_servers")]
    pub checkpoint: Option<String>,
    /// First brokers to ask, with commas between them
    #[arg(long, value_name = "HOST:PORT,…", requires = "checkpoint")]
    pub bootstrap_servers: Option<String>,
    /// A property of the Kafka client, such as security.protocol=SSL; may be given several times
    #[arg(short = 'X', value_name = "PROPERTY=VALUE", requires = "checkpoint", value_parser = key_and_value)]
    pub properties: Vec<(String, String)>,
    /// How the query names its topics: unknown, subscribe, pattern or assign. The checkpoint does not tell
    #[arg(long, value_name = "HOW", requires = "checkpoint")]
    pub subscribe: Option<String>,
    /// What the job sets as failOnDataLoss. The checkpoint does not tell; `check` answers for both values
    #[arg(long, value_name = "TRUE|FALSE", requires = "checkpoint")]
    pub fail_on_data_loss: Option<bool>,
    /// What the job sets as kafka.isolation.level: read_uncommitted or read_committed
    #[arg(long, value_name = "LEVEL", requires = "checkpoint")]
    pub isolation_level: Option<String>,
}

/// Without the values of properties, which may be secrets.
impl fmt::Debug for ByHand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&str> = self.properties.iter().map(|(key, _)| key.as_str()).collect();
        f.debug_struct("ByHand")
            .field("checkpoint", &self.checkpoint)
            .field("bootstrap_servers", &self.bootstrap_servers)
            .field("properties", &keys)
            .finish_non_exhaustive()
    }
}

/// What a command line asks for.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    /// Names of configured queries; none: all.
    pub queries: &'a [String],
    /// Where the configuration comes from.
    pub source: &'a ConfigSource,
    /// The pair given by hand.
    pub by_hand: &'a ByHand,
    /// How long looking for checkpoints may take.
    pub timeout: Duration,
}

impl Asked<'_> {
    /// The configuration with what is found, or what stands for it; and whether all queries that are meant are known: a
    /// place that could not be looked through may hold more.
    ///
    /// # Errors
    /// When it is invalid, or has no such query.
    pub(super) async fn config(&self) -> anyhow::Result<(Config, bool)> {
        match (&self.by_hand.checkpoint, &self.by_hand.bootstrap_servers) {
            (Some(checkpoint), Some(servers)) => Ok((by_hand(self.by_hand, checkpoint, servers)?, true)),
            _ => self.watched().await,
        }
    }

    /// What the daemon would watch. Nothing is looked through for queries that are configured.
    async fn watched(&self) -> anyhow::Result<(Config, bool)> {
        let config = self.source.load()?;
        let all_in = |config: &Config| {
            !self.queries.is_empty() && self.queries.iter().all(|asked| config.queries.contains_key(asked))
        };
        if all_in(&config) || config.discoveries.is_empty() {
            return self.with_known_names(config).map(|config| (config, true));
        }
        let LookedThrough { config, unread, .. } = with_found(config, self.timeout)
            .await
            .context(Ended::with(ExitCode::Configuration, "cannot ask what is configured"))?;
        for (discovery, why) in &unread {
            writeln!(std::io::stderr(), "brinkwatch: discovery {discovery}: {why}")?;
        }
        let is_every_one_there = all_in(&config);
        if !unread.is_empty() && !self.queries.is_empty() && !is_every_one_there {
            let what = "not every place could be looked through, and of what was seen no query has that name";
            return Err(Ended::with(ExitCode::NotRead, what).into());
        }
        self.with_known_names(config).map(|config| (config, unread.is_empty() || is_every_one_there))
    }

    fn with_known_names(&self, config: Config) -> anyhow::Result<Config> {
        match self.queries.iter().find(|asked| !config.queries.contains_key(*asked)) {
            Some(asked) => Err(unknown_query(asked, config.queries.keys())),
            None => Ok(config),
        }
    }

    /// The clusters to ask, each with the queries that are meant, of a configuration that was loaded.
    ///
    /// # Errors
    /// When something that is configured cannot be built, or no query is meant.
    pub(super) fn targets_of(&self, config: &Config) -> anyhow::Result<Vec<ClusterTarget>> {
        let mut targets =
            cluster_targets(config).context(Ended::with(ExitCode::Configuration, "cannot ask what is configured"))?;
        if !self.queries.is_empty() {
            for target in &mut targets {
                target.queries.retain(|query| self.queries.contains(&query.name));
            }
        }
        targets.retain(|target| !target.queries.is_empty());
        if targets.is_empty() {
            return Err(anyhow!("configure one, or give --checkpoint and --bootstrap-servers"))
                .context(Ended::with(ExitCode::Usage, "there is no query"));
        }
        hurry(&mut targets);
        Ok(targets)
    }

    /// How a command of ours names this query again. Values of client properties and of settings stay out: they may be
    /// secrets.
    pub(super) fn subject(&self, query: &str, config: &Config) -> Subject {
        let mut options = Vec::new();
        if let Some(path) = &self.source.config {
            options.extend(["--config".to_owned(), path.display().to_string()]);
        }
        for (key, _) in &self.source.set {
            options.extend(["--set".to_owned(), format!("{key}=VALUE")]);
        }
        let hand = self.by_hand;
        let (Some(checkpoint), Some(servers)) = (&hand.checkpoint, &hand.bootstrap_servers) else {
            let no_ledger = (!config.keeps_ledger()).then_some("by this configuration (state_dir is empty)");
            return Subject { no_ledger, ..Subject::query(query, &options) };
        };
        let mut arguments = vec![("--checkpoint", checkpoint.clone()), ("--bootstrap-servers", servers.clone())];
        arguments.extend(hand.properties.iter().map(|(property, _)| ("-X", format!("{property}=VALUE"))));
        arguments.extend(hand.subscribe.iter().map(|how| ("--subscribe", how.clone())));
        arguments.extend(hand.fail_on_data_loss.iter().map(|value| ("--fail-on-data-loss", value.to_string())));
        arguments.extend(hand.isolation_level.iter().map(|level| ("--isolation-level", level.clone())));
        let arguments = arguments.into_iter().flat_map(|(option, value)| [option.to_owned(), value]).collect();
        Subject { name: query.to_owned(), arguments, options, no_ledger: Some("of a checkpoint given by hand") }
    }
}

/// A query's name stands for something: it is configured, found, or has a record of old.
///
/// # Errors
/// When it does not, with the names that are most like it.
pub(super) async fn ensure_known(
    source: &ConfigSource,
    query: &str,
    gaps: &[Gap],
    timeout: Duration,
) -> anyhow::Result<()> {
    if gaps.iter().any(|gap| gap.stream_name == query) {
        return Ok(());
    }
    let queries = [query.to_owned()];
    Asked { queries: &queries, source, by_hand: &ByHand::default(), timeout }.config().await.map(|_| ())
}

/// Says that there is no such query, with the names that are most like it.
pub(super) fn unknown_query<'a>(asked: &str, known: impl Iterator<Item = &'a String>) -> anyhow::Error {
    anyhow!("no query {asked:?} is configured or found{}", did_you_mean(asked, known))
        .context(Ended::with(ExitCode::Usage, "there is no such query"))
}

/// Says that no query of those that are meant reads the topic, with the names that are most like it.
pub(super) fn unknown_topic<'a>(asked: &str, known: impl Iterator<Item = &'a String>) -> anyhow::Error {
    anyhow!("no query that is meant reads topic {asked:?}{}", did_you_mean(asked, known))
        .context(Ended::with(ExitCode::Usage, "there is no such topic"))
}

fn did_you_mean<'a>(asked: &str, known: impl Iterator<Item = &'a String>) -> String {
    let near: Vec<String> = nearest(asked, known).iter().map(|name| format!("{name:?}")).collect();
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) }
}

/// The same way as a configuration file's, so that both are checked and mean the same.
fn by_hand(args: &ByHand, checkpoint: &str, servers: &str) -> anyhow::Result<Config> {
    let cluster = format!("clusters.{BY_HAND}");
    let query = format!("queries.{BY_HAND}");
    let mut set = vec![
        (format!("{cluster}.bootstrap_servers"), servers.to_owned()),
        (format!("{query}.checkpoint"), checkpoint.to_owned()),
        (format!("{query}.cluster"), BY_HAND.to_owned()),
    ];
    set.extend(args.subscribe.iter().map(|how| (format!("{query}.subscribe"), how.clone())));
    set.extend(args.isolation_level.iter().map(|level| (format!("{query}.isolation_level"), level.clone())));
    set.extend(args.fail_on_data_loss.iter().map(|value| (format!("{query}.fail_on_data_loss"), value.to_string())));
    for (property, value) in &args.properties {
        set.push((format!("{cluster}.librdkafka.{}", property.replace('.', "_")), value.clone()));
    }
    config::load(config::ConfigFile::Absent, BTreeMap::new(), &set)
        .context(Ended::with(ExitCode::Usage, "the command line cannot be used"))
}

/// The known names that are most like the one that was asked for, the best first; none if nothing is like it at all.
fn nearest<'a>(asked: &str, known: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    const SHOWN: usize = 3;
    let likeness =
        |name: &'a String| (strsim::jaro_winkler(&asked.to_lowercase(), &name.to_lowercase()), name.as_str());
    let mut near: Vec<(f64, &str)> = known.map(likeness).filter(|(likeness, _)| *likeness > 0.75).collect();
    near.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    near.into_iter().take(SHOWN).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_query_is_told_the_names_most_like_it() {
        let check = |asked: &str, expected: &[&str]| {
            let known = ["orders", "orders_v2", "payments", "clicks"].map(str::to_owned);
            assert_eq!(nearest(asked, known.iter()), expected, "{asked}");
        };
        check("order", &["orders", "orders_v2"]);
        check("Orders", &["orders", "orders_v2"]);
        check("payment", &["payments"]);
        check("zzz", &[]);
    }
}

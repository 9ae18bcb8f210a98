//! What `check` goes over: configured queries, or one checkpoint and one cluster given by hand.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Context, bail};

use super::CheckArgs;
use crate::commands::Ended;
use crate::config::{self, Config};
use crate::daemon::{cluster_targets, with_found};
use crate::process::exit_code::ExitCode;
use crate::rounds::ClusterTarget;

/// The names under which a pair given by hand is answered.
const BY_HAND: &str = "given";

/// The clusters to ask, each with the queries to check there; and whether all of them are known: a place that could not
/// be looked through may hold more.
///
/// # Errors
/// When the configuration is invalid, or names no such query.
pub(super) async fn of(args: &CheckArgs) -> anyhow::Result<(Vec<ClusterTarget>, bool)> {
    let (config, is_complete) = match (&args.checkpoint, &args.bootstrap_servers) {
        (Some(checkpoint), Some(servers)) => (by_hand(args, checkpoint, servers)?, true),
        _ => watched(args).await?,
    };
    let mut targets =
        cluster_targets(&config).context(Ended::with(ExitCode::Configuration, "cannot check what is configured"))?;
    if !args.queries.is_empty() {
        for target in &mut targets {
            target.queries.retain(|query| args.queries.contains(&query.name));
        }
    }
    targets.retain(|target| !target.queries.is_empty());
    if targets.is_empty() {
        bail!("there is no query to check: configure one, or give --checkpoint and --bootstrap-servers");
    }
    Ok((targets, is_complete))
}

/// What the daemon would watch. Nothing is looked through for queries that are configured.
async fn watched(args: &CheckArgs) -> anyhow::Result<(Config, bool)> {
    let config = args.source.load()?;
    let is_configured = |asked: &String| config.queries.contains_key(asked);
    let is_all_configured = !args.queries.is_empty() && args.queries.iter().all(is_configured);
    if is_all_configured || config.discoveries.is_empty() {
        return with_known_names(config, args).map(|config| (config, true));
    }
    let (config, unread) = with_found(config, args.timeout)
        .await
        .context(Ended::with(ExitCode::Configuration, "cannot check what is configured"))?;
    for (discovery, why) in &unread {
        writeln!(std::io::stderr(), "brinkwatch: discovery {discovery}: {why}")?;
    }
    let is_every_one_there =
        !args.queries.is_empty() && args.queries.iter().all(|asked| config.queries.contains_key(asked));
    if !unread.is_empty() && !args.queries.is_empty() && !is_every_one_there {
        let what = "not every place could be looked through, and of what was seen no query has that name";
        return Err(Ended::with(ExitCode::NotRead, what).into());
    }
    with_known_names(config, args).map(|config| (config, unread.is_empty() || is_every_one_there))
}

fn with_known_names(config: Config, args: &CheckArgs) -> anyhow::Result<Config> {
    for asked in &args.queries {
        if !config.queries.contains_key(asked) {
            let near = nearest(asked, config.queries.keys());
            let hint = near.map(|name| format!("; did you mean {name:?}?")).unwrap_or_default();
            let known = if config.discoveries.is_empty() { "configured" } else { "configured or found" };
            let unknown = format!("no query {asked:?} is {known}{hint}");
            return Err(anyhow::anyhow!(unknown)).context(Ended::with(ExitCode::Usage, "cannot check"));
        }
    }
    Ok(config)
}

/// The same way as a configuration file's, so that both are checked and mean the same.
fn by_hand(args: &CheckArgs, checkpoint: &str, servers: &str) -> anyhow::Result<Config> {
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

/// The known name that is most like the one that was asked for, if any is like it at all.
fn nearest<'a>(asked: &str, known: impl Iterator<Item = &'a String>) -> Option<&'a String> {
    known
        .map(|name| (strsim::jaro_winkler(asked, name), name))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, name)| name)
}

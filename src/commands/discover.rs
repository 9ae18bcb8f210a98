//! `discover`: the checkpoints below a place, as configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use super::Ended;
use super::config::ConfigSource;
use crate::checkpoint::{Root, Versioning, roots};
use crate::daemon::store_settings;
use crate::process::exit_code::ExitCode;
use crate::readers::CheckpointFinder;
use crate::readers::stores::{Search, Stores};

/// What `discover` looks for, and how.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  brinkwatch discover s3a://bucket/checkpoints --cluster main\n\n\
                        Exit code: 0 something was found, 1 nothing was, 3 the place could not be looked through.")]
pub struct DiscoverArgs {
    /// Where to look: a path, s3a://…, abfss://…, gs://…, hdfs://…
    #[arg(value_name = "LOCATION")]
    pub location: String,
    /// How many levels of directories to go down
    #[arg(long, value_name = "LEVELS", default_value_t = 3)]
    pub depth: usize,
    /// Only checkpoints whose path below the location matches, such as "prod/**"; may be given several times
    #[arg(long, value_name = "PATTERN")]
    pub include: Vec<String>,
    /// No checkpoints whose path matches, such as "**/tmp*"; may be given several times
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,
    /// Print this cluster for each query
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// Look with the settings of [stores.NAME] in the configuration, and print that name for each query
    #[arg(long, value_name = "NAME")]
    pub store: Option<String>,
    /// Where the settings of that store come from.
    #[command(flatten)]
    pub source: ConfigSource,
    /// How long it may take
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, default_value = "60s")]
    pub timeout: Duration,
}

/// Looks, and prints what was found.
///
/// # Errors
/// When the location makes no sense, can not be looked through, or the output can not be written.
pub async fn run(args: &DiscoverArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let settings = match args.store {
        Some(_) => store_settings(&args.source.load()?).context(Ended::with(ExitCode::Configuration, "not usable"))?,
        None => BTreeMap::new(),
    };
    run_in(&mut Stores::new(settings, args.timeout), args, out).await
}

/// The same with stores that are made already.
///
/// # Errors
/// As [`run`].
pub async fn run_in(stores: &mut Stores, args: &DiscoverArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let search = Search { depth: args.depth, include: args.include.clone(), exclude: args.exclude.clone() };
    let place = stores
        .prefix(&args.location, args.store.as_deref(), search)
        .context(Ended::with(ExitCode::Usage, "this location can not be opened"))?;
    let looked = place.look(&BTreeSet::new(), args.timeout).await;
    // Half a list would be taken for a whole one.
    let looked = looked.and_then(|looked| looked.unread.first().map_or(Ok(looked.paths), |(_, why)| Err(why.clone())));
    let found = roots(
        looked.context(Ended::with(ExitCode::NotRead, "not looked through"))?.into_iter().collect(),
        Versioning::Marked,
    );
    print(&found, &place, args, out)?;
    Ok(if found.is_empty() { ExitCode::Finding } else { ExitCode::Fine })
}

fn print(found: &[Root], place: &dyn CheckpointFinder, args: &DiscoverArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let number = found.len();
    writeln!(out, "# {number} {}", if number == 1 { "checkpoint" } else { "checkpoints" })?;
    let mut names = BTreeSet::new();
    for root in found {
        let checkpoint = place.location_of(&root.path);
        let location = quoted(&checkpoint);
        if let Some(newer) = &root.superseded_by {
            writeln!(out, "\n# {location} is superseded by {}", quoted(newer))?;
            continue;
        }
        let family = &root.family;
        let shown = if family.is_empty() { checkpoint.rsplit('/').next().unwrap_or_default() } else { family };
        writeln!(out, "\n[queries.{}]\ncheckpoint = {location}", table_name(shown, &mut names))?;
        for (key, value) in [("store", &args.store), ("cluster", &args.cluster)] {
            if let Some(value) = value {
                writeln!(out, "{key} = {}", quoted(value))?;
            }
        }
    }
    Ok(())
}

/// A name that the configuration takes, and that no query before has.
fn table_name(path: &str, taken: &mut BTreeSet<String>) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' };
    let words: String = path.chars().map(plain).collect();
    let name = words.split('_').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
    let name = if name.is_empty() { "query".to_owned() } else { name };
    let numbered = (2..).map(|number: u32| format!("{name}-{number}"));
    let free = std::iter::once(name.clone()).chain(numbered).find(|name| taken.insert(name.clone()));
    free.unwrap_or(name)
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

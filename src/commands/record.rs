//! `brinkwatch record`: writes down what is observed, for `replay`.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::time::{Instant, interval, timeout_at};

use super::Ended;
use super::config::ConfigSource;
use super::targets::unknown_query;
use super::times::rfc3339;
use crate::config::Config;
use crate::daemon::{LookedThrough, cluster_targets, store_settings, with_found};
use crate::process::exit_code::ExitCode;
use crate::process::signals::StopSignals;
use crate::readers::stores::Stores;
use crate::replay::Recorder;
use crate::rounds::{AT_ONCE, ClusterState, ClusterTarget, SourceFilter, once, reading_deadline};

/// What `brinkwatch record` takes.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  brinkwatch record orders --for 10m --anonymise > incident.json\n\n\
                        Exit code: 0 recorded, 2 no such query, 3 not looked for, 78 invalid configuration.")]
pub struct RecordArgs {
    /// The name of a query that is configured, or that a discovery finds
    #[arg(value_name = "QUERY")]
    pub query: String,
    /// For how long
    #[arg(long = "for", value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub length: Duration,
    /// Replace the names of topics, sources and ids, each by the same word all through
    #[arg(long)]
    pub anonymise: bool,
    /// Where the configuration comes from
    #[command(flatten)]
    pub source: ConfigSource,
}

/// Records, and prints the scenario.
///
/// # Errors
/// When there is no such query, or the scenario cannot be written.
pub async fn run(args: &RecordArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let config = known(args).await?;
    let mut recorder = Recorder::new(args.anonymise);
    let (target, configuration) = target(args, &config, &recorder)?;
    let mut signals = StopSignals::take_over()?;
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut state = ClusterState::default();
    let mut ticks = interval(target.poll_interval);
    let end = Instant::now() + args.length;
    let mut last = None;
    loop {
        tokio::select! {
            _ = signals.next() => break,
            tick = timeout_at(end, ticks.tick()) => if tick.is_err() { break },
        }
        let found = once(&target, &mut state, &places, target.poll_interval).await;
        // Steps ascend: what a clock shows twice is not a later step.
        if last.is_some_and(|last| last >= found.finished_at) {
            continue;
        }
        last = Some(found.finished_at);
        recorder.step(found.finished_at, &rfc3339(found.finished_at).unwrap_or_default());
    }
    let about = if args.anonymise {
        "recorded, with other names".to_owned()
    } else {
        format!("query {} as recorded", args.query)
    };
    serde_json::to_writer_pretty(&mut *out, &recorder.scenario(&about, &configuration))?;
    writeln!(out)?;
    Ok(ExitCode::Fine)
}

/// How long places may be looked through for the query.
const LOOK: Duration = Duration::from_secs(60);

/// The configuration, with what its discoveries find if the query is not named in it.
async fn known(args: &RecordArgs) -> anyhow::Result<Config> {
    let config = args.source.load()?;
    if config.queries.contains_key(&args.query) || config.discoveries.is_empty() {
        return Ok(config);
    }
    let LookedThrough { config, unread, .. } =
        with_found(config, LOOK).await.context(Ended::with(ExitCode::Configuration, "cannot record"))?;
    match unread.into_iter().next() {
        Some((discovery, why)) if !config.queries.contains_key(&args.query) => {
            let what = Ended::with(ExitCode::NotRead, "cannot look for the query");
            Err(anyhow::Error::new(why).context(format!("discovery {discovery}")).context(what))
        }
        _ => Ok(config),
    }
}

fn target(args: &RecordArgs, config: &Config, recorder: &Recorder) -> anyhow::Result<(ClusterTarget, Value)> {
    let query = config.queries.get(&args.query).ok_or_else(|| unknown_query(&args.query, config.queries.keys()))?;
    let targets = cluster_targets(config).context(Ended::with(ExitCode::Configuration, "cannot record"))?;
    let mut target = targets
        .into_iter()
        .find(|target| target.name == query.cluster)
        .ok_or_else(|| anyhow!("query {:?} reads no configured cluster", args.query))?;
    target.queries.retain(|one| one.name == args.query);
    target.brokers = recorder.brokers(Arc::clone(&target.brokers));
    let mut stores = Stores::new(store_settings(config)?, reading_deadline(target.poll_interval));
    let mut configuration = Value::Null;
    for one in &mut target.queries {
        one.checkpoint = recorder.checkpoint(stores.open(&query.checkpoint, query.store.as_deref())?);
        configuration = configuration_of(config, &one.sources, &args.query)?;
    }
    Ok((target, configuration))
}

/// What was configured and decides a verdict, in the keys of a scenario.
fn configuration_of(config: &Config, sources: &SourceFilter, name: &str) -> anyhow::Result<Value> {
    let query = config.queries.get(name).context("the query is configured")?;
    let cluster = config.clusters.get(&query.cluster).context("the cluster is configured")?;
    let duration = |duration: Duration| json!(humantime::format_duration(duration).to_string());
    let thresholds = query.alerts.thresholds;
    let mut told = json!({
        "subscribe": query.subscribe,
        "fail_on_data_loss": query.fail_on_data_loss,
        "isolation_level": query.isolation_level,
        "max_outage": duration(query.max_outage),
        "lag_floor": query.lag_floor,
        "watch": query.watch,
        "confirm_polls": config.confirm_polls,
        "confirm_time": duration(config.confirm_time),
        "poll_interval": duration(cluster.poll_interval),
        "clock_skew": duration(cluster.clock_skew),
        "risk_warning": thresholds.risk_warning,
        "risk_critical": thresholds.risk_critical,
        "forecast_warning": duration(thresholds.forecast_warning),
        "forecast_critical": duration(thresholds.forecast_critical),
        "stalled_after": thresholds.stalled_after,
    });
    let left_out = sources.exceptions.iter().filter(|(_, belongs)| !**belongs);
    let ignored: Map<String, Value> = left_out.map(|(id, _)| (id.clone(), json!({"kind": "ignore"}))).collect();
    if let Some(told) = told.as_object_mut() {
        if let Some(interval) = query.expected_batch_interval {
            told.insert("expected_batch_interval".to_owned(), duration(interval));
        }
        if !ignored.is_empty() {
            told.insert("sources".to_owned(), Value::Object(ignored));
        }
    }
    Ok(told)
}

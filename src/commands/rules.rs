//! `brinkwatch rules`: the alert rules for this configuration, as a file.

use std::io::Write;

use clap::{Args, ValueEnum};

use super::config::ConfigSource;
use crate::alerts::{self, Format, FoundThresholds, Inputs, ObjectMeta, Thresholds};
use crate::config::{self, Config};
use crate::process::exit_code::ExitCode;

/// What `brinkwatch rules` takes.
#[derive(Args, Clone, Debug)]
pub struct RulesArgs {
    /// Where the configuration comes from.
    #[command(flatten)]
    pub source: ConfigSource,
    /// What to print: a rule file for Prometheus, or a PrometheusRule for its operator
    #[arg(long, value_enum, default_value_t)]
    pub format: RulesFormat,
    /// Name of the PrometheusRule
    #[arg(long, default_value = "brinkwatch")]
    pub name: String,
    /// Namespace of the PrometheusRule [default: where it is applied]
    #[arg(long)]
    pub namespace: Option<String>,
    /// A label of the PrometheusRule, such as release=prometheus for the operator's ruleSelector; may be given several
    /// times
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    pub labels: Vec<(String, String)>,
    /// Also record lag under the names of consumer group exporters (kafka_consumergroup_group_lag, with the query as the
    /// group), for dashboards and autoscalers that know those
    #[arg(long)]
    pub consumer_group_names: bool,
}

/// The forms of the rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum RulesFormat {
    /// A file for `rule_files:`.
    #[default]
    Prometheus,
    /// A custom resource of the Prometheus operator.
    #[value(name = "prometheusrule")]
    PrometheusRule,
}

fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE, such as release=prometheus")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// Runs `brinkwatch rules`.
///
/// # Errors
/// When the configuration is invalid, or `out` cannot be written.
pub fn run(args: RulesArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let config = args.source.load()?;
    let format = match args.format {
        RulesFormat::Prometheus => Format::Prometheus,
        RulesFormat::PrometheusRule => {
            let mut labels = ObjectMeta::default().labels;
            labels.extend(args.labels);
            Format::PrometheusRule(ObjectMeta { name: args.name, namespace: args.namespace, labels })
        }
    };
    let inputs = Inputs { consumer_group_names: args.consumer_group_names, ..inputs(&config) };
    out.write_all(alerts::rendered(&inputs, &format).text.as_bytes())?;
    Ok(ExitCode::Fine)
}

/// What the rules take from a configuration.
#[must_use]
pub fn inputs(config: &Config) -> Inputs {
    let defaults = thresholds(&config.alerts.thresholds, None);
    let own = config
        .queries
        .iter()
        .map(|(name, query)| (name.clone(), thresholds(&query.alerts.thresholds, query.expected_batch_interval)));
    let found =
        config.discoveries.iter().filter(|(_, discovery)| discovery.has_own_rules()).map(|(name, discovery)| {
            let query = &discovery.defaults;
            let thresholds = thresholds(&query.alerts.thresholds, query.expected_batch_interval);
            (name.clone(), FoundThresholds { prefix: discovery.name.prefix().to_owned(), thresholds })
        });
    Inputs {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        queries: config.queries.len(),
        discoveries: config.discoveries.len(),
        defaults,
        overrides: own.filter(|(_, own)| *own != defaults).collect(),
        found: found.collect(),
        window: config.alerts.window,
        poll_interval: config
            .clusters
            .values()
            .map(|cluster| cluster.poll_interval)
            .max()
            .unwrap_or(config.poll_interval),
        consumer_group_names: false,
        runbook_base_url: config.alerts.runbook_base_url.clone(),
        dashboard_base_url: config.alerts.dashboard_base_url.clone(),
    }
}

/// When alerts on a query are raised; without an expected interval the one that stands for a learned one.
#[must_use]
pub fn thresholds(configured: &config::Thresholds, interval: Option<std::time::Duration>) -> Thresholds {
    Thresholds {
        risk_warning: configured.risk_warning,
        risk_critical: configured.risk_critical,
        forecast_warning: configured.forecast_warning,
        forecast_critical: configured.forecast_critical,
        stalled_after: configured.stalled_after,
        expected_interval: interval.unwrap_or(Thresholds::LEARNED_INTERVAL),
    }
}

//! PURE. Thresholds and the catalogue → rule groups → YAML.
//!
//! [`groups`] are the rules as values: each expression is built from pieces ([`promql`]) that take their names from the
//! metric catalogue and their words from the judgement, so a rule cannot ask for what is never published.
//! [`rendered`] writes them as a rule file for Prometheus or as a `PrometheusRule` for its operator.
//!
//! What every rule keeps to:
//! - A value is read through `last_over_time` over a window of some scrapes and polls. A failed scrape leaves a stale
//!   marker, and a bare selector would then forget that an alert was pending.
//! - Replicas that watch the same thing are folded with the metric's worse side, so a dead or late one hides nothing.
//! - Thresholds are literals, and the comparison stands outermost, so an alert's value is the number to tell.

mod inputs;
pub mod promql;
mod rule;
mod alarms;
mod yaml;
mod recordings;
mod render;
mod holding;
#[cfg(test)]
mod tests;

pub use holding::{Told, holding};
pub use inputs::{FoundThresholds, Inputs, Thresholds};
pub use recordings::Recording;
pub use render::{Format, ObjectMeta, Rendered, rendered};
pub use rule::{Group, Rule, Severity, StaticLabel};

/// The rules for these inputs, in the order in which they are written.
#[must_use]
pub fn groups(inputs: &Inputs) -> Vec<Group> {
    let alarms = |name, rules| Group { name, rules, recordings: Vec::new() };
    let recordings = |name, recordings| Group { name, rules: Vec::new(), recordings };
    let mut groups = vec![
        alarms("brinkwatch-loss", alarms::loss::rules(inputs)),
        alarms("brinkwatch-retention", [alarms::retention::rules(inputs), alarms::forecast::rules(inputs)].concat()),
        alarms("brinkwatch-identity", alarms::identity::rules(inputs)),
        alarms("brinkwatch-checkpoint", alarms::checkpoint::rules(inputs)),
        alarms("brinkwatch-events", alarms::events::rules(inputs)),
        alarms("brinkwatch-self", alarms::own::rules(inputs)),
        recordings("brinkwatch-dashboards", recordings::for_dashboards(inputs)),
    ];
    if inputs.consumer_group_names {
        groups.push(recordings("brinkwatch-consumer-group-names", recordings::under_consumer_group_names(inputs)));
    }
    groups
}

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
mod render;
mod holding;
#[cfg(test)]
mod tests;

pub use holding::{Told, holding};
pub use inputs::{FoundThresholds, Inputs, Thresholds};
pub use render::{Format, ObjectMeta, Rendered, rendered};
pub use rule::{Group, Rule, Severity, StaticLabel};

/// The rules for these inputs, in the order in which they are written.
#[must_use]
pub fn groups(inputs: &Inputs) -> Vec<Group> {
    vec![
        Group { name: "brinkwatch-loss", rules: alarms::loss::rules(inputs) },
        Group { name: "brinkwatch-retention", rules: alarms::retention::rules(inputs) },
        Group { name: "brinkwatch-identity", rules: alarms::identity::rules(inputs) },
        Group { name: "brinkwatch-checkpoint", rules: alarms::checkpoint::rules(inputs) },
        Group { name: "brinkwatch-self", rules: alarms::own::rules(inputs) },
    ]
}

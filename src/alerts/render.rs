//! Rule groups as files.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::inputs::hex;
use super::promql::duration;
use super::rule::{Group, Rule, StaticLabel};
use super::yaml::{Node, document};
use super::{Inputs, groups};

/// The dashboards, by the names under which they are provisioned.
const FLEET: &str = "brinkwatch-fleet";
const QUERY: &str = "brinkwatch-query";
const WATCHER: &str = "brinkwatch-watcher";

/// What to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// A rule file for `rule_files:`.
    #[default]
    Prometheus,
    /// A custom resource for the Prometheus operator.
    PrometheusRule(ObjectMeta),
}

/// How the custom resource is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectMeta {
    /// Its name.
    pub name: String,
    /// Its namespace; `None`: where it is applied.
    pub namespace: Option<String>,
    /// Labels, for the operator's `ruleSelector`, which selects nothing by itself.
    pub labels: BTreeMap<String, String>,
}

impl Default for ObjectMeta {
    fn default() -> Self {
        let labels = BTreeMap::from([("app.kubernetes.io/name".to_owned(), "brinkwatch".to_owned())]);
        Self { name: "brinkwatch".to_owned(), namespace: None, labels }
    }
}

/// A written rule file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The YAML.
    pub text: String,
    /// A strong entity tag over the text, with its quotes.
    pub etag: String,
}

/// Writes the rules for these inputs. Equal inputs give equal bytes.
#[must_use]
pub fn rendered(inputs: &Inputs, format: &Format) -> Rendered {
    let rules = Node::List(groups(inputs).iter().map(|group| group_node(inputs, group)).collect());
    let root = match format {
        Format::Prometheus => Node::map([("groups", rules)]),
        Format::PrometheusRule(meta) => Node::map([
            ("apiVersion", Node::text("monitoring.coreos.com/v1")),
            ("kind", Node::text("PrometheusRule")),
            ("metadata", metadata(meta)),
            ("spec", Node::map([("groups", rules)])),
        ]),
    };
    let text = header(inputs) + &document(&root);
    let etag = format!("\"{}\"", hex(&Sha256::digest(&text)));
    Rendered { text, etag }
}

fn header(inputs: &Inputs) -> String {
    let queries = match inputs.queries {
        0 if inputs.discoveries > 0 => "No query is configured by name.".to_owned(),
        0 => "No query is configured. The rules hold for any query that Brinkwatch is given later.".to_owned(),
        1 => format!("For 1 query, {} with rules of its own.", inputs.overrides.len()),
        several => format!("For {several} queries, {} with rules of their own.", inputs.overrides.len()),
    };
    let found = match inputs.discoveries {
        0 => String::new(),
        1 => "\n# The rules hold for all queries that 1 discovery finds, now and later.".to_owned(),
        several => format!("\n# The rules hold for all queries that {several} discoveries find, now and later."),
    };
    format!(
        "# Written by brinkwatch rules, version {}. Do not edit: change Brinkwatch's configuration and write it again.\n\
         # Inputs sha256: {}\n\
         # {queries}{found}\n",
        inputs.version,
        inputs.sha256(),
    )
}

fn metadata(meta: &ObjectMeta) -> Node {
    let mut entries = vec![("name".to_owned(), Node::text(&meta.name))];
    entries.extend(meta.namespace.iter().map(|namespace| ("namespace".to_owned(), Node::text(namespace))));
    let labels = meta.labels.iter().map(|(key, value)| (key.clone(), Node::text(value))).collect();
    entries.push(("labels".to_owned(), Node::Map(labels)));
    Node::Map(entries)
}

fn group_node(inputs: &Inputs, group: &Group) -> Node {
    let alerts = group.rules.iter().map(|rule| rule_node(inputs, rule));
    let recordings = group.recordings.iter().map(|recording| {
        Node::map([("record", Node::text(recording.record)), ("expr", Node::Block(recording.expression.clone()))])
    });
    let rules = alerts.chain(recordings).collect();
    Node::map([("name", Node::text(group.name)), ("rules", Node::List(rules))])
}

fn rule_node(inputs: &Inputs, rule: &Rule) -> Node {
    let mut labels = vec![("severity".to_owned(), Node::text(rule.severity.label()))];
    let own = rule.query.iter().map(StaticLabel::pair);
    labels.extend(own.map(|(label, value)| (label.to_owned(), Node::text(untemplated(value)))));
    let annotations = annotations(inputs, rule).into_iter().map(|(key, text)| (key.to_owned(), Node::Text(text)));
    Node::map([
        ("alert", Node::text(rule.alert)),
        ("expr", Node::Block(rule.condition.to_string())),
        ("for", Node::text(duration(rule.hold))),
        ("keep_firing_for", Node::text(duration(rule.keep_firing))),
        ("labels", Node::Map(labels)),
        ("annotations", Node::Map(annotations.collect())),
    ])
}

/// The texts of an alert, in the order in which they are written.
pub(super) fn annotations(inputs: &Inputs, rule: &Rule) -> Vec<(&'static str, String)> {
    let mut texts = vec![("summary", rule.summary.to_owned()), ("description", rule.description.to_owned())];
    if let Some(base) = &inputs.runbook_base_url {
        texts.push(("runbook_url", format!("{}/{}.md", untemplated(base.trim_end_matches('/')), rule.alert)));
    }
    if let Some(base) = &inputs.dashboard_base_url {
        let dashboard = dashboard(rule);
        let link = format!("{}/{dashboard}", untemplated(base.trim_end_matches('/')));
        let query = "{{ with $labels.query }}&var-query={{ urlquery . }}{{ end }}";
        let query = if dashboard == WATCHER { "" } else { query };
        let cluster = "{{ with $labels.kafka_cluster }}&var-kafka_cluster={{ urlquery . }}{{ end }}";
        texts.push(("dashboard_url", format!("{link}?orgId=1{cluster}{query}")));
    }
    texts
}

/// Where the picture to an alert is: of the one query, where there is one.
fn dashboard(rule: &Rule) -> &'static str {
    let is_of_a_query = || rule.condition.series().iter().all(|series| series.metric.labels.contains(&"query"));
    match rule.alert {
        alert if alert.starts_with("Brinkwatch") => WATCHER,
        _ if is_of_a_query() => QUERY,
        _ => FLEET,
    }
}

/// Prometheus expands label values and annotations as templates: text that must stay as it is gets its opening braces
/// written by a template.
fn untemplated(text: &str) -> String {
    text.replace("{{", "{{\"{{\"}}")
}

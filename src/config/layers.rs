//! The layers, each taken apart into single settings that remember who wrote them. The `config` crate forgets that,
//! and stops at the first mistake; so every setting is tried alone before the crate merges what is good.

use std::fmt;

use config::{Environment, Map, Source, Value, ValueKind};

use super::key::Key;
use super::mistake::{Layer, Mistake};

/// One setting of one layer. A table without settings is one too, since its name alone says something.
#[derive(Clone)]
pub(super) struct Leaf {
    pub(super) key: Key,
    pub(super) value: Value,
    pub(super) layer: Layer,
}

impl Leaf {
    fn new(key: Key, value: Value, layer: &Layer) -> Self {
        Self { key: canonical(&key), value, layer: layer.clone() }
    }

    /// An empty table of that name.
    pub(super) fn table(key: Key, layer: &Layer) -> Self {
        Self { key, value: Map::<String, Value>::new().into(), layer: layer.clone() }
    }

    /// The tree that holds this setting and nothing else.
    pub(super) fn tree(&self) -> Value {
        let inside = |value, word: &&str| Value::from(Map::from([((*word).to_owned(), value)]));
        self.key.words().iter().rev().fold(self.value.clone(), inside)
    }
}

/// What the `config` crate merges: one source per setting, in order of the layers.
impl Source for Leaf {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, config::ConfigError> {
        self.tree().into_table()
    }
}

/// Without the value, which may be a secret.
impl fmt::Debug for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.key, self.layer)
    }
}

/// The settings of a file.
pub(super) fn of_file(name: &str, text: &str) -> Result<Vec<Leaf>, Mistake> {
    let layer = Layer::File(name.to_owned());
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let (line, column) = place(text, error.span().map_or(0, |span| span.start));
        let problem = format!("line {line}, column {column}: {}", error.message().replace('\n', "; "));
        Mistake { key: Key::default(), problem, layer: layer.clone() }
    })?;
    let mut leaves = Vec::new();
    take_apart(&Key::default(), table, &layer, &mut leaves);
    Ok(leaves)
}

fn take_apart(key: &Key, table: toml::Table, layer: &Layer, leaves: &mut Vec<Leaf>) {
    for (word, value) in table {
        let inner = key.child(&word);
        match value {
            toml::Value::Table(table) if !table.is_empty() => take_apart(&inner, table, layer, leaves),
            value => leaves.push(Leaf::new(inner, of_toml(value), layer)),
        }
    }
}

fn of_toml(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(value) => value.into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(values) => values.into_iter().map(of_toml).collect::<Vec<_>>().into(),
        toml::Value::Table(table) => {
            let entries = table.into_iter().map(|(word, value)| (word, of_toml(value)));
            Value::new(None, ValueKind::Table(entries.collect()))
        }
    }
}

/// Line and column of a byte, both counted from 1.
fn place(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// The settings among the variables of an environment: those that begin with `BRINKWATCH__`. One underscore is not
/// enough: Kubernetes gives every container variables such as `BRINKWATCH_PORT` when a service has that name.
pub(super) fn of_environment(variables: impl IntoIterator<Item = (String, String)>) -> Vec<Leaf> {
    let reader = Environment::with_prefix("BRINKWATCH").separator("__").ignore_empty(true);
    let mut leaves = Vec::new();
    for (name, text) in variables {
        let layer = Layer::Environment(name.clone());
        // One variable at a time, so that its name is known.
        let alone = reader.clone().source(Some(Map::from([(name, text)])));
        let found = alone.collect().unwrap_or_default();
        for (key, value) in found {
            let words: Vec<String> = key.split('.').map(str::to_owned).collect();
            leaves.push(Leaf::new(Key::from(words), value, &layer));
        }
    }
    leaves.sort_by(|a, b| (&a.key, &a.layer).cmp(&(&b.key, &b.layer)));
    leaves
}

/// The settings of the command line, given as pairs of key and text, and the pairs whose key is none.
pub(super) fn of_command_line(overrides: &[(String, String)]) -> (Vec<Leaf>, Vec<Mistake>) {
    let mut leaves = Vec::new();
    let mut mistakes = Vec::new();
    for (key, text) in overrides {
        match Key::parse(key) {
            Some(key) => leaves.push(Leaf::new(key, text.as_str().into(), &Layer::CommandLine)),
            None => mistakes.push(Mistake {
                key: Key::of(&[key]),
                problem: "is no key; write the names of the tables and of the setting with dots between them"
                    .to_owned(),
                layer: Layer::CommandLine,
            }),
        }
    }
    (leaves, mistakes)
}

/// Properties of librdkafka have dots in their names, which the environment cannot write and which mean a table in
/// TOML. So `socket.timeout.ms`, quoted or not, is the same setting as `socket_timeout_ms`.
fn canonical(key: &Key) -> Key {
    let words = key.words();
    let ["clusters", _, "librdkafka", property @ ..] = words.as_slice() else { return key.clone() };
    if property.is_empty() {
        return key.clone();
    }
    Key::of(&[&words[..3], &[property.join("_").replace('.', "_").as_str()]].concat())
}

//! JSON whose values know their line and the keys above them, so that a mistake can be found by whoever made it.

use std::fmt;

use chrono::DateTime;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::mistake::ScenarioError;
use crate::measures::Moment;

/// One value of a document.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    document: &'a str,
    raw: &'a str,
    key: String,
}

/// An object whose fields are taken one by one; what is left over is a mistake.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    node: Node<'a>,
    rest: Vec<(String, Node<'a>)>,
    known: Vec<&'static str>,
}

impl<'a> Node<'a> {
    /// The whole document.
    pub(super) fn document(text: &'a str) -> Result<Self, ScenarioError> {
        let raw: &RawValue = serde_json::from_str(text).map_err(|error| ScenarioError {
            line: error.line(),
            key: String::new(),
            reason: format!("is not JSON: {error}"),
        })?;
        Ok(Self { document: text, raw: raw.get(), key: String::new() })
    }

    /// A mistake at this value.
    pub(super) fn wrong(&self, reason: impl Into<String>) -> ScenarioError {
        ScenarioError { line: self.line(), key: self.key.clone(), reason: reason.into() }
    }

    pub(super) fn line(&self) -> usize {
        let start = self.raw.as_ptr().addr().saturating_sub(self.document.as_ptr().addr());
        self.document.get(..start).unwrap_or_default().matches('\n').count() + 1
    }

    /// As it stands in the file.
    pub(super) const fn raw(&self) -> &'a str {
        self.raw
    }

    pub(super) fn is_null(&self) -> bool {
        self.raw == "null"
    }

    pub(super) fn is_object(&self) -> bool {
        self.raw.starts_with('{')
    }

    fn read<T: Deserialize<'a>>(&self, wanted: &str) -> Result<T, ScenarioError> {
        serde_json::from_str(self.raw).map_err(|_| self.wrong(format!("must be {wanted}")))
    }

    pub(super) fn text(&self) -> Result<String, ScenarioError> {
        self.read("a text")
    }

    pub(super) fn whole(&self) -> Result<i64, ScenarioError> {
        self.read("a whole number")
    }

    pub(super) fn small(&self) -> Result<i32, ScenarioError> {
        self.read("a whole number")
    }

    pub(super) fn flag(&self) -> Result<bool, ScenarioError> {
        self.read("true or false")
    }

    pub(super) fn point(&self) -> Result<(i64, i64), ScenarioError> {
        self.read("a pair of offset and timestamp in milliseconds")
    }

    pub(super) fn moment(&self) -> Result<Moment, ScenarioError> {
        let wanted = "must be a time such as \"2026-01-01T00:00:00Z\"";
        let text: String = serde_json::from_str(self.raw).map_err(|_| self.wrong(wanted))?;
        let time = DateTime::parse_from_rfc3339(&text).map_err(|_| self.wrong(wanted))?;
        Ok(Moment::from_millis(time.timestamp_millis()))
    }

    pub(super) fn items(&self) -> Result<Vec<Self>, ScenarioError> {
        let items: Vec<&RawValue> = self.read("a list")?;
        let item =
            |(at, raw): (usize, &'a RawValue)| Self { raw: raw.get(), key: format!("{}[{at}]", self.key), ..*self };
        Ok(items.into_iter().enumerate().map(item).collect())
    }

    /// Name and value of each field, in order. A name that stands twice is a mistake.
    pub(super) fn entries(&self) -> Result<Vec<(String, Self)>, ScenarioError> {
        let Entries(entries) = self.read("an object")?;
        let mut found: Vec<(String, Self)> = Vec::with_capacity(entries.len());
        for (name, raw) in entries {
            let node = Self { document: self.document, raw: raw.get(), key: self.below(&name) };
            if found.iter().any(|(other, _)| *other == name) {
                return Err(node.wrong("is given twice"));
            }
            found.push((name, node));
        }
        Ok(found)
    }

    pub(super) fn fields(&self) -> Result<Fields<'a>, ScenarioError> {
        Ok(Fields { rest: self.entries()?, node: self.clone(), known: Vec::new() })
    }

    fn below(&self, name: &str) -> String {
        let plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'));
        let name = if plain { name.to_owned() } else { format!("{name:?}") };
        if self.key.is_empty() { name } else { format!("{}.{name}", self.key) }
    }
}

impl<'a> Fields<'a> {
    /// Takes a field that may be left out.
    pub(super) fn take(&mut self, name: &'static str) -> Option<Node<'a>> {
        self.known.push(name);
        let at = self.rest.iter().position(|(other, _)| other == name)?;
        Some(self.rest.remove(at).1)
    }

    /// Takes a field that must be there.
    pub(super) fn need(&mut self, name: &'static str) -> Result<Node<'a>, ScenarioError> {
        self.take(name).ok_or_else(|| self.node.wrong(format!("lacks {name:?}")))
    }

    /// Refuses what nobody took.
    pub(super) fn finish(self) -> Result<(), ScenarioError> {
        let Some((name, node)) = self.rest.first() else { return Ok(()) };
        Err(node.wrong(format!("unknown key{}", hint(name, &self.known))))
    }
}

/// `; did you mean "…"?`, or nothing when no known word is near.
pub(super) fn hint(word: &str, known: &[&str]) -> String {
    let near = known.iter().map(|candidate| (strsim::jaro_winkler(word, candidate), candidate));
    let best = near.filter(|(likeness, _)| *likeness > 0.8).max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.map_or_else(String::new, |(_, candidate)| format!("; did you mean {candidate:?}?"))
}

/// All fields as they stand, doubles included.
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Entries(entries))
    }
}

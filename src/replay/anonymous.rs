//! Names that tell nothing: the same one for the same thing, all through a recording.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Which word stands for which name.
#[derive(Debug)]
pub(super) struct Names {
    replace: bool,
    topics: BTreeMap<String, String>,
    ids: BTreeMap<String, String>,
    sources: BTreeMap<String, String>,
}

impl Names {
    pub(super) const fn new(replace: bool) -> Self {
        Self { replace, topics: BTreeMap::new(), ids: BTreeMap::new(), sources: BTreeMap::new() }
    }

    pub(super) fn topic(&mut self, name: &str) -> String {
        if self.replace { word(&mut self.topics, "topic", name) } else { name.to_owned() }
    }

    /// Of a cluster, a topic or a query.
    pub(super) fn id(&mut self, id: &str) -> String {
        if self.replace { word(&mut self.ids, "id", id) } else { id.to_owned() }
    }

    /// A source's id: mostly its position, which tells nothing, else a name that somebody gave it.
    pub(super) fn source(&mut self, id: &str) -> String {
        let is_position = id.bytes().all(|byte| byte.is_ascii_digit());
        if self.replace && !is_position { word(&mut self.sources, "source", id) } else { id.to_owned() }
    }

    /// The bytes of a file. What is not needed to judge it again is left out; what does not parse stays as long as it
    /// was, without a letter of it.
    pub(super) fn file(&mut self, path: &str, bytes: &[u8]) -> Vec<u8> {
        if !self.replace {
            return bytes.to_vec();
        }
        let Ok(text) = std::str::from_utf8(bytes) else { return vec![b'x'; bytes.len()] };
        match path.split('/').next() {
            Some("metadata") => self.metadata(text).into_bytes(),
            Some("offsets") => self.offsets(text).into_bytes(),
            Some("sources") => self.initial(text).into_bytes(),
            _ => bytes.to_vec(),
        }
    }

    fn metadata(&mut self, text: &str) -> String {
        let id = serde_json::from_str::<Map<String, Value>>(text)
            .ok()
            .and_then(|fields| Some(fields.get("id")?.as_str()?.to_owned()));
        id.map_or_else(|| blank(text), |id| json!({"id": self.id(&id)}).to_string())
    }

    fn offsets(&mut self, text: &str) -> String {
        let mut lines: Vec<String> = Vec::new();
        for (at, line) in text.split('\n').enumerate() {
            lines.push(match at {
                0 => line.to_owned(),
                1 => batch(line),
                _ => self.offset(line),
            });
        }
        lines.join("\n")
    }

    /// Everything before the map stays: a zero byte and the version.
    fn initial(&mut self, text: &str) -> String {
        match text.find('{') {
            Some(start) => format!("{}{}", &text[..start], self.offset(&text[start..])),
            None => text.to_owned(),
        }
    }

    /// One source's offset; in the second version with the source's id before it.
    fn offset(&mut self, line: &str) -> String {
        if let Some((id, rest)) = line.split_once(':').filter(|(id, _)| !id.contains(['{', '[', '"'])) {
            return format!("{}:{}", self.source(id), self.offset(rest));
        }
        if line.is_empty() || line == "-" {
            return line.to_owned();
        }
        let Ok(Value::Object(topics)) = serde_json::from_str(line) else { return blank(line) };
        let is_kafka = topics
            .values()
            .all(|partitions| partitions.as_object().is_some_and(|numbers| numbers.values().all(Value::is_i64)));
        if !is_kafka {
            return json!({"other": true}).to_string();
        }
        let renamed: Map<String, Value> =
            topics.into_iter().map(|(name, numbers)| (self.topic(&name), numbers)).collect();
        Value::Object(renamed).to_string()
    }
}

/// Of a batch's own line, its times.
fn batch(line: &str) -> String {
    let Ok(fields) = serde_json::from_str::<Map<String, Value>>(line) else { return blank(line) };
    let kept = fields.into_iter().filter(|(key, value)| key.ends_with("Ms") && value.is_number());
    Value::Object(kept.collect()).to_string()
}

fn blank(text: &str) -> String {
    text.chars().map(|letter| if matches!(letter, '{' | '}' | '[' | ']' | '"') { letter } else { 'x' }).collect()
}

fn word(known: &mut BTreeMap<String, String>, kind: &str, name: &str) -> String {
    let next = known.len() + 1;
    known.entry(name.to_owned()).or_insert_with(|| format!("{kind}-{next}")).clone()
}

//! How the queries that discovery finds are called.

use std::fmt;

use super::mistake::hint;

/// A name with places for what is found, such as `lake/{path}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameTemplate(String);

/// What of a checkpoint's path a name can be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameParts<'a> {
    /// The path below the location that was looked through.
    pub path: &'a str,
    /// The path without its version: what all checkpoints of one query have in common.
    pub family: &'a str,
}

const PLACES: [&str; 3] = ["path", "name", "family"];

impl NameTemplate {
    /// Takes a template that makes sense.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut has_place = false;
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let inside = rest[at..].strip_prefix('{').and_then(|after| after.split_once('}'));
            let Some((place, after)) = inside else {
                return Err("has a brace without its other half".to_owned());
            };
            if !PLACES.contains(&place) {
                return Err(format!(
                    "knows no {{{place}}}, only {{path}}, {{name}} and {{family}}{}",
                    hint(place, PLACES)
                ));
            }
            has_place = true;
            rest = after;
        }
        if !has_place {
            return Err("would give all queries one name; write {path}, {name} or {family} into it".to_owned());
        }
        Ok(Self(text.to_owned()))
    }

    /// The name of one query.
    #[must_use]
    pub fn name(&self, parts: NameParts<'_>) -> String {
        let last = parts.path.rsplit('/').next().unwrap_or_default();
        let mut name = String::new();
        let mut rest = self.0.as_str();
        // one pass, so that a path with braces in it is no template
        while let Some((before, after)) = rest.split_once('{') {
            let (place, after) = after.split_once('}').unwrap_or((after, ""));
            name.push_str(before);
            name.push_str(match place {
                "path" => parts.path,
                "name" => last,
                _ => parts.family,
            });
            rest = after;
        }
        name + rest
    }

    /// What every name begins with; may be empty.
    #[must_use]
    pub fn prefix(&self) -> &str {
        self.0.split('{').next().unwrap_or_default()
    }
}

impl fmt::Display for NameTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

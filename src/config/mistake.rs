//! What is wrong with a configuration, in words that name the key and the layer.

use std::fmt;

use super::key::Key;

/// Where a setting came from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Nobody wrote it.
    Default,
    /// The file of this name.
    File(String),
    /// The environment variable of this name.
    Environment(String),
    /// The command line.
    CommandLine,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(name) => f.write_str(name),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::CommandLine => f.write_str("command line"),
        }
    }
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mistake {
    /// The setting; empty when the whole layer cannot be used.
    pub key: Key,
    /// What is wrong with it, and what would be right. Never a secret's value.
    pub problem: String,
    /// Who wrote it.
    pub layer: Layer,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key != Key::default() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{} ({})", self.problem, self.layer)
    }
}

/// Every mistake of a configuration, so that one look is enough to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    mistakes: Vec<Mistake>,
}

impl ConfigError {
    /// Puts the mistakes in order of their keys and says each once.
    pub(super) fn new(mut mistakes: Vec<Mistake>) -> Self {
        mistakes.sort();
        mistakes.dedup();
        Self { mistakes }
    }

    /// The mistakes, in order of their keys.
    #[must_use]
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.mistakes.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            mistake.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// The known word that `word` was probably meant to be.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// `; did you mean "…"?`, or nothing when no known word is near.
pub(super) fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or_else(String::new, |candidate| format!("; did you mean {candidate:?}?"))
}

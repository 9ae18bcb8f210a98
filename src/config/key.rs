//! The name of a setting: `queries.orders.checkpoint`, one word per table on the way.

use std::fmt;

/// Where a setting stands: the tables on the way down, then its own name. Empty for the configuration as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(Vec<String>);

impl Key {
    /// A key from its words.
    pub(super) fn of(words: &[&str]) -> Self {
        Self(words.iter().map(|word| (*word).to_owned()).collect())
    }

    /// One level further down.
    pub(super) fn child(&self, word: &str) -> Self {
        let mut words = self.0.clone();
        words.push(word.to_owned());
        Self(words)
    }

    /// The words, outermost table first.
    pub(super) fn words(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }

    /// The key itself, then each table around it, innermost first, without the configuration as a whole.
    pub(super) fn upwards(&self) -> impl Iterator<Item = Self> {
        (1..=self.0.len()).rev().map(|length| Self(self.0[..length].to_vec()))
    }

    /// Whether this is `table` or lies inside it.
    pub(super) fn is_within(&self, table: &Self) -> bool {
        self.0.starts_with(&table.0)
    }

    /// Reads `a.b."c.d".e`: dots part the words, but for those inside double quotes.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for letter in text.chars() {
            match (letter, quoted) {
                ('"', _) => quoted = !quoted,
                ('.', false) => words.push(String::new()),
                _ => words.last_mut()?.push(letter),
            }
        }
        let complete = !quoted && words.iter().all(|word| !word.is_empty());
        complete.then_some(Self(words))
    }
}

impl From<Vec<String>> for Key {
    fn from(words: Vec<String>) -> Self {
        Self(words)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, word) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            let bare = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
            if bare { f.write_str(word)? } else { write!(f, "{word:?}")? }
        }
        Ok(())
    }
}

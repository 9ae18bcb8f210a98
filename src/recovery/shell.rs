//! Commands as a shell takes them.

/// What a command is about: a configured query, or a checkpoint and brokers given by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The name under which it is answered and recorded.
    pub name: String,
    /// How a command of ours names it, quoted for a shell.
    pub arguments: String,
    /// Options that every such command needs, such as the configuration's file.
    pub options: String,
}

impl Subject {
    /// A configured query.
    #[must_use]
    pub fn query(name: &str) -> Self {
        Self { name: name.to_owned(), arguments: word(name), options: String::new() }
    }

    /// `brinkwatch VERB SUBJECT REST`, without the empty parts.
    #[must_use]
    pub fn command(&self, verb: &str, rest: &str) -> String {
        let parts = ["brinkwatch", verb, &self.arguments, rest, &self.options];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// One word of a shell, quoted only where it has to be.
#[must_use]
pub fn word(text: &str) -> String {
    if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:,=@%+".contains(&byte)) && !text.is_empty() {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

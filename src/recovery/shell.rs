//! Commands as a shell takes them.

/// What a command is about: a configured query, or a checkpoint and brokers given by hand. Words are as the program
/// gets them; [`line()`] quotes them for a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The name under which it is answered and recorded.
    pub name: String,
    /// How a command of ours names it.
    pub arguments: Vec<String>,
    /// Options that every such command needs, such as the configuration's file.
    pub options: Vec<String>,
    /// Of what no ledger is kept, in words, where none can know it.
    pub no_ledger: Option<&'static str>,
}

impl Subject {
    /// A configured query.
    #[must_use]
    pub fn query(name: &str, options: &[String]) -> Self {
        Self { name: name.to_owned(), arguments: vec![name.to_owned()], options: options.to_vec(), no_ledger: None }
    }

    /// `brinkwatch VERB SUBJECT REST OPTIONS`.
    #[must_use]
    pub fn command(&self, verb: &[&str], rest: &[&str]) -> Vec<String> {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        [owned(&["brinkwatch"]), owned(verb), self.arguments.clone(), owned(rest), self.options.clone()].concat()
    }
}

/// A command as one line for a shell.
#[must_use]
pub fn line(words: &[String]) -> String {
    words.iter().map(|each| word(each)).collect::<Vec<_>>().join(" ")
}

/// One word of a shell, quoted only where it has to be: for sh, bash and zsh, which takes a leading `=` for a command's
/// path.
#[must_use]
pub fn word(text: &str) -> String {
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:,=@%+".contains(&byte));
    if plain && !text.is_empty() && !text.starts_with('=') {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

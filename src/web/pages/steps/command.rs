//! A command line on a page.

use crate::recovery::word;

/// A command line, and what it does to the world.
#[derive(Debug)]
pub(in crate::web::pages) struct Command {
    pub(in crate::web::pages) effect: String,
    pub(in crate::web::pages) changes: bool,
    /// As a shell takes them.
    pub(in crate::web::pages) words: Vec<String>,
}

/// A command that changes nothing.
pub(in crate::web::pages) fn reads(words: &[String]) -> Command {
    Command { effect: "only reads".to_owned(), changes: false, words: shell(words) }
}

pub(super) fn changes_records(words: &[String]) -> Command {
    Command { effect: "changes the gap record only".to_owned(), changes: false, words: shell(words) }
}

/// Its answer goes into a file of the person who runs it.
pub(super) fn into_file(command: Command, file: &str) -> Command {
    let effect = format!("{}, and writes {file} here", command.effect);
    let words = [command.words, vec![">".to_owned(), word(file)]].concat();
    Command { effect, words, ..command }
}

pub(super) fn shell(words: &[String]) -> Vec<String> {
    words.iter().map(|each| word(each)).collect()
}

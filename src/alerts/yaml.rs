//! A writer for the YAML of rule files: mappings, lists, and strings that every reader takes for the same strings.

/// A piece of YAML.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// A string on one line, quoted unless it is a plain word.
    Text(String),
    /// A string of printable lines, as a literal block.
    Block(String),
    /// Keys in order.
    Map(Vec<(String, Node)>),
    /// Items in order.
    List(Vec<Node>),
}

impl Node {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn map<const N: usize>(entries: [(&str, Self); N]) -> Self {
        Self::Map(entries.into_iter().map(|(key, node)| (key.to_owned(), node)).collect())
    }
}

/// A document, with a line feed at the end.
pub(super) fn document(root: &Node) -> String {
    let mut text = String::new();
    write(root, 0, &mut text);
    text
}

fn write(node: &Node, indent: usize, out: &mut String) {
    let margin = " ".repeat(indent);
    match node {
        Node::Map(entries) => {
            for (key, value) in entries {
                out.push_str(&format!("{margin}{}:", scalar(key)));
                write_value(value, indent + 2, out);
            }
        }
        Node::List(items) => {
            for item in items {
                let mut inner = String::new();
                write(item, indent + 2, &mut inner);
                // The dash takes the place of the first line's margin.
                out.push_str(&format!("{margin}- {}", inner.trim_start_matches(' ')));
            }
        }
        Node::Text(text) => out.push_str(&format!("{margin}{}\n", scalar(text))),
        Node::Block(_) => write_value(node, indent, out),
    }
}

fn write_value(value: &Node, indent: usize, out: &mut String) {
    match value {
        Node::Text(text) => out.push_str(&format!(" {}\n", scalar(text))),
        Node::Block(text) => {
            out.push_str(" |-\n");
            for line in text.lines() {
                out.push_str(&format!("{}{line}\n", " ".repeat(indent)));
            }
        }
        Node::Map(entries) if entries.is_empty() => out.push_str(" {}\n"),
        Node::List(items) if items.is_empty() => out.push_str(" []\n"),
        Node::Map(_) | Node::List(_) => {
            out.push('\n');
            write(value, indent, out);
        }
    }
}

/// Only words that no version of YAML takes for a number, a truth value, a date or nothing stay bare.
fn scalar(text: &str) -> String {
    const WORDS_WITH_A_MEANING: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    let letter_first = text.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let harmless = text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_./".contains(letter));
    if letter_first && harmless && !WORDS_WITH_A_MEANING.contains(&text.to_ascii_lowercase().as_str()) {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            ' '..='~' => quoted.push(letter),
            _ if letter.is_alphanumeric() => quoted.push(letter),
            _ => quoted.push_str(&format!("\\U{:08x}", u32::from(letter))),
        }
    }
    quoted.push('"');
    quoted
}

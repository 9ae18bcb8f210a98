//! The help of every command, as people read it.

use brinkwatch::commands::CommandLine;
use clap::{Command, CommandFactory};

/// Every command, those below others too, with the words that call it.
fn commands(below: &Command, path: &[String], found: &mut Vec<(Vec<String>, Command)>) {
    for command in below.get_subcommands().filter(|command| command.get_name() != "help") {
        let path: Vec<String> = path.iter().cloned().chain([command.get_name().to_owned()]).collect();
        commands(command, &path, found);
        found.push((path, command.clone()));
    }
}

fn all() -> Vec<(Vec<String>, Command)> {
    let mut root = CommandLine::command().term_width(100);
    // Fills in the whole name of each command.
    root.build();
    let mut found = Vec::new();
    commands(&root, &[], &mut found);
    found.push((Vec::new(), root));
    found
}

#[test]
fn help_is_as_it_was_read_last() {
    for (path, mut command) in all() {
        let name = if path.is_empty() { "brinkwatch".to_owned() } else { path.join("_") };
        insta::assert_snapshot!(name, command.render_long_help().to_string());
    }
}

#[test]
fn every_command_shows_one_example_of_itself_at_least() {
    let without: Vec<String> = all()
        .into_iter()
        .filter(|(path, _)| !path.is_empty())
        .filter_map(|(path, mut command)| {
            let help = command.render_long_help().to_string();
            let (_, examples) = help.split_once("Example")?;
            (!examples.contains(&format!("brinkwatch {}", path.join(" ")))).then(|| path.join(" "))
        })
        .collect();
    assert!(without.is_empty(), "the example is another command's: {without:?}");
    let silent: Vec<String> = all()
        .into_iter()
        .filter(|(path, _)| !path.is_empty())
        .filter(|(_, command)| !command.clone().render_long_help().to_string().contains("\nExample"))
        .map(|(path, _)| path.join(" "))
        .collect();
    assert!(silent.is_empty(), "no example: {silent:?}");
}

#[test]
fn no_option_is_without_words_and_no_line_is_too_long() {
    for (path, mut command) in all() {
        let silent: Vec<_> = command
            .get_arguments()
            .filter(|argument| argument.get_help().is_none() && argument.get_long_help().is_none())
            .map(|argument| argument.get_id().to_string())
            .collect();
        assert!(silent.is_empty(), "{path:?}: {silent:?}");
        let help = command.render_long_help().to_string();
        // A line of usage is one line, however long.
        let wrapped = help.lines().filter(|line| !line.starts_with("Usage:"));
        let longest = wrapped.max_by_key(|line| line.chars().count()).unwrap();
        assert!(longest.chars().count() <= 100, "{path:?}: {longest}");
    }
}

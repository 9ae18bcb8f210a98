//! Every command line that a text tells people to type can be typed.

#![expect(clippy::unwrap_used, reason = "a test that cannot read the texts has failed")]

use std::fs;
use std::path::{Path, PathBuf};

use brinkwatch::alerts::{Inputs, groups};
use brinkwatch::commands::CommandLine;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

/// A text and where it stands.
fn texts() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![root.join("README.md"), root.join("deploy/prometheus/README.md")];
    for folder in ["deploy", "deploy/runbooks"] {
        let here = fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        files.extend(here.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    let name = |path: &PathBuf| path.strip_prefix(root).unwrap().display().to_string();
    let mut texts: Vec<(String, String)> =
        files.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect();
    for rule in groups(&Inputs::default()).iter().flat_map(|group| &group.rules) {
        texts.push((rule.alert.to_owned(), rule.description.to_owned()));
    }
    examples(&CommandLine::command(), &mut texts);
    texts
}

/// What the help of every command, and of those below it, ends with.
fn examples(command: &clap::Command, texts: &mut Vec<(String, String)>) {
    let told = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    texts.push((format!("help of {}", command.get_name()), told));
    command.get_subcommands().for_each(|below| examples(below, texts));
}

/// Lines of code that begin with the program's name, and pieces between backticks that do.
fn told(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.trim().trim_start_matches("$ "));
    let mut found: Vec<String> = lines.filter(|line| line.starts_with("brinkwatch ")).map(str::to_owned).collect();
    let spans = text.split("```").step_by(2).flat_map(|prose| prose.split('`').skip(1).step_by(2));
    let joined = spans.map(|span| span.split_whitespace().collect::<Vec<_>>().join(" "));
    found.extend(joined.filter(|span| span.starts_with("brinkwatch ")));
    found
}

/// The words of the command, as a shell makes them, up to where another command or a comment begins.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut inside) = (Vec::new(), String::new(), None, false);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (Some(_), letter) => word.push(letter),
            (None, '\'' | '"') => (quote, inside) = (Some(letter), true),
            (None, '>' | '|' | ';' | '&' | '#') if word.is_empty() => break,
            (None, ' ') if word.is_empty() && !inside => {}
            (None, ' ') => {
                words.push(std::mem::take(&mut word));
                inside = false;
            }
            (None, letter) => word.push(letter),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty() || inside));
    // Numbers that a person fills in.
    words.into_iter().map(|word| if word == "ID" { "7".to_owned() } else { word }).collect()
}

/// Names a command, and nothing that it is to do.
fn is_a_mention(words: &[String]) -> bool {
    let mut command = &CommandLine::command();
    for word in &words[1..] {
        match command.find_subcommand(word) {
            Some(below) => command = below,
            None => return false,
        }
    }
    true
}

#[test]
fn every_command_line_that_people_are_told_can_be_typed() {
    let mut seen = 0;
    for (place, text) in texts() {
        for line in told(&text) {
            let words = words(&line);
            // An option begins here of another program, of which brinkwatch was an argument.
            if words.get(1).is_none_or(|word| word.starts_with('-')) || is_a_mention(&words) {
                continue;
            }
            seen += 1;
            match CommandLine::try_parse_from(&words).map_err(|error| (error.kind(), error)) {
                Ok(_) | Err((ErrorKind::DisplayHelp | ErrorKind::DisplayVersion, _)) => {}
                Err((_, error)) => panic!("{place}: {line}\n{words:?}\n{error}"),
            }
        }
    }
    assert!(seen > 60, "{seen} commands were found");
}

#[test]
fn a_line_is_cut_as_a_shell_cuts_it() {
    let check = |line: &str, expected: &[&str]| assert_eq!(words(line), expected, "{line}");
    check("brinkwatch check orders   # gate 1", &["brinkwatch", "check", "orders"]);
    check("brinkwatch rules > rules.yml", &["brinkwatch", "rules"]);
    check("brinkwatch gaps show ID", &["brinkwatch", "gaps", "show", "7"]);
    check("brinkwatch x --evidence 'it is \"so\"' ''", &["brinkwatch", "x", "--evidence", "it is \"so\"", ""]);
}

/// The incidents that the recovery chapter walks through, and what each walk has to run.
#[test]
fn readme_walks_each_incident_through_both_gates() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let (_, chapter) = readme.split_once("\n## When data is lost").unwrap();
    let chapter = chapter.split("\n## ").next().unwrap();
    for (incident, commands) in [
        ("Aged out", &["check", "gaps record", "starting-offsets", "verify", "gaps backfill", "gaps resolve"][..]),
        ("Recreated topic", &["check", "starting-offsets", "verify", "gaps acknowledge"]),
        ("Partitions gone", &["check", "starting-offsets", "verify", "gaps acknowledge"]),
        ("Wiped checkpoint", &["check", "starting-offsets", "verify"]),
        ("Two writers", &["check", "verify", "starting-offsets"]),
    ] {
        let (_, walk) =
            chapter.split_once(&format!("\n### {incident}")).unwrap_or_else(|| panic!("no walk: {incident}"));
        let walk = walk.split("\n### ").next().unwrap();
        let told: Vec<&str> = walk.lines().filter_map(|line| line.strip_prefix("$ brinkwatch ")).collect();
        let mut rest = told.iter();
        for command in commands {
            assert!(rest.any(|line| line.starts_with(command)), "{incident}: no {command}, in this order, in {told:?}");
        }
    }
}

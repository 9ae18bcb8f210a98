//! README is held against the program.

#![expect(clippy::unwrap_used, reason = "in a test, what cannot be unwrapped has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use brinkwatch::metrics::catalogue;

const BEGIN: &str = "<!-- metrics: begin -->\n";
const END: &str = "<!-- metrics: end -->";

fn readme() -> String {
    fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap()
}

fn output_of(arguments: &[&str]) -> String {
    let ended = Command::new(env!("CARGO_BIN_EXE_brinkwatch")).args(arguments).output().unwrap();
    assert!(ended.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8(ended.stdout).unwrap()
}

#[test]
fn the_metric_table_is_the_catalogue() {
    let readme = readme();
    let (_, rest) = readme.split_once(BEGIN).unwrap();
    let (table, _) = rest.split_once(END).unwrap();
    assert!(table == output_of(&["metrics"]), "put the output of `brinkwatch metrics` between README's markers");
}

#[test]
fn metrics_that_the_text_names_exist() {
    let readme = readme();
    let words = readme.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    let unknown: Vec<&str> = words
        .filter(|word| {
            word.len() > catalogue::PREFIX.len()
                && word.starts_with(catalogue::PREFIX)
                && catalogue::find(word).is_none()
        })
        .collect();
    assert!(unknown.is_empty(), "README names metrics that do not exist: {unknown:?}");
}

#[test]
fn commands_that_the_text_names_exist() {
    let help = output_of(&["--help"]);
    for line in readme().lines().filter_map(|line| line.trim().strip_prefix("$ brinkwatch ")) {
        let command = line.split_whitespace().next().unwrap();
        assert!(help.contains(&format!("\n  {command} ")), "README runs `brinkwatch {command}`, which does not exist");
    }
}

/// Every Markdown file that belongs to the project, by its path from the root.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            let kind = entry.file_type().unwrap();
            let name = entry.file_name().into_string().unwrap();
            if kind.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// What a heading is called in a link, as the forges that show Markdown do it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    kept.chars()
        .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter))
        .collect::<String>()
        .replace(' ', "-")
}

fn anchors(text: &str) -> Vec<String> {
    text.lines().filter(|line| line.starts_with('#')).map(|line| anchor(line.trim_start_matches('#'))).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut dead = Vec::new();
    let mut followed = 0;
    for document in documents() {
        let text = fs::read_to_string(root.join(&document)).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") || link.contains(char::is_whitespace) {
                continue;
            }
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { root.join(&document) } else { root.join(&document).with_file_name(path) };
            let leads = target.exists()
                && (heading.is_empty()
                    || fs::read_to_string(&target).is_ok_and(|text| anchors(&text).iter().any(|one| one == heading)));
            if !leads {
                dead.push(format!("{}: {link}", document.display()));
            }
            followed += 1;
        }
    }
    assert!(dead.is_empty(), "{dead:#?}");
    assert!(followed > 50, "only {followed} links were found");
}

/// The documents that tell operators what to look at and what to type.
#[test]
fn metrics_and_commands_that_the_guides_name_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let help = output_of(&["--help"]);
    for name in ["README.md", "troubleshooting.md", "upgrading.md"] {
        let text = fs::read_to_string(root.join("deploy").join(name)).unwrap();
        for word in text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')) {
            let metric = word.strip_prefix(catalogue::PREFIX).is_some_and(|rest| !rest.is_empty());
            assert!(!metric || catalogue::find(word).is_some(), "{name} names {word}");
        }
        for after in text.split("`brinkwatch ").skip(1) {
            let command: String =
                after.chars().take_while(|letter| letter.is_ascii_lowercase() || *letter == '-').collect();
            assert!(help.contains(&format!("\n  {command} ")), "{name} names `brinkwatch {command}`");
        }
    }
}

//! README is held against the program.

#![expect(clippy::unwrap_used, reason = "in a test, what cannot be unwrapped has failed")]

use std::fs;
use std::path::Path;
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

/// Files beside README, and headings in it, as GitHub names them.
#[test]
fn links_lead_somewhere() {
    let readme = readme();
    let headings: Vec<String> = readme
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            let words = line.trim_start_matches('#').trim().to_lowercase();
            words
                .chars()
                .filter(|one| one.is_alphanumeric() || " -_".contains(*one))
                .collect::<String>()
                .replace(' ', "-")
        })
        .collect();
    let links: Vec<&str> = readme.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()).collect();
    assert!(links.len() > 10, "{links:?}");
    for link in links.into_iter().filter(|link| !link.starts_with("http")) {
        let exists = match link.strip_prefix('#') {
            Some(heading) => headings.iter().any(|known| known == heading),
            None => Path::new(env!("CARGO_MANIFEST_DIR")).join(link).exists(),
        };
        assert!(exists, "README links to {link}");
    }
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

//! The files under `deploy/` against the rules and the catalogue.

#![expect(clippy::unwrap_used, reason = "a test that cannot read the files has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use brinkwatch::alerts::{Format, Inputs, ObjectMeta, groups, rendered};
use brinkwatch::commands::CommandLine;
use brinkwatch::metrics::catalogue;
use clap::CommandFactory;

fn deploy(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy").join(path)
}

fn alerts() -> BTreeSet<String> {
    groups(&Inputs::default()).iter().flat_map(|group| &group.rules).map(|rule| rule.alert.to_owned()).collect()
}

fn runbooks() -> Vec<(String, String)> {
    let files = fs::read_dir(deploy("runbooks")).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap()))
        .collect()
}

#[test]
fn every_alert_has_a_runbook_and_every_runbook_an_alert() {
    let written: BTreeSet<String> = runbooks().into_iter().map(|(name, _)| name).collect();
    assert_eq!(written, alerts());
}

#[test]
fn readme_names_every_alert() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let missing: Vec<String> = alerts().into_iter().filter(|alert| !readme.contains(&format!("`{alert}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_runbook_has_its_four_parts_with_something_in_each_and_a_command_to_run() {
    for (name, text) in runbooks() {
        assert!(text.starts_with(&format!("# {name}\n")), "{name} has another title");
        let parts: Vec<(&str, &str)> = text.split("\n## ").skip(1).map(|part| part.split_once('\n').unwrap()).collect();
        let headings: Vec<&str> = parts.iter().map(|(heading, _)| *heading).collect();
        assert_eq!(headings, ["Meaning", "Impact", "Diagnosis", "Mitigation"], "{name}");
        for (heading, body) in &parts {
            assert!(body.trim().len() > 20, "{name}: {heading} says nothing");
            assert!(!body.contains("TODO") && !body.contains("TBD"), "{name}: {heading} is not written");
        }
        let known = CommandLine::command();
        let mut commands = known.get_subcommands().map(|command| format!("brinkwatch {}", command.get_name()));
        assert!(commands.any(|command| text.contains(&command)), "{name}: no command of Brinkwatch to run");
    }
}

#[test]
fn runbooks_link_to_runbooks_that_exist() {
    let alerts = alerts();
    for (name, text) in runbooks() {
        for link in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            assert!(alerts.contains(link.trim_end_matches(".md")), "{name} links to {link}");
        }
    }
}

#[test]
fn metrics_and_alerts_that_runbooks_name_exist() {
    let alerts = alerts();
    for (name, text) in runbooks() {
        for word in text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_') {
            if word.starts_with(catalogue::PREFIX) {
                assert!(catalogue::find(word).is_some(), "{name} names {word}");
            }
            let like_an_alert = ["SparkStream", "SparkTopic"].iter().any(|prefix| word.starts_with(prefix));
            assert!(!like_an_alert || alerts.contains(word), "{name} names {word}");
        }
    }
}

/// In prose the name has a capital letter, so what follows the small one is a command.
#[test]
fn commands_in_runbooks_and_alert_texts_exist() {
    let known = CommandLine::command();
    let check = |place: &str, text: &str| {
        for after in text.split("brinkwatch ").skip(1) {
            let word: String =
                after.chars().take_while(|letter| letter.is_ascii_lowercase() || *letter == '-').collect();
            // A dash begins an option of another program, of which brinkwatch was an argument.
            assert!(
                after.starts_with('-') || known.find_subcommand(&word).is_some(),
                "{place} names brinkwatch {word}"
            );
        }
    };
    for (name, text) in runbooks() {
        check(&name, &text);
    }
    for rule in groups(&Inputs::default()).iter().flat_map(|group| &group.rules) {
        check(rule.alert, rule.description);
    }
}

/// People read these files before they run anything; the examples, the chart and the kustomization load them.
#[test]
fn the_example_rules_are_what_the_program_writes() {
    let inputs = Inputs::default();
    let check = |path: &str, format: &Format, option: &str| {
        let path = deploy(path);
        assert!(
            fs::read_to_string(&path).unwrap() == rendered(&inputs, format).text,
            "{} is old: cargo run -- rules --config /dev/null{option} > {0}",
            path.display()
        );
    };
    check("prometheus/brinkwatch.rules.yml", &Format::Prometheus, "");
    let resource = Format::PrometheusRule(ObjectMeta::default());
    check("kubernetes/monitoring/prometheusrule.yaml", &resource, " --format prometheusrule");
}

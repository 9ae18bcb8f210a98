//! The files: read back with a YAML reader that is not ours.

use std::collections::BTreeMap;

use proptest::prelude::*;
use yaml_rust2::{Yaml, YamlLoader};

use super::{daily, inputs};
use crate::alerts::yaml::{Node, document};
use crate::alerts::{Format, Inputs, ObjectMeta, groups, rendered};

fn read(text: &str) -> Yaml {
    let documents = YamlLoader::load_from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(documents.len(), 1);
    documents.into_iter().next().unwrap()
}

#[test]
fn a_file_for_no_query_says_so_and_holds_every_alert() {
    let text = rendered(&Inputs::default(), &Format::Prometheus).text;
    assert!(text.contains("\n# No query is configured."), "{text}");
    let read = read(&text);
    let written: usize =
        read["groups"].as_vec().unwrap().iter().map(|group| group["rules"].as_vec().unwrap().len()).sum();
    assert_eq!(
        written,
        groups(&Inputs::default()).iter().map(|group| group.rules.len() + group.recordings.len()).sum::<usize>()
    );
}

#[test]
fn equal_inputs_give_equal_bytes_and_others_another_tag() {
    let one = rendered(&inputs([("daily", daily())]), &Format::Prometheus);
    assert_eq!(one, rendered(&inputs([("daily", daily())]), &Format::Prometheus));
    let other = rendered(&inputs([("weekly", daily())]), &Format::Prometheus);
    assert_ne!(one.etag, other.etag);
    assert!(one.etag.starts_with('"') && one.etag.ends_with('"') && one.etag.len() == 66, "{}", one.etag);
}

#[test]
fn the_header_tells_version_hash_and_queries() {
    let inputs = Inputs { version: "9.8.7".to_owned(), ..inputs([("daily", daily())]) };
    let text = rendered(&inputs, &Format::Prometheus).text;
    let header: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
    let hash = format!("# Inputs sha256: {}", inputs.sha256());
    assert!(header[0].contains("version 9.8.7."), "{header:?}");
    assert_eq!(header[1..], [hash.as_str(), "# For 1 query, 1 with rules of its own."]);
}

#[test]
fn the_operator_s_form_carries_the_same_groups() {
    let inputs = inputs([("daily", daily())]);
    let meta = ObjectMeta {
        name: "rules".to_owned(),
        namespace: Some("monitoring".to_owned()),
        labels: BTreeMap::from([("release".to_owned(), "on".to_owned())]),
    };
    let resource = read(&rendered(&inputs, &Format::PrometheusRule(meta)).text);
    let file = read(&rendered(&inputs, &Format::Prometheus).text);
    assert_eq!(resource["apiVersion"].as_str(), Some("monitoring.coreos.com/v1"));
    assert_eq!(resource["kind"].as_str(), Some("PrometheusRule"));
    assert_eq!(resource["metadata"]["namespace"].as_str(), Some("monitoring"));
    assert_eq!(
        resource["metadata"]["labels"]["release"].as_str(),
        Some("on"),
        "a label is a string, never a truth value"
    );
    assert_eq!(resource["spec"]["groups"], file["groups"]);
}

#[test]
fn a_query_s_name_is_no_template() {
    let text = rendered(&inputs([("{{ end }}", daily())]), &Format::Prometheus).text;
    let read = read(&text);
    let retention = read["groups"][1]["rules"].as_vec().unwrap();
    let labels: Vec<_> = retention.iter().filter_map(|rule| rule["labels"]["query"].as_str()).collect();
    assert!(!labels.is_empty());
    assert!(labels.iter().all(|label| *label == r#"{{"{{"}} end }}"#), "{labels:?}");
}

#[test]
fn words_with_a_meaning_are_quoted() {
    for word in ["", "yes", "No", "null", "~", "1", "1e3", "0x1", "2026-01-01", "- a", "a: b", "a #b", "{a}", "é", "5m"]
    {
        let text = document(&Node::map([("key", Node::text(word))]));
        assert_eq!(read(&text)["key"].as_str(), Some(word), "{text}");
    }
}

proptest! {
    #[test]
    fn any_string_is_read_back_as_it_was(key in any::<String>(), value in any::<String>()) {
        let text = document(&Node::Map(vec![(key.clone(), Node::List(vec![Node::text(&value), Node::map([("a", Node::text(&value))])]))]));
        let read = read(&text);
        let items = read[key.as_str()].as_vec().unwrap();
        prop_assert_eq!(items[0].as_str(), Some(value.as_str()));
        prop_assert_eq!(items[1]["a"].as_str(), Some(value.as_str()));
    }

    #[test]
    fn any_query_name_makes_a_file_that_reads_back(names in prop::collection::btree_set(any::<String>(), 1..4)) {
        let inputs = Inputs { overrides: names.into_iter().map(|name| (name, daily())).collect(), ..inputs([]) };
        let read = read(&rendered(&inputs, &Format::Prometheus).text);
        let written = read["groups"].as_vec().unwrap().iter().flat_map(|group| group["rules"].as_vec().unwrap());
        let rules: Vec<_> = groups(&inputs).into_iter().flat_map(|group| group.rules.into_iter()).collect();
        for (written, rule) in written.zip(&rules) {
            let expression = rule.condition.to_string();
            prop_assert_eq!(written["expr"].as_str(), Some(expression.as_str()));
        }
    }
}

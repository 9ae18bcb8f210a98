//! The dashboards, by the rules that Grafana's own linter has, and against the catalogue.

#![expect(clippy::unwrap_used, reason = "a test that cannot read the files has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use brinkwatch::alerts::{Format, Inputs, rendered};
use brinkwatch::metrics::catalogue;
use serde_json::Value;

/// Units that the panels may use; Grafana takes a misspelt one for a suffix.
const UNITS: [&str; 6] = ["bool", "bytes", "ops", "percentunit", "s", "short"];
/// What Prometheus adds to every series it scrapes.
const TARGET_LABELS: [&str; 2] = ["instance", "job"];
/// What stands beside the catalogue: the standard metrics of a process, and what Prometheus says of a scrape.
const OTHERS: [&str; 4] =
    ["process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds", "scrape_samples_scraped"];

fn dashboards() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("dashboards");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read: Vec<(String, Value)> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| (path.display().to_string(), serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap()))
        .collect();
    assert!(!read.is_empty());
    read
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Panels, those inside collapsed rows included, rows left out.
fn panels(dashboard: &Value) -> Vec<&Value> {
    let all = list(dashboard, "/panels").iter().flat_map(|panel| std::iter::once(panel).chain(list(panel, "/panels")));
    all.filter(|panel| panel["type"] != "row").collect()
}

/// Each expression with the panel's title.
fn expressions(dashboard: &Value) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for panel in panels(dashboard) {
        let title = panel["title"].as_str().unwrap();
        let targets = list(panel, "/targets");
        assert!(!targets.is_empty(), "{title} asks for nothing");
        for target in targets {
            let expression = target["expr"].as_str();
            found.push((title, expression.unwrap_or_else(|| panic!("{title} has a target without expr"))));
        }
    }
    found
}

fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

/// Each metric of an expression with the text between its braces.
fn selectors(expression: &str) -> Vec<(&str, &str)> {
    expression
        .match_indices(catalogue::PREFIX)
        .map(|(start, _)| {
            let rest = &expression[start..];
            let name = identifiers(rest).next().unwrap();
            let braces = rest[name.len()..].strip_prefix('{').and_then(|inner| inner.split_once('}'));
            (name, braces.map_or("", |(inner, _)| inner))
        })
        .collect()
}

/// Label names of matchers, without what stands in quotes.
fn matched_labels(matchers: &str) -> BTreeSet<&str> {
    matchers.split('"').step_by(2).flat_map(identifiers).collect()
}

#[test]
fn each_is_a_classic_dashboard_that_provisioning_can_own() {
    let mut uids = BTreeSet::new();
    let mut titles = BTreeSet::new();
    for (file, dashboard) in dashboards() {
        assert_eq!(dashboard["schemaVersion"], 39, "{file}");
        assert!(dashboard["id"].is_null() && dashboard.get("id").is_some(), "{file}: id belongs to one Grafana");
        assert_eq!(dashboard["editable"], false, "{file}");
        assert!(dashboard["version"].is_u64(), "{file}");
        assert!(dashboard.get("__inputs").is_none(), "{file}: inputs are for imports by hand");
        assert!(dashboard["annotations"]["list"].is_array(), "{file}");
        let uid = dashboard["uid"].as_str().unwrap().to_owned();
        assert!((8..=40).contains(&uid.len()), "{file}: {uid}");
        assert!(uids.insert(uid) && titles.insert(dashboard["title"].to_string()), "{file}: uid or title is taken");
    }
}

#[test]
fn variables_are_the_usual_ones() {
    for (file, dashboard) in dashboards() {
        let variables = list(&dashboard, "/templating/list");
        let (sources, others): (Vec<_>, Vec<_>) = variables.iter().partition(|one| one["type"] == "datasource");
        assert_eq!(sources.len(), 1, "{file}");
        assert_eq!(
            (&sources[0]["name"], &sources[0]["label"]),
            (&"datasource".into(), &"Data source".into()),
            "{file}"
        );
        let names: BTreeSet<&str> = others.iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert!(names.is_superset(&BTreeSet::from(TARGET_LABELS)), "{file}: {names:?}");
        for one in others {
            // A dashboard about one thing lets one be chosen; where more can be, all can be.
            let is_target = TARGET_LABELS.iter().any(|label| one["name"] == *label);
            assert!(one["multi"] == true || !is_target && one["multi"] == false, "{file}: {one}");
            assert_eq!(one["includeAll"], one["multi"], "{file}: {one}");
            assert_eq!(one["allValue"] == ".+", one["multi"] == true, "{file}: {one}");
            assert_eq!(one["refresh"], 2, "{file}: refreshed when the time changes");
            assert_eq!(one["datasource"]["uid"], "${datasource}", "{file}: {one}");
            let metric = selectors(one["definition"].as_str().unwrap())[0].0;
            assert!(catalogue::find(metric).is_some(), "{file}: {metric}");
        }
    }
}

#[test]
fn every_panel_says_what_it_shows_in_which_unit_and_has_a_place() {
    for (file, dashboard) in dashboards() {
        let mut ids = BTreeSet::new();
        let mut cells = BTreeSet::new();
        for panel in panels(&dashboard) {
            let title = panel["title"].as_str().unwrap();
            assert!(
                !title.is_empty() && panel["description"].as_str().is_some_and(|text| text.ends_with('.')),
                "{file}: {title}"
            );
            let unit = panel["fieldConfig"]["defaults"]["unit"].as_str().unwrap_or_default();
            assert!(UNITS.contains(&unit), "{file}: {title} has the unit {unit:?}");
            assert_eq!(panel["datasource"]["uid"], "${datasource}", "{file}: {title}");
            assert!(ids.insert(panel["id"].as_u64().unwrap()), "{file}: {title} shares its id");
            let place = |key: &str| panel["gridPos"][key].as_u64().unwrap();
            for x in place("x")..place("x") + place("w") {
                for y in place("y")..place("y") + place("h") {
                    assert!(x < 24 && cells.insert((x, y)), "{file}: {title} covers another panel or the edge");
                }
            }
            for target in list(panel, "/targets") {
                assert_eq!(target["datasource"]["uid"], "${datasource}", "{file}: {title}");
            }
        }
    }
}

#[test]
fn metrics_and_labels_are_in_the_catalogue() {
    for (file, dashboard) in dashboards() {
        for (title, expression) in expressions(&dashboard) {
            let selectors = selectors(expression);
            let other = OTHERS.iter().find(|name| expression.contains(**name));
            assert!(
                !selectors.is_empty()
                    || other.is_some_and(|_| expression.contains("{job=~\"$job\", instance=~\"$instance\"}")),
                "{file}: {title} asks for no metric: {expression}"
            );
            for (name, matchers) in selectors {
                let metric = catalogue::find(name).unwrap_or_else(|| panic!("{file}: {title} asks for {name}"));
                for label in matched_labels(matchers) {
                    let known = metric.labels.contains(&label) || TARGET_LABELS.contains(&label);
                    assert!(known, "{file}: {title}: {name} has no label {label}");
                }
            }
            let grouped = expression.split("by (").skip(1).map(|rest| rest.split(')').next().unwrap());
            for label in grouped.flat_map(identifiers) {
                let known = TARGET_LABELS.contains(&label)
                    || catalogue::all()
                        .iter()
                        .any(|metric| expression.contains(metric.name) && metric.labels.contains(&label));
                assert!(known, "{file}: {title} groups by {label}");
            }
        }
    }
}

#[test]
fn every_query_follows_the_variables_of_its_dashboard() {
    for (file, dashboard) in dashboards() {
        let variables: Vec<&str> = list(&dashboard, "/templating/list")
            .iter()
            .filter(|one| one["type"] != "datasource")
            .map(|one| one["name"].as_str().unwrap())
            .collect();
        for (title, expression) in expressions(&dashboard) {
            for (name, matchers) in selectors(expression) {
                let metric = catalogue::find(name).unwrap();
                for variable in &variables {
                    let has_it = metric.labels.contains(variable) || TARGET_LABELS.contains(variable);
                    let used = matchers.contains(&format!("{variable}=~\"${variable}\""));
                    assert_eq!(has_it, used, "{file}: {title}: {name} and ${variable}");
                }
            }
        }
    }
}

/// Overview first, then the details by a link: each dashboard leads to the others.
#[test]
fn each_dashboard_leads_to_the_others() {
    let all = dashboards();
    let names: BTreeSet<&str> = all.iter().map(|(_, dashboard)| dashboard["uid"].as_str().unwrap()).collect();
    assert_eq!(names, BTreeSet::from(["brinkwatch-fleet", "brinkwatch-query", "brinkwatch-watcher"]));
    for (file, dashboard) in &all {
        let to_tagged =
            list(dashboard, "/links").iter().any(|link| link["tags"][0] == "brinkwatch" && link["keepTime"] == true);
        assert!(to_tagged && list(dashboard, "/tags").iter().any(|tag| tag == "brinkwatch"), "{file}");
        for link in dashboard.to_string().split("/d/").skip(1) {
            let uid = link.split(['?', '"']).next().unwrap();
            assert!(names.contains(uid), "{file} leads to {uid}");
        }
    }
}

/// What a dashboard does not know is dropped in silence, and it opens on something else than the alert is about.
#[test]
fn alerts_lead_to_dashboards_that_know_what_they_are_told() {
    let inputs = Inputs { dashboard_base_url: Some("https://grafana.example/d/".to_owned()), ..Inputs::default() };
    let rules = rendered(&inputs, &Format::Prometheus).text;
    let all = dashboards();
    let mut led_to = BTreeSet::new();
    for link in rules.split("https://grafana.example/d/").skip(1).map(|rest| rest.lines().next().unwrap()) {
        let uid = link.split('?').next().unwrap();
        let found = all.iter().find(|(_, dashboard)| dashboard["uid"] == uid);
        let (_, dashboard) = found.unwrap_or_else(|| panic!("no dashboard is called {uid}"));
        let known: BTreeSet<&str> =
            list(dashboard, "/templating/list").iter().map(|one| one["name"].as_str().unwrap()).collect();
        for variable in link.split("&var-").skip(1).map(|rest| rest.split('=').next().unwrap()) {
            assert!(known.contains(variable), "{uid} does not know {variable}");
        }
        led_to.insert(uid);
    }
    assert_eq!(led_to.len(), all.len(), "each dashboard answers some alert");
}

#[test]
fn counters_are_shown_as_growth_and_growth_is_taken_over_the_right_range() {
    for (file, dashboard) in dashboards() {
        for (title, expression) in expressions(&dashboard) {
            for (name, matchers) in selectors(expression) {
                let whole = format!("{name}{{{matchers}}}[$__rate_interval])");
                let growth =
                    ["rate(", "increase("].iter().any(|function| expression.contains(&format!("{function}{whole}")));
                let is_counter = catalogue::find(name).unwrap().kind == catalogue::Kind::Counter;
                assert_eq!(is_counter, growth, "{file}: {title}: {name}");
            }
            let ranges = expression.split('[').skip(1).filter_map(|rest| rest.split_once(']'));
            assert!(ranges.into_iter().all(|(range, _)| range == "$__rate_interval"), "{file}: {title}: {expression}");
        }
    }
}

/// Replicas are folded towards the worse side, so the first aggregation over a metric is the catalogue's.
#[test]
fn replicas_are_folded_with_the_worse_side() {
    for (file, dashboard) in dashboards() {
        for (title, expression) in expressions(&dashboard) {
            for (start, _) in expression.match_indices(catalogue::PREFIX) {
                let name = identifiers(&expression[start..]).next().unwrap();
                let metric = catalogue::find(name).unwrap();
                let before = &expression[..start];
                let min = before.rfind("min by").or_else(|| before.rfind("min(")).unwrap_or(0);
                let max = before.rfind("max by").unwrap_or(0);
                let folded = if min > max || before.starts_with("min") && max == 0 { "min" } else { "max" };
                // A speed is worse when it is lower, but a replica that is late shows none: the faster one is right.
                let is_speed = before.ends_with("deriv(");
                assert!(is_speed || folded == metric.worse.word(), "{file}: {title}: {name} is folded with {folded}");
            }
        }
    }
}

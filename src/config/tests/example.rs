//! `config.example.toml` shows every key, with its default.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::config::key::Key;
use crate::config::layers::Leaf;
use crate::config::mistake::Layer;
use crate::config::typed::{Misfit, Typed};
use crate::config::written::Written;
use crate::config::{Config, ConfigFile, load};

const EXAMPLE: &str = include_str!("../../../config.example.toml");

fn of_text(text: &str) -> Config {
    load(ConfigFile::Text { name: "config.example.toml", text }, [], &[]).unwrap()
}

/// Tables that mean something as soon as they are there: logging in has no default.
const NO_DEFAULT: [&str; 3] = ["[clusters.main.tls]", "[clusters.main.sasl]", "[server.basic_auth_users]"];

/// The example with its commented settings switched on, but for those of some tables.
fn uncommented(left_out: &[&str]) -> String {
    let is_setting =
        |rest: &str| rest.starts_with('[') || rest.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '));
    let mut is_left_out = false;
    let mut lines = Vec::new();
    for line in EXAMPLE.lines() {
        let setting = line.strip_prefix("# ").filter(|rest| is_setting(rest));
        if let Some(table) = setting.filter(|rest| rest.starts_with('[')) {
            is_left_out = left_out.contains(&table);
        }
        lines.push(setting.filter(|_| !is_left_out).unwrap_or(line));
    }
    lines.join("\n")
}

/// The keys that the written types know inside a table.
fn known(table: &[&str]) -> BTreeSet<&'static str> {
    let probe = Leaf::table(Key::of(&[table, &["?"]].concat()), &Layer::Default);
    match Written::deserialize(Typed::new(probe.tree())) {
        Err(Misfit::Unknown { known, .. }) => known.iter().copied().collect(),
        other => panic!("{table:?} takes any key: {other:?}"),
    }
}

#[test]
fn the_example_as_it_stands_is_the_default() {
    assert_eq!(of_text(EXAMPLE), load(ConfigFile::Absent, [], &[]).unwrap());
}

#[test]
fn what_the_example_shows_in_comments_is_the_default_too() {
    let shown = of_text(&uncommented(&NO_DEFAULT));
    let least = of_text(
        "[clusters.main]\nbootstrap_servers = \"broker1:9092,broker2:9092\"\n\
         [stores.lake]\nkind = \"s3\"\n\
         [discovery.lake]\nlocation = \"s3a://bucket/checkpoints\"\n\
         [queries.orders_bronze]\ncheckpoint = \"/data/checkpoints/orders_bronze\"",
    );
    let (mut query, mut cluster) = (shown.queries["orders_bronze"].clone(), shown.clusters["main"].clone());
    assert_eq!(query.alerts.thresholds, shown.alerts.thresholds);
    assert_eq!(query.alerts.overridden.len(), 5);
    query.alerts.overridden.clear();
    query.sources.clear();
    assert_eq!(query, least.queries["orders_bronze"]);
    cluster.librdkafka.clear();
    cluster.retention_overrides.clear();
    assert_eq!(cluster, least.clusters["main"]);
    assert_eq!(shown.stores["lake"], least.stores["lake"]);
    assert_eq!(shown.discoveries["lake"], least.discoveries["lake"]);
    assert_eq!(shown.server, least.server);
}

#[test]
fn every_key_is_in_the_example_once_and_has_its_line() {
    let tables: [&[&str]; 15] = [
        &[],
        &["server"],
        &["server", "tls_server_config"],
        &["ledger"],
        &["log"],
        &["alerts"],
        &["clusters", "main"],
        &["clusters", "main", "tls"],
        &["clusters", "main", "sasl"],
        &["clusters", "main", "retention_overrides", "my.topic"],
        &["stores", "lake"],
        &["discovery", "lake"],
        &["queries", "orders_bronze"],
        &["queries", "orders_bronze", "sources", "0"],
        &["queries", "orders_bronze", "alerts"],
    ];
    let text = uncommented(&[]);
    let whole: toml::Table = text.parse().unwrap();
    for table in tables {
        let inner = table.iter().fold(&whole, |outer, word| outer[*word].as_table().unwrap());
        let shown: BTreeSet<&str> = inner.keys().map(String::as_str).collect();
        assert_eq!(shown, known(table), "in {table:?}");
        for (key, value) in inner {
            // A key whose value is a table must be in the list above, or hold named tables or free keys.
            let is_listed = tables.iter().any(|listed| listed.len() > table.len() && listed[table.len()] == key);
            let is_empty = value.as_table().is_some_and(toml::Table::is_empty);
            let is_free = ["librdkafka", "basic_auth_users"].contains(&key.as_str());
            assert!(!value.is_table() || is_empty || is_listed || is_free, "{key} is not looked into");
        }
    }
    for line in text.lines().filter(|line| line.split_once(" = ").is_some_and(|(key, _)| !key.contains([' ', '#']))) {
        let is_override = ["risk_", "forecast_", "stalled_", "socket_"].iter().any(|begin| line.starts_with(begin));
        assert!(line.contains(" # ") || is_override, "no word on {line}");
    }
}

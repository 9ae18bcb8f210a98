//! Names, and who gets them.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::{Config, ConfigFile, load};
use crate::daemon::roster::{Found, FoundRoot, Refusal, roster, versions_of};

fn config(text: &str) -> Config {
    let text = format!("[clusters.main]\nbootstrap_servers = \"a\"\n{text}");
    load(ConfigFile::Text { name: "test", text: &text }, [], &[]).unwrap()
}

/// One discovery `lake` with these settings, one query `orders` with a checkpoint of its own.
fn lake(settings: &str) -> Config {
    config(&format!(
        "[queries.orders]\ncheckpoint = \"/own/orders\"\n[discovery.lake]\nlocation = \"/lake\"\n{settings}"
    ))
}

fn found(config: &Config, paths: &[(&str, &[&str])]) -> Found<String> {
    let roots = |discovery: &str, paths: &[&str]| {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        let location = |path: &str| format!("{}/{path}", config.discoveries[discovery].location);
        versions_of(&config.discoveries[discovery], &paths)
            .into_iter()
            .map(|root| FoundRoot { location: location(&root.path), place: location(&root.path), root })
            .collect()
    };
    paths.iter().map(|(discovery, paths)| ((*discovery).to_owned(), roots(discovery, paths))).collect()
}

/// The names with their locations, superseded ones with a star; and the refused locations with the reasons.
fn told(config: &Config, paths: &[(&str, &[&str])]) -> (BTreeMap<String, String>, Vec<(String, String)>) {
    let configured: BTreeSet<String> = config.queries.values().map(|query| query.checkpoint.clone()).collect();
    let (members, refusals) = roster(config, &configured, &found(config, paths));
    let members = members.into_iter().map(|member| {
        let star = if member.superseded { "*" } else { "" };
        (member.name, format!("{}{star}", member.location))
    });
    let refusals = refusals.into_iter().map(|Refusal { location, why, .. }| (location, why)).collect();
    (members.collect(), refusals)
}

fn check(config: &Config, paths: &[(&str, &[&str])], expected: &[(&str, &str)], refused: &[(&str, &str)]) {
    let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect()
    };
    let (members, refusals) = told(config, paths);
    assert_eq!(members.into_iter().collect::<Vec<_>>(), owned(expected));
    assert_eq!(refusals, owned(refused));
}

#[test]
fn names_are_made_from_the_template() {
    let paths: &[(&str, &[&str])] = &[("lake", &["team/orders_v1", "team/orders_v2"])];
    let both = |one, other| [(one, "/lake/team/orders_v1*"), (other, "/lake/team/orders_v2")];
    check(&lake(""), paths, &both("team/orders_v1", "team/orders_v2"), &[]);
    check(&lake("name = \"lake/{name}\""), paths, &both("lake/orders_v1", "lake/orders_v2"), &[]);
    // a name without the version is the living one's alone
    check(&lake("name = \"{family}\""), paths, &[("team/orders", "/lake/team/orders_v2")], &[]);
    let braces: &[(&str, &[&str])] = &[("lake", &["{name}"])];
    check(&lake(""), braces, &[("{name}", "/lake/{name}")], &[]);
}

#[test]
fn a_place_that_is_a_checkpoint_itself_has_its_own_name() {
    let (members, _) = told(&lake(""), &[("lake", &[""])]);
    assert_eq!(members.into_keys().collect::<Vec<_>>(), ["lake"]);
}

#[test]
fn what_is_configured_is_not_doubled_and_keeps_its_name() {
    let own = config(
        "[queries.mine]\ncheckpoint = \"/lake/orders\"\n[queries.clicks]\ncheckpoint = \"/x\"\n\
         [discovery.lake]\nlocation = \"/lake\"",
    );
    check(
        &own,
        &[("lake", &["clicks", "orders", "other"])],
        &[("other", "/lake/other")],
        &[("/lake/clicks", "a configured query has this name")],
    );
}

#[test]
fn of_two_with_one_name_the_first_discovery_and_in_it_the_first_path_wins() {
    let two = config(
        "[discovery.b]\nlocation = \"/b\"\nname = \"{name}\"\n[discovery.a]\nlocation = \"/a\"\nname = \"{name}\"",
    );
    check(
        &two,
        &[("a", &["one/orders", "two/orders"]), ("b", &["clicks", "orders"])],
        &[("clicks", "/b/clicks"), ("orders", "/a/one/orders")],
        &[
            ("/a/two/orders", "the query of /a/one/orders has this name"),
            ("/b/orders", "the query of /a/one/orders has this name"),
        ],
    );
}

#[test]
fn what_two_discoveries_find_is_one_query() {
    let two =
        config("[discovery.all]\nlocation = \"/lake\"\n[discovery.more]\nlocation = \"/lake\"\nname = \"more/{path}\"");
    check(&two, &[("all", &["orders"]), ("more", &["orders"])], &[("orders", "/lake/orders")], &[]);
}

#[test]
fn a_name_that_rules_of_another_discovery_would_take_is_refused() {
    let two = config(
        "[discovery.etl]\nlocation = \"/etl\"\nname = \"etl/{path}\"\nexpected_batch_interval = \"1d\"\n\
         [discovery.lake]\nlocation = \"/lake\"",
    );
    check(
        &two,
        &[("etl", &["a"]), ("lake", &["etl/b", "etlb"])],
        &[("etl/a", "/etl/a"), ("etlb", "/lake/etlb")],
        &[("/lake/etl/b", "alert rules would take it for a query of discovery etl, which has other thresholds")],
    );
}

#[test]
fn all_versions_live_where_that_is_asked_for() {
    let paths: &[(&str, &[&str])] = &[("lake", &["app-001", "app-002", "o_v1", "o_v2"])];
    let names = |settings: &str| told(&lake(settings), paths).0.into_values().collect::<Vec<_>>();
    assert_eq!(names(""), ["/lake/app-001", "/lake/app-002", "/lake/o_v1*", "/lake/o_v2"]);
    assert_eq!(names("versions = \"all\""), ["/lake/app-001", "/lake/app-002", "/lake/o_v1", "/lake/o_v2"]);
    assert_eq!(names("versions = \"numbered\""), ["/lake/app-001*", "/lake/app-002", "/lake/o_v1*", "/lake/o_v2"]);
}

//! `[discovery.…]`.

use crate::config::{
    Config, ConfigFile, Discovery, NameParts, NameTemplate, SourceKind, Versions, effective_toml, load,
};
use crate::judgement::{Subscribe, Watch};

fn of_text(text: &str) -> Config {
    let text =
        format!("[clusters.main]\nbootstrap_servers = \"a\"\n[clusters.other]\nbootstrap_servers = \"b\"\n{text}");
    load(ConfigFile::Text { name: "test", text: &text }, [], &[]).unwrap()
}

fn lake(settings: &str) -> Discovery {
    let text = format!("[discovery.lake]\nlocation = \"/lake\"\ncluster = \"main\"\n{settings}");
    of_text(&text).discoveries["lake"].clone()
}

#[test]
fn what_is_found_has_the_settings_of_its_discovery() {
    let found = lake(
        "subscribe = \"pattern\"\nwatch = \"parked\"\nmax_outage = \"3d\"\n[discovery.lake.sources.1]\nkind = \"ignore\"\n\
         [discovery.lake.sources.payments]\ncluster = \"other\"",
    );
    let defaults = &found.defaults;
    assert_eq!((defaults.subscribe, defaults.watch), (Subscribe::Pattern, Watch::Parked));
    assert_eq!((defaults.cluster.as_str(), defaults.max_outage.as_secs()), ("main", 3 * 86_400));
    assert_eq!(defaults.sources["1"].kind, Some(SourceKind::Ignore));
    assert_eq!(defaults.sources["payments"].cluster, "other");
    assert_eq!((found.versions, found.depth, found.interval.as_secs()), (Versions::Newest, 2, 300));
    assert!(!found.has_own_rules());
}

#[test]
fn lists_of_patterns_can_stand_in_one_text() {
    let found = lake("include = \"prod/**, stage/**\"\nexclude = \"**/tmp*\"");
    assert_eq!(
        (found.include, found.exclude),
        (vec!["prod/**".to_owned(), "stage/**".to_owned()], vec!["**/tmp*".to_owned()])
    );
}

#[test]
fn own_thresholds_need_own_rules() {
    assert!(lake("name = \"lake/{path}\"\nexpected_batch_interval = \"1h\"").has_own_rules());
    assert!(lake("name = \"lake/{path}\"\n[discovery.lake.alerts]\nstalled_after = 5").has_own_rules());
    assert!(!lake("max_outage = \"1h\"").has_own_rules());
}

#[test]
fn names_are_made_of_what_is_found() {
    let check = |template: &str, expected: &str| {
        let template = NameTemplate::parse(template).unwrap();
        let parts = NameParts { path: "team/orders_v2", family: "team/orders" };
        assert_eq!(template.name(parts), expected);
    };
    check("{path}", "team/orders_v2");
    check("lake/{name}", "lake/orders_v2");
    check("{family} of {name}!", "team/orders of orders_v2!");
    let template = NameTemplate::parse("lake/{path}").unwrap();
    assert_eq!(template.prefix(), "lake/");
    assert_eq!(template.name(NameParts { path: "{name}", family: "x" }), "lake/{name}");
}

#[test]
fn a_template_without_sense_is_refused() {
    for (text, words) in [
        ("", "would give all queries one name"),
        ("lake", "would give all queries one name"),
        ("{path", "brace"),
        ("path}", "brace"),
        ("{path}}", "brace"),
        ("{{path}}", "knows no {{path}"),
        ("{paht}", "did you mean \"path\"?"),
    ] {
        let problem = NameTemplate::parse(text).unwrap_err();
        assert!(problem.contains(words), "{text}: {problem}");
    }
}

#[test]
fn what_is_printed_is_the_same_discovery_again() {
    let config = of_text(
        "[discovery.lake]\nlocation = \"/lake\"\ncluster = \"main\"\nname = \"lake/{family}\"\ninclude = [\"a/*\"]\n\
         versions = \"all\"\ninterval = \"1h\"\nlag_floor = 3\n[discovery.lake.alerts]\nrisk_critical = 0.1\n\
         [discovery.lake.sources.0]\ncluster = \"other\"",
    );
    let printed = effective_toml(&config);
    let again = load(ConfigFile::Text { name: "printed", text: &printed }, [], &[]).unwrap();
    assert_eq!(again.discoveries, config.discoveries, "{printed}");
}

#[test]
fn one_bucket_name_on_two_servers_is_two_places() {
    let text = |second: &str| {
        format!(
            "[stores.one]\nkind = \"s3\"\nendpoint = \"https://one\"\n[stores.two]\nkind = \"s3\"\nendpoint = \"https://{second}\"\n\
             [clusters.main]\nbootstrap_servers = \"a\"\n\
             [queries.a]\ncheckpoint = \"s3a://lake/cp\"\nstore = \"one\"\n[queries.b]\ncheckpoint = \"s3://lake/cp\"\nstore = \"two\""
        )
    };
    let loaded = |second: &str| load(ConfigFile::Text { name: "test", text: &text(second) }, [], &[]);
    assert_eq!(loaded("two").unwrap().queries.len(), 2);
    assert!(loaded("one").unwrap_err().to_string().contains("is the checkpoint of query \"a\" already"));
}

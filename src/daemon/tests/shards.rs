//! Which of a fleet's queries and clusters one shard goes over.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::{Config, ConfigFile, load};
use crate::daemon::fleet::Fleet;
use crate::shard::Shard;

const SHARDS: u32 = 3;

/// Twelve queries: ten on `main`, one that only reads `far`, one that reads both.
fn config(more: &str) -> Config {
    let mut text = "[clusters.main]\nbootstrap_servers = \"localhost:1\"\n[clusters.far]\n\
                    bootstrap_servers = \"localhost:1\"\n"
        .to_owned();
    for number in 0..10 {
        text += &format!("[queries.q{number}]\ncheckpoint = \"/own/{number}\"\ncluster = \"main\"\n");
    }
    text += "[queries.distant]\ncheckpoint = \"/own/distant\"\ncluster = \"far\"\n\
             [queries.both]\ncheckpoint = \"/own/both\"\ncluster = \"main\"\n\
             [queries.both.sources.1]\ncluster = \"far\"\n";
    text += more;
    load(ConfigFile::Text { name: "test", text: &text }, [], &[]).unwrap()
}

fn shard(ordinal: u32) -> Shard {
    Shard::new(ordinal, SHARDS).unwrap()
}

fn fleet(config: &Config, shard: Shard) -> Fleet {
    Fleet::new(config.clone(), shard).unwrap()
}

/// The queries that each cluster's rounds are told of.
fn told(fleet: &Fleet) -> BTreeMap<String, BTreeSet<String>> {
    let names =
        |targets: &crate::rounds::ClusterTarget| targets.queries.iter().map(|query| query.name.clone()).collect();
    fleet.clusters().iter().map(|(cluster, targets)| (cluster.clone(), names(&targets.borrow()))).collect()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[tokio::test]
async fn together_the_shards_watch_what_one_process_would_and_none_of_it_twice() {
    let lake = "[discovery.lake]\nlocation = \"/lake\"\ncluster = \"main\"\nname = \"lake/{path}\"";
    let config = config(lake);
    let found: BTreeSet<String> = (0..30).map(|number| format!("team/{number:02}")).collect();
    let watched = |shard| {
        let mut fleet = fleet(&config, shard);
        let watched = fleet.take("lake", &found).watched;
        (told(&fleet), watched)
    };
    let (whole, all) = watched(Shard::whole());
    assert_eq!((all, whole["main"].len(), whole["far"].len()), (30, 41, 2));
    let parts: Vec<_> = (0..SHARDS).map(|ordinal| watched(shard(ordinal))).collect();
    assert_eq!(parts.iter().map(|(_, watched)| watched).sum::<usize>(), 30);
    for (cluster, whole) in &whole {
        let of_cluster = |part: &BTreeMap<String, BTreeSet<String>>| part.get(cluster).cloned().unwrap_or_default();
        let parts: Vec<BTreeSet<String>> = parts.iter().map(|(part, _)| of_cluster(part)).collect();
        assert_eq!(parts.iter().map(BTreeSet::len).sum::<usize>(), whole.len(), "{cluster}: none twice");
        assert_eq!(&parts.into_iter().flatten().collect::<BTreeSet<_>>(), whole, "{cluster}: none left out");
    }
}

#[tokio::test]
async fn a_cluster_that_none_of_the_shard_s_queries_reads_is_left_alone() {
    let config = config("");
    let held = |shard: Shard| ["distant", "both"].into_iter().any(|name| shard.holds(name));
    let clusters = |shard| told(&fleet(&config, shard)).into_keys().collect::<BTreeSet<_>>();
    assert_eq!(clusters(Shard::whole()), names(&["far", "main"]));
    let without: Vec<Shard> = (0..SHARDS).map(shard).filter(|shard| !held(*shard)).collect();
    assert!(!without.is_empty(), "or the next line says nothing");
    for shard in without {
        assert_eq!(clusters(shard), names(&["main"]), "{shard}");
        assert_eq!(fleet(&config, shard).clients.keys().cloned().collect::<BTreeSet<_>>(), names(&["main"]));
    }
}

#[tokio::test]
async fn a_cluster_is_watched_from_the_moment_that_a_query_is_found_which_reads_it() {
    let lake = "[clusters.new]\nbootstrap_servers = \"localhost:1\"\n[discovery.lake]\nlocation = \"/lake\"\ncluster = \"new\"";
    let config = config(lake);
    let mine = (0..).map(|number| format!("found-{number}")).find(|name| shard(2).holds(name)).unwrap();
    let other = (0..).map(|number| format!("found-{number}")).find(|name| !shard(2).holds(name)).unwrap();
    let mut fleet = fleet(&config, shard(2));
    assert!(!told(&fleet).contains_key("new"));
    fleet.take("lake", &[other.clone()].into());
    assert!(!told(&fleet).contains_key("new"), "another shard's");
    fleet.take("lake", &[mine.clone(), other].into());
    assert_eq!(told(&fleet)["new"], names(&[&mine]));
    // One that began is not taken from under its rounds, until the configuration changes.
    fleet.take("lake", &BTreeSet::new());
    assert_eq!(told(&fleet)["new"], names(&[]));
    assert!(!told(&fleet.after(config).unwrap()).contains_key("new"));
}

#[tokio::test]
async fn a_configuration_that_is_read_again_is_cut_as_before() {
    let (before, shard) = (config(""), shard(1));
    let mut text = String::new();
    for number in 10..40 {
        text += &format!("[queries.q{number}]\ncheckpoint = \"/own/{number}\"\ncluster = \"main\"\n");
    }
    let after = config(&text);
    let next = fleet(&before, shard).after(after.clone()).unwrap();
    next.announce();
    assert_eq!(told(&next), told(&fleet(&after, shard)));
    assert!(told(&next)["main"].iter().all(|name| shard.holds(name)));
    assert!(told(&next)["main"].len() > told(&fleet(&before, shard))["main"].len());
}

#[tokio::test]
async fn a_cluster_whose_last_query_left_the_configuration_is_let_go_and_another_begins() {
    let alone = |query: &str, cluster: &str| {
        let text = format!(
            "[clusters.one]\nbootstrap_servers = \"localhost:1\"\n[clusters.two]\nbootstrap_servers = \"localhost:1\"\n\
             [queries.{query}]\ncheckpoint = \"/own\"\ncluster = \"{cluster}\""
        );
        load(ConfigFile::Text { name: "test", text: &text }, [], &[]).unwrap()
    };
    let shard = shard(1);
    // By the table of the shards' own test, orders is held by 1 and payments is not.
    let first = fleet(&alone("orders", "one"), shard);
    assert_eq!(told(&first).into_keys().collect::<Vec<_>>(), ["one"]);
    let second = first.after(alone("orders", "two")).unwrap();
    assert_eq!(told(&second).into_keys().collect::<Vec<_>>(), ["two"]);
    let third = second.after(alone("payments", "two")).unwrap();
    assert_eq!(told(&third).into_keys().collect::<Vec<_>>(), Vec::<String>::new());
}

#[tokio::test]
async fn names_are_given_among_all_queries_not_among_the_shard_s() {
    // A checkpoint that is configured under another name is no second query, though another shard watches it; and a
    // name that is taken stays taken.
    let lake = "[discovery.lake]\nlocation = \"/own\"\ncluster = \"main\"";
    let config = config(lake);
    let found: BTreeSet<String> = ["0", "q1", "fresh"].into_iter().map(str::to_owned).collect();
    let mut fresh = 0;
    for shard in (0..SHARDS).map(shard) {
        let mut fleet = fleet(&config, shard);
        let taken = fleet.take("lake", &found);
        assert_eq!(taken.refused, 1, "{shard}: q1 is a configured query's name, and every shard says so");
        fresh += taken.watched;
        assert!(!told(&fleet).values().flatten().any(|name| name == "0"), "{shard}");
    }
    assert_eq!(fresh, 1);
}

//! What the pages of one shard say of the others.

use super::*;

/// The same pages, of a process that watches only a part of the fleet.
fn of_shard(mut served: Served, ordinal: u32, count: u32) -> Served {
    let sources = served.state.0.sources.clone();
    served.state = WebState::new(Sources { shard: Shard::new(ordinal, count).unwrap(), ..sources });
    served.limit(super::super::serve::LIMITS);
    served
}

fn fixture_round() -> ClusterRound {
    let mut round = fixture::round();
    round.queries.retain(|name, _| Shard::new(1, 3).unwrap().holds(name));
    round
}

#[test]
fn every_page_says_which_shard_it_is_of() {
    let served = of_shard(Served::with(fixture_round()), 1, 3);
    for path in ["/", "/gaps", "/queries/none"] {
        let text = served.get(path).text();
        assert!(text.contains("<br>Shard 1 of 3, counted from 0<"), "{path}: {text}");
    }
    assert!(served.get("/").text().contains(" of this shard on 1 cluster, "));
}

#[test]
fn a_fleet_that_is_whole_does_not_speak_of_shards() {
    let served = Served::with(fixture::round());
    for path in ["/", "/gaps", "/queries/none"] {
        assert!(!served.get(path).text().to_lowercase().contains("shard"), "{path}");
    }
}

#[test]
fn a_page_of_another_shard_s_query_says_where_it_is() {
    let served = of_shard(Served::with(fixture_round()), 1, 3);
    // By the table of the shards' own test, payments is watched by 0 and orders by 1.
    let elsewhere = served.get("/queries/payments");
    assert_eq!(elsewhere.status, 404);
    assert!(elsewhere.text().contains("If one of this name is configured, shard 0 watches it, and its page is there."));
    let nowhere = served.get("/queries/orders_of_nobody");
    assert_eq!(nowhere.status, 404);
    let holder = Shard::new(1, 3).unwrap().holder("orders_of_nobody");
    assert_eq!(nowhere.text().contains("watches it"), holder != 1);
}

#[test]
fn a_shard_without_a_query_says_that_others_watch_them() {
    let text = of_shard(Served::empty(), 4, 9).get("/").text();
    assert!(text.contains("<h1>No query is this shard’s</h1>"), "{text}");
    assert!(text.contains("The other shards watch those that are configured."), "{text}");
    assert!(!text.contains("No query is configured yet"), "{text}");
}

#[test]
fn a_shard_that_is_well_does_not_speak_for_the_fleet() {
    let mut round = fixture::round();
    let judged = verdict(QueryState::Behind, &[("t", vec![partition(5_000, 0, 10_000)])]);
    round.queries = [("orders".to_owned(), fixture::query(judged))].into();
    let text = of_shard(Served::with(round), 1, 3).get("/").text();
    assert!(text.contains("<h1>All queries of this shard are safe.</h1>"), "{text}");
}

//! The API's answers against its own document.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::measures::{Reason, Unread};
use crate::metrics::snapshot::{DiscoveryRound, History, Polls};

/// Fails when an answer has more or less than the document says.
fn check(document: &Value, schema: &str, answer: &Value) {
    let whole = json!({"$ref": format!("#/components/schemas/{schema}"), "components": document["components"]});
    let errors: Vec<String> = jsonschema::validator_for(&whole)
        .unwrap()
        .iter_errors(answer)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{schema}: {errors:?}\n{answer:#}");
}

fn rich() -> ClusterRound {
    let mut round = fixture::round();
    let mut history = History::default();
    history.note(fixture::ago(120), Some(-5), None);
    history.note(fixture::ago(60), None, Some(7));
    round.queries.get_mut("orders-enriched").unwrap().history = Arc::new(history);
    round
}

#[test]
fn every_answer_is_as_the_document_says() {
    let served = Served::with(rich());
    served.note_gap(3, 10, 20);
    let document = served.get("/api/v1/openapi.json").json();
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    check(&document, "Queries", &served.get("/api/v1/queries").json());
    check(&document, "Targets", &served.get("/api/v1/targets").json());
    let gaps = served.get("/api/v1/gaps").json();
    assert_eq!(gaps["gaps"].as_array().unwrap().len(), 1);
    check(&document, "Gaps", &gaps);
    check(&document, "Missing", &served.get("/api/v1/queries/ordres").json());
    for name in rich().queries.keys() {
        for span in ["", "?span=7d"] {
            check(&document, "OneQuery", &served.get(&format!("/api/v1/queries/{name}{span}")).json());
        }
    }
    let mut old = rich();
    old.finished_at = Some(fixture::ago(86_400));
    let aged = Served::with(old);
    check(&document, "OneQuery", &aged.get("/api/v1/queries/orders-enriched").json());
}

#[test]
fn a_place_that_is_looked_through_is_a_target_like_every_other() {
    let served = Served::with(rich());
    let document = served.get("/api/v1/openapi.json").json();
    served.board.set_discovery(DiscoveryRound::waiting("lake"));
    let of_lake = || {
        let answer = served.get("/api/v1/targets").json();
        check(&document, "Targets", &answer);
        let found = answer["targets"].as_array().unwrap().iter().filter(|each| each["discovery"] == "lake");
        let found: Vec<&Value> = found.collect();
        assert_eq!(found.len(), 1, "{answer:#}");
        found[0].clone()
    };
    assert_eq!(
        of_lake(),
        json!({"kind": "discovery", "kafka_cluster": null, "query": null, "discovery": "lake", "up": false, "polls": 0,
               "last_attempt": null, "last_success": null, "last_error": null, "next_poll": null,
               "abilities": null})
    );
    let polls = Polls {
        total: 3,
        last_attempt: Some(NOW),
        last_success: Some(fixture::ago(300)),
        failure: Some(Unread::new(Reason::Denied, "AccessDenied")),
        ..Polls::default()
    };
    let next_look = Some(NOW.plus(Duration::from_secs(300)));
    served.board.set_discovery(DiscoveryRound { polls, next_look, ..DiscoveryRound::waiting("lake") });
    let looked = of_lake();
    assert_eq!(looked["last_error"], json!({"reason": "denied", "detail": "AccessDenied"}));
    assert_eq!(looked["next_poll"], "2026-11-30T02:58:08.000Z");
    assert_eq!(looked["polls"], 3);
}

#[test]
fn the_document_can_refuse() {
    let served = Served::with(rich());
    let document = served.get("/api/v1/openapi.json").json();
    let refused = |change: fn(&mut Value)| {
        let mut answer = served.get("/api/v1/queries/orders-enriched").json();
        change(&mut answer);
        let whole = json!({"$ref": "#/components/schemas/OneQuery", "components": document["components"]});
        assert!(!jsonschema::is_valid(&whole, &answer), "{answer:#}");
    };
    refused(|answer| answer["clusters"][0]["surprise"] = json!(1));
    refused(|answer| drop(answer["clusters"][0].as_object_mut().unwrap().shift_remove("restart")));
    refused(|answer| answer["clusters"][0]["partitions"][0]["lag_offsets"] = json!(-1));
    refused(|answer| answer["clusters"][0]["state"] = json!("fine"));
}

#[test]
fn every_path_of_the_document_is_answered_and_every_answer_of_the_api_is_in_it() {
    let served = Served::with(rich());
    let document = served.get("/api/v1/openapi.json").json();
    let paths: BTreeSet<&str> = document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    for path in &paths {
        assert_eq!(served.get(&path.replace("{query}", "orders-enriched")).status, 200, "{path}");
    }
    let routed: BTreeSet<&str> =
        include_str!("../mod.rs").split('"').filter(|text| text.starts_with("/api/")).collect();
    assert_eq!(paths, routed);
}

#[test]
fn an_answer_that_the_asker_has_is_not_sent_again() {
    let served = Served::with(rich());
    for path in [
        "/api/v1/queries",
        "/api/v1/queries/orders-enriched",
        "/api/v1/gaps",
        "/api/v1/targets",
        "/api/v1/openapi.json",
    ] {
        let etag = served.get(path).header("etag").to_owned();
        assert!(etag.starts_with("W/\""), "{path}: {etag}");
        assert_eq!(served.status_if_not(path, &etag), 304, "{path}");
        assert_eq!(served.status_if_not(path, "W/\"other\""), 200, "{path}");
        let packed = served.ask("GET", path, "gzip");
        assert_eq!(packed.header("etag"), etag, "{path}: compressed or not, the content is the same");
    }
    let before = served.get("/api/v1/queries").header("etag").to_owned();
    let mut next = rich();
    next.queries.remove("returns");
    served.board.publish(next);
    assert_eq!(served.status_if_not("/api/v1/queries", &before), 200, "something changed");
}

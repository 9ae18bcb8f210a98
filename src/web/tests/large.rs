//! Pages of large fleets stay small: held by bytes, since seconds depend on the machine.

use std::sync::Arc;

use super::*;
use crate::metrics::snapshot::History;

fn with_history(query: QueryRound) -> QueryRound {
    let mut history = History::default();
    for minute in (0..360).rev() {
        history.note(fixture::ago(minute * 60), i64::try_from(1_000_000 + minute).ok(), Some(minute));
    }
    QueryRound { history: Arc::new(history), ..query }
}

#[test]
fn a_thousand_queries_make_pages_of_two_hundred() {
    let mut round = fixture::round();
    round.queries = (0..1_000)
        .map(|number| {
            let judged = verdict(QueryState::Behind, &[("t", vec![partition(1, 0, 2)])]);
            (format!("query-{number:04}"), with_history(fixture::query(judged)))
        })
        .collect();
    let served = Served::with(round);
    let first = served.get("/").text();
    assert_eq!(first.matches("<tr role=\"row\" class=\"good\">").count(), 200);
    assert_eq!(first.matches("<svg class=\"spark").count(), 200);
    assert!(first.len() < 700_000, "{}", first.len());
    let packed = served.ask("GET", "/", "gzip");
    assert_eq!(packed.header("content-encoding"), "gzip");
    assert!(packed.body.len() < 40_000, "{}", packed.body.len());
    assert!(first.contains("1 to 200 of 1,000"));
    let last = served.get("/?page=5").text();
    assert!(last.contains("query-0999") && last.contains("801 to 1000 of 1,000"));
    assert_eq!(served.get("/?page=99").text(), last, "beyond the last is the last");
}

#[test]
fn a_topic_of_many_partitions_shows_all_as_cells_and_the_worst_ten_in_rows() {
    let mut round = fixture::round();
    let mut partitions: Vec<_> = (0..2_000).map(|number| partition(5_000 + number, 0, 10_000)).collect();
    partitions[1_377].ratio = Some(0.1);
    partitions[812] = fixture::blind();
    let judged = verdict(QueryState::AtRisk, &[("t", partitions)]);
    round.queries = [("q".to_owned(), with_history(fixture::query(judged)))].into();
    let served = Served::with(round);
    let rows = |text: &str| text.matches("class=\"c-pic\"><svg class=\"log\"").count();
    let text = served.get("/queries/q").text();
    assert_eq!(rows(&text), 10);
    assert!(text.contains("2,000 partitions: lost, or below 20 %: 1 (1377), unknown: 1 (812), above: 1,998"), "{text}");
    assert!(text.len() < 120_000, "{}", text.len());
    assert!(served.ask("GET", "/queries/q", "gzip").body.len() < 20_000);
    assert!(text.find("</svg>1377 ").unwrap() < text.find("</svg>812 ").unwrap(), "worst first");
    let page = served.get("/queries/q?topic=t&page=20").text();
    assert_eq!(rows(&page), 100);
    assert!(page.contains("Page 20 of 20, worst first."));
    assert_eq!(rows(&served.get("/queries/q?topic=other&page=2").text()), 10);
    let csv = served.get("/api/v1/queries/q?format=csv").text();
    assert_eq!(csv.lines().count(), 2_001);
    assert!(csv.contains("ingest-eu,t,812,unknown,5,,,,,,,,,,,\r\n"), "unknown is an empty cell");
}

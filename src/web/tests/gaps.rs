//! The gaps page, and gaps on a query's page.

use super::*;
use crate::judgement::Certainty;
use crate::ledger::{Gap, RecoveryStatus, RoundNotes};

impl Served {
    /// A gap that a round found.
    pub(super) fn note_gap(&self, partition: i32, from: i64, to: i64) {
        let gap = Gap {
            id: None,
            stream_name: "orders-enriched".to_owned(),
            kafka_cluster: "ingest-eu".to_owned(),
            topic: "orders".to_owned(),
            topic_id: None,
            partition,
            from,
            to,
            certainty: Certainty::Certain,
            detected_at: fixture::ago(2_280),
            first_missing_at: Some(fixture::ago(604_800)),
            last_missing_at: None,
            recovery_path: None,
            recovery_status: RecoveryStatus::Open,
            evidence: "earliest passed the committed offset".to_owned(),
            recorded_by: "brinkwatch".to_owned(),
        };
        let notes = RoundNotes {
            cluster: "ingest-eu".to_owned(),
            at: NOW,
            memories: [].into(),
            findings: vec![gap],
            events: Vec::new(),
            acknowledged: Vec::new(),
        };
        self.runtime.as_ref().unwrap().block_on(self.ledger.remember(notes));
    }
}

#[test]
fn gaps_of_one_topic_stand_together_with_their_ranges() {
    let served = Served::with(fixture::round());
    served.note_gap(3, 39_584_558, 39_588_758);
    served.note_gap(5, 39_048_093, 39_050_393);
    let text = served.get("/gaps").text();
    for said in [
        "<title>2 gaps are open · Brinkwatch</title>",
        "<b>6,500</b><small>certain</small>",
        "<summary>2 partitions</summary>",
        "orders 3: 39,584,558 … 39,588,757 (4,200)",
        "orders 5: 39,048,093 … 39,050,392 (2,300)",
        "<a href=\"/queries/orders-enriched\">orders-enriched</a>",
        "for 38 min",
        "earliest passed the committed offset",
        "none chosen yet",
        "<a href=\"/gaps\" aria-current=\"page\">",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    assert!(served.get("/gaps?q=payments").text().contains("No gap matches"));
    assert!(served.get("/gaps?status=accepted").text().contains("No gap matches"));
    // This ledger ends with the process, and no command can read it.
    assert!(text.contains("No ledger is kept (state_dir is empty)") && !text.contains("gaps list"), "{text}");
    let query = served.get("/queries/orders-enriched").text();
    assert!(query.contains("2 gaps are recorded.") && query.contains("orders 5: 39,048,093"), "{query}");
}

#[test]
fn no_gap_is_told_apart_from_no_answer() {
    let mut served = Served::with(fixture::round());
    assert!(served.get("/gaps").text().contains("<title>No gap is recorded"));
    served.ledger = Arc::new(MemoryLedger::default());
    let text = served.get("/gaps").text();
    assert!(text.contains("The gap records cannot be read") && !text.contains("No gap"), "{text}");
    assert_eq!(served.get("/api/v1/gaps").status, 503);
    assert!(served.get("/queries/orders-enriched").text().contains("Not known: the ledger does not answer."));
}

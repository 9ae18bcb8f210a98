//! `brinkwatch gaps`, as people run it, beside a ledger that a daemon keeps.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use brinkwatch::judgement::{Certainty, QueryMemory};
use brinkwatch::ledger::{DatabaseLedger, Finding, Ledger, RecoveryStatus, RoundNotes, Written};
use brinkwatch::measures::Moment;
use serde_json::Value;

const NOW: Moment = Moment::from_millis(1_796_007_188_000);

fn finding() -> Finding {
    Finding {
        id: None,
        stream_name: "orders".to_owned(),
        kafka_cluster: "main".to_owned(),
        topic: "orders".to_owned(),
        topic_id: Some("0f".repeat(16)),
        partition: 3,
        from: 120,
        to: 500,
        certainty: Certainty::Certain,
        detected_at: NOW,
        first_missing_at: None,
        last_missing_at: None,
        recovery_path: None,
        recovery_status: RecoveryStatus::Open,
        evidence: "committed 120, earliest 500".to_owned(),
        recorded_by: "brinkwatch".to_owned(),
    }
}

fn gaps(folder: &Path, args: &[&str]) -> Output {
    let state_dir = format!("state_dir={}", folder.display());
    Command::new(env!("CARGO_BIN_EXE_brinkwatch"))
        .arg("gaps")
        .args(args)
        .args(["--set", &state_dir, "--config", "/dev/null"])
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn refused(output: &Output, code: i32, words: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains(words), "{stderr}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_looks_at_a_gap_settles_it_and_acknowledges_a_state_while_the_daemon_runs() {
    let folder = tempfile::tempdir().unwrap();
    refused(&gaps(folder.path(), &["list"]), 3, "there is no ledger at");

    let opened = DatabaseLedger::open(folder.path()).await.unwrap();
    tokio::spawn(opened.writer);
    let memories = BTreeMap::from([("orders".to_owned(), QueryMemory::default())]);
    let round = RoundNotes {
        cluster: "main".to_owned(),
        at: NOW,
        memories: Written::default().changes(&memories).unwrap(),
        findings: vec![finding()],
        events: Vec::new(),
        acknowledged: Vec::new(),
    };
    opened.ledger.remember(round).await;

    let listed: Value = serde_json::from_str(&said(&gaps(folder.path(), &["list", "--output", "json"]))).unwrap();
    assert_eq!(listed["version"], 1);
    assert_eq!(listed["gaps"][0]["missing_from_offset"], 120);
    assert_eq!(listed["gaps"][0]["recovery_path"], Value::Null);
    assert_eq!(listed["gaps"][0]["detected_at"], "2026-11-30T02:53:08.000Z");
    assert!(said(&gaps(folder.path(), &["show", "1"])).contains("missing: [120, 500), 380 offsets at most"));
    refused(&gaps(folder.path(), &["show", "7"]), 2, "there is no gap 7");

    let by = ["--evidence", "ticket 4711", "--by", "anna"];
    let resolve = ["resolve", "1", "--path", "backfill", "--status", "backfilled"];
    assert_eq!(said(&gaps(folder.path(), &[&resolve[..], &by].concat())), "gap 1 is backfilled\n");
    assert_eq!(said(&gaps(folder.path(), &["list"])), "no gaps\n");
    assert!(said(&gaps(folder.path(), &["list", "--all", "--output", "csv"])).contains(",backfill,backfilled,anna\n"));
    refused(
        &gaps(folder.path(), &[&["resolve", "1", "--path", "backfill", "--status", "open"][..], &by].concat()),
        2,
        "open",
    );

    let acknowledge = ["acknowledge", "orders", "--topic", "orders"];
    let answer = said(&gaps(folder.path(), &[&acknowledge[..], &by].concat()));
    assert_eq!(answer, "acknowledged; the next round of main hears of it\n");
    assert_eq!(opened.ledger.acknowledgements("main").await.len(), 1);
    refused(&gaps(folder.path(), &[&["acknowledge", "order"][..], &by].concat()), 2, "it knows orders");
}

//! A query that nobody knows is refused by every command, with the names that are most like it. "None" and "nothing" are
//! never said of a name that was mistyped.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::process::{Command, Output};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let set = [
        format!("state_dir={}", folder.join("state").display()),
        "clusters.main.bootstrap_servers=127.0.0.1:1".to_owned(),
        "queries.orders.cluster=main".to_owned(),
        format!("queries.orders.checkpoint={}", folder.join("checkpoint").display()),
    ];
    let set = set.iter().flat_map(|setting| ["--set", setting]);
    Command::new(env!("CARGO_BIN_EXE_brinkwatch"))
        .args(arguments)
        .args(["--config", "/dev/null"])
        .args(set)
        .output()
        .unwrap()
}

#[test]
fn a_name_that_nobody_has_is_refused_with_the_nearest_ones() {
    let folder = tempfile::tempdir().unwrap();
    let sink = folder.path().join("sink.csv");
    std::fs::write(&sink, "topic,partition,max_offset\norders,0,5\n").unwrap();
    let sink = sink.to_str().unwrap();
    // The ledger begins with the first record.
    let by_hand = ["gaps", "record", "orders", "--topic", "orders", "--partition", "0", "--from", "1", "--to", "2"];
    let made = run(folder.path(), &[&by_hand[..], &["--evidence", "INC-1"]].concat());
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for arguments in [
        &["check", "ordres"][..],
        &["check", "orders", "ordres"],
        &["starting-offsets", "ordres", "--at", "committed"],
        &["verify", "ordres", "--sink-offsets", sink],
        &["size", "ordres"],
        &["gaps", "record", "ordres", "--found", "--evidence", "INC-1"],
        &["gaps", "list", "--query", "ordres"],
        &["gaps", "export", "--query", "ordres"],
        &["gaps", "backfill", "ordres"],
        &["record", "ordres", "--for", "1s"],
    ] {
        let done = run(folder.path(), arguments);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains("\"ordres\"") && said.contains("did you mean \"orders\"?"), "{arguments:?}: {said}");
        assert!(done.stdout.is_empty(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stdout));
    }
    let acknowledged = run(folder.path(), &["gaps", "acknowledge", "ordres", "--evidence", "INC-1", "--by", "anna"]);
    assert_eq!(acknowledged.status.code(), Some(2), "{}", String::from_utf8_lossy(&acknowledged.stderr));
}

#[test]
fn a_query_that_is_known_and_has_no_record_has_none() {
    let folder = tempfile::tempdir().unwrap();
    let by_hand = ["gaps", "record", "orders", "--topic", "orders", "--partition", "0", "--from", "1", "--to", "2"];
    let made = run(folder.path(), &[&by_hand[..], &["--evidence", "INC-1", "--output", "json"]].concat());
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let listed = run(folder.path(), &["gaps", "list", "--query", "orders"]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains("orders"), "{listed:?}");
    let resolved = ["gaps", "resolve", "1", "--path", "backfill", "--status", "backfilled", "--evidence", "x"];
    assert!(run(folder.path(), &[&resolved[..], &["--by", "anna"]].concat()).status.success());
    let none = run(folder.path(), &["gaps", "list", "--query", "orders"]);
    assert_eq!((none.status.code(), none.stdout.as_slice()), (Some(0), &b"no gaps\n"[..]));
    let filled = run(folder.path(), &["gaps", "backfill", "orders"]);
    assert_eq!((filled.status.code(), filled.stdout.as_slice()), (Some(0), &b"no gap of orders is open\n"[..]));
}

//! `brinkwatch inspect` as people and programs meet it.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::process::{Command, Output};

use checkpoints::{cases, expected, laid_out};

mod checkpoints;

/// A case with its file times, and its path as an argument.
fn fixture(name: &str) -> (tempfile::TempDir, String) {
    let case = cases().into_iter().find(|case| case.ends_with(name)).unwrap();
    let copy = laid_out(&case, &expected(&case));
    let path = copy.path().to_str().unwrap().to_owned();
    (copy, path)
}

fn inspect(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_brinkwatch")).arg("inspect").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn rows_hold_a_partition_each() {
    let (_copy, path) = fixture("killed-mid-batch-spark43");
    let csv = inspect(&[&path, "--output", "csv"]);
    assert_eq!(csv.status.code(), Some(0));
    insta::assert_snapshot!(text(&csv.stdout), @r"
    source,topic,partition,committed,start,planned,committed_from,planned_from
    0,kill-43,0,18,,27,offsets/1,offsets/2
    0,kill-43,1,18,,27,offsets/1,offsets/2
    0,kill-43,2,22,,33,offsets/1,offsets/2
    ");
    let markdown = inspect(&[&path, "--output", "markdown"]);
    insta::assert_snapshot!(text(&markdown.stdout), @r"
    | source | topic | partition | committed | start | planned | committed_from | planned_from |
    | --- | --- | ---: | ---: | --- | ---: | --- | --- |
    | 0 | kill-43 | 0 | 18 |  | 27 | offsets/1 | offsets/2 |
    | 0 | kill-43 | 1 | 18 |  | 27 | offsets/1 | offsets/2 |
    | 0 | kill-43 | 2 | 22 |  | 33 | offsets/1 | offsets/2 |
    ");
}

#[test]
fn the_table_says_what_matters_before_the_partitions() {
    let (_copy, path) = fixture("recreated-restart-loop-spark43");
    let table = inspect(&[&path]);
    assert_eq!(table.status.code(), Some(0));
    let stdout = text(&table.stdout).replace(&path, "/checkpoint");
    insta::assert_snapshot!(stdout, @r"
    checkpoint    file:///checkpoint
    query         ff7600ba-8ac2-4a37-a27f-54ee867d326b
    planned       batch 1 at 2026-11-30T03:33:02.246Z
    committed     batch 0 at 2026-11-30T03:32:57.348Z
    open batch    yes
    restartable   cannot tell
    problem       planned_below_committed (offsets/1): source 0: the open batch ends before it starts, as after a topic was made anew or cut; each start with failOnDataLoss fails on it: loop-43/0 from 60 to 20

    SOURCE  TOPIC    PARTITION  COMMITTED  START  PLANNED  COMMITTED_FROM  PLANNED_FROM
    0       loop-43          0         60  -           20  offsets/0       offsets/1
    ");
}

#[test]
fn the_exit_code_and_one_line_say_why_nothing_was_read() {
    let missing = inspect(&["/nowhere/at/all", "--output", "json"]);
    assert_eq!(missing.status.code(), Some(3));
    assert_eq!(text(&missing.stdout), "");
    assert_eq!(
        text(&missing.stderr),
        "brinkwatch: checkpoint not read: not_found: file:///nowhere/at/all: no checkpoint here (no metadata, no offsets, no sources)\n"
    );
    let foreign = inspect(&["ftp://somewhere/x"]);
    assert_eq!(foreign.status.code(), Some(2));
    assert_eq!(
        text(&foreign.stderr),
        "brinkwatch: this location can not be opened: locations of the kind \"ftp:\" are not supported\n"
    );
    assert_eq!(inspect(&[]).status.code(), Some(2));
    assert_eq!(inspect(&["/x", "--output", "yaml"]).status.code(), Some(2));
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let (_copy, path) = fixture("partitions-1000-spark43");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = Command::new(env!("CARGO_BIN_EXE_brinkwatch"))
        .args(["inspect", &path, "--output", "json"])
        .stdout(writer)
        .output()
        .unwrap();
    assert_eq!((ended.status.code(), text(&ended.stderr)), (Some(0), ""));
}

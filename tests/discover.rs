//! `discover` on a tree with every layout there is.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::Command;

use brinkwatch::config::{ConfigFile, load};

fn checkpoint(root: &Path, path: &str) {
    for directory in ["offsets", "commits", "sources/0/offsets", "state/0/0"] {
        fs::create_dir_all(root.join(path).join(directory)).unwrap();
    }
    fs::write(root.join(path).join("metadata"), "{\"id\":\"x\"}").unwrap();
}

fn tree() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for path in [
        "orders",
        "Team A/clicks",
        "Team A/deep/er/than/three",
        "payments_v1",
        "payments_v2",
        "payments_v10",
        "etl/_checkpoints/cat/sch/table/flow/0",
        "etl/_checkpoints/cat/sch/table/flow/1",
        "table/_dlt_metadata/checkpoints/flow/0",
        "table/_dlt_metadata/checkpoints/flow/10",
        "table/_dlt_metadata/checkpoints/flow/9",
        "tmp_x",
        "2024",
        "2025",
        // no root is entered, nor what tables and writers keep for themselves
        "orders/state/0",
        "orders/orders_v2",
        ".Trash/orders",
        "__tmp_path_dir/orders",
        "table/_delta_log/orders",
    ] {
        checkpoint(root.path(), path);
    }
    // a source that keeps a log with a name like a checkpoint's, and directories that are none
    checkpoint(root.path(), "orders/sources/1");
    fs::create_dir_all(root.path().join("table/_spark_metadata")).unwrap();
    fs::create_dir_all(root.path().join("half/offsets")).unwrap();
    // a query that planned no batch yet
    fs::create_dir_all(root.path().join("fresh/sources/0")).unwrap();
    fs::write(root.path().join("fresh/metadata"), "{\"id\":\"x\"}").unwrap();
    root
}

fn discover(root: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let location = root.to_str().unwrap();
    let ended = Command::new(env!("CARGO_BIN_EXE_brinkwatch"))
        .args(["discover", location])
        .args(arguments)
        .current_dir(root)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(ended.stderr).unwrap(), "");
    (ended.status.code(), String::from_utf8(ended.stdout).unwrap().replace(location, "ROOT"))
}

#[test]
fn every_layout_is_found_and_the_newest_version_lives() {
    let root = tree();
    let (code, out) = discover(root.path(), &["--exclude", "**/tmp*", "--cluster", "main"]);
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(out, @r#"
    # 13 checkpoints

    [queries.2024]
    checkpoint = "file://ROOT/2024"
    cluster = "main"

    [queries.2025]
    checkpoint = "file://ROOT/2025"
    cluster = "main"

    [queries.team_a_clicks]
    checkpoint = "file://ROOT/Team A/clicks"
    cluster = "main"

    # "file://ROOT/etl/_checkpoints/cat/sch/table/flow/0" is superseded by "etl/_checkpoints/cat/sch/table/flow/1"

    [queries.etl_checkpoints_cat_sch_table_flow]
    checkpoint = "file://ROOT/etl/_checkpoints/cat/sch/table/flow/1"
    cluster = "main"

    [queries.fresh]
    checkpoint = "file://ROOT/fresh"
    cluster = "main"

    [queries.orders]
    checkpoint = "file://ROOT/orders"
    cluster = "main"

    # "file://ROOT/payments_v1" is superseded by "payments_v10"

    [queries.payments]
    checkpoint = "file://ROOT/payments_v10"
    cluster = "main"

    # "file://ROOT/payments_v2" is superseded by "payments_v10"

    # "file://ROOT/table/_dlt_metadata/checkpoints/flow/0" is superseded by "table/_dlt_metadata/checkpoints/flow/10"

    [queries.table_dlt_metadata_checkpoints_flow]
    checkpoint = "file://ROOT/table/_dlt_metadata/checkpoints/flow/10"
    cluster = "main"

    # "file://ROOT/table/_dlt_metadata/checkpoints/flow/9" is superseded by "table/_dlt_metadata/checkpoints/flow/10"
    "#);
}

#[test]
fn what_is_printed_is_a_configuration() {
    let root = tree();
    let (_, out) = discover(root.path(), &[]);
    let text = format!("{}\n[clusters.main]\nbootstrap_servers = \"a\"", out.replace("ROOT", "/data"));
    let config = load(ConfigFile::Text { name: "discovered", text: &text }, [], &[]).unwrap();
    assert_eq!(config.queries.len(), 9);
    assert_eq!(config.queries["payments"].checkpoint, "file:///data/payments_v10");
}

#[test]
fn depth_and_patterns_choose() {
    let root = tree();
    let found = |arguments: &[&str]| {
        let (code, out) = discover(root.path(), arguments);
        (code, out.lines().next().unwrap().to_owned())
    };
    let some = |number: &str| (Some(0), number.to_owned());
    assert_eq!(found(&["--depth", "1"]), some("# 8 checkpoints"));
    assert_eq!(found(&["--depth", "5", "--include", "**/three"]), some("# 1 checkpoint"));
    assert_eq!(found(&["--include", "Team ?/*"]), some("# 1 checkpoint"));
    assert_eq!(found(&["--exclude", "**"]), (Some(1), "# 0 checkpoints".to_owned()));
}

#[test]
fn a_checkpoint_itself_is_found() {
    let root = tree();
    let (code, out) = discover(&root.path().join("orders"), &[]);
    assert_eq!((code, out.as_str()), (Some(0), "# 1 checkpoint\n\n[queries.orders]\ncheckpoint = \"file://ROOT\"\n"));
}

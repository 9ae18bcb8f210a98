//! Which directories are checkpoints, and which of several lives.

use crate::checkpoint::{Versioning, is_root, may_hold_roots, roots};

#[test]
fn a_root_holds_metadata_and_a_log() {
    let check = |files: &[&str], directories: &[&str], expected: bool| {
        assert_eq!(is_root(files.iter().copied(), directories.iter().copied()), expected, "{files:?} {directories:?}");
    };
    check(&["metadata"], &["commits", "offsets", "sources", "state"], true);
    check(&["metadata", ".metadata.crc"], &["offsets"], true);
    check(&["metadata"], &["sources"], true);
    check(&["metadata"], &["state"], false);
    check(&[], &["offsets", "commits"], false);
    check(&["metadata"], &[], false);
}

#[test]
fn what_checkpoints_and_tables_keep_for_themselves_is_not_entered() {
    for name in ["sources", "state", "offsets", "commits", "_spark_metadata", "_delta_log", ".hidden", "__tmp_path_dir"]
    {
        assert!(!may_hold_roots(name), "{name}");
    }
    for name in ["orders", "_checkpoints", "_dlt_metadata", "0", "tmp"] {
        assert!(may_hold_roots(name), "{name}");
    }
}

#[test]
fn the_newest_version_supersedes_the_others() {
    let check = |paths: &[&str], expected: &[(&str, &str, Option<&str>)]| {
        let found = roots(paths.iter().map(|path| (*path).to_owned()).collect(), Versioning::Marked);
        let told: Vec<_> = found
            .iter()
            .map(|root| (root.path.as_str(), root.family.as_str(), root.superseded_by.as_deref()))
            .collect();
        assert_eq!(told, expected);
    };
    check(
        &["a/orders_v2", "a/orders_v10", "b/orders_v1"],
        &[
            ("a/orders_v10", "a/orders", None),
            ("a/orders_v2", "a/orders", Some("a/orders_v10")),
            ("b/orders_v1", "b/orders", None),
        ],
    );
    check(
        &["s/_checkpoints/t/flow/9", "s/_checkpoints/t/flow/10", "s/_checkpoints/t/other/0"],
        &[
            ("s/_checkpoints/t/flow/10", "s/_checkpoints/t/flow", None),
            ("s/_checkpoints/t/flow/9", "s/_checkpoints/t/flow", Some("s/_checkpoints/t/flow/10")),
            ("s/_checkpoints/t/other/0", "s/_checkpoints/t/other", None),
        ],
    );
    // a number that is a name, a letter that is no version, a version beyond all numbers
    for path in ["2024", "years/2024", "orders_v", "_v2", "orders_w2", "o_v99999999999999999999"] {
        check(&[path], &[(path, path, None)]);
    }
    check(&["2024", "2025"], &[("2024", "2024", None), ("2025", "2025", None)]);
}

#[test]
fn what_counts_as_a_version_can_be_chosen() {
    let check = |versioning: Versioning, paths: &[&str], superseded: &[&str]| {
        let found = roots(paths.iter().map(|path| (*path).to_owned()).collect(), versioning);
        let told: Vec<_> =
            found.iter().filter(|root| root.superseded_by.is_some()).map(|root| root.path.as_str()).collect();
        assert_eq!(told, superseded, "{versioning:?}");
    };
    let marked = ["a/orders_v1", "a/orders_v2"];
    let numbered = ["app-001", "app-002", "app-010", "job/7", "job/12"];
    check(Versioning::Marked, &marked, &["a/orders_v1"]);
    check(Versioning::Numbered, &marked, &["a/orders_v1"]);
    check(Versioning::None, &marked, &[]);
    check(Versioning::Marked, &numbered, &[]);
    check(Versioning::Numbered, &numbered, &["app-001", "app-002", "job/7"]);
    check(Versioning::None, &["s/_checkpoints/t/flow/1", "s/_checkpoints/t/flow/2"], &[]);
    // years side by side at the top are no versions of nothing
    check(Versioning::Numbered, &["2024", "2025"], &[]);
}

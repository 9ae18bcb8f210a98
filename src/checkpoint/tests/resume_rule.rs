//! Which entry a restart resumes from, for every state that the two logs can be in.

use super::*;
use crate::checkpoint::needs_second_look;

/// A checkpoint with these batches; batch N ends at offset 10 · N + 10.
fn with(offsets: &[u64], commits: &[u64]) -> BTreeMap<String, Vec<u8>> {
    let mut all = files(&[METADATA]);
    for batch in offsets {
        let entry = v1(&format!(r#"{{"orders":{{"0":{}}}}}"#, batch * 10 + 10));
        all.insert(format!("offsets/{batch}"), entry.into_bytes());
    }
    for batch in commits {
        all.insert(format!("commits/{batch}"), COMMIT.as_bytes().to_vec());
    }
    all.insert("sources/0/0".to_owned(), initial(r#"{"orders":{"0":5}}"#).into_bytes());
    all
}

#[track_caller]
fn check(files: &BTreeMap<String, Vec<u8>>, expected: &str) {
    assert_eq!(in_words(&read_as_a_reader_does(files)), expected);
}

#[track_caller]
fn check_with(offsets: &[u64], commits: &[u64], changed: &[(&str, &str)], gone: &[&str], expected: &str) {
    let mut all = with(offsets, commits);
    all.extend(files(changed));
    for path in gone {
        all.remove(*path);
    }
    check(&all, expected);
}

const ALL: &[u64] = &[0, 1, 2, 3, 4];

#[test]
fn the_logs_decide_where_a_restart_resumes() {
    let cases: &[(&[u64], &[u64], &str)] = &[
        (ALL, ALL, "planned 4, committed 4, restartable; 0: offsets/4, orders/0 50"),
        (ALL, &[0, 1, 2, 3], "planned 4, committed 3, open, restartable; 0: offsets/3 -> offsets/4, orders/0 40 -> 50"),
        (
            ALL,
            &[0, 1, 2],
            "planned 4, committed 2, open, restartable; [commit_log_lags commits/2]; 0: offsets/3 -> offsets/4, orders/0 40 -> 50",
        ),
        (
            ALL,
            &[],
            "planned 4, committed -, open, restartable; [commits_missing]; 0: offsets/3 -> offsets/4, orders/0 40 -> 50",
        ),
        (&[0], &[], "planned 0, committed -, open, restartable; 0: sources/0/0 -> offsets/0, orders/0 5 -> 10"),
        (&[0], &[0], "planned 0, committed 0, restartable; 0: offsets/0, orders/0 10"),
        (&[], &[], "planned -, committed -, restartable; 0: sources/0/0, orders/0 5"),
        (&[], &[0, 1], "planned -, committed 1, not restartable; [offsets_lost]; 0: sources/0/0, orders/0 5"),
        (
            &[0, 1, 2, 3],
            ALL,
            "planned 3, committed 4, open, not restartable; [commit_log_ahead commits/4]; 0: offsets/2 -> offsets/3, orders/0 30 -> 40",
        ),
        (&[3, 4], &[2, 3, 4], "planned 4, committed 4, restartable; 0: offsets/4, orders/0 50"),
        (&[9, 10], &[9], "planned 10, committed 9, open, restartable; 0: offsets/9 -> offsets/10, orders/0 100 -> 110"),
    ];
    for (offsets, commits, expected) in cases {
        check(&with(offsets, commits), expected);
    }
}

#[test]
fn a_missing_predecessor_is_told_from_asynchronous_progress_by_both_logs() {
    let cases: &[(&[u64], &[u64], &str)] = &[
        (&[0, 8, 16], &[0, 8, 16], "planned 16, committed 16, restartable; 0: offsets/16, orders/0 170"),
        (
            &[0, 8, 16],
            &[0, 8],
            "planned 16, committed 8, open, restartable; 0: offsets/8 -> offsets/16, orders/0 90 -> 170",
        ),
        (&[4], &[4], "planned 4, committed 4, cannot tell; [gap_in_batches offsets/3]; 0: offsets/4, orders/0 50"),
        (
            &[4],
            &[3, 4],
            "planned 4, committed 4, not restartable; [predecessor_missing offsets/3]; 0: offsets/4, orders/0 50",
        ),
        (
            &[4],
            &[1, 2],
            "planned 4, committed 2, open, not restartable; [predecessor_missing offsets/3]; 0: sources/0/0 -> offsets/4, orders/0 5 -> 50",
        ),
        (
            &[0, 1, 2, 4],
            ALL,
            "planned 4, committed 4, not restartable; [predecessor_missing offsets/3]; 0: offsets/4, orders/0 50",
        ),
        // the one hole could be either: async progress or a rolled back batch
        (
            &[0, 1, 2, 4],
            &[0, 1, 2, 4],
            "planned 4, committed 4, cannot tell; [gap_in_batches offsets/3]; 0: offsets/4, orders/0 50",
        ),
        (
            &[0, 8],
            &[0],
            "planned 8, committed 0, open, cannot tell; [gap_in_batches offsets/7]; 0: offsets/0 -> offsets/8, orders/0 10 -> 90",
        ),
        (
            &[4],
            &[],
            "planned 4, committed -, open, cannot tell; [commits_missing, gap_in_batches offsets/3]; 0: sources/0/0 -> offsets/4, orders/0 5 -> 50",
        ),
    ];
    for (offsets, commits, expected) in cases {
        check(&with(offsets, commits), expected);
    }
}

/// Where batches take about as long as the interval, asynchronous progress leaves out one here and there. A batch that
/// is lost leaves its commit.
#[test]
fn batches_in_a_row_before_one_that_was_left_out_are_no_damage() {
    let planned_ten = |rest: &str| format!("planned 10, committed {rest}");
    let cases: &[(&[u64], &[u64], &str)] = &[
        (
            &[7, 8, 10],
            &[7, 8],
            "8, open, cannot tell; [gap_in_batches offsets/9]; 0: offsets/8 -> offsets/10, orders/0 90 -> 110",
        ),
        (&[7, 8, 10], &[7, 8, 10], "10, cannot tell; [gap_in_batches offsets/9]; 0: offsets/10, orders/0 110"),
        (
            &[7, 8, 10],
            &[7, 8, 9],
            "9, open, not restartable; [predecessor_missing offsets/9]; 0: offsets/8 -> offsets/10, orders/0 90 -> 110",
        ),
        (&[5, 7, 8, 10], &[5, 7, 8], "8, open, restartable; 0: offsets/8 -> offsets/10, orders/0 90 -> 110"),
        // the oldest entry is deleted, and its commit not yet
        (
            &[8, 10],
            &[6, 8],
            "8, open, cannot tell; [gap_in_batches offsets/9]; 0: offsets/8 -> offsets/10, orders/0 90 -> 110",
        ),
        (
            &[8, 10],
            &[7, 8],
            "8, open, not restartable; [predecessor_missing offsets/9]; 0: offsets/8 -> offsets/10, orders/0 90 -> 110",
        ),
    ];
    for (offsets, commits, expected) in cases {
        check(&with(offsets, commits), &planned_ten(expected));
    }
}

#[test]
fn a_newest_entry_that_makes_no_sense_leaves_the_one_before() {
    let empty =
        "planned 4, committed 3, open, not restartable; [newest_offsets_empty offsets/4]; 0: offsets/3, orders/0 40";
    check_with(ALL, &[0, 1, 2, 3], &[("offsets/4", "")], &[], empty);
    check_with(ALL, &[0, 1, 2, 3], &[("offsets/4", "\0\0\0\0")], &[], empty);
    let malformed = "planned 4, committed 3, open, not restartable; [newest_offsets_malformed offsets/4]; 0: offsets/3, orders/0 40";
    let cut = v1(r#"{"orders":{"0":5"#);
    let no_offset = v1("");
    for content in ["v1", "v1\n", "v1\n{}", "v1\n{\"batch", "garbage", "v1 \n\n4", "\u{feff}v1\n\n4", &cut, &no_offset]
    {
        check_with(ALL, &[0, 1, 2, 3], &[("offsets/4", content)], &[], malformed);
    }
    // another shape than before
    check_with(ALL, &[0, 1, 2, 3], &[("offsets/4", &v1("7"))], &[], malformed);
    // a number that no offset can have
    let doubtful = malformed.replace("not restartable", "cannot tell");
    for line in [r#"{"orders":{"0":99999999999999999999}}"#, r#"{"orders":{"0":1.5}}"#, r#"{"orders":{"0":-3}}"#] {
        check_with(ALL, &[0, 1, 2, 3], &[("offsets/4", &v1(line))], &[], &doubtful);
    }
    check_with(
        ALL,
        ALL,
        &[("offsets/4", "v1\n")],
        &[],
        "planned 4, committed 4, not restartable; [newest_offsets_malformed offsets/4]; 0: offsets/3, orders/0 40",
    );
    check_with(
        &[0],
        &[],
        &[("offsets/0", "v1\n")],
        &[],
        "planned 0, committed -, open, not restartable; [newest_offsets_malformed offsets/0]; 0: sources/0/0, orders/0 5",
    );
}

#[test]
fn an_entry_cut_at_the_end_of_a_line_is_known_by_its_number_of_sources() {
    let two = v1("{\"orders\":{\"0\":40}}\n7");
    let one = v1("{\"orders\":{\"0\":50}}\n");
    let offsets = [("offsets/3", two.as_str()), ("offsets/4", one.as_str())];
    check_with(
        &[3, 4],
        &[3],
        &offsets,
        &[],
        "planned 4, committed 3, open, not restartable; [newest_offsets_malformed offsets/4]; 0: offsets/3, orders/0 40; 1: other",
    );
    let three = v1("{\"orders\":{\"0\":60}}\n7\n8");
    let offsets = [("offsets/3", two.as_str()), ("offsets/4", three.as_str())];
    check_with(
        &[3, 4],
        &[3],
        &offsets,
        &[],
        "planned 4, committed 3, open, not restartable; [source_count_changed offsets/4]; 0: offsets/3 -> offsets/4, orders/0 40 -> 60; 1: other; 2: other",
    );
}

#[test]
fn when_both_newest_entries_are_bad_nothing_is_guessed() {
    let bad = [("offsets/4", "v1\n"), ("offsets/3", "")];
    let mut all = with(ALL, &[0, 1, 2, 3]);
    all.extend(files(&bad));
    let reading = read_as_a_reader_does(&all);
    assert_eq!(reading.sources, []);
    let unread = reading.unread().unwrap();
    assert_eq!(unread.to_string(), "malformed: offsets/4: only a version line");

    // an unreadable predecessor stops Spark, but the committed newest entry still says where it stands
    check_with(
        ALL,
        ALL,
        &[("offsets/3", "")],
        &[],
        "planned 4, committed 4, not restartable; [predecessor_missing offsets/3]; 0: offsets/4, orders/0 50",
    );
}

#[test]
fn an_unknown_version_gives_no_number() {
    for content in ["v3\n{}\n{\"orders\":{\"0\":5}}", "v9\nwhatever", "v2147483647\n"] {
        let mut all = with(ALL, ALL);
        all.extend(files(&[("offsets/4", content)]));
        let reading = read_as_a_reader_does(&all);
        assert_eq!(in_words(&reading), "planned 4, committed 4, cannot tell; [unsupported_version offsets/4]");
        assert_eq!(reading.unread().unwrap().reason, crate::measures::Reason::Unsupported);
    }
}

#[test]
fn what_a_commit_holds_does_not_matter_as_long_as_it_holds_something() {
    let committed = "planned 4, committed 4, restartable; 0: offsets/4, orders/0 50";
    for content in ["v1", "v1\n", "v1\n{}", "v1\r\n{}", "v2\n{\"stateUniqueIds\":{\"0\":[[\"a\"]]}}", "v3\n{}", COMMIT]
    {
        check_with(ALL, ALL, &[("commits/4", content)], &[], committed);
    }
    let large = format!("v2\n{}", "x".repeat(100_000));
    check_with(ALL, ALL, &[("commits/4", &large)], &[], committed);
    let empty = "planned 4, committed 3, open, not restartable; [newest_commit_empty commits/4]; 0: offsets/3 -> offsets/4, orders/0 40 -> 50";
    check_with(ALL, ALL, &[("commits/4", "")], &[], empty);
    check_with(ALL, ALL, &[("commits/4", "\0\0\0")], &[], empty);
    check_with(
        ALL,
        ALL,
        &[("commits/4", "v4\n{}")],
        &[],
        "planned 4, committed 4, cannot tell; [unsupported_version commits/4]; 0: offsets/4, orders/0 50",
    );
}

#[test]
fn a_listed_file_that_is_gone_when_fetched_is_no_reason_to_panic() {
    let all = with(ALL, &[0, 1, 2, 3]);
    let listing = listing(&all);
    let reading = read(&listing, &BTreeMap::new());
    assert_eq!(reading.unread().unwrap().reason, crate::measures::Reason::Malformed);
    assert!(needs_second_look(&reading));

    let mut contents = all;
    contents.remove("offsets/4");
    let reading = read(&listing, &contents);
    assert_eq!(
        in_words(&reading),
        "planned 4, committed 3, open, not restartable; [newest_offsets_malformed offsets/4]; 0: offsets/3, orders/0 40"
    );
}

#[test]
fn only_anomalies_that_time_may_clear_need_a_second_look() {
    let look = |offsets, commits| needs_second_look(&read_as_a_reader_does(&with(offsets, commits)));
    assert!(!look(ALL, ALL));
    assert!(!look(ALL, &[0, 1, 2, 3]));
    assert!(look(ALL, &[0, 1, 2]));
    assert!(look(&[0, 1, 2, 3], ALL));
    assert!(look(&[4], &[3, 4]));
}

#[test]
fn stray_names_are_ignored_and_those_that_stop_spark_are_told() {
    let healthy = "planned 4, committed 4, restartable; 0: offsets/4, orders/0 50";
    for stray in [".5.d0c1.tmp", ".5.crc", "_$folder$", "5.bak", "five", "99999999999999999999", "٥"] {
        check_with(ALL, ALL, &[(&format!("offsets/{stray}"), "x")], &[], healthy);
    }
    for (name, restartable) in
        [("005", "not restartable"), ("+5", "not restartable"), ("-1", "restartable"), ("004", "restartable")]
    {
        let file = format!("offsets/{name}");
        let expected = format!(
            "planned 4, committed 4, {restartable}; [noncanonical_batch_name {file}]; 0: offsets/4, orders/0 50"
        );
        check_with(ALL, ALL, &[(&file, "x")], &[], &expected);
    }
}

#[test]
fn metadata_is_needed_but_does_not_move_the_position() {
    check_with(
        ALL,
        ALL,
        &[],
        &["metadata"],
        "planned 4, committed 4, cannot tell; [metadata_missing metadata]; 0: offsets/4, orders/0 50",
    );
    for content in ["", "{}", "{\"id\":7}", "{\"id\":\"not one\"}", "v1"] {
        let expected =
            "planned 4, committed 4, not restartable; [metadata_malformed metadata]; 0: offsets/4, orders/0 50";
        check_with(ALL, ALL, &[("metadata", content)], &[], expected);
    }
    check(&files(&[METADATA]), "planned -, committed -, restartable");
}

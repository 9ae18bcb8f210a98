//! Which line is which source, and what each partition starts at.

use super::*;

#[track_caller]
fn check(extra: &[(&str, &str)], expected: &str) {
    let mut all = files(&[METADATA]);
    all.extend(files(extra));
    assert_eq!(in_words(&read_as_a_reader_does(&all)), expected);
}

#[test]
fn a_dash_falls_back_to_the_entry_before_and_then_to_the_initial_offsets() {
    let (p, n) = (v1("{\"orders\":{\"0\":30}}\n4"), v1("-\n5"));
    check(
        &[("offsets/3", &p), ("offsets/4", &n), ("commits/4", COMMIT)],
        "planned 4, committed 4, restartable; 0: offsets/3, orders/0 30; 1: other",
    );
    let start = initial(r#"{"orders":{"0":5}}"#);
    check(
        &[("offsets/3", &n), ("offsets/4", &n), ("commits/4", COMMIT), ("sources/0/0", &start)],
        "planned 4, committed 4, restartable; 0: sources/0/0, orders/0 5; 1: other",
    );
    check(
        &[("offsets/3", &n), ("offsets/4", &n), ("commits/4", COMMIT)],
        "planned 4, committed 4, restartable; 0: no offset yet; 1: other",
    );
}

#[test]
fn a_version_2_entry_may_leave_a_source_out() {
    let p = v2("ord:{\"orders\":{\"0\":30}}\n1:{\"logOffset\":3}");
    let n = v2("1:{\"logOffset\":4}");
    check(
        &[("offsets/3", &p), ("offsets/4", &n), ("commits/4", COMMIT)],
        "planned 4, committed 4, restartable; 1: other; ord: offsets/3, orders/0 30",
    );
    // a source that was added: no entry before has it
    let (p, n) = (v2("a:{\"orders\":{\"0\":30}}"), v2("b:{\"clicks\":{\"0\":9}}\na:{\"orders\":{\"0\":40}}"));
    let start = initial(r#"{"clicks":{"0":7}}"#);
    check(
        &[("offsets/3", &p), ("offsets/4", &n), ("commits/3", COMMIT), ("sources/b/0", &start)],
        "planned 4, committed 3, open, restartable; a: offsets/3 -> offsets/4, orders/0 30 -> 40; b: sources/b/0 -> offsets/4, clicks/0 7 -> 9",
    );
}

#[test]
fn between_the_two_versions_sources_are_matched_by_position_or_by_topics() {
    let p = v1("{\"orders\":{\"0\":30}}\n{\"clicks\":{\"0\":7}}");
    check(
        &[
            ("offsets/3", &p),
            ("offsets/4", &v2("0:{\"orders\":{\"0\":40}}\n1:{\"clicks\":{\"0\":8}}")),
            ("commits/3", COMMIT),
        ],
        "planned 4, committed 3, open, restartable; 0: offsets/3 -> offsets/4, orders/0 30 -> 40; 1: offsets/3 -> offsets/4, clicks/0 7 -> 8",
    );
    check(
        &[
            ("offsets/3", &p),
            ("offsets/4", &v2("c:{\"clicks\":{\"0\":8}}\no:{\"orders\":{\"0\":40}}")),
            ("commits/3", COMMIT),
        ],
        "planned 4, committed 3, open, restartable; c: offsets/3 -> offsets/4, clicks/0 7 -> 8; o: offsets/3 -> offsets/4, orders/0 30 -> 40",
    );
}

#[test]
fn directories_of_a_self_union_are_found_by_their_topics() {
    // d.union(d).union(e): three lines, two directories
    let n = v1("{\"d\":{\"0\":10}}\n{\"d\":{\"0\":10}}\n{\"e\":{\"0\":20}}");
    let (d, e) = (initial(r#"{"d":{"0":1}}"#), initial(r#"{"e":{"0":2}}"#));
    check(
        &[("offsets/0", &n), ("sources/0/0", &d), ("sources/1/0", &e)],
        "planned 0, committed -, open, restartable; 0: sources/0/0 -> offsets/0, d/0 1 -> 10; 1: sources/0/0 -> offsets/0, d/0 1 -> 10; 2: sources/1/0 -> offsets/0, e/0 2 -> 20",
    );
    // e reads the same topic: several directories fit, and the lowest number is safe
    let n = v1("{\"d\":{\"0\":10}}\n{\"d\":{\"0\":10}}\n{\"d\":{\"0\":20}}");
    let (low, high) = (initial(r#"{"d":{"0":1}}"#), initial(r#"{"d":{"0":7}}"#));
    check(
        &[("offsets/0", &n), ("sources/0/0", &high), ("sources/1/0", &low)],
        "planned 0, committed -, open, restartable; 0: sources/0/0 -> offsets/0, d/0 1 -> 10; 1: sources/1/0 -> offsets/0, d/0 1 -> 10; 2: sources/0/0 -> offsets/0, d/0 1 -> 20",
    );
    // with a directory for each line, position is enough
    let n = v1("{\"d\":{\"0\":10}}\n{\"d\":{\"0\":20}}");
    check(
        &[("offsets/0", &n), ("sources/0/0", &high), ("sources/1/0", &low)],
        "planned 0, committed -, open, restartable; 0: sources/0/0 -> offsets/0, d/0 7 -> 10; 1: sources/1/0 -> offsets/0, d/0 1 -> 20",
    );
    // no directory fits: unknown, and no start is claimed
    check(
        &[("offsets/0", &v1("{\"d\":{\"0\":10}}")), ("sources/0/0", &e)],
        "planned 0, committed -, open, restartable; 0: - -> offsets/0, d/0 - -> 10",
    );
}

#[test]
fn partitions_that_only_the_plan_knows_start_at_earliest() {
    let (p, n) = (v1(r#"{"orders":{"0":30}}"#), v1(r#"{"orders":{"0":40,"1":12}}"#));
    check(
        &[("offsets/3", &p), ("offsets/4", &n), ("commits/3", COMMIT)],
        "planned 4, committed 3, open, restartable; 0: offsets/3 -> offsets/4, orders/0 30 -> 40, orders/1 - earliest -> 12",
    );
}

#[test]
fn partitions_that_the_newest_committed_entry_dropped_keep_their_last_number() {
    let (p, n) = (v1(r#"{"orders":{"0":30,"1":7}}"#), v1(r#"{"orders":{"0":40}}"#));
    check(
        &[("offsets/3", &p), ("offsets/4", &n), ("commits/4", COMMIT)],
        "planned 4, committed 4, restartable; [partitions_dropped offsets/4]; 0: offsets/4, orders/0 40, orders/1 7 earliest dropped",
    );
    let next = v1(r#"{"orders":{"0":50,"1":3}}"#);
    check(
        &[("offsets/3", &p), ("offsets/4", &n), ("offsets/5", &next), ("commits/4", COMMIT)],
        "planned 5, committed 4, open, restartable; [partitions_dropped offsets/4]; 0: offsets/4 -> offsets/5, orders/0 40 -> 50, orders/1 7 earliest dropped -> 3",
    );
    // dropped by the plan only: still committed
    check(
        &[("offsets/3", &p), ("offsets/4", &n), ("commits/3", COMMIT)],
        "planned 4, committed 3, open, restartable; 0: offsets/3 -> offsets/4, orders/0 30 -> 40, orders/1 7",
    );
}

#[test]
fn an_empty_map_keeps_the_last_numbers_and_says_that_a_restart_does_not() {
    let p = v1(r#"{"orders":{"0":30}}"#);
    check(
        &[("offsets/3", &p), ("offsets/4", &v1("{}")), ("commits/4", COMMIT)],
        "planned 4, committed 4, restartable; [empty_offset_map offsets/4, partitions_dropped offsets/4]; 0: offsets/4, orders/0 30 earliest dropped",
    );
    check(
        &[("offsets/3", &p), ("offsets/4", &v1("{ }")), ("commits/3", COMMIT)],
        "planned 4, committed 3, open, restartable; [empty_offset_map offsets/4]; 0: offsets/3 -> offsets/4, orders/0 30",
    );
    // nothing shows this one to be Kafka's
    check(
        &[("offsets/0", &v1("{}")), ("commits/0", COMMIT)],
        "planned 0, committed 0, restartable; [no_kafka_source]; 0: other",
    );
}

#[test]
fn negative_numbers_are_what_people_mean_by_them() {
    check(
        &[("offsets/0", &v1(r#"{"orders":{"0":-1,"1":-2,"2":9223372036854775807}}"#)), ("commits/0", COMMIT)],
        "planned 0, committed 0, restartable; [negative_offset offsets/0]; 0: offsets/0, orders/0 - latest, orders/1 - earliest, orders/2 9223372036854775807",
    );
}

#[test]
fn a_plan_that_ends_before_it_starts_is_told() {
    let (p, n) = (v1(r#"{"orders":{"0":60}}"#), v1(r#"{"orders":{"0":20}}"#));
    check(
        &[("offsets/0", &p), ("offsets/1", &n), ("commits/0", COMMIT)],
        "planned 1, committed 0, open, cannot tell; [planned_below_committed offsets/1]; 0: offsets/0 -> offsets/1, orders/0 60 -> 20",
    );
}

#[test]
fn initial_offsets_that_make_no_sense_are_told_where_they_matter() {
    let n = v1(r#"{"orders":{"0":10}}"#);
    for content in ["", "\0", "\0v1\n{\"orders\":{\"0\":", "\0v1", "\0v1\n4"] {
        check(
            &[("offsets/0", &n), ("sources/0/0", content)],
            "planned 0, committed -, open, not restartable; [initial_offsets_malformed sources/0/0]; 0: - -> offsets/0, orders/0 - -> 10",
        );
    }
    check(
        &[("sources/0/0", "")],
        "planned -, committed -, not restartable; [initial_offsets_malformed sources/0/0]; 0: no offset yet",
    );
    check(
        &[("offsets/0", &n), ("commits/0", COMMIT), ("sources/0/0", "")],
        "planned 0, committed 0, restartable; 0: offsets/0, orders/0 10",
    );
}

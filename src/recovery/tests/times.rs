//! A moment as a person writes it; a version as Spark names it.

use super::NOW;
use crate::recovery::{SparkVersion, WhenError, when, word};

#[test]
fn a_moment_is_rfc_3339_or_seconds_or_milliseconds_or_a_length_ago() {
    let check = |text: &str, millis: i64| assert_eq!(when(text, NOW).unwrap().millis(), millis, "{text}");
    check("2026-11-30T02:53:08Z", 1_796_007_188_000);
    check("2026-11-30T03:53:07.500+01:00", 1_796_007_187_500);
    check("1796007188", 1_796_007_188_000);
    check("1796007188000", 1_796_007_188_000);
    check("0", 0);
    check(" 2h ago ", 1_796_007_188_000 - 7_200_000);
    check("1h 30m ago", 1_796_007_188_000 - 5_400_000);
}

#[test]
fn what_is_no_moment_and_what_lies_in_the_future_is_refused_by_name() {
    for text in ["", "yesterday", "-5", "ago", "2026-11-30", "2026-11-30T02:53:08", "99999999999999999999"] {
        assert!(matches!(when(text, NOW), Err(WhenError::Unknown { .. })), "{text}");
    }
    let told = when("2026-11-30T03:53:08Z", NOW).unwrap_err().to_string();
    assert_eq!(
        told,
        "\"2026-11-30T03:53:08Z\" is 1h in the future: no record is that young, and Spark would refuse it"
    );
    assert!(matches!(when("1796007189", NOW), Err(WhenError::Future { .. })));
}

#[test]
fn a_version_is_two_numbers() {
    let check = |text: &str, expected: Option<&str>| {
        assert_eq!(text.parse::<SparkVersion>().ok().map(|version| version.to_string()).as_deref(), expected, "{text}");
    };
    check("3.5", Some("3.5"));
    check("4", Some("4.0"));
    check("4.1.4", Some("4.1"));
    check("4.2.0-preview3", Some("4.2"));
    check("1.6", None);
    check("latest", None);
}

#[test]
fn a_name_in_a_command_is_one_word_of_the_shell() {
    for (name, expected) in
        [("orders-v2", "orders-v2"), ("a b", "'a b'"), ("x'; rm y", "'x'\\''; rm y'"), ("", "''"), ("=ls", "'=ls'")]
    {
        assert_eq!(word(name), expected);
    }
}

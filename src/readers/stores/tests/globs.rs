//! Patterns over paths.

use proptest::prelude::*;

use crate::readers::stores::glob::matches;

#[test]
fn a_pattern_matches_whole_paths() {
    for (pattern, path, expected) in [
        ("**", "a/b/c", true),
        ("**", "", true),
        ("*", "a", true),
        ("*", "a/b", false),
        ("a/*", "a/b", true),
        ("a/*", "a", false),
        ("a/**", "a/b/c", true),
        ("a/**", "a", true),
        ("**/tmp*", "tmp_1", true),
        ("**/tmp*", "a/b/tmp", true),
        ("**/tmp*", "a/tmp/b", false),
        ("**/tmp*/**", "a/tmp/b", true),
        ("team-?/orders", "team-a/orders", true),
        ("team-?/orders", "team-/orders", false),
        ("*é*", "caféhaus", true),
        ("a.b", "aXb", false),
    ] {
        assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
    }
}

#[test]
fn a_pattern_of_many_stars_is_no_burden() {
    // tried star by star, these would take longer than the universe has
    let name = "a".repeat(200);
    assert!(!matches(&format!("{}b", "*a".repeat(60)), &name));
    let path = "a/".repeat(200);
    assert!(!matches(&format!("{}b", "**/a/".repeat(60)), &path));
}

/// The meaning of patterns, said as plainly as can be.
fn plainly(pattern: &[char], path: &[char]) -> bool {
    match pattern {
        [] => path.is_empty(),
        ['*', rest @ ..] => {
            (0..=path.iter().take_while(|letter| **letter != '/').count()).any(|n| plainly(rest, &path[n..]))
        }
        ['?', rest @ ..] => path.first().is_some_and(|letter| *letter != '/' && plainly(rest, &path[1..])),
        [letter, rest @ ..] => path.first() == Some(letter) && plainly(rest, &path[1..]),
    }
}

proptest! {
    #[test]
    fn a_pattern_means_what_it_says(pattern in "[ab/?*]{0,8}", path in "[ab/]{0,8}") {
        // `**` alone between slashes is any number of directories; within a name it is a star
        prop_assume!(!pattern.contains("**"));
        let letters = |text: &str| text.chars().collect::<Vec<_>>();
        prop_assert_eq!(matches(&pattern, &path), plainly(&letters(&pattern), &letters(&path)));
    }
}

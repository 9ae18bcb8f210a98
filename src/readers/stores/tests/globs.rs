//! Patterns over paths.

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

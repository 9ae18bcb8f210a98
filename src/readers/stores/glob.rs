//! Patterns over paths: `*` and `?` within one directory's name, `**` over any number of them.

/// Whether a path matches a pattern as a whole.
pub(super) fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    parts_match(&pattern, &path)
}

fn parts_match(pattern: &[&str], path: &[&str]) -> bool {
    match pattern.split_first() {
        None => path.is_empty(),
        Some((&"**", rest)) => {
            (0..=path.len()).any(|skipped| path.get(skipped..).is_some_and(|left| parts_match(rest, left)))
        }
        Some((first, rest)) => path.split_first().is_some_and(|(name, left)| {
            name_matches(&first.chars().collect::<Vec<_>>(), &name.chars().collect::<Vec<_>>())
                && parts_match(rest, left)
        }),
    }
}

fn name_matches(pattern: &[char], name: &[char]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((&'*', rest)) => {
            (0..=name.len()).any(|skipped| name.get(skipped..).is_some_and(|left| name_matches(rest, left)))
        }
        Some((&'?', rest)) => name.split_first().is_some_and(|(_, left)| name_matches(rest, left)),
        Some((letter, rest)) => {
            name.split_first().is_some_and(|(first, left)| first == letter && name_matches(rest, left))
        }
    }
}

//! Patterns over paths: `*` and `?` within one directory's name, `**` over any number of them.

/// Whether a path matches a pattern as a whole.
pub(super) fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    spans(&pattern, &path, |part| *part == "**", |part, name| name_matches(part, name))
}

fn name_matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    spans(&pattern, &name, |letter| *letter == '*', |letter, given| *letter == '?' || letter == given)
}

/// Matches a row of things against a pattern in which some parts stand for any number of them.
///
/// Only the last such part is ever tried again with one thing more: whatever an earlier one could take as well, the
/// last one can. So a pattern of many stars costs at most its length times the row's, and not a power of it.
fn spans<P, T>(pattern: &[P], row: &[T], is_any: impl Fn(&P) -> bool, matches_one: impl Fn(&P, &T) -> bool) -> bool {
    let (mut part, mut at) = (0, 0);
    let mut last_any: Option<(usize, usize)> = None;
    while let Some(thing) = row.get(at) {
        match pattern.get(part) {
            Some(wanted) if is_any(wanted) => {
                last_any = Some((part, at));
                part += 1;
            }
            Some(wanted) if matches_one(wanted, thing) => {
                part += 1;
                at += 1;
            }
            _ => {
                let Some((any, taken)) = last_any else { return false };
                last_any = Some((any, taken + 1));
                part = any + 1;
                at = taken + 1;
            }
        }
    }
    pattern.get(part..).is_none_or(|rest| rest.iter().all(is_any))
}

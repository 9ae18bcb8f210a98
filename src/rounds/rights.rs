//! Rights that are missing are told once, when that is found out, and once more when they are granted.

use std::collections::{BTreeMap, BTreeSet};

use tracing::{info, warn};

use crate::measures::TopicName;
use crate::retention::Right;

type Missing = BTreeMap<Right, BTreeSet<TopicName>>;

/// So many topics are named; the page of each query names its own.
const NAMED: usize = 10;

/// Tells what has changed since the last time.
pub(super) fn tell(kafka_cluster: &str, before: &Missing, now: &Missing) {
    for right in Right::ALL {
        let right_name = right.label();
        if let Some(topics) = added(before, now, right) {
            warn!(kafka_cluster, right = right_name, topics, "a right is missing; what needs it stays unknown");
        }
        if let Some(topics) = added(now, before, right) {
            info!(kafka_cluster, right = right_name, topics, "a right is missing no more");
        }
    }
}

/// Topics that `now` has and `before` has not, in words.
fn added(before: &Missing, now: &Missing, right: Right) -> Option<String> {
    let known = before.get(&right);
    let new = now.get(&right)?.iter().filter(|topic| known.is_none_or(|known| !known.contains(*topic)));
    listed(&new.map(|topic| &**topic).collect::<Vec<_>>())
}

/// The first of them in words; nothing where there are none.
pub(super) fn listed(names: &[&str]) -> Option<String> {
    let rest = names.len().saturating_sub(NAMED);
    let shown = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    (!shown.is_empty()).then(|| shown + &more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_new_is_told() {
        let missing = |names: &[&str]| -> Missing {
            [(Right::Describe, names.iter().map(|name| TopicName::from(*name)).collect())].into()
        };
        let check = |before: &Missing, now: &Missing, expected: Option<&str>| {
            assert_eq!(added(before, now, Right::Describe).as_deref(), expected, "{before:?} {now:?}");
        };
        check(&Missing::new(), &missing(&["a", "b"]), Some("a, b"));
        check(&missing(&["a"]), &missing(&["a", "b"]), Some("b"));
        check(&missing(&["a"]), &missing(&["a"]), None);
        check(&missing(&["a"]), &Missing::new(), None);
        let many: Vec<String> = (10..22).map(|number| format!("t{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        check(&Missing::new(), &missing(&many), Some("t10, t11, t12, t13, t14, t15, t16, t17, t18, t19 and 2 more"));
    }
}

//! What is not there.

use axum::http::{StatusCode, Uri};

/// A path that nobody answers.
pub(super) async fn not_found(uri: Uri) -> (StatusCode, String) {
    (StatusCode::NOT_FOUND, format!("no such page: {}\n", uri.path()))
}

/// The names nearest to one that is not there, best first, three at most.
pub(super) fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut near: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(wanted, name), name))
        .filter(|(likeness, _)| *likeness > 0.7)
        .collect();
    near.sort_by(|(left, one), (right, other)| right.total_cmp(left).then(one.cmp(other)));
    near.dedup_by_key(|(_, name)| *name);
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_are_offered_and_no_far_ones() {
        let names = ["orders-enriched", "orders-copy", "price-updates", "orders-enriched"];
        assert_eq!(nearest("ordres-enriched", names), ["orders-enriched", "orders-copy"]);
        assert_eq!(nearest("zzz", names), Vec::<&str>::new());
    }
}

//! Names of all kinds: they stay names, in pages, pictures, links and answers.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use scraper::{Html, Selector};

use super::*;

/// A round in which everything that can be named has this name.
fn named(name: &str) -> ClusterRound {
    let mut round = fixture::round();
    let mut partitions: Vec<_> = (0..20).map(|number| partition(1 + number, 0, 50)).collect();
    partitions[3] = fixture::blind();
    let mut judged = verdict(QueryState::AtRisk, &[(name, partitions)]);
    judged.reason = name.to_owned().into();
    judged.query_id = Some(name.to_owned());
    let mut query = fixture::query(judged);
    query.checkpoint = name.to_owned();
    round.queries = [(name.to_owned(), query)].into();
    round.cluster = name.to_owned();
    round
}

/// Elements with the names of their attributes, in order. Text and values are left out.
fn shape(text: &str) -> Vec<String> {
    let page = Html::parse_document(text);
    assert!(page.errors.iter().all(|error| !error.contains("Unexpected")), "{:?}\n{text}", page.errors);
    let elements = page.root_element().descendent_elements();
    elements
        .map(|element| {
            let mut names: Vec<&str> = element.value().attrs().map(|(name, _)| name).collect();
            names.sort_unstable();
            format!("{} {}", element.value().name(), names.join(" "))
        })
        .collect()
}

fn all_of(text: &str, selector: &str, attribute: &str) -> Vec<String> {
    let page = Html::parse_document(text);
    let selector = Selector::parse(selector).unwrap();
    let elements = page.select(&selector).map(|element| match attribute {
        "" => element.text().collect::<String>(),
        name => element.attr(name).unwrap_or_default().to_owned(),
    });
    elements.collect()
}

fn check(served: &Served, plain: &[Vec<String>; 3], name: &str) {
    served.board.take_down("plain");
    let round = named(name);
    served.board.publish(round);
    let encoded = super::super::pages::encode(name);
    let pages = paths(&encoded).map(|path| served.get(&path));
    for (page, plain) in pages.iter().zip(plain) {
        assert!(page.status == 200, "{name:?}");
        let text = page.text();
        assert_eq!(&shape(&text), plain, "{name:?}\n{text}");
    }
    let fleet = pages[0].text();
    assert!(all_of(&fleet, ".c-query .name a", "").contains(&name.to_owned()), "{name:?}\n{fleet}");
    assert_eq!(all_of(&fleet, ".c-query .name a", "href"), [format!("/queries/{encoded}")]);
    let query = pages[1].text();
    assert_eq!(all_of(&query, "h1 .wrap-any", ""), [name], "{query}");
    let pictures = all_of(&query, "svg.log", "aria-label");
    assert!(pictures.len() == 10 && pictures.iter().all(|label| label.starts_with("Partition ")), "{pictures:?}");
    let answer = served.get(&format!("/api/v1/queries/{encoded}")).json();
    assert_eq!(answer["query"], name);
    assert_eq!(answer["clusters"][0]["partitions"][0]["topic"], name);
    assert!(answer["clusters"][0]["topics"].as_object().unwrap().contains_key(name));
    served.board.take_down(name);
}

fn paths(encoded: &str) -> [String; 3] {
    ["/".to_owned(), format!("/queries/{encoded}"), format!("/?q={encoded}")]
}

fn plain(served: &Served) -> [Vec<String>; 3] {
    served.board.publish(named("plain"));
    paths("plain").map(|path| shape(&served.get(&path).text()))
}

#[test]
fn hostile_names_stay_text() {
    let served = Served::empty();
    let plain = plain(&served);
    let long = "x".repeat(249);
    for name in [
        "<script>alert(1)</script>\"'&",
        "a\"b\\c\nd\te",
        "</title></style></svg><img src=x onerror=alert(1)>",
        "{{ 7*7 }}{% raw %}",
        "javascript:alert(1)",
        "Bestellungen · заказы · 注文 · 🛒\u{202e}",
        "../../etc/passwd?x=1#y%2F",
        &long,
    ] {
        check(&served, &plain, name);
    }
}

/// Carriage returns and nulls are left out: a reader of HTML turns them into something else, whatever is written.
#[test]
fn any_name_stays_text() {
    let served = Served::empty();
    let plain = plain(&served);
    let names = "([\"'\\\\<>&`=/?#%{}\n\t -~]|\\PC|script){1,60}".prop_filter("a name", |name: &String| {
        !name.trim().is_empty() && !matches!(name.as_str(), "." | ".." | "plain")
    });
    let mut runner =
        TestRunner::new(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() });
    let held = runner.run(&names, |name| {
        check(&served, &plain, &name);
        Ok(())
    });
    held.unwrap();
}

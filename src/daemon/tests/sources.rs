//! Which sources of a query belong to which cluster, on checkpoints that Spark wrote.

use std::path::Path;
use std::time::Duration;

use crate::checkpoint::CheckpointReading;
use crate::config::{ConfigFile, load};
use crate::daemon::source_filter;
use crate::readers::CheckpointReader;
use crate::readers::stores::CheckpointStore;

async fn read(case: &str) -> CheckpointReading {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/checkpoints").join(case).join("checkpoint");
    CheckpointStore::open(path.to_str().unwrap()).unwrap().read(Duration::from_secs(30)).await.unwrap()
}

/// The topics that the query reads on `main` and on `other`, by these settings of its sources.
fn topics(reading: &CheckpointReading, sources: &str) -> [Vec<String>; 2] {
    let text = format!(
        "[clusters.main]\nbootstrap_servers = \"a\"\n[clusters.other]\nbootstrap_servers = \"b\"\n\
         [queries.q]\ncheckpoint = \"/q\"\ncluster = \"main\"\n{sources}"
    );
    let config = load(ConfigFile::Text { name: "test", text: &text }, [], &[]).unwrap();
    ["main", "other"].map(|cluster| {
        let kept = source_filter(&config.queries["q"], cluster).apply(reading.clone());
        kept.sources.iter().flat_map(|source| source.topics.keys().map(|topic| topic.to_string())).collect()
    })
}

fn check(reading: &CheckpointReading, sources: &str, main: &[&str], other: &[&str]) {
    assert_eq!(topics(reading, sources), [main, other].map(<[&str]>::to_vec), "{sources}");
}

#[tokio::test]
async fn without_a_word_all_sources_are_the_query_s_cluster_s() {
    check(&read("two-kafka-one-rate-spark43").await, "", &["left-43", "right-43"], &[]);
}

#[tokio::test]
async fn a_source_reads_another_cluster_by_its_position_or_by_its_id() {
    let positions = read("two-kafka-one-rate-spark43").await;
    check(&positions, "[queries.q.sources.2]\ncluster = \"other\"", &["left-43"], &["right-43"]);
    let named = read("v2-named-spark43").await;
    for source in ["1", "refund_src"] {
        let sources = format!("[queries.q.sources.{source}]\ncluster = \"other\"");
        check(&named, &sources, &["v2n-43"], &["v2m-43"]);
    }
}

#[tokio::test]
async fn an_ignored_source_is_nobody_s() {
    let reading = read("two-kafka-one-rate-spark43").await;
    check(&reading, "[queries.q.sources.0]\nkind = \"ignore\"", &["right-43"], &[]);
    check(&read("v2-named-spark43").await, "[queries.q.sources.orders_src]\nkind = \"ignore\"", &["v2m-43"], &[]);
}

#[tokio::test]
async fn a_number_that_is_some_source_s_id_is_no_position() {
    // When a source stands on several lines, ids and positions go apart: the ids here are 1 and 2.
    let mut reading = read("v2-two-sources-spark43").await;
    for (source, id) in reading.sources.iter_mut().zip(["1", "2"]) {
        source.id = id.to_owned();
    }
    check(&reading, "[queries.q.sources.1]\ncluster = \"other\"", &["v2b-43"], &["v2a-43"]);
    check(&reading, "[queries.q.sources.0]\ncluster = \"other\"", &["v2b-43"], &["v2a-43"]);
    let both = "[queries.q.sources.0]\nkind = \"ignore\"\n[queries.q.sources.1]\ncluster = \"other\"";
    check(&reading, both, &["v2b-43"], &["v2a-43"]);
}

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::metrics::exposition;
use crate::metrics::fixture::{self, NOW};

fn scraped(board: &Board, now: Moment) -> String {
    String::from_utf8(plain(&board.scrape(now, "")).unwrap()).unwrap()
}

fn waiting(cluster: &str) -> ClusterRound {
    ClusterRound::waiting(cluster, Duration::from_secs(30), Duration::from_secs(90))
}

#[test]
fn a_scrape_is_the_text_of_all_clusters_with_each_family_once() {
    let board = Board::default();
    board.publish(fixture::round());
    let other = ClusterRound { cluster: "ingest-us".to_owned(), ..fixture::round() };
    board.publish(other.clone());
    let expected = exposition::text([&of_round(&fixture::round()), &of_round(&other)]);
    let text = scraped(&board, NOW);
    assert_eq!(text, expected);
    assert_eq!(text.matches("# TYPE brinkwatch_cluster_up ").count(), 1);
    assert_eq!(scraped(&board, NOW), text, "two scrapes of one board are byte-equal");
}

#[test]
fn a_newer_round_takes_the_place_of_the_one_before() {
    let board = Board::default();
    board.publish(fixture::round());
    let mut newer = fixture::round();
    newer.queries.remove("price-updates");
    newer.reading.topics.remove("prices");
    board.publish(newer);
    assert!(!scraped(&board, NOW).contains("prices"));
    board.take_down("ingest-eu");
    assert_eq!(scraped(&board, NOW), "");
}

#[test]
fn a_round_that_is_too_old_is_told_so_even_if_no_newer_one_ever_comes() {
    let board = Board::default();
    board.publish(fixture::round());
    let up = "brinkwatch_cluster_up{kafka_cluster=\"ingest-eu\"} ";
    assert!(scraped(&board, NOW).contains(&format!("{up}1\n")));
    let later = NOW.plus(Duration::from_secs(120));
    assert!(scraped(&board, later).contains(&format!("{up}0\n")));
    assert!(!scraped(&board, later).contains("brinkwatch_lag_offsets"));
    assert!(!board.snapshot(later)[0].polls.up);
    board.publish(ClusterRound { finished_at: Some(later), ..fixture::round() });
    assert!(scraped(&board, later).contains(&format!("{up}1\n")));
}

#[test]
fn the_board_is_ready_once_every_first_round_has_ended() {
    let board = Board::default();
    board.publish(waiting("a"));
    board.publish(waiting("b"));
    assert!(!board.is_ready());
    board.publish(ClusterRound { finished_at: Some(NOW), ..waiting("a") });
    assert!(!board.is_ready());
    board.publish(ClusterRound { finished_at: Some(NOW), ..waiting("b") });
    assert!(board.is_ready());
}

#[test]
fn rounds_that_publish_at_once_do_not_lose_each_other() {
    let board = Board::default();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let board = &board;
            scope.spawn(move || {
                for _ in 0..50 {
                    board.publish(waiting(&number.to_string()));
                }
            });
        }
    });
    assert_eq!(board.snapshot(NOW).len(), 8);
}

#[test]
fn a_scrape_of_ten_thousand_partitions_joins_and_reads_back() {
    let mut round = fixture::round();
    let partitions: Vec<_> = (0..10_000).map(|number| fixture::partition(number, 0, 20_000)).collect();
    let mut query = fixture::query(fixture::verdict(crate::judgement::QueryState::Behind, &[("t", partitions)]));
    query.publishing.series_limit = 1_000_000;
    round.queries = [("q".to_owned(), query)].into();
    let board = Board::default();
    let expected = exposition::text([&of_round(&round)]);
    board.publish(round);
    let gzip = board.scrape(NOW, "");
    assert!(gzip.len() * 8 < expected.len(), "{} of {}", gzip.len(), expected.len());
    assert_eq!(plain(&gzip).unwrap(), expected.as_bytes());
}

/// A text that was written anew would cost many allocations for each partition.
#[test]
fn a_scrape_renders_nothing_however_many_partitions_there_are() {
    let allocations = |partitions: i64| {
        let mut round = fixture::round();
        let partitions = (0..partitions).map(|number| fixture::partition(number, 0, 20_000)).collect();
        let judged = fixture::verdict(crate::judgement::QueryState::Behind, &[("t", partitions)]);
        round.queries = [("q".to_owned(), fixture::query(judged))].into();
        let board = Board::default();
        board.publish(round);
        // The first scrape of an old round renders it, once.
        let later = NOW.plus(Duration::from_secs(120));
        drop(board.scrape(later, ""));
        [NOW, later].map(|at| allocation_counter::measure(|| drop(board.scrape(at, ""))).count_total)
    };
    assert_eq!(allocations(2), allocations(4_000));
}

proptest! {
    #[test]
    fn joined_pieces_read_back_as_their_texts(texts in prop::collection::vec("(?s).{0,400}", 0..8)) {
        let pieces: Vec<Piece> = texts.iter().map(|text| Piece::of(text)).collect();
        prop_assert_eq!(plain(&join(pieces.iter())).unwrap(), texts.concat().into_bytes());
    }
}

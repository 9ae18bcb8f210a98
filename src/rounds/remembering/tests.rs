//! What a cluster's loop takes over from the ledger, and when.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::judgement::{EventKind, QueryMemory, TopicMemory};
use crate::measures::Moment;
use crate::rounds::schedule::tests::target;

fn told(is_known: bool) -> Loaded {
    let health = Health { persistent: is_known, up: is_known };
    Loaded::nothing(is_known, Remembered { health, unresolved: None, opened: 1 })
}

/// That a position was moved back so often.
fn memory(times: u64) -> QueryMemory {
    let event_totals = BTreeMap::from([(EventKind::PositionMovedBack, (times, Moment::from_millis(0)))]);
    QueryMemory { event_totals, ..QueryMemory::default() }
}

fn of(queries: &[(&str, u64)]) -> BTreeMap<String, QueryMemory> {
    queries.iter().map(|(query, times)| ((*query).to_owned(), memory(*times))).collect()
}

fn times(state: &ClusterState) -> Vec<(&str, u64)> {
    let count = |memory: &QueryMemory| memory.event_totals[&EventKind::PositionMovedBack].0;
    state.memories.iter().map(|(query, memory)| (query.as_str(), count(memory))).collect()
}

fn told_all(queries: &[(&str, u64)]) -> Loaded {
    Loaded { memories: of(queries), ..told(true) }
}

const AN_HOUR: std::time::Duration = std::time::Duration::from_secs(3600);

#[test]
fn what_the_ledger_tells_late_is_taken_over_once_and_nothing_is_written_before() {
    let target = target(&["first", "second"], AN_HOUR);
    let mut state = began(Clock::default(), &target, told(false));
    assert!(untold(&state, &target));
    state.memories = of(&[("first", 1), ("second", 1)]);
    take_over(&mut state, &target, told(false));
    assert!(untold(&state, &target) && unwritten(&state).is_empty());
    take_over(&mut state, &target, Loaded { memories: of(&[("first", 5)]), ..told(true) });
    assert!(!untold(&state, &target));
    assert_eq!(times(&state), [("first", 5), ("second", 1)]);
    take_over(&mut state, &target, Loaded { memories: of(&[("first", 9), ("second", 9)]), ..told(true) });
    assert_eq!(times(&state), [("first", 5), ("second", 1)], "what this process has seen itself counts");
}

/// A query that joined a running daemon while the ledger was slow used to begin with nothing for good, and its memory in
/// the ledger was overwritten by that.
#[test]
fn a_query_that_joins_while_the_ledger_tells_nothing_is_told_later_and_not_written_before() {
    let mut state = began(Clock::default(), &target(&["first"], AN_HOUR), told_all(&[("first", 5)]));
    let target = target(&["first", "second"], AN_HOUR);
    take_over(&mut state, &target, told(false));
    state.memories.insert("second".to_owned(), memory(1));
    assert!(untold(&state, &target), "the ledger is asked once more");
    assert!(unwritten(&state).is_empty(), "nothing is put in the place of what the ledger may know");
    take_over(&mut state, &target, told_all(&[("first", 9), ("second", 9)]));
    assert_eq!(times(&state), [("first", 5), ("second", 9)]);
    assert!(!untold(&state, &target));
}

#[test]
fn a_query_that_comes_back_is_asked_for_again() {
    let both = target(&["first", "second"], AN_HOUR);
    let mut state = began(Clock::default(), &both, told_all(&[("first", 5), ("second", 7)]));
    let_go(&mut state, &target(&["first"], AN_HOUR));
    assert!(untold(&state, &both));
    take_over(&mut state, &both, told_all(&[("first", 9), ("second", 9)]));
    assert_eq!(times(&state), [("first", 5), ("second", 9)]);
}

/// The memory that heard it would be replaced by the ledger's, and nobody would say it again.
#[test]
fn a_word_about_a_query_that_the_ledger_has_not_told_of_yet_is_heard_later() {
    let target = target(&["first"], AN_HOUR);
    let mut state = began(Clock::default(), &target, told(false));
    state.memories = of(&[("first", 1)]);
    let said = || vec![Acknowledgement { id: 7, query: "first".to_owned(), topic: None, partition: None }];
    assert!(hear(&mut state, said()).is_empty());
    take_over(&mut state, &target, told_all(&[("first", 5)]));
    assert_eq!(hear(&mut state, said()), [7]);
}

#[test]
fn what_another_daemon_remembers_is_written_under_our_own_name_too() {
    let target = target(&["first", "second"], AN_HOUR);
    let memories = of(&[("first", 5), ("second", 7)]);
    let adopted = BTreeSet::from(["second".to_owned()]);
    let state = began(Clock::default(), &target, Loaded { memories, adopted, ..told(true) });
    let unwritten: Vec<String> = unwritten(&state).into_iter().map(|piece| piece.query).collect();
    assert_eq!(unwritten, ["second"]);
}

#[test]
fn a_word_that_is_in_the_memory_already_releases_nothing_and_counts_as_heard() {
    let target = target(&["first"], AN_HOUR);
    let known =
        QueryMemory { topics: BTreeMap::from([("orders".into(), TopicMemory::default())]), ..QueryMemory::default() };
    let memories = BTreeMap::from([("first".to_owned(), known)]);
    let heard = BTreeMap::from([("first".to_owned(), BTreeSet::from([7]))]);
    let mut state = began(Clock::default(), &target, Loaded { memories, heard, ..told(true) });
    let said = |id| Acknowledgement { id, query: "first".to_owned(), topic: None, partition: None };
    let released = |state: &ClusterState| state.memories["first"].topics["orders"].accepted;
    assert_eq!(hear(&mut state, vec![said(7)]), [7]);
    assert!(!released(&state));
    assert_eq!(hear(&mut state, vec![said(8)]), [8]);
    assert!(released(&state));
}

/// Every shard used to hear for every other: a query that moved had its word taken for heard by whom it moved to.
#[test]
fn a_word_about_a_query_that_is_watched_elsewhere_is_not_heard_here() {
    let target = target(&["first"], AN_HOUR);
    let mut state = began(Clock::default(), &target, Loaded { memories: of(&[("first", 1)]), ..told(true) });
    let said = |id, query: &str| Acknowledgement { id, query: query.to_owned(), topic: None, partition: None };
    assert_eq!(hear(&mut state, vec![said(7, "elsewhere"), said(8, "first")]), [8]);
}

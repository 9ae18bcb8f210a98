//! What a page tells a person to type can be typed, and what it tells to do fits the state.

use clap::Parser;
use scraper::{Html, Selector};

use super::*;
use crate::commands::CommandLine;
use crate::judgement::{Event, EventKind, Outcome, PartitionState, QueryVerdict, Restart, SkippedRange};
use crate::measures::{Reason, TopicPartition, Unread};
use crate::metrics::snapshot::Restarts;

fn select<'a>(page: &'a Html, what: &str) -> Vec<scraper::ElementRef<'a>> {
    page.select(&Selector::parse(what).unwrap()).collect()
}

/// The words of each command, as a shell hands them to the program. What stands behind `>` is the shell's.
fn commands(text: &str) -> Vec<Vec<String>> {
    let (page, word) = (Html::parse_document(text), Selector::parse("span").unwrap());
    let words = |command: &scraper::ElementRef<'_>| {
        let words = command.select(&word).map(|word| word.text().collect::<String>());
        words.take_while(|word| word != ">").map(|word| word.replace("'\\''", "\u{1}").replace('\'', "")).collect()
    };
    let words = select(&page, ".cmd code").iter().map(words).collect::<Vec<Vec<String>>>();
    words.into_iter().map(|words| words.iter().map(|word| word.replace('\u{1}', "'")).collect()).collect()
}

fn titles(text: &str) -> Vec<String> {
    select(&Html::parse_document(text), ".steps h3").iter().map(|title| title.text().collect()).collect()
}

fn restart(outcome: Outcome, skipped: Option<(i64, i64)>) -> Restart {
    let partition = TopicPartition { topic: "orders".into(), partition: 0 };
    let skipped = skipped.map(|(from, to)| SkippedRange {
        partition,
        from: fixture::offset(from).unwrap(),
        to: fixture::offset(to).unwrap(),
    });
    Restart { outcome, skipped: skipped.into_iter().collect(), ..Restart::unknown("orders/0 is in the way".to_owned()) }
}

/// One query in that state, as a round leaves it, with what a restart would do.
fn shown(state: QueryState, change: impl FnOnce(&mut QueryVerdict)) -> QueryRound {
    let of_partition = match state {
        QueryState::Recreated => Some(PartitionState::Recreated),
        QueryState::BeyondEnd => Some(PartitionState::BeyondEnd),
        QueryState::Gone => Some(PartitionState::Gone),
        _ => None,
    };
    let mut one = partition(5, if state == QueryState::Lost { 9 } else { 0 }, 20);
    one.state = of_partition.unwrap_or(one.state);
    let mut judged = verdict(state, &[("orders", vec![one, partition(7, 0, 7)])]);
    change(&mut judged);
    let bad = state < QueryState::AtRisk || judged.restartable == Some(false);
    let restarts = match state {
        QueryState::Lost => Restarts {
            configured: restart(Outcome::StartsThenFails, None),
            forced: restart(Outcome::StartsAndSkips, Some((5, 9))),
        },
        _ if bad => Restarts { configured: restart(Outcome::Fails, None), forced: restart(Outcome::Fails, None) },
        _ => Restarts { configured: restart(Outcome::Starts, None), forced: restart(Outcome::Starts, None) },
    };
    QueryRound { restarts: Some(restarts), ..fixture::query(judged) }
}

fn served(query: QueryRound) -> Served {
    let mut round = fixture::round();
    round.queries = [("orders-enriched".to_owned(), query)].into();
    Served::keeping(round)
}

#[test]
fn every_command_on_every_page_is_one_of_this_program_or_of_kafka() {
    let mut seen = 0;
    for state in QueryState::ALL {
        for restartable in [Some(true), Some(false), None] {
            let served = served(shown(*state, |judged| judged.restartable = restartable));
            served.note_gap(0, 5, 9);
            for path in ["/queries/orders-enriched", "/gaps"] {
                let text = served.get(path).text();
                let shown = commands(&text);
                assert!(*state == QueryState::Superseded || !shown.is_empty(), "{state} {path}");
                for words in shown {
                    match words[0].as_str() {
                        "brinkwatch" => {
                            let parsed = CommandLine::try_parse_from(&words);
                            assert!(parsed.is_ok(), "{words:?}: {parsed:?}");
                            assert!(words.ends_with(&["--config".to_owned(), "/etc/brinkwatch.toml".to_owned()]));
                        }
                        "kafka-configs.sh" => assert!(text.contains("changes the topic: "), "{words:?}"),
                        other => panic!("{other} is no command: {words:?}"),
                    }
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn each_state_has_its_steps_in_order() {
    let check = |query: QueryRound, expected: &[(&str, &str)]| {
        let text = served(query).get("/queries/orders-enriched").text();
        let wanted: Vec<&str> = expected.iter().map(|(title, _)| *title).collect();
        assert_eq!(titles(&text), wanted);
        let told: Vec<String> = commands(&text).iter().map(|words| words.join(" ")).collect();
        let mut rest = told.iter();
        for (title, command) in expected.iter().filter(|(_, command)| !command.is_empty()) {
            assert!(rest.any(|line| line.contains(command)), "{title}: no {command} in {told:?}");
        }
    };
    let plain = |state| shown(state, |_| {});
    let restart = ("See what a restart would do", "brinkwatch check orders-enriched");
    let prove = ("Prove that the sink is whole", "verify orders-enriched --sink-offsets sink.csv");
    let anew = |at| ("Start with a new checkpoint", at);
    let settled = ("When it is settled, release the state", "gaps acknowledge orders-enriched --evidence TICKET");
    check(
        plain(QueryState::Idle),
        &[
            ("Nothing is needed", "check orders-enriched"),
            ("Before it is stopped on purpose, see how long it may be down", "size orders-enriched"),
        ],
    );
    check(
        plain(QueryState::AtRisk),
        &[
            restart,
            ("Buy time: keep the data longer", "kafka-configs.sh"),
            ("Make the query read faster than data arrives", ""),
            ("See which retention would do", "size orders-enriched"),
        ],
    );
    check(
        plain(QueryState::Lost),
        &[
            ("Stop the clock: keep what is left", "kafka-configs.sh"),
            restart,
            ("Put it on record", "gaps record orders-enriched --found --evidence TICKET --by NAME"),
            ("Choose how to go on", "starting-offsets orders-enriched --at committed"),
            prove,
            ("See which retention lasts through the next outage", "size orders-enriched"),
        ],
    );
    let keep = ("Keep it stopped", "");
    let at_earliest = anew("starting-offsets orders-enriched --at earliest");
    check(plain(QueryState::Recreated), &[keep, restart, at_earliest, prove, settled]);
    check(plain(QueryState::BeyondEnd), &[keep, restart, at_earliest, prove, settled]);
    let at_committed = anew("starting-offsets orders-enriched --at committed");
    let who = ("Find out who deleted the topic or its partitions", "");
    check(plain(QueryState::Gone), &[restart, who, at_committed, prove, settled]);
    let unread =
        |reason| shown(QueryState::Unreadable, |judged| judged.unreadable = Some(Unread::new(reason, "as told")));
    let seen = ("See what can be read of the checkpoint", "inspect file:///data/checkpoints/orders");
    check(unread(Reason::Denied), &[seen, restart]);
    let by_store = QueryRound { store: Some("lake".to_owned()), ..unread(Reason::Denied) };
    check(by_store, &[(seen.0, "inspect file:///data/checkpoints/orders --store lake --config"), restart]);
    let last_known = "starting-offsets orders-enriched --at last-known";
    check(
        unread(Reason::NotFound),
        &[
            ("Do not start it yet", "inspect file:///data/checkpoints/orders"),
            ("If it is gone for good, start where the query stood", last_known),
            prove,
        ],
    );
    let happened = |kind| {
        shown(QueryState::Behind, |judged| {
            judged.events = vec![Event {
                kind,
                at: fixture::ago(7_200),
                topic: None,
                detail: "as told".to_owned(),
                positions: [].into(),
            }];
        })
    };
    check(
        happened(EventKind::OffsetsRewritten),
        &[
            ("Stop both drivers", "inspect file:///data/checkpoints/orders"),
            restart,
            prove,
            ("Start one of them", "starting-offsets orders-enriched --at committed"),
        ],
    );
    let replaced = "It runs on a new checkpoint: if that was no intention, see where the old one stood";
    let nothing = ("Nothing is needed", "check orders-enriched");
    let before = ("Before it is stopped on purpose, see how long it may be down", "size orders-enriched");
    check(happened(EventKind::CheckpointReplaced), &[(replaced, last_known), nothing, before]);
    check(happened(EventKind::PositionMovedBack), &[nothing, before]);
    let refused = shown(QueryState::Behind, |judged| judged.restartable = Some(false));
    check(refused, &[("Do not stop it, if it still runs", "inspect"), restart, at_committed]);
}

#[test]
fn a_way_on_that_does_not_fit_says_why_and_has_no_command() {
    let mut query = shown(QueryState::Lost, |_| {});
    let fails = restart(Outcome::StartsThenFails, None);
    query.restarts = Some(Restarts { configured: fails.clone(), forced: fails });
    let text = served(query).get("/queries/orders-enriched").text();
    assert!(text.contains("<b>Accept the gap</b> does not fit"), "{text}");
    assert!(text.contains("failOnDataLoss=false does not help: orders/0 is in the way"), "{text}");
    let page = Html::parse_document(&text);
    let choices: Vec<String> = select(&page, ".choice").iter().map(|choice| choice.text().collect()).collect();
    let unfit: Vec<&String> = choices.iter().filter(|choice| choice.contains("does not fit")).collect();
    assert_eq!((choices.len(), unfit.len()), (3, 1));
    assert!(choices[2].contains("Accept the gap"), "what fits comes first: {choices:?}");
    assert!(!unfit[0].contains("brinkwatch "), "{unfit:?}");
}

#[test]
fn without_a_ledger_no_command_asks_one() {
    for state in QueryState::ALL {
        let query = shown(*state, |judged| {
            judged.unreadable = (*state == QueryState::Unreadable).then(|| Unread::new(Reason::NotFound, "as told"));
        });
        let mut round = fixture::round();
        round.queries = [("orders-enriched".to_owned(), query)].into();
        let served = Served::with(round);
        served.note_gap(0, 5, 9);
        let told = commands(&served.get("/queries/orders-enriched").text());
        let asks = |words: &&Vec<String>| words[1] == "gaps" || words.contains(&"last-known".to_owned());
        assert_eq!(told.iter().filter(asks).collect::<Vec<_>>(), Vec::<&Vec<String>>::new(), "{state}");
    }
}

#[test]
fn a_limit_that_the_topic_takes_from_its_brokers_is_not_put_back_but_taken_away() {
    use crate::retention::{SetBy, TopicSight};
    for (set_by, said) in [
        (None, "Put 604800000 back"),
        (Some(SetBy::Topic), "Put 604800000 back"),
        (Some(SetBy::Brokers), "--delete-config retention.ms"),
        (Some(SetBy::Default), "--delete-config retention.ms"),
    ] {
        let mut round = fixture::round();
        for topic in round.reading.topics.values_mut() {
            if let TopicSight::Seen(seen) = topic
                && let Some(Ok(limits)) = &mut seen.limits
            {
                limits.retention_ms_set_by = set_by;
            }
        }
        let text = Served::with(round).get("/queries/orders-enriched").text();
        assert!(text.contains(said), "{set_by:?}\n{text}");
    }
}

/// `retention.ms` may be as large as a number can be, which is "for ever" to who sets it so.
#[test]
fn a_limit_that_is_none_is_not_made_longer() {
    use crate::retention::TopicSight;
    for (limit, is_shown) in [(i64::MAX, false), (i64::MAX / 2, false), (604_800_000, true)] {
        let mut round = fixture::round();
        for topic in round.reading.topics.values_mut() {
            if let TopicSight::Seen(seen) = topic
                && let Some(Ok(limits)) = &mut seen.limits
            {
                limits.retention_ms = Some(limit);
            }
        }
        let text = Served::with(round).get("/queries/orders-enriched").text();
        assert_eq!(text.contains("--add-config"), is_shown, "{limit}");
    }
}

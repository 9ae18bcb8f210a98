//! What a page tells a person to type can be typed.

use clap::Parser;
use scraper::{Html, Selector};

use super::*;
use crate::commands::CommandLine;

fn commands(text: &str) -> Vec<Vec<String>> {
    let (command, word) = (Selector::parse(".cmd code").unwrap(), Selector::parse("span").unwrap());
    let page = Html::parse_document(text);
    let commands = page.select(&command);
    commands.map(|each| each.select(&word).map(|word| word.text().collect()).collect()).collect()
}

#[test]
fn every_command_on_every_page_is_one_of_this_program_or_of_kafka() {
    let mut seen = 0;
    for state in QueryState::ALL {
        for restartable in [Some(true), Some(false), None] {
            let mut judged =
                verdict(*state, &[("orders", vec![partition(5, if *state == QueryState::Lost { 9 } else { 0 }, 20)])]);
            judged.restartable = restartable;
            let mut round = fixture::round();
            round.queries = [("orders-enriched".to_owned(), fixture::query(judged))].into();
            let served = Served::with(round);
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
                        }
                        "kafka-configs.sh" => assert!(text.contains("changes the topic: "), "{words:?}"),
                        other => panic!("{other} is no command: {words:?}"),
                    }
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 60, "{seen}");
}

//! The three ways on after a loss, and what each costs.

use super::{Case, Choice, Step};
use crate::metrics::snapshot::total_lag;
use crate::web::words::{count, counted};

pub(super) fn ways_on(case: &Case<'_>, lost: u64) -> Step {
    let lag = total_lag(case.verdict).map_or_else(
        || "all readable offsets, each once".to_owned(),
        |lag| format!("all {} readable offsets, each once", count(lag)),
    );
    let pair = |name, text: &str| (name, text.to_owned());
    Step {
        title: "Choose how to go on".to_owned(),
        text: format!(
            "None of these brings {} back from Kafka. Only a backfill from their origin does.",
            counted(lost, "lost offset", "lost offsets")
        ),
        commands: Vec::new(),
        choices: vec![
            Choice {
                name: "New checkpoint",
                what: "reads all that is left, nothing twice",
                pairs: vec![
                    ("You get", lag),
                    pair("You lose", "exactly the gap, and it is on record"),
                    pair(
                        "Mind",
                        "give the query a new checkpoint folder, and startingOffsets for every partition: earliest where data \
                         is lost, the committed offset elsewhere. Keep the old folder. State starts empty",
                    ),
                ],
            },
            Choice {
                name: "Accept the gap",
                what: "same checkpoint, keeps the state",
                pairs: vec![
                    pair("You get", "the query back with its state, in one restart"),
                    pair(
                        "You lose",
                        "the gap, and whatever else ages out before that restart: Spark skips it without counting",
                    ),
                    pair(
                        "Mind",
                        "set failOnDataLoss=false for one start only, then back to true: left on, it hides every later loss",
                    ),
                ],
            },
            Choice {
                name: "Backfill",
                what: "fetch the lost records from where they came from",
                pairs: vec![
                    pair("You get", "the lost records back in the sink, if their origin still has them"),
                    pair("Do", "one of the two above first, so that no more is lost meanwhile"),
                    pair("Mind", "write with MERGE on the key, so that doing it twice is harmless"),
                ],
            },
        ],
    }
}

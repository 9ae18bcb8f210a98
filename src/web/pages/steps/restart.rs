//! What a restart would do, in words: as the judgement foresees it.

use crate::judgement::{Outcome, Restart};
use crate::metrics::snapshot::Restarts;
use crate::web::words::counted;

/// What a restart would do, in a sentence or two.
pub(in crate::web::pages) fn restart_words(restarts: Option<&Restarts>) -> String {
    let Some(Restarts { configured, forced }) = restarts else {
        return "What a restart would do is unknown: nothing was read lately.".to_owned();
    };
    let class = configured.error_class.map_or_else(String::new, |class| format!(" ({class})"));
    let mut words = match configured.outcome {
        Outcome::Starts => return "A restart would start and read on.".to_owned(),
        Outcome::StartsAndSkips => {
            return format!(
                "A restart would start and skip {}: {}.",
                counted(skipped(configured), "offset", "offsets"),
                configured.detail
            );
        }
        Outcome::Unknown => return format!("What a restart would do is unknown: {}.", configured.detail),
        Outcome::StartsThenFails => {
            format!("A restart as it is fails in its first batch{class}: {}.", configured.detail)
        }
        Outcome::Fails => format!("A restart as it is fails{class}: {}.", configured.detail),
    };
    if forced.outcome == Outcome::StartsAndSkips {
        words.push_str(&format!(
            " Forced with failOnDataLoss=false it would skip {}.",
            counted(skipped(forced), "offset", "offsets")
        ));
    }
    words
}

/// How many offsets it would pass over.
pub(super) fn skipped(restart: &Restart) -> u64 {
    restart.skipped.iter().map(|range| range.to.above(range.from)).sum()
}

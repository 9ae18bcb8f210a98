//! Whether a topic keeps its records for long enough: to be watched at all, and to get over an outage.

use std::time::Duration;

/// A retention lasts for so many poll intervals, or a record can be gone before anybody was warned.
const POLLS: u32 = 10;

/// What a retention has to last for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// From one look at the topic to the next.
    pub poll_interval: Duration,
    /// How long the query may be down.
    pub max_outage: Duration,
    /// How often a batch of it should complete.
    pub expected_interval: Duration,
}

/// What a retention is too short for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shortage {
    /// To be watched.
    Watching,
    /// To get over an outage.
    Outage,
}

/// What a retention has to last for, so that a warning comes before the loss.
#[must_use]
pub const fn enough_to_watch(poll_interval: Duration) -> Duration {
    poll_interval.saturating_mul(POLLS)
}

impl Demand {
    /// How long a retention has to last to be none of it.
    #[must_use]
    pub const fn asks(&self, shortage: Shortage) -> Duration {
        match shortage {
            Shortage::Watching => enough_to_watch(self.poll_interval),
            Shortage::Outage => self.max_outage.saturating_add(self.expected_interval),
        }
    }

    /// What a retention of so many seconds is too short for, the worse first.
    #[must_use]
    pub fn unmet(&self, kept_seconds: f64) -> Vec<Shortage> {
        let short = |shortage: &Shortage| kept_seconds < self.asks(*shortage).as_secs_f64();
        [Shortage::Watching, Shortage::Outage].into_iter().filter(short).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retention_is_too_short_below_what_is_asked_and_not_at_it() {
        let check = |(poll, outage, interval): (u64, u64, u64), kept: f64, expected: &[Shortage]| {
            let [poll_interval, max_outage, expected_interval] = [poll, outage, interval].map(Duration::from_secs);
            let demand = Demand { poll_interval, max_outage, expected_interval };
            assert_eq!(demand.unmet(kept), expected, "{demand:?} {kept}");
        };
        let usual = (30, 86_400, 600);
        check(usual, 604_800.0, &[]);
        check(usual, f64::INFINITY, &[]);
        check(usual, 87_000.0, &[]);
        check(usual, 86_999.999, &[Shortage::Outage]);
        check(usual, 300.0, &[Shortage::Outage]);
        check(usual, 299.999, &[Shortage::Watching, Shortage::Outage]);
        check(usual, 0.0, &[Shortage::Watching, Shortage::Outage]);
        // A slow rhythm asks for more than a short outage does.
        check((3600, 60, 60), 7200.0, &[Shortage::Watching]);
        check((1, 0, 0), 10.0, &[]);
    }
}

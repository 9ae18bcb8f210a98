//! What the demo shows: four queries, and how each of them and its topic behaves.

/// One query, its topic, and what becomes of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Story {
    /// The query's name; also the name of its checkpoint's folder.
    pub(super) query: &'static str,
    /// The topic that it reads, alone.
    pub(super) topic: &'static str,
    /// Number of partitions of the topic.
    pub(super) partitions: i32,
    /// Bytes of one record.
    pub(super) record_bytes: usize,
    /// Records written to each partition in a thousand seconds.
    pub(super) records_per_kilosecond: u64,
    /// Share of the log, in thousandths, that lies before the committed offset of partition 0 at the start.
    pub(super) start_permille: i64,
    /// How much later in its log each further partition starts, in thousandths.
    pub(super) start_step_permille: i64,
    /// What the query does from then on.
    pub(super) pace: Pace,
    /// What to look for, for a person.
    pub(super) look_for: &'static str,
}

/// What a simulated query does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// Each batch reads all there is.
    KeepsUp,
    /// Falls to the brink of its retention, then stays there without going over.
    FallsBehind,
    /// Stopped in good order; nothing more happens.
    Stopped,
    /// Stopped by a power cut that left its newest offsets file half written.
    Torn,
}

/// The stories, in the order in which they are told.
///
/// A partition holds about 5000 records of 1 KiB, so 84 records a second turn it over in a minute and 56 in one and a
/// half. `payments` loses data when the 45 % that lie before its offset are overwritten: after about 40 seconds.
/// `invoices` is written so slowly that its log lasts for hours, yet steadily enough that size is seen to rule.
pub(super) const STORIES: [Story; 4] = [
    Story {
        query: "orders",
        topic: "shop.orders",
        partitions: 3,
        record_bytes: 1024,
        records_per_kilosecond: 42_000,
        start_permille: 990,
        start_step_permille: 0,
        pace: Pace::KeepsUp,
        look_for: "healthy: a batch every few seconds, all of its retention ahead",
    },
    Story {
        query: "clickstream",
        topic: "web.clickstream",
        partitions: 3,
        record_bytes: 1024,
        records_per_kilosecond: 84_000,
        start_permille: 700,
        start_step_permille: 40,
        pace: Pace::FallsBehind,
        look_for: "too slow: what is left of its retention falls below a half, then a fifth, within a minute, and stays low",
    },
    Story {
        query: "payments",
        topic: "shop.payments",
        partitions: 2,
        record_bytes: 1024,
        records_per_kilosecond: 56_000,
        start_permille: 450,
        start_step_permille: 150,
        pace: Pace::Stopped,
        look_for: "stopped: at risk from the start, loses data after about 40 seconds, and more every second",
    },
    Story {
        query: "invoices",
        topic: "shop.invoices",
        partitions: 1,
        record_bytes: 4096,
        records_per_kilosecond: 50,
        start_permille: 995,
        start_step_permille: 0,
        pace: Pace::Torn,
        look_for: "its newest offsets file is half written, as after a power cut: Spark would not start from it",
    },
];

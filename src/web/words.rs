//! Numbers, times and states in words, the same everywhere on the pages.
//!
//! Offsets stand in full with commas and a true minus sign; durations name their two largest units; a moment is named
//! as shortly as it can be without doubt, always in UTC.

#[cfg(test)]
mod tests;

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::judgement::{PartitionState, QueryState};
use crate::measures::Moment;
use crate::shard::Shard;

/// Thousands apart: `8,766,764`.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The same with a true minus sign: `−4,200`.
#[must_use]
pub fn signed(number: i64) -> String {
    let size = count(number.unsigned_abs());
    if number < 0 { format!("\u{2212}{size}") } else { size }
}

/// A number and its noun: `1 query`, `2 queries`.
#[must_use]
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// Which part of a fleet one process watches.
#[must_use]
pub fn shard(shard: Shard) -> String {
    format!("Shard {} of {}, counted from 0", shard.ordinal(), shard.count())
}

/// For axes only: `500 k`, `1.2 M`.
#[must_use]
pub fn short(number: u64) -> String {
    for (size, letter) in [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")] {
        if number >= size {
            let tenths = number / (size / 10);
            return if tenths.is_multiple_of(10) {
                format!("{} {letter}", tenths / 10)
            } else {
                format!("{}.{} {letter}", tenths / 10, tenths % 10)
            };
        }
    }
    number.to_string()
}

/// Rounded down, so that a page never shows more than there is: `16 %`.
#[must_use]
pub fn percent(ratio: f64) -> String {
    format!("{:.0} %", (ratio.clamp(0.0, 1.0) * 100.0).floor())
}

/// The two largest units: `6 d 19 h`, `3 h 12 min`, `41 min`, `9 s`.
#[must_use]
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    let two = |first: u64, unit: &str, second: u64, small: &str| {
        if second == 0 {
            format!("{} {unit}", count(first))
        } else {
            format!("{} {unit} {second} {small}", count(first))
        }
    };
    match seconds {
        0..60 => format!("{seconds} s"),
        60..600 => two(minutes, "min", seconds % 60, "s"),
        600..3_600 => format!("{minutes} min"),
        3_600..86_400 => two(hours, "h", minutes, "min"),
        _ => two(days, "d", hours, "h"),
    }
}

/// How long something took: `2.4 s`, `96 ms`.
#[must_use]
pub fn took(duration: Duration) -> String {
    match duration.as_millis() {
        millis @ 0..1_000 => format!("{millis} ms"),
        1_000..10_000 => format!("{:.1} s", duration.as_secs_f64()),
        _ => self::duration(duration),
    }
}

/// A moment as a clock shows it: today `06:05 UTC`, within six days `Wed 2 Dec, 05:53 UTC`, else with the year.
#[must_use]
pub fn clock(at: Moment, now: Moment) -> String {
    let (Some(date), Some(today)) = (calendar(at), calendar(now)) else { return "at no known time".to_owned() };
    let days_apart = at.since(now).max(now.since(at)).as_secs() / 86_400;
    let pattern = if date.date_naive() == today.date_naive() {
        "%H:%M UTC"
    } else if days_apart < 6 {
        "%a %-d %b, %H:%M UTC"
    } else {
        "%-d %b %Y, %H:%M UTC"
    };
    date.format(pattern).to_string()
}

/// The moment of a page: `Mon 30 Nov 2026, 02:53:08 UTC`.
#[must_use]
pub fn clock_in_full(at: Moment) -> String {
    calendar(at).map_or_else(String::new, |date| date.format("%a %-d %b %Y, %H:%M:%S UTC").to_string())
}

/// RFC 3339, to the millisecond: for machines.
#[must_use]
pub fn rfc3339(at: Moment) -> String {
    calendar(at).map_or_else(String::new, |date| date.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string())
}

/// The hour alone, where the day is plain: `06:05`.
#[must_use]
pub fn hour(at: Moment) -> String {
    calendar(at).map_or_else(String::new, |date| date.format("%H:%M").to_string())
}

/// The day alone, on an axis: `Mon 30`.
#[must_use]
pub fn day(at: Moment) -> String {
    calendar(at).map_or_else(String::new, |date| date.format("%a %-d").to_string())
}

fn calendar(at: Moment) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp_millis(at.millis())
}

/// A label as a person reads it: `at risk`.
#[must_use]
pub fn spoken(label: &str) -> String {
    label.replace('_', " ")
}

/// What a query's state means, in a few words.
#[must_use]
pub const fn meaning(state: QueryState) -> &'static str {
    match state {
        QueryState::ClusterMismatch => "the brokers are another cluster",
        QueryState::Recreated => "the topic is a new one",
        QueryState::Lost => "data is gone",
        QueryState::BeyondEnd => "position past the log's end",
        QueryState::Gone => "partitions are missing",
        QueryState::Unreadable => "position unknown",
        QueryState::AtRisk => "little retention is left",
        QueryState::Stalled => "no progress, data waits",
        QueryState::Unverified => "position not proved",
        QueryState::Unknown => "not read",
        QueryState::NotStarted => "no batch planned yet",
        QueryState::Behind => "reading, not at risk",
        QueryState::Idle => "nothing unread",
        QueryState::Superseded => "a newer checkpoint took over",
    }
}

/// The symbol that stands for a partition's state: that of the query state which it brings about.
#[must_use]
pub const fn symbol(state: PartitionState) -> &'static str {
    match state {
        PartitionState::Unknown | PartitionState::Unconfirmed => QueryState::Unknown.label(),
        PartitionState::Gone => QueryState::Gone.label(),
        PartitionState::Recreated => QueryState::Recreated.label(),
        PartitionState::BeyondEnd => QueryState::BeyondEnd.label(),
        PartitionState::Unverified => QueryState::Unverified.label(),
        PartitionState::Pending => QueryState::NotStarted.label(),
        PartitionState::Lost => QueryState::Lost.label(),
        PartitionState::CaughtUp => QueryState::Idle.label(),
        PartitionState::Behind => QueryState::Behind.label(),
    }
}

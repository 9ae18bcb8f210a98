//! The history of headroom and lag as pictures: worked out here, printed by the template.
//!
//! Places along the time are percents of a fluid width; along the value they are pixels. A curve lies in a box of
//! 1000 by 100 of its own, which is stretched. A time without a reading is a hole, never a joined line.

use std::time::Duration;

use super::row::number;
use crate::judgement::Deadline;
use crate::measures::Moment;
use crate::metrics::snapshot::{HistoryPoint, Span};
use crate::web::words::{self, clock, short, signed};

/// Above the box of the curve.
const TOP: f64 = 14.0;

/// Where and when a chart is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    from: Moment,
    to: Moment,
    now: Moment,
    span: Span,
    /// Readings further apart than this have a hole between them.
    patience: Duration,
}

impl Axis {
    /// Ends now, or with what is expected soon.
    pub(super) fn new(span: Span, now: Moment, poll_interval: Duration, soon: &[Option<Deadline>]) -> Self {
        let horizon = now.plus(span.length().mul_f64(0.5));
        let ahead = soon.iter().flatten().filter_map(|deadline| match deadline {
            Deadline::At(at) if *at > now && *at < horizon => Some(at.plus(span.length().mul_f64(0.04))),
            Deadline::At(_) | Deadline::Never => None,
        });
        let patience = (span.step() * 2).max(poll_interval.mul_f64(2.5));
        Self { from: now.minus(span.length()), to: ahead.max().unwrap_or(now), now, span, patience }
    }

    /// Place of a moment, in percent.
    fn x(&self, at: Moment) -> f64 {
        let whole = self.to.since(self.from).as_secs_f64();
        if whole > 0.0 { at.since(self.from).as_secs_f64() / whole * 100.0 } else { 0.0 }
    }

    fn is_after(&self, at: Moment) -> bool {
        at > self.to
    }

    fn ticks(&self) -> Vec<Tick> {
        let step = Duration::from_secs(match self.span {
            Span::HalfHour => 300,
            Span::SixHours => 3_600,
            Span::Day => 10_800,
            Span::Week => 86_400,
        });
        let millis = i64::try_from(step.as_millis()).unwrap_or(i64::MAX);
        let mut at = Moment::from_millis((self.from.millis().div_euclid(millis) + 1) * millis);
        let mut ticks = Vec::new();
        while at <= self.to {
            let x = self.x(at);
            // A label at the edge would hang over it.
            if (3.0..=97.0).contains(&x) {
                let text = if self.span == Span::Week { words::day(at) } else { words::hour(at) };
                ticks.push(Tick { x: format!("{x:.2}%"), text, fine: ticks.len() % 2 == 0 });
            }
            at = at.plus(step);
        }
        ticks
    }
}

/// One curve with all that stands around it.
#[derive(Debug)]
pub(super) struct Chart {
    pub(super) title: &'static str,
    pub(super) sub: &'static str,
    pub(super) label: String,
    pub(super) height: String,
    pub(super) box_height: String,
    pub(super) bottom: String,
    pub(super) below: String,
    pub(super) lines: Vec<Level>,
    pub(super) ticks: Vec<Tick>,
    pub(super) holes: Vec<Hole>,
    pub(super) areas: Vec<String>,
    pub(super) line: String,
    pub(super) forecast: Option<String>,
    pub(super) now: Option<String>,
    pub(super) due: Option<Due>,
    pub(super) end: Option<(String, String)>,
}

/// A line at a round value.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) y: String,
    pub(super) text_y: String,
    pub(super) text: String,
    pub(super) is_zero: bool,
}

/// A time on the axis.
#[derive(Debug)]
pub(super) struct Tick {
    pub(super) x: String,
    pub(super) text: String,
    pub(super) fine: bool,
}

/// A time in which nothing was read.
#[derive(Debug)]
pub(super) struct Hole {
    pub(super) x: String,
    pub(super) width: String,
    pub(super) middle: String,
    pub(super) wide: bool,
}

/// The proved deadline.
#[derive(Debug)]
pub(super) struct Due {
    pub(super) x: String,
    pub(super) text: String,
    pub(super) anchor: &'static str,
    pub(super) shift: &'static str,
}

/// What is drawn.
pub(super) struct Curve<'a> {
    pub(super) title: &'static str,
    pub(super) sub: &'static str,
    pub(super) height: f64,
    pub(super) points: &'a [HistoryPoint],
    pub(super) value: fn(&HistoryPoint) -> Option<i64>,
    pub(super) due: Option<Deadline>,
    /// When the value is expected to be zero.
    pub(super) forecast: Option<Deadline>,
}

pub(super) fn headroom(point: &HistoryPoint) -> Option<i64> {
    point.headroom
}

pub(super) fn lag(point: &HistoryPoint) -> Option<i64> {
    i64::try_from(point.lag?).ok()
}

pub(super) fn draw(axis: &Axis, curve: &Curve<'_>) -> Chart {
    let read: Vec<(Moment, i64)> =
        curve.points.iter().filter_map(|point| Some((point.at, (curve.value)(point)?))).collect();
    let (low, high, step) = scale(read.iter().map(|(_, value)| *value));
    let share = |value: i64| as_f64(value - low) / as_f64((high - low).max(1));
    let y_in_box = |value: i64| 100.0 - share(value) * 100.0;
    let y = |value: i64| TOP + curve.height * (1.0 - share(value));
    let x = |at: Moment| axis.x(at) * 10.0;
    let pieces = pieces(&read, axis.patience);
    let path = |piece: &[(Moment, i64)]| {
        let mut text = String::new();
        for (at, value) in piece {
            let letter = if text.is_empty() { 'M' } else { 'L' };
            text.push_str(&format!("{letter}{:.1} {:.1}", x(*at), y_in_box(*value)));
        }
        if let [(at, value)] = piece {
            // A single reading would be no line at all.
            text.push_str(&format!("L{:.1} {:.1}", x(*at) + 1.0, y_in_box(*value)));
        }
        text
    };
    let area = |piece: &&[(Moment, i64)]| {
        let (first, last) = (piece.first()?, piece.last()?);
        let zero = y_in_box(0);
        Some(format!("{}L{:.1} {zero:.1}L{:.1} {zero:.1}z", path(piece), x(last.0), x(first.0)))
    };
    let last = read.last().copied();
    let forecast = match (curve.forecast, last) {
        (Some(Deadline::At(at)), Some((since, value))) if at > since && !axis.is_after(at) => {
            Some(format!("M{:.1} {:.1}L{:.1} {:.1}", x(since), y_in_box(value), x(at), y_in_box(0)))
        }
        _ => None,
    };
    let bottom = TOP + curve.height;
    Chart {
        title: curve.title,
        sub: curve.sub,
        label: label(curve, axis, &read),
        height: format!("{:.0}", bottom + 24.0),
        box_height: format!("{:.0}", curve.height),
        bottom: format!("{bottom:.1}"),
        below: format!("{:.0}", bottom + 18.0),
        lines: levels(low, high, step, y),
        ticks: axis.ticks(),
        holes: holes(axis, &read),
        areas: pieces.iter().filter_map(area).collect(),
        line: pieces.iter().map(|piece| path(piece)).collect(),
        forecast,
        now: (axis.to > axis.now).then(|| format!("{:.2}%", axis.x(axis.now))),
        due: due(curve.due, axis),
        end: last.map(|(at, value)| (format!("{:.2}%", axis.x(at)), format!("{:.1}", y(value)))),
    }
}

fn due(due: Option<Deadline>, axis: &Axis) -> Option<Due> {
    match due {
        Some(Deadline::At(at)) if at > axis.now && !axis.is_after(at) => {
            let x = axis.x(at);
            let (anchor, shift) = if x > 85.0 { ("end", "-5") } else { ("start", "5") };
            Some(Due { x: format!("{x:.2}%"), text: words::hour(at), anchor, shift })
        }
        _ => None,
    }
}

fn levels(low: i64, high: i64, step: i64, y: impl Fn(i64) -> f64) -> Vec<Level> {
    let mut levels = Vec::new();
    let mut value = low;
    while value <= high && levels.len() < 12 {
        let size = short(value.unsigned_abs());
        let unit = if value + step > high { " offsets" } else { "" };
        let sign = if value < 0 { "\u{2212}" } else { "" };
        levels.push(Level {
            y: format!("{:.1}", y(value)),
            text_y: format!("{:.1}", y(value) - 4.0),
            text: format!("{sign}{size}{unit}"),
            is_zero: value == 0,
        });
        value += step;
    }
    levels
}

/// Round bounds around zero and the values, and the distance of the lines between them.
fn scale(values: impl Iterator<Item = i64> + Clone) -> (i64, i64, i64) {
    let (low, high) = (values.clone().min().unwrap_or(0).min(0), values.max().unwrap_or(0).max(0));
    let width = (high.saturating_sub(low)).max(4);
    let mut step = 1_i64;
    // At most five lines; the step is 1, 2 or 5 and zeros.
    for factor in [2, 5, 10].into_iter().cycle() {
        if width / step <= 4 {
            break;
        }
        let decade = 10_i64.saturating_pow(step.ilog10());
        step = if step / decade == 1 && factor == 2 { decade * 2 } else { decade * factor };
    }
    let down = low.div_euclid(step) * step;
    let up = if high.rem_euclid(step) == 0 { high } else { (high.div_euclid(step) + 1) * step };
    (down, up.max(down + step), step)
}

/// Runs of readings without a hole.
fn pieces(read: &[(Moment, i64)], patience: Duration) -> Vec<&[(Moment, i64)]> {
    read.chunk_by(|(before, _), (after, _)| after.since(*before) <= patience).collect()
}

/// Where nothing was read, from the first reading on: before it the process did not run, or nobody asked.
fn holes(axis: &Axis, read: &[(Moment, i64)]) -> Vec<Hole> {
    let mut ends: Vec<Moment> = read.iter().map(|(at, _)| *at).collect();
    ends.push(axis.now);
    let between = ends.iter().zip(ends.iter().skip(1)).filter(|(from, to)| to.since(**from) > axis.patience);
    between
        .map(|(from, to)| {
            let (left, right) = (axis.x(*from), axis.x(*to));
            Hole {
                x: format!("{left:.2}%"),
                width: format!("{:.2}%", right - left),
                middle: format!("{:.2}%", (left + right) / 2.0),
                wide: right - left > 12.0,
            }
        })
        .collect()
}

fn label(curve: &Curve<'_>, axis: &Axis, read: &[(Moment, i64)]) -> String {
    let (Some((first_at, first)), Some((last_at, last))) = (read.first(), read.last()) else {
        return format!("{}: no reading in this time", curve.title);
    };
    let mut text = format!(
        "{}: {} at {}, {} at {}",
        curve.title,
        signed(*first),
        clock(*first_at, axis.now),
        signed(*last),
        clock(*last_at, axis.now)
    );
    if let Some(lowest) = read.iter().map(|(_, value)| *value).min().filter(|lowest| lowest < last && lowest < first) {
        text.push_str(&format!(", {} at the lowest", signed(lowest)));
    }
    let holes = holes(axis, read).len();
    if holes > 0 {
        text.push_str(&format!("; {} without a reading", words::counted(number(holes), "time", "times")));
    }
    if let Some(Deadline::At(at)) = curve.due.filter(|due| matches!(due, Deadline::At(at) if *at > axis.now)) {
        text.push_str(&format!("; proved deadline {}", clock(at, axis.now)));
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "a picture needs no more than four digits")]
fn as_f64(value: i64) -> f64 {
    value as f64
}

/// A small curve without axes: from where to where headroom went.
#[derive(Debug)]
pub(super) struct Spark {
    pub(super) label: String,
    pub(super) line: String,
    pub(super) brink: String,
    pub(super) end: (String, String),
    pub(super) value: String,
}

/// A small curve has at most so many points.
const SPARK_POINTS: usize = 36;

/// Draws headroom over a span; absent without a reading.
pub(super) fn spark(points: &[HistoryPoint], span: Span, now: Moment, poll_interval: Duration) -> Option<Spark> {
    let axis = Axis::new(span, now, poll_interval.max(span.length() / 36), &[]);
    let all: Vec<(Moment, i64)> = points.iter().filter_map(|point| Some((point.at, point.headroom?))).collect();
    let size = all.len().div_ceil(SPARK_POINTS).max(1);
    let read: Vec<(Moment, i64)> = all
        .chunks(size)
        .filter_map(|chunk| Some((chunk.last()?.0, chunk.iter().map(|(_, value)| *value).min()?)))
        .collect();
    let ((_, first), (last_at, last)) = (*all.first()?, *all.last()?);
    let low = read.iter().map(|(_, value)| *value).min().unwrap_or(0).min(0);
    let high = read.iter().map(|(_, value)| *value).max().unwrap_or(0).max(low + 1);
    let y = |value: i64| 100.0 - as_f64(value - low) / as_f64(high - low) * 100.0;
    let mut line = String::new();
    for piece in pieces(&read, axis.patience) {
        for (place, (at, value)) in piece.iter().enumerate() {
            let letter = if place == 0 { 'M' } else { 'L' };
            line.push_str(&format!("{letter}{:.0} {:.0}", axis.x(*at) * 10.0, y(*value)));
        }
    }
    let current = now.since(last_at) <= axis.patience;
    let arrow = match last.cmp(&first) {
        std::cmp::Ordering::Less => " \u{2193}",
        std::cmp::Ordering::Equal => "",
        std::cmp::Ordering::Greater => " \u{2191}",
    };
    Some(Spark {
        label: format!(
            "Headroom over the last {}: from {} to {}",
            words::duration(span.length()),
            signed(first),
            signed(last)
        ),
        line,
        brink: format!("{:.1}", 2.0 + y(0) * 0.24),
        end: (format!("{:.1}%", axis.x(last_at)), format!("{:.1}", 2.0 + y(last) * 0.24)),
        value: if current {
            format!("{}{arrow}", signed(last))
        } else {
            format!("no value since {}", words::hour(last_at))
        },
    })
}

#[cfg(test)]
mod tests;

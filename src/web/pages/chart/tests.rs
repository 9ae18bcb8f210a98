use super::*;
use crate::metrics::fixture::{NOW, ago};

const POLL: Duration = Duration::from_secs(30);

fn point(seconds_ago: u64, headroom: i64, lag: u64) -> HistoryPoint {
    HistoryPoint { at: ago(seconds_ago), headroom: Some(headroom), lag: Some(lag) }
}

fn drawn(points: &[HistoryPoint], due: Option<Deadline>, forecast: Option<Deadline>) -> Chart {
    let axis = Axis::new(Span::HalfHour, NOW, POLL, &[due, forecast]);
    let curve = Curve { title: "Headroom", sub: "", height: 100.0, points, value: headroom, due, forecast };
    draw(&axis, &curve)
}

#[test]
fn the_scale_holds_zero_and_all_values_between_round_lines() {
    let check = |values: &[i64], expected| assert_eq!(scale(values.iter().copied()), expected, "{values:?}");
    check(&[], (0, 1, 1));
    check(&[0], (0, 1, 1));
    check(&[7], (0, 8, 2));
    check(&[4_910_000, 870_707], (0, 5_000_000, 1_000_000));
    check(&[-4_200, 34_740], (-10_000, 40_000, 10_000));
    check(&[96_897_559], (0, 100_000_000, 20_000_000));
    check(&[i64::MAX / 4], (0, 2_500_000_000_000_000_000, 500_000_000_000_000_000));
}

#[test]
fn a_curve_can_be_read_back() {
    let chart = drawn(&[point(1_800, 100, 0), point(1_770, 50, 0), point(1_740, 0, 0)], None, None);
    assert_eq!(chart.line, "M0.0 0.0L16.7 50.0L33.3 100.0");
    assert_eq!(chart.areas, ["M0.0 0.0L16.7 50.0L33.3 100.0L33.3 100.0L0.0 100.0z"]);
}

#[test]
fn a_time_without_a_reading_is_a_hole_and_no_line() {
    let chart =
        drawn(&[point(900, 10, 0), point(880, 10, 0), point(300, 4, 0), point(20, 4, 0), point(0, 4, 0)], None, None);
    assert_eq!(chart.line.matches('M').count(), 3, "{}", chart.line);
    assert_eq!(chart.holes.len(), 2);
    let blind = drawn(&[point(900, 10, 0)], None, None);
    assert_eq!(blind.holes.len(), 1, "blind until now");
    assert_eq!(drawn(&[], None, None).label, "Headroom: no reading in this time");
}

#[test]
fn what_is_expected_soon_is_on_the_chart_and_what_is_far_is_not() {
    let at = |seconds| Some(Deadline::At(NOW.plus(Duration::from_secs(seconds))));
    let points = [point(30, 10, 0), point(0, 9, 0)];
    let soon = drawn(&points, at(600), at(700));
    assert!(soon.due.is_some() && soon.forecast.is_some() && soon.now.is_some());
    assert!(soon.label.contains("; proved deadline "), "{}", soon.label);
    let far = drawn(&points, at(90_000), Some(Deadline::Never));
    assert!(far.due.is_none() && far.forecast.is_none() && far.now.is_none());
}

#[test]
fn what_is_lost_lies_below_the_zero_line() {
    let chart = drawn(&[point(60, 20, 0), point(0, -20, 0)], None, None);
    let zero = chart.lines.iter().find(|line| line.is_zero).unwrap();
    assert_eq!((zero.y.as_str(), chart.lines[0].text.as_str()), ("64.0", "\u{2212}20"));
}

#[test]
fn a_small_curve_has_few_points_and_says_from_where_to_where() {
    let points: Vec<HistoryPoint> =
        (0..180).rev().map(|step| point(step * 120, 1_000 + i64::try_from(step).unwrap(), 0)).collect();
    let spark = spark(&points, Span::SixHours, NOW, POLL).unwrap();
    assert!(spark.line.matches(['M', 'L']).count() <= SPARK_POINTS, "{}", spark.line);
    assert_eq!(spark.label, "Headroom over the last 6 h: from 1,179 to 1,000");
    assert_eq!(spark.value, "1,000 \u{2193}");
    assert!(super::spark(&[], Span::SixHours, NOW, POLL).is_none());
}

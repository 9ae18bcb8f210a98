//! Thresholds, the window of the rules, links.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Checks, above_zero};
use crate::config::duration::show;
use crate::config::key::Key;
use crate::config::valid::{AlertSettings, QueryAlerts, Threshold, Thresholds};
use crate::config::written::{WrittenAlerts, WrittenQueryAlerts};

use Threshold::{ForecastCritical, ForecastWarning, RiskCritical, RiskWarning, StalledAfter};

/// Checks `[alerts]`. `slowest` is the longest poll interval of any cluster.
pub(super) fn settings(written: &WrittenAlerts, slowest: Duration, checks: &mut Checks) -> AlertSettings {
    let table = Key::of(&["alerts"]);
    let thresholds = Thresholds {
        risk_warning: written.risk_warning,
        risk_critical: written.risk_critical,
        forecast_warning: written.forecast_warning,
        forecast_critical: written.forecast_critical,
        stalled_after: written.stalled_after,
    };
    let all = BTreeSet::from([RiskWarning, RiskCritical, ForecastWarning, ForecastCritical, StalledAfter]);
    check_thresholds(&table, &thresholds, &all, checks);
    above_zero(table.child("scrape_interval"), written.scrape_interval, checks);
    if let Some(window) = written.window {
        above_zero(table.child("window"), window, checks);
    }
    AlertSettings {
        thresholds,
        window: written.window.unwrap_or_else(|| usual_window(written.scrape_interval, slowest)),
        scrape_interval: written.scrape_interval,
        runbook_base_url: base_url(table.child("runbook_base_url"), &written.runbook_base_url, checks),
        dashboard_base_url: base_url(table.child("dashboard_base_url"), &written.dashboard_base_url, checks),
    }
}

/// Five minutes, or two scrapes and two polls when they take longer: one missed scrape after one missed poll must not
/// make a hole in a rule's view.
fn usual_window(scrape_interval: Duration, poll_interval: Duration) -> Duration {
    let two_of_each = scrape_interval.saturating_add(poll_interval).saturating_mul(2);
    two_of_each.max(Duration::from_secs(5 * 60))
}

/// Lays a query's own thresholds over the global ones and checks them.
pub(super) fn of_query(
    table: &Key,
    written: &WrittenQueryAlerts,
    global: &Thresholds,
    checks: &mut Checks,
) -> QueryAlerts {
    let thresholds = Thresholds {
        risk_warning: written.risk_warning.unwrap_or(global.risk_warning),
        risk_critical: written.risk_critical.unwrap_or(global.risk_critical),
        forecast_warning: written.forecast_warning.unwrap_or(global.forecast_warning),
        forecast_critical: written.forecast_critical.unwrap_or(global.forecast_critical),
        stalled_after: written.stalled_after.unwrap_or(global.stalled_after),
    };
    let given = [
        (RiskWarning, written.risk_warning.is_some()),
        (RiskCritical, written.risk_critical.is_some()),
        (ForecastWarning, written.forecast_warning.is_some()),
        (ForecastCritical, written.forecast_critical.is_some()),
        (StalledAfter, written.stalled_after.is_some()),
    ];
    let overridden = given.into_iter().filter(|(_, given)| *given).map(|(threshold, _)| threshold).collect();
    check_thresholds(table, &thresholds, &overridden, checks);
    QueryAlerts { thresholds, overridden }
}

/// Checks the thresholds that stand in this table, alone and in pairs. Of a pair the critical one gets the blame, or
/// the only one that stands here.
fn check_thresholds(table: &Key, thresholds: &Thresholds, own: &BTreeSet<Threshold>, checks: &mut Checks) {
    for (threshold, value) in [(RiskWarning, thresholds.risk_warning), (RiskCritical, thresholds.risk_critical)] {
        if own.contains(&threshold) && !(0.0..=1.0).contains(&value) {
            checks.report(table.child(threshold.key()), format!("{value} is not between 0 and 1"));
        }
    }
    for (threshold, value) in
        [(ForecastWarning, thresholds.forecast_warning), (ForecastCritical, thresholds.forecast_critical)]
    {
        if own.contains(&threshold) {
            above_zero(table.child(threshold.key()), value, checks);
        }
    }
    if own.contains(&StalledAfter) && thresholds.stalled_after == 0 {
        checks.report(table.child(StalledAfter.key()), "must be 1 or more");
    }
    if thresholds.risk_critical >= thresholds.risk_warning {
        let (critical, warning) = (thresholds.risk_critical, thresholds.risk_warning);
        let problems = [
            (RiskCritical, format!("{critical} is not below risk_warning ({warning})")),
            (RiskWarning, format!("{warning} is not above risk_critical ({critical})")),
        ];
        blame_one(table, problems, own, checks);
    }
    if thresholds.forecast_critical > thresholds.forecast_warning {
        let (critical, warning) = (show(thresholds.forecast_critical), show(thresholds.forecast_warning));
        let problems = [
            (ForecastCritical, format!("{critical} is longer than forecast_warning ({warning})")),
            (ForecastWarning, format!("{warning} is shorter than forecast_critical ({critical})")),
        ];
        blame_one(table, problems, own, checks);
    }
}

fn blame_one(table: &Key, problems: [(Threshold, String); 2], own: &BTreeSet<Threshold>, checks: &mut Checks) {
    // With one of the two already refused, the pair compares a value that nobody wrote.
    let is_sound = problems.iter().all(|(threshold, _)| checks.is_sound(&table.child(threshold.key())));
    let blamed = problems.into_iter().find(|(threshold, _)| own.contains(threshold));
    if let Some((threshold, problem)) = blamed.filter(|_| is_sound) {
        checks.report(table.child(threshold.key()), problem);
    }
}

/// A URL to which names are appended; empty is none.
fn base_url(key: Key, text: &str, checks: &mut Checks) -> Option<String> {
    if text.is_empty() {
        return None;
    }
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let is_host = |host: &str| !host.is_empty() && !host.contains('@');
    let is_bad = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '<' | '>' | '\\' | '{' | '}');
    if !host.is_some_and(is_host) || text.contains(is_bad) {
        // The address is not repeated: it may hold a password.
        checks.report(key, "is no web address; write such as \"https://host/path/\", without user and password");
    }
    Some(if text.ends_with('/') { text.to_owned() } else { format!("{text}/") })
}

//! Cases from the field, replayed: what must be said of each, and what must not.
//!
//! `tests/scenarios/CASE.json` is a scenario as `brinkwatch replay` reads it; `CASE.expect.json` beside it says what is
//! expected of which step. A pattern is a part of a step's JSON: an object fits when each of its keys does, a list when
//! each of its items fits some item. `{"contains": text}`, `{"near": [number, within]}`, `{"lacks": pattern}` (no item
//! fits), `{"after": time}` and `{"missing": true}` stand for what they say.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its cases has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use brinkwatch::commands::replay::{document, setup};
use brinkwatch::judgement::QueryState;
use brinkwatch::replay::{parse, play};
use serde_json::Value;

/// Where alerts have their names.
const ALERTS: &str = include_str!("../src/alerts/holding.rs");

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios")
}

fn cases() -> Vec<String> {
    let names = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut cases: Vec<String> = names
        .filter(|name| !name.ends_with(".expect.json"))
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .collect();
    cases.sort();
    cases
}

fn read(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn replayed(case: &str) -> Value {
    replayed_text(case, &read(&format!("{case}.json")))
}

fn replayed_text(case: &str, text: &str) -> Value {
    let scenario = parse(text).unwrap_or_else(|error| panic!("{case}: {error}"));
    let setup = setup(&scenario).unwrap_or_else(|error| panic!("{case}: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let played = runtime.block_on(play(&scenario, &setup)).unwrap();
    document(&scenario, &played)
}

/// Why the value does not fit the pattern; nothing when it does.
fn misfit(pattern: &Value, value: &Value, at: &str) -> Option<String> {
    if let Some(special) = special(pattern, value) {
        return (!special).then(|| format!("{at} is {value}, not {pattern}"));
    }
    match (pattern, value) {
        (Value::Object(wanted), Value::Object(found)) => wanted.iter().find_map(|(key, pattern)| {
            let missing = || pattern.get("missing").is_some();
            match found.get(key) {
                Some(value) => misfit(pattern, value, &format!("{at}.{key}")),
                None => (!missing()).then(|| format!("{at} has no {key}")),
            }
        }),
        (Value::Array(wanted), Value::Array(found)) => wanted.iter().find_map(|pattern| {
            let fits = found.iter().any(|value| misfit(pattern, value, at).is_none());
            (!fits).then(|| format!("{at} holds no {pattern}: {value}"))
        }),
        (Value::Number(wanted), Value::Number(found)) if wanted.as_f64() == found.as_f64() => None,
        _ => (pattern != value).then(|| format!("{at} is {value}, not {pattern}")),
    }
}

fn special(pattern: &Value, value: &Value) -> Option<bool> {
    let pattern = pattern.as_object().filter(|pattern| pattern.len() == 1)?;
    let (word, wanted) = pattern.iter().next()?;
    match word.as_str() {
        "contains" => Some(value.as_str().is_some_and(|text| text.contains(wanted.as_str().unwrap()))),
        "near" => {
            let (number, within) = (wanted[0].as_f64().unwrap(), wanted[1].as_f64().unwrap());
            Some(value.as_f64().is_some_and(|value| (value - number).abs() <= within))
        }
        "after" => Some(value.as_str().is_some_and(|time| time > wanted.as_str().unwrap())),
        "lacks" => Some(value.as_array()?.iter().all(|item| misfit(wanted, item, "").is_some())),
        "missing" => Some(false),
        _ => None,
    }
}

/// The steps that a check is about, of the checkpoint that it is about.
fn steps<'a>(check: &Value, answer: &'a Value) -> Vec<(usize, &'a Value)> {
    let list = check.get("checkpoint").map_or(answer, |name| &answer[name.as_str().unwrap()]);
    let list = list.as_array().expect("one list of steps");
    let steps: Vec<(usize, &Value)> = list.iter().enumerate().collect();
    match &check["step"] {
        Value::String(every) if every == "every" => steps,
        Value::String(last) if last == "last" => steps.last().copied().into_iter().collect(),
        Value::Array(range) => {
            let bound = |at: usize| usize::try_from(range[at].as_u64().unwrap()).unwrap();
            steps[bound(0)..=bound(1)].to_vec()
        }
        one => vec![steps[usize::try_from(one.as_u64().unwrap()).unwrap()]],
    }
}

/// Every check of a case: those that do not hold, in words.
fn failures(case: &str, answer: &Value) -> Vec<String> {
    let expected: Value = serde_json::from_str(&read(&format!("{case}.expect.json")))
        .unwrap_or_else(|error| panic!("{case}.expect.json: {error}"));
    let mut failures = Vec::new();
    let (expect, must_not) = (expected["expect"].as_array().unwrap(), expected["must_not"].as_array().unwrap());
    assert!(!expect.is_empty() && !must_not.is_empty(), "{case}: nothing is expected");
    for check in expect {
        for (at, step) in steps(check, answer) {
            failures.extend(misfit(&check["is"], step, "").map(|why| format!("step {at}: {why}")));
        }
    }
    for check in must_not {
        for (at, step) in steps(check, answer) {
            for wrong in check["any_of"].as_array().unwrap() {
                assert_can_fit(case, wrong, step);
                if misfit(wrong, step, "").is_none() {
                    failures.push(format!("step {at}: must not be {wrong}: {}", check["why"]));
                }
            }
        }
    }
    failures.extend(nonsense(answer, ""));
    failures
}

/// A pattern with a word that no answer has would never fit, and forbid nothing.
fn assert_can_fit(case: &str, pattern: &Value, step: &Value) {
    const PARTITION: [&str; 13] = [
        "state",
        "reason",
        "committed",
        "planned",
        "headroom_offsets",
        "lag_offsets",
        "lost_offsets",
        "possibly_lost_offsets",
        "oldest_unread_timestamp",
        "beyond_end_offsets",
        "remaining_ratio",
        "deadline",
        "projected_loss",
    ];
    for (key, pattern) in pattern.as_object().unwrap() {
        assert!(step.get(key).is_some(), "{case}: no step has {key}");
        if key == "partitions" {
            let words = pattern.as_object().unwrap().values().flat_map(|one| one.as_object().unwrap().keys());
            words.for_each(|word| assert!(word == "missing" || PARTITION.contains(&word.as_str()), "{case}: {word}"));
        }
        if key == "alerts" {
            let lacking = pattern.get("lacks").map(std::slice::from_ref);
            for alert in lacking.or_else(|| pattern.as_array().map(Vec::as_slice)).unwrap() {
                let known = alert["alert"].as_str().is_none_or(|name| ALERTS.contains(&format!("{name:?}")));
                assert!(known, "{case}: no alert is called {alert}");
            }
        }
        if key == "query_state" {
            let known = QueryState::ALL.iter().any(|state| pattern == state.label());
            assert!(known, "{case}: no state is called {pattern}");
        }
    }
}

/// What is wrong in any case: a negative number other than headroom.
fn nonsense(value: &Value, key: &str) -> Vec<String> {
    match value {
        Value::Number(number) if key != "headroom_offsets" && number.as_f64().unwrap() < 0.0 => {
            vec![format!("{key} is {number}")]
        }
        Value::Object(fields) => fields.iter().flat_map(|(key, value)| nonsense(value, key)).collect(),
        Value::Array(items) => items.iter().flat_map(|value| nonsense(value, key)).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn every_case_of_the_field_is_judged_right() {
    let only = std::env::var("CASE").ok();
    let mut wrong = 0;
    let cases: Vec<String> = cases().into_iter().filter(|case| only.as_ref().is_none_or(|only| case == only)).collect();
    for case in &cases {
        let answer = replayed(case);
        if only.is_some() {
            println!("{}", serde_json::to_string_pretty(&answer).unwrap());
        }
        let failures = failures(case, &answer);
        println!("{case:<24} {}", if failures.is_empty() { "as expected" } else { "WRONG" });
        failures.iter().for_each(|failure| println!("    {failure}"));
        wrong += usize::from(!failures.is_empty());
    }
    assert!(!cases.is_empty(), "no case was found");
    assert_eq!(wrong, 0, "cases judged wrong, of {}", cases.len());
}

#[test]
fn a_replay_says_the_same_each_time() {
    for case in cases().into_iter().take(10) {
        assert_eq!(replayed(&case), replayed(&case), "{case}");
    }
}

#[test]
fn every_case_has_its_expectation() {
    for case in cases() {
        assert!(folder().join(format!("{case}.expect.json")).is_file(), "{case} expects nothing");
    }
}

/// The scenario with its steps changed.
fn changed(case: &str, change: impl FnOnce(&mut Vec<Value>)) -> Value {
    let mut scenario: Value = serde_json::from_str(&read(&format!("{case}.json"))).unwrap();
    change(scenario["steps"].as_array_mut().unwrap());
    replayed_text(case, &scenario.to_string())
}

/// Without what look-ups by time leave open to within a tolerance: a reader that starts anew asks other times.
fn without_estimates(mut answer: Value) -> Value {
    let lists: Vec<&mut Value> = match &mut answer {
        Value::Object(several) => several.values_mut().collect(),
        one => vec![one],
    };
    for step in lists.into_iter().flat_map(|list| list.as_array_mut().unwrap()) {
        step["query_reason"].take();
        for partition in step["partitions"].as_object_mut().unwrap().values_mut() {
            for key in ["oldest_unread_timestamp", "deadline", "remaining_ratio", "projected_loss"] {
                partition[key].take();
            }
        }
    }
    answer
}

#[test]
fn a_restart_with_what_is_remembered_changes_no_verdict() {
    for case in cases() {
        let restarted =
            changed(&case, |steps| steps.iter_mut().for_each(|step| step["restart"] = "with_ledger".into()));
        assert_eq!(without_estimates(restarted), without_estimates(replayed(&case)), "{case}");
    }
}

#[test]
fn a_round_that_is_not_read_makes_no_verdict_better() {
    let rank = |state: &Value| QueryState::ALL.iter().position(|known| state == known.label()).unwrap();
    // The one state that is decided before all others.
    for case in cases().iter().filter(|case| !matches!(case.as_str(), "U14" | "S06-retired")) {
        for blind in ["kafka_error", "checkpoint_error"] {
            let answer = changed(case, |steps| {
                let last = chrono::DateTime::parse_from_rfc3339(steps.last().unwrap()["at"].as_str().unwrap()).unwrap();
                let at = (last + Duration::from_secs(30)).to_rfc3339();
                steps.push(serde_json::json!({"at": at, blind: "unreachable"}));
            });
            let [.., before, after] = answer.as_array().unwrap().as_slice() else { panic!("{case}: two steps") };
            let (before_state, after_state) = (&before["query_state"], &after["query_state"]);
            assert!(rank(after_state) <= rank(before_state), "{case}, {blind}: {after_state} after {before_state}");
            assert_eq!(before["lost_offsets_total"], after["lost_offsets_total"], "{case}, {blind}");
            assert_eq!(before["gaps"], after["gaps"], "{case}, {blind}");
        }
    }
}

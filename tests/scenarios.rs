//! Cases from the field, replayed: what must be said of each, and what must not.
//!
//! `tests/scenarios/CASE.json` is a scenario as `brinkwatch replay` reads it; `CASE.expect.json` beside it says what is
//! expected of which step. A pattern is a part of a step's JSON: an object fits when each of its keys does, a list when
//! each of its items fits some item. `{"contains": text}`, `{"near": [number, within]}`, `{"lacks": pattern}` (no item
//! fits), `{"after": time}` and `{"missing": true}` stand for what they say.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its cases has failed")]

use std::fs;
use std::path::{Path, PathBuf};

use brinkwatch::commands::replay::{document, setup};
use brinkwatch::replay::{parse, play};
use serde_json::Value;

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
    let scenario = parse(&read(&format!("{case}.json"))).unwrap_or_else(|error| panic!("{case}: {error}"));
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
                if misfit(wrong, step, "").is_none() {
                    failures.push(format!("step {at}: must not be {wrong}: {}", check["why"]));
                }
            }
        }
    }
    failures.extend(nonsense(answer, ""));
    failures
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

//! Keys, durations, secrets.

use std::time::Duration;

use proptest::prelude::*;

use crate::config::duration::{parse, show};
use crate::config::key::Key;
use crate::config::secret::{BothTwins, Secret, SecretSource};

#[test]
fn durations_are_read_with_their_unit_and_shown_shortest() {
    let check = |text: &str, seconds: u64, shown: &str| {
        let duration = parse(text).unwrap();
        assert_eq!((duration.as_secs(), show(duration).as_str()), (seconds, shown), "{text}");
    };
    check("30s", 30, "30s");
    check("90s", 90, "90s");
    check("60s", 60, "1m");
    check("5m", 300, "5m");
    check("60m", 3_600, "60m");
    check("90m", 5_400, "90m");
    check("4h", 14_400, "4h");
    check("24h", 86_400, "24h");
    check("1d", 86_400, "24h");
    check("36h", 129_600, "36h");
    check("7d", 604_800, "7d");
    check("1h 30m", 5_400, "90m");
    check("1.5h", 5_400, "90m");
    assert_eq!(show(Duration::from_millis(1_500)), "1s 500ms");
}

#[test]
fn what_is_no_duration_is_refused() {
    for text in ["", "30", "soon", "30 parsecs", "-5s", "1.5", "99999999999999999999d"] {
        assert!(parse(text).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn every_duration_is_read_back_as_it_is_shown(millis in 0..u64::MAX / 1_000_000) {
        let duration = Duration::from_millis(millis);
        prop_assert_eq!(parse(&show(duration)), Ok(duration));
    }

    #[test]
    fn every_key_is_read_back_as_it_is_shown(words in prop::collection::vec("[a-zA-Z0-9_.-]{1,8}", 1..5)) {
        let key = Key::from(words);
        prop_assert_eq!(Key::parse(&key.to_string()), Some(key));
    }
}

#[test]
fn what_is_no_key_is_refused() {
    for text in ["", ".", "a.", ".a", "a..b", "a.\"b"] {
        assert_eq!(Key::parse(text), None, "{text}");
    }
}

#[test]
fn a_secret_prints_as_such_in_every_way() {
    let secret = Secret::new("hunter2");
    assert_eq!(
        format!("{secret} {secret:?} {:?}", SecretSource::Given(secret.clone())),
        "<secret> <secret> Given(<secret>)"
    );
    assert_eq!(serde_json::to_string(&secret).unwrap(), "\"<secret>\"");
    assert_eq!(secret.expose(), "hunter2");
}

#[test]
fn of_a_secret_and_its_file_only_one_may_be_given() {
    let secret = Secret::new("hunter2");
    let of = |given: Option<&Secret>, file: Option<&str>| SecretSource::of_twins(given.cloned(), file.map(Into::into));
    assert_eq!(of(None, None), Ok(None));
    assert_eq!(of(Some(&secret), None), Ok(Some(SecretSource::Given(secret.clone()))));
    assert_eq!(of(None, Some("/f")), Ok(Some(SecretSource::File("/f".into()))));
    assert_eq!(of(Some(&secret), Some("/f")), Err(BothTwins));
}

#[test]
fn a_secrets_file_is_read_at_each_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("password");
    let source = SecretSource::File(path.clone());
    assert_eq!(source.read().unwrap_err().to_string(), format!("secret file {} cannot be read", path.display()));
    let check = |text: &str, expected: &str| {
        std::fs::write(&path, text).unwrap();
        assert_eq!(source.read().unwrap().expose(), expected);
    };
    check("first", "first");
    check("second\n", "second");
    check("third\r\n", "third");
    check(" with spaces \n\n", " with spaces \n");
    std::fs::write(&path, "\n").unwrap();
    assert_eq!(source.read().unwrap_err().to_string(), format!("secret file {} is empty", path.display()));
}

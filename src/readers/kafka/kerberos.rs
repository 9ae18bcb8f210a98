//! Why there is no ticket of Kerberos. librdkafka gets tickets by a command and does not hear what that says; and what
//! SASL says of a login that failed leaves the cause in brackets.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::properties::mechanism;
use crate::measures::{Reason, Unread};

type Properties = BTreeMap<String, String>;

/// What is said by Kerberos when nobody grants tickets.
const AWAY: [&str; 3] = ["Cannot contact any KDC", "Cannot find KDC", "Cannot resolve"];

/// Why nobody could log in, if Kerberos is how: the command for tickets is run once more, no longer than `wait`.
pub(super) fn explain(told: Option<&Unread>, properties: &Properties, wait: Duration) -> Option<Unread> {
    if mechanism(properties).is_none_or(|mechanism| mechanism != "GSSAPI") {
        return None;
    }
    // Before there was a first ticket the client says nothing at all.
    let said = told.map(|told| cause(&told.detail));
    if said == Some(None) {
        return None;
    }
    why_no_ticket(properties, wait).or_else(|| said.flatten().map(unread))
}

/// `None` when the command works, or when none is run.
fn why_no_ticket(properties: &Properties, wait: Duration) -> Option<Unread> {
    if properties.get("sasl.kerberos.min.time.before.relogin").is_some_and(|time| time == "0") {
        return None;
    }
    let command = rendered(properties.get("sasl.kerberos.kinit.cmd")?, properties);
    let limit = format!("{:.3}", wait.as_secs_f64());
    let mut limited = Command::new("timeout");
    limited.args(["--kill-after=1", &limit, "sh", "-c", &command]).stdin(Stdio::null());
    let done = match limited.output() {
        Ok(done) => done,
        Err(error) => return Some(unread(&format!("there is no shell for kinit: {error}"))),
    };
    let words = String::from_utf8_lossy(&done.stderr);
    let last = words.lines().rev().map(str::trim).find(|line| !line.is_empty());
    match done.status.code() {
        Some(0) => None,
        Some(124) => Some(Unread::new(Reason::TimedOut, "no ticket of Kerberos: the KDC does not answer kinit")),
        _ => Some(unread(last.unwrap_or("kinit fails without a word"))),
    }
}

fn unread(words: &str) -> Unread {
    let is_away = AWAY.iter().any(|part| words.contains(part));
    let reason = if is_away { Reason::Unreachable } else { Reason::Denied };
    Unread::new(reason, format!("no ticket of Kerberos: {words}"))
}

/// `… GSSAPI Error: something general (the cause) (after 0ms in state AUTH_REQ)`
fn cause(words: &str) -> Option<&str> {
    let (_, words) = words.split_once("GSSAPI Error: ")?;
    let words = words.split(" (after ").next().unwrap_or(words).trim();
    let cause = words.split_once(" (").and_then(|(_, cause)| cause.strip_suffix(')'));
    Some(cause.unwrap_or(words))
}

/// As librdkafka does it: `%{property}` stands for its value.
fn rendered(template: &str, properties: &Properties) -> String {
    properties.iter().fold(template.to_owned(), |text, (key, value)| text.replace(&format!("%{{{key}}}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SASL: &str = "sasl_plaintext://b:9092/bootstrap: Failed to initialize SASL authentication: SASL handshake failed \
                        (start (-1)): SASL(-1): generic failure: GSSAPI Error: No credentials were supplied";

    fn explained(told: Option<&str>, command: &str, more: &[(&str, &str)]) -> Option<Unread> {
        // Without a mechanism it is Kerberos.
        let given = [("security.protocol", "sasl_plaintext"), ("sasl.kerberos.kinit.cmd", command)];
        let properties = given.iter().chain(more).map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let told = told.map(|words| Unread::new(Reason::Denied, words));
        explain(told.as_ref(), &properties.collect(), Duration::from_millis(500))
    }

    #[test]
    fn what_the_command_says_is_the_cause() {
        let check = |command: &str, reason: Reason, words: &str| {
            let words = format!("no ticket of Kerberos: {words}");
            for told in [None, Some(format!("{SASL} (No Kerberos credentials available)"))] {
                let more = [("sasl.kerberos.principal", "anna")];
                assert_eq!(explained(told.as_deref(), command, &more), Some(Unread::new(reason, words.clone())));
            }
        };
        check("echo no %{sasl.kerberos.principal} >&2; exit 1", Reason::Denied, "no anna");
        check("echo first >&2; echo Cannot contact any KDC >&2; false", Reason::Unreachable, "Cannot contact any KDC");
        check("exit 3", Reason::Denied, "kinit fails without a word");
        check("sleep 5; exit 1", Reason::TimedOut, "the KDC does not answer kinit");
    }

    #[test]
    fn with_a_ticket_it_is_what_was_told() {
        let told =
            format!("{SASL} (Server x/b@R not found (or no longer)) (after 0ms in state AUTH_REQ, 1 suppressed)");
        let wrong = "no ticket of Kerberos: Server x/b@R not found (or no longer)";
        assert_eq!(explained(Some(&told), "true", &[]), Some(Unread::new(Reason::Denied, wrong)));
        let no_command = [("sasl.kerberos.min.time.before.relogin", "0")];
        let away = format!("{SASL} (Cannot contact any KDC for realm 'R') (after 0ms in state AUTH_REQ)");
        let expected = Unread::new(Reason::Unreachable, "no ticket of Kerberos: Cannot contact any KDC for realm 'R'");
        assert_eq!(explained(Some(&away), "exit 1", &no_command), Some(expected));
        assert_eq!(explained(None, "true", &[]), None);
        assert_eq!(explained(Some("b:9092/1: Connection refused"), "exit 1", &[]), None);
    }
}

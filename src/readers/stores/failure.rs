//! Why a store did not give what was asked: a bounded reason, and the causes in words without secrets.

use std::error::Error;
use std::io;
use std::time::Duration;

use object_store::client::{HttpError, HttpErrorKind};

use super::answers::Answers;
use crate::measures::Reason;

/// How an operation failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) reason: Reason,
    pub(super) words: String,
    /// What it says of the store as a whole.
    pub(super) verdict: Verdict,
}

/// What a failure says of the store, beyond the one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It answers; only this request failed.
    Answers,
    /// It asked for fewer requests.
    Throttles {
        /// For how long, if it said so.
        at_least: Option<Duration>,
    },
    /// It does not answer.
    Silent,
}

/// What the library's error, and the status that came before it, mean.
pub(super) fn classify(error: &object_store::Error, answers: Answers) -> Failure {
    let text = words(error);
    let failure = |reason, verdict, hint: &str| Failure {
        reason,
        words: if hint.is_empty() { text.clone() } else { format!("{hint}: {text}") },
        verdict,
    };
    if let object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } = error {
        return failure(Reason::Denied, Verdict::Answers, "");
    }
    // before the status: when no role answers, none of the store's own answers was seen
    if METADATA_HOSTS.iter().any(|host| text.contains(host)) {
        return failure(Reason::Denied, Verdict::Answers, NO_CREDENTIALS);
    }
    if kinds_of_http(error).any(|kind| kind == HttpErrorKind::Timeout) {
        return failure(Reason::TimedOut, Verdict::Silent, "");
    }
    match answers.status {
        Some(200..=299 | 416) if kinds_of_http(error).next().is_some() => {
            return failure(Reason::Unreachable, Verdict::Answers, "the answer broke off");
        }
        Some(401 | 403 | 407) => return failure(Reason::Denied, Verdict::Answers, ""),
        Some(404) => return failure(Reason::NotFound, Verdict::Answers, "no such bucket or container"),
        Some(429 | 503) => {
            let verdict = Verdict::Throttles { at_least: answers.retry_after };
            return failure(Reason::Unreachable, verdict, "the store is overloaded");
        }
        Some(301 | 302 | 307 | 308) => {
            return failure(Reason::Unreachable, Verdict::Answers, "it lies in another region or at another endpoint");
        }
        Some(500..) => return failure(Reason::Unreachable, Verdict::Answers, "the store failed"),
        Some(400) if is_wrong_credential(&text) => return failure(Reason::Denied, Verdict::Answers, ""),
        Some(_) => return failure(Reason::Malformed, Verdict::Answers, "the answer makes no sense"),
        None => {}
    }
    if text.contains("AccessControlException") || text.contains("SASL") || text.contains("GSSAPI") {
        return failure(Reason::Denied, Verdict::Answers, "");
    }
    match io_cause(error).map(io::Error::kind) {
        Some(kind) if reason_of(kind) != Reason::Unreachable => failure(reason_of(kind), Verdict::Answers, ""),
        _ => failure(Reason::Unreachable, Verdict::Silent, ""),
    }
}

/// Where clouds hand out the credentials of a machine's role. The library asks there when nothing else was given.
const METADATA_HOSTS: [&str; 3] = ["169.254.169.254", "169.254.170.2", "metadata.google.internal"];
const NO_CREDENTIALS: &str = "no credentials were found: none are configured, none stand in the environment, and this \
                              machine has no role that answers";

/// S3 answers some broken key pairs with 400, and Google a service account whose key is gone.
fn is_wrong_credential(text: &str) -> bool {
    [
        "InvalidAccessKeyId",
        "ExpiredToken",
        "InvalidToken",
        "AuthorizationHeaderMalformed",
        "InvalidAuthenticationInfo",
        "invalid_grant",
    ]
    .iter()
    .any(|code| text.contains(code))
}

fn kinds_of_http(error: &object_store::Error) -> impl Iterator<Item = HttpErrorKind> {
    causes(error).filter_map(|cause| cause.downcast_ref::<HttpError>()).map(HttpError::kind)
}

/// Whether the file is not there. A file where a directory should be is as good as none.
pub(super) fn is_missing(error: &object_store::Error) -> bool {
    matches!(error, object_store::Error::NotFound { .. })
        || io_cause(error).is_some_and(|cause| reason_of(cause.kind()) == Reason::NotFound)
}

/// The reason behind an error of this machine.
pub(super) fn reason_of(kind: io::ErrorKind) -> Reason {
    match kind {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Reason::NotFound,
        io::ErrorKind::PermissionDenied => Reason::Denied,
        io::ErrorKind::TimedOut => Reason::TimedOut,
        _ => Reason::Unreachable,
    }
}

fn io_cause(error: &object_store::Error) -> Option<&io::Error> {
    causes(error).find_map(|cause| cause.downcast_ref::<io::Error>())
}

fn causes(error: &object_store::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let mut next = error.source();
    std::iter::from_fn(move || {
        let cause = next?;
        next = cause.source();
        Some(cause)
    })
}

/// More is a page of HTML or the stack of a Java server.
const LONGEST: usize = 600;

/// The causes in one line. The library's errors repeat their causes, so that only what adds words is kept.
pub(super) fn words(error: &object_store::Error) -> String {
    let mut words = error.to_string();
    for cause in causes(error) {
        let text = cause.to_string();
        if !words.contains(&text) {
            words = format!("{words}: {text}");
        }
    }
    shortened(&without_secrets(&essence_of_xml(&words)))
}

/// Of a store's XML only its code and message: the rest repeats the request, signature and all.
fn essence_of_xml(words: &str) -> String {
    let element = |name: &str| {
        let (_, rest) = words.split_once(&format!("<{name}>"))?;
        rest.split_once(&format!("</{name}>")).map(|(text, _)| text.trim())
    };
    let Some(code) = element("Code") else { return words.to_owned() };
    let before = words.split('<').next().unwrap_or_default().trim_end_matches([':', ' ', '\u{feff}']);
    let message = element("Message").and_then(|message| message.lines().next()).unwrap_or_default();
    format!("{before}: {code}: {message}")
}

/// Addresses lose what stands behind their question mark, where signatures stand.
fn without_secrets(words: &str) -> String {
    let strip = |word: &str| match word.split_once('?') {
        Some((address, _)) if word.contains("://") => {
            let end =
                word.chars().rev().find(|letter| !letter.is_ascii_alphanumeric()).filter(|end| ")\",:".contains(*end));
            format!("{address}{}", end.filter(|end| word.ends_with(*end)).map(String::from).unwrap_or_default())
        }
        _ => word.to_owned(),
    };
    words.split_whitespace().map(strip).collect::<Vec<_>>().join(" ")
}

fn shortened(words: &str) -> String {
    match words.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", words.get(..end).unwrap_or(words)),
        None => words.to_owned(),
    }
}

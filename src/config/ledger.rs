//! `[ledger]`: as written, as valid, and the way from one to the other.

use serde::{Deserialize, Serialize, Serializer};
use url::Url;

use super::check::Checks;
use super::key::Key;
use super::mistake::nearest;
use super::secret::{Secret, SecretSource};
use super::security::twins;

/// A database that several daemons share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerServer {
    /// Where it is; without a password, so that it can be shown.
    pub url: String,
    /// The password, however it was given; `None`: none is needed, or libpq's own ways give it (`PGPASSWORD`, `.pgpass`).
    pub password: Option<SecretSource>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WrittenLedger {
    /// It may hold a password.
    #[serde(serialize_with = "exposed")]
    url: Secret,
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<Secret>,
    #[serde(skip_serializing_if = "String::is_empty")]
    password_file: String,
}

impl Default for WrittenLedger {
    fn default() -> Self {
        Self { url: Secret::new(""), password: None, password_file: String::new() }
    }
}

/// Only the URL of a [`LedgerServer`] is ever written, and that one holds no password.
fn exposed<S: Serializer>(url: &Secret, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(url.expose())
}

const EXAMPLE: &str = "\"postgres://user@host:5432/database\"";

/// What sqlx understands. Another parameter would be passed over, and logged with its value.
const PARAMETERS: [&str; 12] = [
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
];

/// `allow` is left out: it would never encrypt, whatever the server offers.
const SSL_MODES: [&str; 5] = ["disable", "prefer", "require", "verify-ca", "verify-full"];

/// Checks the table. No mistake shows anything of the URL: what is wrong with it may be a letter of its password.
pub(super) fn ledger(written: WrittenLedger, checks: &mut Checks) -> Option<LedgerServer> {
    let table = Key::of(&["ledger"]);
    let password = twins(&table, "password", written.password, written.password_file, checks);
    let url = table.child("url");
    if written.url.expose().is_empty() {
        if password.is_some() {
            checks.report(url, "is required by the other keys of the table");
        }
        return None;
    }
    let (address, own) = match apart(written.url.expose()) {
        Ok(apart) => apart,
        Err(problem) => {
            checks.report(url, problem);
            return None;
        }
    };
    if own.is_some() && password.is_some() {
        checks.report(url, "holds a password, and password or password_file is given; keep one");
    }
    Some(LedgerServer { url: address, password: password.or(own.map(SecretSource::Given)) })
}

/// The URL without its password, and the password.
fn apart(text: &str) -> Result<(String, Option<Secret>), String> {
    let mut url = Url::parse(text).map_err(|cause| format!("is no URL such as {EXAMPLE}: {cause}"))?;
    if !["postgres", "postgresql"].contains(&url.scheme()) {
        return Err("must begin with \"postgres://\" or \"postgresql://\"; empty: SQLite in state_dir".to_owned());
    }
    if url.fragment().is_some() {
        return Err("holds a \"#\"; in a password it is written as %23".to_owned());
    }
    let parameters: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    for (name, value) in &parameters {
        let is_option = name.strip_prefix("options[").is_some_and(|rest| rest.ends_with(']'));
        if !is_option && !PARAMETERS.contains(&name.as_str()) {
            return Err(match nearest(name, PARAMETERS) {
                Some(meant) => format!("has a parameter that is not known; did you mean {meant:?}?"),
                None => format!("has a parameter that is none of {}", PARAMETERS.join(", ")),
            });
        }
        if name == "sslmode" && !SSL_MODES.contains(&value.as_str()) {
            return Err(format!("has an sslmode that is none of {}", SSL_MODES.join(", ")));
        }
        if name == "port" && value.parse::<u16>().is_err() {
            return Err("has a port that is no number from 0 to 65535".to_owned());
        }
    }
    let has = |name: &str| parameters.iter().any(|(known, value)| known == name && !value.is_empty());
    if url.path().trim_start_matches('/').is_empty() && !has("dbname") {
        return Err(format!("names no database; write such as {EXAMPLE}"));
    }
    if url.host_str().is_none_or(str::is_empty) && !has("host") && !has("hostaddr") {
        return Err(format!(
            "names no host; write such as {EXAMPLE}, or \"postgres:///database?host=/run/postgresql\""
        ));
    }
    let inside = url.password().map(decoded).transpose()?;
    let given = parameters.iter().find(|(name, _)| name == "password").map(|(_, value)| value.clone());
    if inside.is_some() && url.set_password(None).is_err() {
        return Err(format!("is no URL such as {EXAMPLE}"));
    }
    if given.is_some() {
        let others = parameters.iter().filter(|(name, _)| name != "password");
        url.query_pairs_mut().clear().extend_pairs(others);
        if url.query() == Some("") {
            url.set_query(None);
        }
    }
    Ok((url.to_string(), given.or(inside).filter(|text| !text.is_empty()).map(Secret::new)))
}

/// A password in a URL is written with percent signs for letters that mean something there.
fn decoded(text: &str) -> Result<String, String> {
    // As the value of a parameter, where only "+" has another meaning than in front of "@".
    let query = format!("p={}", text.replace('+', "%2B"));
    let value = url::form_urlencoded::parse(query.as_bytes()).next().map(|(_, value)| value.into_owned());
    match value {
        Some(value) if !value.contains('\u{fffd}') => Ok(value),
        _ => Err("holds a password that is no text".to_owned()),
    }
}

/// The table as it could have been written.
pub(super) fn written_ledger(server: Option<&LedgerServer>) -> WrittenLedger {
    let Some(server) = server else { return WrittenLedger::default() };
    let (password, password_file) = match &server.password {
        Some(SecretSource::Given(secret)) => (Some(secret.clone()), String::new()),
        Some(SecretSource::File(path)) => (None, path.display().to_string()),
        None => (None, String::new()),
    };
    WrittenLedger { url: Secret::new(&server.url), password, password_file }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_parted_from_its_password() {
        let check = |text: &str, url: &str, password: Option<&str>| {
            assert_eq!(apart(text), Ok((url.to_owned(), password.map(Secret::new))), "{text}");
        };
        check("postgres://anna@db/lake", "postgres://anna@db/lake", None);
        check("postgresql://anna:s3cret@db:6432/lake", "postgresql://anna@db:6432/lake", Some("s3cret"));
        check(
            "postgres://anna:p%40+%3D@db/lake?sslmode=require",
            "postgres://anna@db/lake?sslmode=require",
            Some("p@+="),
        );
        check(
            "postgres://anna@db/lake?password=a%26b&sslmode=disable",
            "postgres://anna@db/lake?sslmode=disable",
            Some("a&b"),
        );
        check("postgres://db/lake?password=x", "postgres://db/lake", Some("x"));
        check("postgres:///lake?host=/run/postgresql", "postgres:///lake?host=/run/postgresql", None);
        check("postgres://db/lake?options[search_path]=a", "postgres://db/lake?options[search_path]=a", None);
    }

    #[test]
    fn no_mistake_shows_a_piece_of_the_url() {
        for text in [
            "hunter2",
            "hunter2://u:hunter2@db/lake",
            "postgres://u:hunter2?x@db/lake",
            "postgres://u:1?hunter2@db/lake",
            "postgres://u:hunter2#x@db/lake",
            "postgres://u:1#hunter2@db/lake",
            "postgres://u:hunter2@db",
            "postgres://u:hunter2@/lake",
            "postgres://u:%ffhunter2@db/lake",
            "postgres://u@db/lake?sslmode=hunter2",
            "postgres://u@db/lake?port=hunter2",
            "postgres://u@db/lake?passwort=hunter2",
        ] {
            let problem = apart(text).unwrap_err();
            assert!(!problem.contains("hunter2"), "{problem}");
        }
    }
}

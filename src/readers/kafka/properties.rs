//! The librdkafka properties of a reading client.

use std::collections::BTreeMap;

use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::error::KafkaError;

/// Properties that would break the promise to only read, or what the reader takes an answer for. Nobody may set them.
pub const FORBIDDEN: [&str; 4] = ["allow.auto.create.topics", "enable.auto.commit", "group.id", "isolation.level"];

/// What a reading client starts from; the operator's own properties go on top.
const DEFAULTS: [(&str, &str); 10] = [
    ("client.id", "brinkwatch"),
    // The end of a log is its high watermark, as for Spark; the last stable offset is asked for per call.
    ("isolation.level", "read_uncommitted"),
    ("log.connection.close", "false"),
    // A leader that moved is otherwise asked for a quarter of an hour.
    ("metadata.max.age.ms", "60000"),
    ("reconnect.backoff.max.ms", "2000"),
    ("reconnect.backoff.ms", "100"),
    ("socket.connection.setup.timeout.ms", "5000"),
    ("socket.timeout.ms", "10000"),
    ("statistics.interval.ms", "0"),
    ("topic.metadata.refresh.interval.ms", "60000"),
];

/// Why no client could be made.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A property that must not be set.
    #[error("librdkafka property {0} must not be set: the reader's promises rest on it")]
    Forbidden(String),
    /// A property, or a combination, that librdkafka refuses. Its own words, without the value, which may be secret.
    #[error("librdkafka refuses the configuration: {0}")]
    Refused(String),
    /// The system has no thread for it.
    #[error("no thread for the client's events")]
    Thread(#[source] std::io::Error),
}

/// The whole configuration of one client.
pub(super) fn client_config(
    bootstrap_servers: &str,
    properties: &BTreeMap<String, String>,
) -> Result<ClientConfig, OpenError> {
    if let Some(key) = properties.keys().find(|key| FORBIDDEN.contains(&key.as_str())) {
        return Err(OpenError::Forbidden(key.clone()));
    }
    let mut config = ClientConfig::new();
    for (key, value) in DEFAULTS {
        config.set(key, value);
    }
    for (key, value) in properties {
        config.set(key, value);
    }
    config.set("bootstrap.servers", bootstrap_servers);
    config.set("allow.auto.create.topics", "false");
    config.set("enable.auto.commit", "false");
    config.set_log_level(RDKafkaLogLevel::Info);
    Ok(config)
}

/// librdkafka's words for a refused configuration. They may quote the value, which may be a password.
pub(super) fn refusal(error: &KafkaError, properties: &BTreeMap<String, String>) -> OpenError {
    let mut words = match error {
        KafkaError::ClientConfig(_, words, key, _) => format!("{key}: {words}"),
        KafkaError::ClientCreation(words) => words.clone(),
        other => other.to_string(),
    };
    for value in properties.values().filter(|value| !value.is_empty()) {
        words = words.replace(&format!("\"{value}\""), "\"…\"");
    }
    OpenError::Refused(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn an_operators_property_wins_over_a_default() {
        let config = client_config("b:1", &properties(&[("socket.timeout.ms", "3000")])).unwrap();
        assert_eq!(config.get("socket.timeout.ms"), Some("3000"));
        assert_eq!(config.get("reconnect.backoff.max.ms"), Some("2000"));
        assert_eq!(config.get("group.id"), None);
    }

    #[test]
    fn what_the_promises_rest_on_is_refused() {
        for key in FORBIDDEN {
            let error = client_config("b:1", &properties(&[(key, "x")])).unwrap_err();
            assert!(error.to_string().contains(key), "{error}");
        }
    }

    #[test]
    fn a_refused_value_is_not_repeated() {
        let given = properties(&[("security.protocol", "hunter2")]);
        let config = client_config("b:1", &given).unwrap();
        let error = config.create_native_config().err().unwrap();
        let words = refusal(&error, &given).to_string();
        assert!(words.contains("security.protocol") && !words.contains("hunter2"), "{words}");
    }
}

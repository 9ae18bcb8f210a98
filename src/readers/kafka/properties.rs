//! The librdkafka properties of a reading client.

use std::collections::BTreeMap;

use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::error::KafkaError;

use super::access::AccessError;

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
    /// A way to log in that this program was built without.
    #[error("this build cannot do {way}{hint}")]
    NotBuilt {
        /// The way.
        way: &'static str,
        /// How to build one that can; empty or beginning with a semicolon.
        hint: &'static str,
    },
    /// A secret that cannot be read.
    #[error(transparent)]
    Unreadable(#[from] AccessError),
    /// The system has no thread for it.
    #[error("no thread for the client's events")]
    Thread(#[source] std::io::Error),
}

/// What a way to log in needs of librdkafka, and who can build it in.
const SERVED: [(&str, &str, &str); 6] = [
    ("SSL", "ssl", ""),
    ("PLAIN", "sasl_plain", ""),
    ("SCRAM-SHA-256", "sasl_scram", ""),
    ("SCRAM-SHA-512", "sasl_scram", ""),
    ("OAUTHBEARER", "sasl_oauthbearer", ""),
    ("GSSAPI", "sasl_gssapi", "; build Brinkwatch with --features gssapi"),
];

/// How a client logs in, in capitals; `None` where it does not.
pub(super) fn mechanism(properties: &BTreeMap<String, String>) -> Option<String> {
    let value = |key: &str| properties.get(key).map(|value| value.to_ascii_uppercase());
    value("security.protocol").filter(|protocol| protocol.starts_with("SASL"))?;
    // librdkafka's own default.
    Some(value("sasl.mechanism").or_else(|| value("sasl.mechanisms")).unwrap_or_else(|| "GSSAPI".to_owned()))
}

/// Holds what is asked for against what the linked librdkafka was built with. It would refuse too, in words about
/// itself.
pub(super) fn check_served(properties: &BTreeMap<String, String>) -> Result<(), OpenError> {
    let mut wanted: Vec<String> = mechanism(properties).into_iter().collect();
    if properties.get("security.protocol").is_some_and(|protocol| protocol.to_ascii_uppercase().ends_with("SSL")) {
        wanted.push("SSL".to_owned());
    }
    let built = ClientConfig::new().create_native_config().and_then(|config| config.get("builtin.features"));
    let built = built.map_err(|error| OpenError::Refused(error.to_string()))?;
    for (way, feature, hint) in SERVED.into_iter().filter(|(way, _, _)| wanted.iter().any(|wanted| wanted == way)) {
        if !built.split(',').any(|built| built.trim() == feature) {
            return Err(OpenError::NotBuilt { way, hint });
        }
    }
    Ok(())
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
    fn a_way_to_log_in_that_is_not_built_in_is_named() {
        let check = |protocol: &str, mechanism: Option<&str>, expected: Option<&str>| {
            let mut given = properties(&[("security.protocol", protocol)]);
            given.extend(mechanism.map(|mechanism| ("sasl.mechanism".to_owned(), mechanism.to_owned())));
            let words = check_served(&given).err().map(|error| error.to_string());
            assert_eq!(words.as_deref(), expected, "{protocol} {mechanism:?}");
        };
        let kerberos = "this build cannot do GSSAPI; build Brinkwatch with --features gssapi";
        let kerberos = (!cfg!(feature = "gssapi")).then_some(kerberos);
        check("plaintext", None, None);
        check("ssl", None, None);
        check("SASL_SSL", Some("PLAIN"), None);
        check("sasl_plaintext", Some("SCRAM-SHA-256"), None);
        check("SASL_SSL", Some("SCRAM-SHA-512"), None);
        check("SASL_SSL", Some("OAUTHBEARER"), None);
        check("SASL_SSL", Some("GSSAPI"), kerberos);
        check("SASL_SSL", None, kerberos);
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

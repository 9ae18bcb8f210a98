//! `[clusters.….tls]` and `[clusters.….sasl]`: as written, as valid, and the way from one to the other.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::check::Checks;
use super::key::Key;
use super::secret::{BothTwins, Secret, SecretSource};

/// How connections to brokers are encrypted, and who is on their ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Certificates to trust; `None`: the system's.
    pub ca_file: Option<PathBuf>,
    /// Our own certificate; with its key.
    pub certificate_file: Option<PathBuf>,
    /// The key of our own certificate.
    pub key_file: Option<PathBuf>,
    /// The key's password, where it has one.
    pub key_password: Option<SecretSource>,
    /// Whether the broker's certificate must be for the host that was asked.
    pub verify_hostname: bool,
}

/// How to log in to brokers. What is absent has no meaning for the mechanism, or was not given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sasl {
    /// In which way.
    pub mechanism: Mechanism,
    /// PLAIN and SCRAM: who.
    pub username: Option<String>,
    /// PLAIN and SCRAM: the password.
    pub password: Option<SecretSource>,
    /// OAUTHBEARER: where tokens are asked for.
    pub token_endpoint: Option<String>,
    /// OAUTHBEARER: who asks.
    pub client_id: Option<String>,
    /// OAUTHBEARER: with which secret.
    pub client_secret: Option<SecretSource>,
    /// OAUTHBEARER: what for.
    pub scope: Option<String>,
    /// `AWS_MSK_IAM`: the cluster's region.
    pub aws_region: Option<String>,
}

/// A way to log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// Name and password as they are.
    Plain,
    /// Name and password, which are proved and not sent.
    Scram256,
    /// As above, by a longer hash.
    Scram512,
    /// A token of an authorization server.
    OauthBearer,
    /// A token signed with credentials of AWS.
    AwsMskIam,
    /// Kerberos.
    Gssapi,
}

impl Mechanism {
    /// Every mechanism.
    pub const ALL: [Self; 6] =
        [Self::Plain, Self::Scram256, Self::Scram512, Self::OauthBearer, Self::AwsMskIam, Self::Gssapi];

    /// The word in the configuration.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::Scram256 => "SCRAM-SHA-256",
            Self::Scram512 => "SCRAM-SHA-512",
            Self::OauthBearer => "OAUTHBEARER",
            Self::AwsMskIam => "AWS_MSK_IAM",
            Self::Gssapi => "GSSAPI",
        }
    }

    /// The word to Kafka: a token for MSK is a token.
    #[must_use]
    pub const fn kafka_name(self) -> &'static str {
        match self {
            Self::AwsMskIam => Self::OauthBearer.label(),
            other => other.label(),
        }
    }

    /// The keys that belong to it, required ones first, and how many those are.
    const fn keys(self) -> (&'static [&'static str], usize) {
        match self {
            Self::Plain | Self::Scram256 | Self::Scram512 => (&["username", "password"], 2),
            Self::OauthBearer => (&["token_endpoint", "client_id", "client_secret", "scope"], 3),
            Self::AwsMskIam => (&["aws_region"], 1),
            Self::Gssapi => (&[], 0),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WrittenTls {
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    #[serde(skip_serializing_if = "String::is_empty")]
    ca_file: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    certificate_file: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    key_file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_password: Option<Secret>,
    #[serde(skip_serializing_if = "String::is_empty")]
    key_password_file: String,
    #[serde(skip_serializing_if = "Clone::clone")]
    verify_hostname: bool,
}

impl Default for WrittenTls {
    fn default() -> Self {
        Self {
            enabled: None,
            ca_file: String::new(),
            certificate_file: String::new(),
            key_file: String::new(),
            key_password: None,
            key_password_file: String::new(),
            verify_hostname: true,
        }
    }
}

impl WrittenTls {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WrittenSasl {
    mechanism: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    username: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<Secret>,
    #[serde(skip_serializing_if = "String::is_empty")]
    password_file: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    token_endpoint: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    client_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<Secret>,
    #[serde(skip_serializing_if = "String::is_empty")]
    client_secret_file: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    scope: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    aws_region: String,
}

impl WrittenSasl {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Checks both tables of a cluster. Whoever logs in does so by TLS, unless it says otherwise.
pub(super) fn security(
    cluster: &Key,
    tls: WrittenTls,
    sasl: WrittenSasl,
    checks: &mut Checks,
) -> (Option<Tls>, Option<Sasl>) {
    let is_set = !WrittenTls { enabled: None, ..tls.clone() }.is_default();
    let is_on = tls.enabled.unwrap_or(is_set || !sasl.is_default());
    if !is_on && is_set {
        let problem = "is false, and other keys of the table are set; remove those, or this one";
        checks.report(cluster.child("tls").child("enabled"), problem);
    }
    let tls = is_on.then(|| valid_tls(&cluster.child("tls"), tls, checks));
    let sasl = if sasl.is_default() { None } else { valid_sasl(&cluster.child("sasl"), sasl, checks) };
    (tls, sasl)
}

fn valid_tls(table: &Key, written: WrittenTls, checks: &mut Checks) -> Tls {
    if written.certificate_file.is_empty() != written.key_file.is_empty() {
        let (given, missing) = if written.key_file.is_empty() {
            ("certificate_file", "key_file")
        } else {
            ("key_file", "certificate_file")
        };
        checks.report(table.child(given), format!("needs {missing} beside it"));
    }
    let key_password = twins(table, "key_password", written.key_password, written.key_password_file, checks);
    if key_password.is_some() && written.key_file.is_empty() {
        checks.report(table.child("key_password"), "needs key_file beside it");
    }
    Tls {
        ca_file: path(written.ca_file),
        certificate_file: path(written.certificate_file),
        key_file: path(written.key_file),
        key_password,
        verify_hostname: written.verify_hostname,
    }
}

fn valid_sasl(table: &Key, written: WrittenSasl, checks: &mut Checks) -> Option<Sasl> {
    let Some(mechanism) = Mechanism::ALL.into_iter().find(|one| one.label() == written.mechanism) else {
        let all = Mechanism::ALL.map(|one| format!("{:?}", one.label())).join(", ");
        let problem = match written.mechanism.as_str() {
            "" => format!("is required; one of {all}"),
            other => format!("{other:?} is none of {all}"),
        };
        checks.report(table.child("mechanism"), problem);
        return None;
    };
    let text = |text: String| Some(text).filter(|text| !text.is_empty());
    let sasl = Sasl {
        mechanism,
        username: text(written.username),
        password: twins(table, "password", written.password, written.password_file, checks),
        token_endpoint: text(written.token_endpoint),
        client_id: text(written.client_id),
        client_secret: twins(table, "client_secret", written.client_secret, written.client_secret_file, checks),
        scope: text(written.scope),
        aws_region: text(written.aws_region),
    };
    check_keys(table, &sasl, checks);
    if let Some(address) = &sasl.token_endpoint {
        check_endpoint(table.child("token_endpoint"), address, checks);
    }
    Some(sasl)
}

/// A key of another mechanism would be passed over in silence.
fn check_keys(table: &Key, sasl: &Sasl, checks: &mut Checks) {
    let given = [
        ("username", sasl.username.is_some()),
        ("password", sasl.password.is_some()),
        ("token_endpoint", sasl.token_endpoint.is_some()),
        ("client_id", sasl.client_id.is_some()),
        ("client_secret", sasl.client_secret.is_some()),
        ("scope", sasl.scope.is_some()),
        ("aws_region", sasl.aws_region.is_some()),
    ];
    let (own, required) = sasl.mechanism.keys();
    let name = sasl.mechanism.label();
    for (key, is_given) in given {
        if is_given && !own.contains(&key) {
            checks.report(table.child(key), format!("has no meaning for mechanism {name}"));
        }
        if !is_given && own[..required].contains(&key) {
            checks.report(table.child(key), format!("is required by mechanism {name}"));
        }
    }
}

fn check_endpoint(key: Key, address: &str, checks: &mut Checks) {
    if address.contains('@') {
        checks.report(key, "must not hold a password; client_id and client_secret are sent");
    } else if !address.starts_with("https://") && !address.starts_with("http://") {
        checks.report(key, "must begin with \"https://\" or \"http://\"");
    }
}

/// A secret, or the file that holds it.
pub(super) fn twins(
    table: &Key,
    name: &str,
    given: Option<Secret>,
    file: String,
    checks: &mut Checks,
) -> Option<SecretSource> {
    let given = given.filter(|secret| !secret.expose().is_empty());
    SecretSource::of_twins(given, path(file)).unwrap_or_else(|BothTwins| {
        checks.report(table.child(name), format!("{name} and {name}_file are both given; keep one"));
        None
    })
}

fn path(text: String) -> Option<PathBuf> {
    Some(text).filter(|text| !text.is_empty()).map(PathBuf::from)
}

/// The properties of librdkafka that the tables decide on.
pub(super) fn decided(tls: Option<&Tls>, sasl: Option<&Sasl>) -> Vec<(&'static str, &'static str)> {
    let mut decided = Vec::new();
    if tls.is_some() || sasl.is_some() {
        decided.push(("security.protocol", "tls"));
    }
    if tls.is_some() {
        decided.extend(
            [
                "ssl.ca.location",
                "ssl.ca.pem",
                "ssl.certificate.location",
                "ssl.certificate.pem",
                "ssl.key.location",
                "ssl.key.pem",
                "ssl.key.password",
                "ssl.endpoint.identification.algorithm",
                "enable.ssl.certificate.verification",
            ]
            .map(|property| (property, "tls")),
        );
    }
    if sasl.is_some() {
        let own = ["sasl.mechanism", "sasl.mechanisms", "sasl.username", "sasl.password"];
        decided.extend(own.map(|property| (property, "sasl")));
    }
    decided
}

/// Both tables as they could have been written.
pub(super) fn written_security(tls: Option<&Tls>, sasl: Option<&Sasl>) -> (WrittenTls, WrittenSasl) {
    let shown = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let given = |source: &Option<SecretSource>| match source {
        Some(SecretSource::Given(secret)) => Some(secret.clone()),
        _ => None,
    };
    let file = |source: &Option<SecretSource>| match source {
        Some(SecretSource::File(path)) => path.display().to_string(),
        _ => String::new(),
    };
    let written_tls = match tls {
        None => WrittenTls { enabled: sasl.map(|_| false), ..WrittenTls::default() },
        Some(tls) => WrittenTls {
            enabled: Some(true),
            ca_file: shown(&tls.ca_file),
            certificate_file: shown(&tls.certificate_file),
            key_file: shown(&tls.key_file),
            key_password: given(&tls.key_password),
            key_password_file: file(&tls.key_password),
            verify_hostname: tls.verify_hostname,
        },
    };
    let written_sasl = sasl.map_or_else(WrittenSasl::default, |sasl| WrittenSasl {
        mechanism: sasl.mechanism.label().to_owned(),
        username: sasl.username.clone().unwrap_or_default(),
        password: given(&sasl.password),
        password_file: file(&sasl.password),
        token_endpoint: sasl.token_endpoint.clone().unwrap_or_default(),
        client_id: sasl.client_id.clone().unwrap_or_default(),
        client_secret: given(&sasl.client_secret),
        client_secret_file: file(&sasl.client_secret),
        scope: sasl.scope.clone().unwrap_or_default(),
        aws_region: sasl.aws_region.clone().unwrap_or_default(),
    });
    (written_tls, written_sasl)
}

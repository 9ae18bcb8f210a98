//! From the configuration to what a Kafka client logs in with.

use std::collections::BTreeMap;
use std::path::Path;

use crate::config::{Cluster, Mechanism, Sasl, Secret, SecretError, SecretSource, Tls};
use crate::process::clock;
use crate::readers::kafka::{Access, AccessError, AccessSource, ClientCredentials, TokenKind, TokenSource};

/// librdkafka's own command first tries to renew a ticket that, with a keytab, nobody needs to renew: where the KDC gives
/// out none that can be, that fails each time, on our error output. A KDC that says nothing would hold the client up for
/// 25 seconds. In the foreground, so that what ends the shell ends it too.
const KINIT: &str = "timeout --foreground 5 kinit -k -t \"%{sasl.kerberos.keytab}\" %{sasl.kerberos.principal}";

/// What the client of a cluster logs in with. Files are read whenever the source is asked.
pub(super) fn access_source(name: &str, cluster: &Cluster) -> AccessSource {
    let (name, cluster) = (name.to_owned(), cluster.clone());
    AccessSource::new(move || access(&cluster).map_err(|error| error.of(&name)))
}

/// A setting of the cluster, and why its secret was not read.
struct Unreadable(String, Box<dyn std::error::Error + Send + Sync>);

impl Unreadable {
    fn of(self, cluster: &str) -> AccessError {
        AccessError { key: format!("clusters.{cluster}.{}", self.0), cause: self.1 }
    }
}

fn access(cluster: &Cluster) -> Result<Access, Unreadable> {
    let mut properties = BTreeMap::new();
    let mut set = |key: &str, value: &str| properties.insert(key.to_owned(), value.to_owned());
    let protocol = match (&cluster.tls, &cluster.sasl) {
        (None, None) => None,
        (Some(_), None) => Some("SSL"),
        (None, Some(_)) => Some("SASL_PLAINTEXT"),
        (Some(_), Some(_)) => Some("SASL_SSL"),
    };
    if let Some(protocol) = protocol {
        set("security.protocol", protocol);
    }
    if let Some(tls) = &cluster.tls {
        add_tls(tls, &mut set)?;
    }
    if let Some(sasl) = &cluster.sasl {
        add_sasl(sasl, &mut set)?;
    }
    for (property, value) in &cluster.librdkafka {
        let value = value.read().map_err(|cause| unreadable(&format!("librdkafka.{property}"), cause))?;
        set(property, value.expose());
    }
    Ok(Access { properties, token: token(cluster)? })
}

fn add_tls<T>(tls: &Tls, set: &mut impl FnMut(&str, &str) -> T) -> Result<(), Unreadable> {
    // The OpenSSL that is linked in was built for no place of the system's, so that is looked for.
    set("ssl.ca.location", tls.ca_file.as_deref().map_or_else(|| "probe".into(), Path::to_string_lossy).as_ref());
    for (property, file) in [("ssl.certificate.location", &tls.certificate_file), ("ssl.key.location", &tls.key_file)] {
        if let Some(file) = file {
            set(property, &file.to_string_lossy());
        }
    }
    if let Some(password) = read("tls.key_password", tls.key_password.as_ref())? {
        set("ssl.key.password", password.expose());
    }
    set("ssl.endpoint.identification.algorithm", if tls.verify_hostname { "https" } else { "none" });
    Ok(())
}

fn add_sasl<T>(sasl: &Sasl, set: &mut impl FnMut(&str, &str) -> T) -> Result<(), Unreadable> {
    set("sasl.mechanism", sasl.mechanism.kafka_name());
    if sasl.mechanism == Mechanism::Gssapi {
        set("sasl.kerberos.kinit.cmd", KINIT);
    }
    if let Some(username) = &sasl.username {
        set("sasl.username", username);
    }
    if let Some(password) = read("sasl.password", sasl.password.as_ref())? {
        set("sasl.password", password.expose());
    }
    Ok(())
}

fn token(cluster: &Cluster) -> Result<Option<TokenSource>, Unreadable> {
    let Some(sasl) = &cluster.sasl else { return Ok(None) };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let kind = match sasl.mechanism {
        Mechanism::AwsMskIam => TokenKind::MskIam { region: text(&sasl.aws_region) },
        Mechanism::OauthBearer => {
            let secret = read("sasl.client_secret", sasl.client_secret.as_ref())?;
            let ca_file = cluster.tls.as_ref().and_then(|tls| tls.ca_file.as_deref());
            TokenKind::ClientCredentials(ClientCredentials {
                endpoint: text(&sasl.token_endpoint),
                client_id: text(&sasl.client_id),
                client_secret: secret.map(|secret| secret.expose().to_owned()).unwrap_or_default(),
                scope: sasl.scope.clone(),
                ca_pem: ca_file.map(certificates).transpose()?,
            })
        }
        Mechanism::Plain | Mechanism::Scram256 | Mechanism::Scram512 | Mechanism::Gssapi => return Ok(None),
    };
    Ok(Some(TokenSource { kind, now: clock::now }))
}

fn certificates(file: &Path) -> Result<Vec<u8>, Unreadable> {
    let named = |error| format!("{} cannot be read: {error}", file.display()).into();
    std::fs::read(file).map_err(|error| Unreadable("tls.ca_file".to_owned(), named(error)))
}

fn read(key: &str, source: Option<&SecretSource>) -> Result<Option<Secret>, Unreadable> {
    source.map(SecretSource::read).transpose().map_err(|cause| unreadable(key, cause))
}

fn unreadable(key: &str, cause: SecretError) -> Unreadable {
    Unreadable(key.to_owned(), Box::new(cause))
}

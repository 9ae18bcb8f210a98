//! From the configuration to who may ask what, and how connections are encrypted.

use tracing::warn;

use crate::config::{ClientAuth, Server, ServerTls, TlsVersion};
use crate::web::{Access, AccessSettings, ClientCertificates, FileError, TlsSettings};

/// Reads the files for the first time.
///
/// # Errors
/// When one of them cannot be used.
pub fn door(server: &Server) -> Result<Access, FileError> {
    let is_guarded = !server.users.is_empty() || server.bearer_token_file.is_some();
    if is_guarded && server.tls.is_none() && !server.listen.ip().is_loopback() {
        warn!(
            "passwords and tokens are sent to us without encryption; set [server.tls_server_config], or put a proxy with TLS before us"
        );
    }
    Access::new(AccessSettings {
        open_paths: server.open_paths.clone(),
        users: server.users.iter().map(|(name, hash)| (name.clone(), hash.expose().to_owned())).collect(),
        token_file: server.bearer_token_file.clone(),
        tls: server.tls.as_ref().map(tls),
    })
}

fn tls(tls: &ServerTls) -> TlsSettings {
    let authority = || tls.client_ca_file.clone().unwrap_or_default();
    TlsSettings {
        cert_file: tls.cert_file.clone(),
        key_file: tls.key_file.clone(),
        clients: match tls.client_auth {
            ClientAuth::Nothing => ClientCertificates::NotAsked,
            ClientAuth::IfGiven => ClientCertificates::IfGiven(authority()),
            ClientAuth::Required => ClientCertificates::Required(authority()),
        },
        only_newest: tls.min_version == TlsVersion::Tls13,
    }
}

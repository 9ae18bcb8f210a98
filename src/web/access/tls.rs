//! From certificates in files to what a TLS server speaks with.

use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use crate::web::renewed::{FileError, Flaw, Renewed};

/// The files and rules of encryption.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// Our certificate in PEM, followed by those that lead to its authority.
    pub cert_file: PathBuf,
    /// Its key.
    pub key_file: PathBuf,
    /// What clients have to show.
    pub clients: ClientCertificates,
    /// Whether nothing older than TLS 1.3 is spoken.
    pub only_newest: bool,
}

/// What clients have to show.
#[derive(Clone, Debug)]
pub enum ClientCertificates {
    /// Nothing.
    NotAsked,
    /// A certificate that one of these in PEM signed, or none at all.
    IfGiven(PathBuf),
    /// A certificate that one of these in PEM signed.
    Required(PathBuf),
}

/// What connections are encrypted with, as the files are now.
pub(in crate::web) type Tls = Arc<Renewed<ServerConfig>>;

pub(super) fn tls(settings: TlsSettings) -> Result<Tls, FileError> {
    let TlsSettings { cert_file, key_file, clients, only_newest } = settings;
    let (authority, is_required) = match clients {
        ClientCertificates::NotAsked => (None, false),
        ClientCertificates::IfGiven(authority) => (Some(authority), false),
        ClientCertificates::Required(authority) => (Some(authority), true),
    };
    let files = [cert_file, key_file].into_iter().chain(authority).collect();
    Renewed::read(files, move |contents| server_config(contents, is_required, only_newest))
}

/// Of a certificate, its key and, where clients are asked, an authority.
fn server_config(contents: &[Vec<u8>], is_required: bool, only_newest: bool) -> Result<ServerConfig, Flaw> {
    let [certificate, key, authority @ ..] = contents else { return Err(flaw(0, NoCertificate)) };
    let chain = certificates(certificate).map_err(|error| Flaw(0, error))?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| flaw(1, error))?;
    let provider = Arc::new(default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = if only_newest {
        builder.with_protocol_versions(&[&TLS13])
    } else {
        builder.with_protocol_versions(&[&TLS12, &TLS13])
    };
    let builder = builder.map_err(|error| flaw(0, error))?;
    let builder = match authority.first() {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            for root in certificates(authority).map_err(|error| Flaw(2, error))? {
                roots.add(root).map_err(|error| flaw(2, error))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = if is_required { verifier } else { verifier.allow_unauthenticated() };
            builder.with_client_cert_verifier(verifier.build().map_err(|error| flaw(2, error))?)
        }
    };
    // Also when the key is not the certificate's.
    let mut config = builder.with_single_cert(chain, key).map_err(|error| flaw(1, error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Box<dyn std::error::Error + Send + Sync>> {
    let found = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>()?;
    if found.is_empty() { Err(NoCertificate.into()) } else { Ok(found) }
}

fn flaw(place: usize, cause: impl std::error::Error + Send + Sync + 'static) -> Flaw {
    Flaw(place, Box::new(cause))
}

#[derive(Debug, Error)]
#[error("no certificate in PEM is in it")]
struct NoCertificate;

//! Why a certificate was refused. librdkafka says that one was; its reader wants to know which, and why.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use openssl::asn1::{Asn1Time, Asn1TimeRef};
use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslContext, SslMethod, SslVerifyMode};
use openssl::x509::{X509, X509Ref, X509VerifyResult};

use super::probe::connect;

// What OpenSSL calls them.
const NOT_YET_VALID: i32 = 9;
const HAS_EXPIRED: i32 = 10;
const HOSTNAME_MISMATCH: i32 = 62;
const IP_ADDRESS_MISMATCH: i32 = 64;

/// Shakes hands with a server once more, and tells what is wrong with the certificates it shows. `None` when it could
/// not be found out.
pub(super) fn what_is_wrong_with(host: &str, port: u16, wait: Duration) -> Option<String> {
    let (found, _) = look_at(host, port, wait).ok()?;
    let of = |code: i32| found.iter().find(|one| one.code == code);
    let server = format!("the certificate of {host}:{port}");
    if let Some(one) = of(HAS_EXPIRED) {
        return Some(format!("{server} has expired: it ended {}", one.ended));
    }
    if let Some(one) = of(NOT_YET_VALID) {
        return Some(format!("{server} is not valid yet: it begins {}", one.began));
    }
    if let Some(one) = of(HOSTNAME_MISMATCH).or_else(|| of(IP_ADDRESS_MISMATCH)) {
        return Some(format!("{server} is for another host: {}", one.names));
    }
    // Nobody was trusted for this look, so every issuer is unknown: what is left when nothing else is wrong.
    Some(format!("{server} is signed by none of the trusted authorities; its issuer is {}", found.first()?.issuer))
}

/// Whether a server speaks TLS.
pub(super) fn shakes_hands(host: &str, port: u16, wait: Duration) -> bool {
    look_at(host, port, wait).is_ok_and(|(_, done)| done)
}

/// What is wrong with our own certificate, if anything is.
pub(super) fn what_is_wrong_with_ours(file: &str) -> Option<String> {
    let chain = X509::stack_from_pem(&fs::read(file).ok()?).ok()?;
    let now = Asn1Time::days_from_now(0).ok()?;
    let expired = chain.iter().find(|one| one.not_after() < now)?;
    Some(format!("our own certificate has expired: it ended {}", shown(expired.not_after())))
}

/// One thing that is wrong with a certificate of the chain.
#[derive(Clone, Debug)]
struct Flaw {
    code: i32,
    began: String,
    ended: String,
    names: String,
    issuer: String,
}

/// The flaws of what a server shows, and whether the handshake came to its end.
fn look_at(host: &str, port: u16, wait: Duration) -> io::Result<(Vec<Flaw>, bool)> {
    let stream = connect(host, port, wait)?;
    let flaws = Arc::new(Mutex::new(Vec::new()));
    let ssl = client(host, &flaws)?;
    // A handshake that fails afterwards, for want of a certificate of ours, has told enough by then.
    let done = ssl.connect(stream).is_ok();
    let flaws = flaws.lock().unwrap_or_else(PoisonError::into_inner);
    Ok((flaws.clone(), done))
}

fn client(host: &str, flaws: &Arc<Mutex<Vec<Flaw>>>) -> Result<Ssl, ErrorStack> {
    let mut context = SslContext::builder(SslMethod::tls_client())?;
    let seen = Arc::clone(flaws);
    context.set_verify_callback(SslVerifyMode::PEER, move |is_good, chain| {
        if !is_good && let Some(certificate) = chain.current_cert() {
            let flaw = flaw(chain.error(), certificate);
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(flaw);
        }
        true
    });
    let mut ssl = Ssl::new(&context.build())?;
    match host.parse::<IpAddr>() {
        Ok(address) => ssl.param_mut().set_ip(address)?,
        Err(_) => {
            ssl.set_hostname(host)?;
            ssl.param_mut().set_host(host)?;
        }
    }
    Ok(ssl)
}

fn flaw(error: X509VerifyResult, certificate: &X509Ref) -> Flaw {
    let alternatives = certificate.subject_alt_names();
    let names = alternatives.iter().flatten().filter_map(|name| match (name.dnsname(), name.ipaddress()) {
        (Some(host), _) => Some(host.to_owned()),
        (None, Some(bytes)) => address(bytes),
        (None, None) => None,
    });
    Flaw {
        code: error.as_raw(),
        began: shown(certificate.not_before()),
        ended: shown(certificate.not_after()),
        names: names.collect::<Vec<_>>().join(", "),
        issuer: issuer(certificate),
    }
}

fn address(bytes: &[u8]) -> Option<String> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    let address = four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from));
    Some(address.ok()?.to_string())
}

fn issuer(certificate: &X509Ref) -> String {
    let parts = certificate.issuer_name().entries().filter_map(|entry| {
        let name = entry.object().nid().short_name().ok()?;
        Some(format!("{name}={}", entry.data().to_string().ok()?))
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn shown(time: &Asn1TimeRef) -> String {
    time.to_string()
}

//! Who may ask what: names and passwords, a token, open paths, and encryption.

use std::io::Write;
use std::net::TcpStream;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::ssl::{SslConnector, SslMethod, SslVersion};
use openssl::x509::extension::SubjectAlternativeName;
use openssl::x509::{X509, X509NameBuilder};

use super::*;

const OPEN: [&str; 4] = ["/metrics", "/-/healthy", "/-/ready", "/api/*"];

fn guarded(settings: AccessSettings) -> Served {
    let served = Served::with(fixture::round());
    let open_paths = OPEN.map(str::to_owned).to_vec();
    served.change(Access::new(AccessSettings { open_paths, ..settings }).unwrap());
    served
}

pub(super) fn users() -> BTreeMap<String, String> {
    [("anna".to_owned(), bcrypt::hash("pass:word", 4).unwrap())].into()
}

pub(super) fn basic(name_and_password: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(name_and_password))
}

pub(super) fn with_token(folder: &Path) -> AccessSettings {
    let file = folder.join("token");
    std::fs::write(&file, "s3cret\n").unwrap();
    AccessSettings { token_file: Some(file), ..AccessSettings::default() }
}

impl Served {
    pub(super) fn change(&self, access: Access) {
        let before = self.state.settings();
        self.settings.store(Arc::new(Settings {
            access: Arc::new(access),
            brokers: before.brokers.clone(),
            config: before.config.clone(),
            rules: Arc::clone(&before.rules),
            enable_reload: false,
        }));
    }

    pub(super) fn as_who(&self, method: &str, path: &str, authorization: &[&str]) -> Answer {
        let mut request = ureq::http::Request::builder().method(method).uri(format!("http://{}{path}", self.address));
        for one in authorization {
            request = request.header("authorization", *one);
        }
        self.run(request)
    }
}

#[test]
fn without_users_and_token_everybody_may_ask_for_everything() {
    let served = guarded(AccessSettings::default());
    for authorization in [&[][..], &["Basic nonsense"], &["Bearer s3cret"]] {
        assert_eq!(served.as_who("GET", "/", authorization).status, 200);
    }
}

#[test]
fn who_does_not_show_that_it_may_gets_the_open_paths_only() {
    let folder = tempfile::tempdir().unwrap();
    let served = guarded(AccessSettings { users: users(), ..with_token(folder.path()) });
    let wrong: [&[&str]; 13] = [
        &[],
        &[""],
        &["Basic"],
        &["Basic "],
        &["Basic nonsense"],
        &[&basic("anna")],
        &[&basic("anna:")],
        &[&basic("anna:wrong")],
        &[&basic("bert:pass:word")],
        &["Bearer"],
        &["Bearer s3cre"],
        &["Digest s3cret"],
        &[&basic("anna:pass:word"), &basic("anna:pass:word")],
    ];
    for authorization in wrong {
        for path in
            ["/", "/queries/orders-enriched", "/gaps", "/config", "/rules", "/assets/brinkwatch.css", "/nothing"]
        {
            let answer = served.as_who("GET", path, authorization);
            assert_eq!(answer.status, 401, "{path} {authorization:?}");
            assert_eq!(answer.text(), "authentication is required\n");
            let ways: Vec<&str> =
                answer.headers.get_all("www-authenticate").iter().map(|way| way.to_str().unwrap()).collect();
            assert_eq!(ways, ["Basic realm=\"brinkwatch\", charset=\"UTF-8\"", "Bearer realm=\"brinkwatch\""]);
            assert!(answer.header("content-security-policy").starts_with("default-src 'none'"));
        }
        for path in ["/metrics", "/-/healthy", "/-/ready", "/api/v1/queries"] {
            assert_eq!(served.as_who("GET", path, authorization).status, 200, "{path} {authorization:?}");
            assert_eq!(served.as_who("HEAD", path, authorization).status, 200, "{path} {authorization:?}");
            assert_eq!(served.as_who("POST", path, authorization).status, 401, "{path} {authorization:?}");
        }
        for path in ["/metrics/", "//metrics", "/metrics/../config", "/%6Detrics", "/api", "/apiary"] {
            assert_eq!(served.as_who("GET", path, authorization).status, 401, "{path} {authorization:?}");
        }
    }
}

#[test]
fn who_shows_that_it_may_gets_every_path() {
    let folder = tempfile::tempdir().unwrap();
    let served = guarded(AccessSettings { users: users(), ..with_token(folder.path()) });
    for authorization in
        [basic("anna:pass:word"), basic("anna:pass:word").replace("Basic", "bAsIc"), "Bearer s3cret".to_owned()]
    {
        for (path, status) in [("/", 200), ("/config", 200), ("/metrics", 200), ("/nothing", 404)] {
            assert_eq!(served.as_who("GET", path, &[&authorization]).status, status, "{path} {authorization}");
        }
        assert_eq!(served.as_who("POST", "/metrics", &[&authorization]).status, 405);
    }
}

#[test]
fn each_way_is_offered_only_where_it_is_configured() {
    let folder = tempfile::tempdir().unwrap();
    let check = |settings: AccessSettings, admitted: &str, refused: &str, offered: &str| {
        let served = guarded(settings);
        assert_eq!(served.as_who("GET", "/", &[admitted]).status, 200);
        let answer = served.as_who("GET", "/", &[refused]);
        assert_eq!(answer.status, 401);
        assert!(answer.header("www-authenticate").starts_with(offered));
        assert_eq!(answer.headers.get_all("www-authenticate").iter().count(), 1);
    };
    let of_users = AccessSettings { users: users(), ..AccessSettings::default() };
    check(of_users, &basic("anna:pass:word"), "Bearer s3cret", "Basic");
    check(with_token(folder.path()), "Bearer s3cret", &basic("anna:pass:word"), "Bearer");
}

#[test]
fn no_print_of_what_decides_shows_a_hash_or_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let settings = AccessSettings { users: users(), ..with_token(folder.path()) };
    let printed = format!("{settings:?} {:?}", Access::new(settings.clone()).unwrap());
    assert!(printed.contains("anna"));
    assert!(!printed.contains("$2") && !printed.contains("s3cret"), "{printed}");
}

/// A certificate for `127.0.0.1`, signed by itself or by another.
fn certificate(name: &str, signer: Option<&(X509, PKey<Private>)>) -> (X509, PKey<Private>) {
    let key = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
    let mut subject = X509NameBuilder::new().unwrap();
    subject.append_entry_by_text("CN", name).unwrap();
    let subject = subject.build();
    let mut made = X509::builder().unwrap();
    made.set_version(2).unwrap();
    let mut serial = BigNum::new().unwrap();
    serial.rand(100, openssl::bn::MsbOption::MAYBE_ZERO, false).unwrap();
    made.set_serial_number(&serial.to_asn1_integer().unwrap()).unwrap();
    made.set_subject_name(&subject).unwrap();
    made.set_issuer_name(signer.map_or(&subject, |(signer, _)| signer.subject_name())).unwrap();
    made.set_pubkey(&key).unwrap();
    made.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    made.set_not_after(&Asn1Time::days_from_now(2).unwrap()).unwrap();
    let host = SubjectAlternativeName::new().ip("127.0.0.1").build(&made.x509v3_context(None, None)).unwrap();
    made.append_extension(host).unwrap();
    made.sign(signer.map_or(&key, |(_, key)| key), MessageDigest::sha256()).unwrap();
    (made.build(), key)
}

fn write(folder: &Path, (certificate, key): &(X509, PKey<Private>)) -> TlsSettings {
    let (cert_file, key_file) = (folder.join("cert.pem"), folder.join("key.pem"));
    std::fs::write(&cert_file, certificate.to_pem().unwrap()).unwrap();
    std::fs::write(&key_file, key.private_key_to_pem_pkcs8().unwrap()).unwrap();
    TlsSettings { cert_file, key_file, clients: ClientCertificates::NotAsked, only_newest: false }
}

/// Asks for `/-/healthy` by TLS, with a certificate or without; answers the first line, or nothing.
fn encrypted(
    served: &Served,
    trusted: &X509,
    own: Option<&(X509, PKey<Private>)>,
    newest: Option<SslVersion>,
) -> Option<String> {
    let mut client = SslConnector::builder(SslMethod::tls_client()).unwrap();
    client.cert_store_mut().add_cert(trusted.clone()).unwrap();
    client.set_max_proto_version(newest).unwrap();
    if let Some((certificate, key)) = own {
        client.set_certificate(certificate).unwrap();
        client.set_private_key(key).unwrap();
    }
    let stream = TcpStream::connect(served.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut stream = client.build().connect("127.0.0.1", stream).ok()?;
    stream.write_all(b"GET /-/healthy HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    Some(String::from_utf8(answer).unwrap().lines().next().unwrap_or_default().to_owned())
}

const FINE: Option<&str> = Some("HTTP/1.1 200 OK");

#[test]
fn https_is_spoken_and_http_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let own = certificate("own", None);
    let served = guarded(AccessSettings { tls: Some(write(folder.path(), &own)), ..AccessSettings::default() });
    for newest in [None, Some(SslVersion::TLS1_3), Some(SslVersion::TLS1_2)] {
        assert_eq!(encrypted(&served, &own.0, None, newest).as_deref(), FINE, "{newest:?}");
    }
    assert_eq!(encrypted(&served, &own.0, None, Some(SslVersion::TLS1_1)), None);
    let answer = served.get("/-/healthy");
    assert_eq!((answer.status, answer.text()), (400, "this port speaks HTTPS.\n".to_owned()));
    let only_newest = TlsSettings { only_newest: true, ..write(folder.path(), &own) };
    let served = guarded(AccessSettings { tls: Some(only_newest), ..AccessSettings::default() });
    assert_eq!(encrypted(&served, &own.0, None, Some(SslVersion::TLS1_3)).as_deref(), FINE);
    assert_eq!(encrypted(&served, &own.0, None, Some(SslVersion::TLS1_2)), None);
}

#[test]
fn a_client_shows_the_certificate_that_is_asked_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let (own, stranger, authority) = (certificate("own", None), certificate("stranger", None), certificate("ca", None));
    let signed = certificate("prometheus", Some(&authority));
    let ca_file = folder.path().join("ca.pem");
    std::fs::write(&ca_file, authority.0.to_pem().unwrap()).unwrap();
    let check = |clients: ClientCertificates, shown: Option<&(X509, PKey<Private>)>, expected: Option<&str>| {
        let tls = Some(TlsSettings { clients: clients.clone(), ..write(folder.path(), &own) });
        let served = guarded(AccessSettings { tls, ..AccessSettings::default() });
        for newest in [SslVersion::TLS1_2, SslVersion::TLS1_3] {
            assert_eq!(encrypted(&served, &own.0, shown, Some(newest)).as_deref(), expected, "{clients:?} {newest:?}");
        }
    };
    check(ClientCertificates::Required(ca_file.clone()), Some(&signed), FINE);
    check(ClientCertificates::Required(ca_file.clone()), Some(&stranger), None);
    check(ClientCertificates::Required(ca_file.clone()), None, None);
    check(ClientCertificates::IfGiven(ca_file.clone()), Some(&signed), FINE);
    check(ClientCertificates::IfGiven(ca_file.clone()), Some(&stranger), None);
    check(ClientCertificates::IfGiven(ca_file), None, FINE);
    check(ClientCertificates::NotAsked, Some(&stranger), FINE);
}

/// Agreeing on encryption is bounded as well, and costs no other its answer.
#[test]
fn who_connects_and_does_not_begin_to_encrypt_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let own = certificate("own", None);
    let mut served = guarded(AccessSettings { tls: Some(write(folder.path(), &own)), ..AccessSettings::default() });
    served.limit(super::super::serve::Limits {
        connections: 1,
        handshake: Duration::from_millis(300),
        ..super::super::serve::LIMITS
    });
    for first in [&b""[..], &[22, 3, 1, 2, 0]] {
        let mut hanging = TcpStream::connect(served.address).unwrap();
        hanging.write_all(first).unwrap();
        assert_eq!(encrypted(&served, &own.0, None, None).as_deref(), FINE, "after {first:?}");
    }
}

#[test]
fn files_that_cannot_be_used_are_told_by_name_and_reason() {
    let folder = tempfile::tempdir().unwrap();
    let (own, other) = (certificate("own", None), certificate("other", None));
    let check = |settings: TlsSettings, expected: &str| {
        let error = Access::new(AccessSettings { tls: Some(settings), ..AccessSettings::default() }).unwrap_err();
        let told = format!("{:#}", anyhow::Error::new(error));
        assert!(told.contains(expected), "{told}");
    };
    let good = write(folder.path(), &own);
    let stray = folder.path().join("stray.pem");
    check(TlsSettings { cert_file: stray.clone(), ..good.clone() }, "stray.pem cannot be read: No such file");
    std::fs::write(&stray, "nonsense").unwrap();
    check(
        TlsSettings { cert_file: stray.clone(), ..good.clone() },
        "stray.pem cannot be used: no certificate in PEM is in it",
    );
    check(TlsSettings { key_file: stray.clone(), ..good.clone() }, "stray.pem cannot be used: ");
    check(
        TlsSettings { clients: ClientCertificates::Required(stray.clone()), ..good.clone() },
        "stray.pem cannot be used: no certificate",
    );
    std::fs::write(&stray, other.1.private_key_to_pem_pkcs8().unwrap()).unwrap();
    check(TlsSettings { key_file: stray, ..good }, "stray.pem cannot be used: ");
}

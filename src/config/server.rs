//! `[server]`: as written, as valid, and the way from one to the other. The names of the keys inside
//! `tls_server_config` and `basic_auth_users` are those that exporters of Prometheus have in their own files.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use bcrypt::HashParts;
use serde::{Deserialize, Serialize};

use super::check::Checks;
use super::key::Key;
use super::mistake::hint;
use super::secret::Secret;
use super::written::list_or_text;

/// The web server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Address and port.
    pub listen: SocketAddr,
    /// Paths that are answered without authentication: each begins with a slash, and one that ends with `/*` stands for
    /// all below it.
    pub open_paths: Vec<String>,
    /// Whether `POST /-/reload` does anything.
    pub enable_reload: bool,
    /// Encryption; `None`: plain text.
    pub tls: Option<ServerTls>,
    /// Who may ask, by name, with the bcrypt hash of the password.
    pub users: BTreeMap<String, Secret>,
    /// The file of a token; whoever shows it may ask.
    pub bearer_token_file: Option<PathBuf>,
}

/// How connections of clients are encrypted, and what clients have to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerTls {
    /// Our certificate, followed by those that lead to its authority.
    pub cert_file: PathBuf,
    /// Its key.
    pub key_file: PathBuf,
    /// Those who may have signed a client's certificate; always there when one is looked at.
    pub client_ca_file: Option<PathBuf>,
    /// What clients have to show.
    pub client_auth: ClientAuth,
    /// The oldest version of the protocol that is spoken.
    pub min_version: TlsVersion,
}

/// Whether a client has to show a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuth {
    /// It is not asked for one.
    Nothing,
    /// One that it shows must be good; it need not show any.
    IfGiven,
    /// It must show a good one.
    Required,
}

impl ClientAuth {
    /// Every value.
    pub const ALL: [Self; 3] = [Self::Nothing, Self::IfGiven, Self::Required];

    /// The word in the configuration.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Nothing => "NoClientCert",
            Self::IfGiven => "VerifyClientCertIfGiven",
            Self::Required => "RequireAndVerifyClientCert",
        }
    }
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TlsVersion {
    /// 1.2
    #[default]
    #[serde(rename = "TLS12")]
    Tls12,
    /// 1.3
    #[serde(rename = "TLS13")]
    Tls13,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WrittenServer {
    listen: String,
    #[serde(deserialize_with = "list_or_text")]
    open_paths: Vec<String>,
    enable_reload: bool,
    bearer_token_file: String,
    #[serde(skip_serializing_if = "WrittenServerTls::is_default")]
    tls_server_config: WrittenServerTls,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    basic_auth_users: BTreeMap<String, Secret>,
}

impl Default for WrittenServer {
    fn default() -> Self {
        Self {
            listen: "0.0.0.0:9917".to_owned(),
            open_paths: ["/metrics", "/-/healthy", "/-/ready"].map(str::to_owned).to_vec(),
            enable_reload: false,
            bearer_token_file: String::new(),
            tls_server_config: WrittenServerTls::default(),
            basic_auth_users: BTreeMap::new(),
        }
    }
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct WrittenServerTls {
    cert_file: String,
    key_file: String,
    client_ca_file: String,
    client_auth_type: String,
    min_version: TlsVersion,
}

impl WrittenServerTls {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Checks the table.
pub(super) fn server(written: WrittenServer, checks: &mut Checks) -> Server {
    let table = Key::of(&["server"]);
    let listen = written.listen.parse().unwrap_or_else(|_| {
        let problem =
            format!("{:?} is no address and port; write such as \"0.0.0.0:9917\" or \"[::]:9917\"", written.listen);
        checks.report(table.child("listen"), problem);
        SocketAddr::from(([0, 0, 0, 0], 0))
    });
    for path in &written.open_paths {
        check_path(table.child("open_paths"), path, checks);
    }
    for (user, hash) in &written.basic_auth_users {
        check_user(table.child("basic_auth_users").child(user), user, hash, checks);
    }
    Server {
        listen,
        open_paths: written.open_paths,
        enable_reload: written.enable_reload,
        tls: tls(&table.child("tls_server_config"), written.tls_server_config, checks),
        users: written.basic_auth_users,
        bearer_token_file: path(written.bearer_token_file),
    }
}

fn check_path(key: Key, path: &str, checks: &mut Checks) {
    if !path.starts_with('/') {
        checks.report(key, format!("{path:?} must begin with \"/\""));
    } else if path.strip_suffix("/*").unwrap_or(path).contains('*') {
        checks.report(key, format!("{path:?}: \"*\" can stand at the end only, as in \"/api/*\""));
    }
}

/// More than this takes a processor for seconds at each new password.
const HIGHEST_COST: u32 = 16;

fn check_user(key: Key, user: &str, hash: &Secret, checks: &mut Checks) {
    if user.is_empty() || user.contains(|letter: char| letter == ':' || letter.is_control()) {
        return checks.report(key, "is no name of a user: it is empty, or holds \":\", which ends the name");
    }
    match HashParts::from_str(hash.expose()).map(|parts| parts.get_cost()) {
        Ok(cost) if (4..=HIGHEST_COST).contains(&cost) => {}
        Ok(cost) => {
            let problem = format!("is a hash of cost {cost}; the cost must be from 4 to {HIGHEST_COST}");
            checks.report(key, problem);
        }
        // The value is not shown: it may be the password itself.
        Err(_) => checks.report(key, "is no bcrypt hash; make one with: htpasswd -nBC 12 NAME"),
    }
}

fn tls(table: &Key, written: WrittenServerTls, checks: &mut Checks) -> Option<ServerTls> {
    if written.is_default() {
        return None;
    }
    for (name, file, other) in
        [("cert_file", &written.cert_file, &written.key_file), ("key_file", &written.key_file, &written.cert_file)]
    {
        if file.is_empty() {
            let why = if other.is_empty() {
                "is required by the other keys of the table"
            } else {
                "is required beside its twin"
            };
            checks.report(table.child(name), why);
        }
    }
    let client_ca_file = path(written.client_ca_file);
    let client_auth = client_auth(table, &written.client_auth_type, client_ca_file.is_some(), checks);
    Some(ServerTls {
        cert_file: written.cert_file.into(),
        key_file: written.key_file.into(),
        client_ca_file,
        client_auth,
        min_version: written.min_version,
    })
}

/// Whoever gives an authority and says nothing more wants certificates that it signed.
fn client_auth(table: &Key, word: &str, has_authority: bool, checks: &mut Checks) -> ClientAuth {
    let key = table.child("client_auth_type");
    let usual = if has_authority { ClientAuth::Required } else { ClientAuth::Nothing };
    if word.is_empty() {
        return usual;
    }
    let words = ClientAuth::ALL.map(ClientAuth::word);
    match ClientAuth::ALL.into_iter().find(|one| one.word() == word) {
        Some(ClientAuth::Nothing) if has_authority => {
            checks.report(key, "asks for no certificate, and client_ca_file is given; remove one of them");
        }
        Some(ClientAuth::IfGiven | ClientAuth::Required) if !has_authority => {
            checks.report(key, "needs client_ca_file beside it");
        }
        Some(known) => return known,
        None if matches!(word, "RequestClientCert" | "RequireAnyClientCert") => {
            let problem = format!("{word:?} looks at no certificate, so it proves nothing; write {:?}", words[2]);
            checks.report(key, problem);
        }
        None => {
            let all = words.map(|word| format!("{word:?}")).join(", ");
            checks.report(key, format!("{word:?} is none of {all}{}", hint(word, words)));
        }
    }
    usual
}

fn path(text: String) -> Option<PathBuf> {
    Some(text).filter(|text| !text.is_empty()).map(PathBuf::from)
}

/// The table as it could have been written.
pub(super) fn written_server(server: &Server) -> WrittenServer {
    let shown = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    WrittenServer {
        listen: server.listen.to_string(),
        open_paths: server.open_paths.clone(),
        enable_reload: server.enable_reload,
        bearer_token_file: shown(&server.bearer_token_file),
        tls_server_config: server.tls.as_ref().map_or_else(WrittenServerTls::default, |tls| WrittenServerTls {
            cert_file: tls.cert_file.display().to_string(),
            key_file: tls.key_file.display().to_string(),
            client_ca_file: shown(&tls.client_ca_file),
            client_auth_type: tls.client_auth.word().to_owned(),
            min_version: tls.min_version,
        }),
        basic_auth_users: server.users.clone(),
    }
}

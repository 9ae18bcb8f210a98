//! Who may ask what. Without users and without a token everybody may; otherwise only the open paths are answered to
//! whoever comes.

mod passwords;
mod tls;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use self::passwords::{Busy, Users};
use super::WebState;
pub use super::renewed::FileError;
use super::renewed::{Flaw, Renewed};
pub(in crate::web) use tls::Tls;
pub use tls::{ClientCertificates, TlsSettings};

/// What decides who may ask.
#[derive(Clone, Default)]
pub struct AccessSettings {
    /// Paths that are answered to everybody; one that ends with `/*` stands for all below it.
    pub open_paths: Vec<String>,
    /// The bcrypt hashes of passwords, by name.
    pub users: BTreeMap<String, String>,
    /// The file of a token; whoever shows it may ask.
    pub token_file: Option<PathBuf>,
    /// Encryption; `None`: plain text.
    pub tls: Option<TlsSettings>,
}

/// Without the hashes.
impl fmt::Debug for AccessSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessSettings")
            .field("open_paths", &self.open_paths)
            .field("users", &self.users.keys())
            .field("token_file", &self.token_file)
            .field("tls", &self.tls)
            .finish()
    }
}

/// Decides who may ask.
#[derive(Debug, Default)]
pub struct Access {
    open_paths: Vec<String>,
    users: Option<Users>,
    token: Option<Arc<Renewed<[u8; 32]>>>,
    tls: Option<Tls>,
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    /// Whoever comes.
    Anybody,
    /// A user, by name.
    User(String),
    /// One who showed the token.
    Token,
}

#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    /// It did not show that it may.
    Unknown,
    /// It may, or not: there was no time to find out.
    Busy,
}

impl Access {
    /// Reads the files for the first time.
    ///
    /// # Errors
    /// When one of them cannot be used.
    pub fn new(settings: AccessSettings) -> Result<Self, FileError> {
        let token = settings.token_file.map(|file| Renewed::read(vec![file], |contents| token(&contents[0])));
        Ok(Self {
            open_paths: settings.open_paths,
            users: Users::new(settings.users),
            token: token.transpose()?,
            tls: settings.tls.map(tls::tls).transpose()?,
        })
    }

    pub(super) const fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }

    /// Whether there is a way to say who one is.
    pub(super) const fn knows_callers(&self) -> bool {
        self.users.is_some() || self.token.is_some()
    }

    async fn caller(&self, method: &Method, path: &str, headers: &HeaderMap) -> Result<Caller, Refusal> {
        // What is open is open for looking, not for changing anything.
        let is_open =
            matches!(*method, Method::GET | Method::HEAD) && self.open_paths.iter().any(|open| opens(open, path));
        if is_open || !self.knows_callers() {
            return Ok(Caller::Anybody);
        }
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(one), None) = (given.next(), given.next()) else { return Err(Refusal::Unknown) };
        let (scheme, rest) = one.to_str().ok().and_then(|text| text.split_once(' ')).ok_or(Refusal::Unknown)?;
        match (&self.users, &self.token) {
            (Some(users), _) if scheme.eq_ignore_ascii_case("basic") => {
                let (name, password) = name_and_password(rest).ok_or(Refusal::Unknown)?;
                match users.admit(&name, &password).await {
                    Ok(true) => Ok(Caller::User(name)),
                    Ok(false) => Err(Refusal::Unknown),
                    Err(Busy) => Err(Refusal::Busy),
                }
            }
            (_, Some(token)) if scheme.eq_ignore_ascii_case("bearer") => {
                let is_right = token.current().await.ct_eq(&print(rest.trim().as_bytes()));
                if is_right.into() { Ok(Caller::Token) } else { Err(Refusal::Unknown) }
            }
            _ => Err(Refusal::Unknown),
        }
    }

    fn refuse(&self, refusal: &Refusal) -> Response {
        if *refusal == Refusal::Busy {
            let soon = [(header::RETRY_AFTER, "5")];
            return (StatusCode::SERVICE_UNAVAILABLE, soon, "too many passwords are being tried\n").into_response();
        }
        let mut response = (StatusCode::UNAUTHORIZED, "authentication is required\n").into_response();
        let ways = [
            (self.users.is_some(), "Basic realm=\"brinkwatch\", charset=\"UTF-8\""),
            (self.token.is_some(), "Bearer realm=\"brinkwatch\""),
        ];
        for (_, way) in ways.into_iter().filter(|(is_there, _)| *is_there) {
            response.headers_mut().append(header::WWW_AUTHENTICATE, HeaderValue::from_static(way));
        }
        response
    }
}

/// Lets those through who may ask, and notes who they are.
pub(super) async fn authenticate(State(state): State<WebState>, mut request: Request, next: Next) -> Response {
    let settings = state.settings();
    match settings.access.caller(request.method(), request.uri().path(), request.headers()).await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(refusal) => {
            tracing::debug!(path = request.uri().path(), ?refusal, "a request was refused");
            settings.access.refuse(&refusal)
        }
    }
}

fn opens(open: &str, path: &str) -> bool {
    match open.strip_suffix('*') {
        Some(above) => path.starts_with(above),
        None => path == open,
    }
}

fn name_and_password(encoded: &str) -> Option<(String, String)> {
    let text = String::from_utf8(BASE64_STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (name, password) = text.split_once(':')?;
    Some((name.to_owned(), password.to_owned()))
}

/// Of equal length whatever was given, so that comparing tells nothing by its time.
fn print(token: &[u8]) -> [u8; 32] {
    Sha256::digest(token).into()
}

fn token(content: &[u8]) -> Result<[u8; 32], Flaw> {
    match content.trim_ascii() {
        [] => Err(Flaw(0, "it is empty".into())),
        token => Ok(print(token)),
    }
}

//! Tokens for OAUTHBEARER: asked of an authorization server, or signed in this process for Amazon MSK.

use std::fmt;
use std::time::Duration;

use rdkafka::client::OAuthToken;
use reqwest::header::ACCEPT;
use reqwest::{Certificate, StatusCode, redirect};
use serde::Deserialize;

use super::msk;
use crate::measures::{Moment, Reason, Unread, with_causes};

/// How long a token may be waited for.
const LONGEST: Duration = Duration::from_secs(10);
const CONNECT: Duration = Duration::from_secs(5);

/// Where tokens come from.
#[derive(Clone, Debug)]
pub struct TokenSource {
    /// What is asked.
    pub kind: TokenKind,
    /// Says what time it is, as tokens end at one.
    pub now: fn() -> Moment,
}

/// What is asked for a token.
#[derive(Clone, Debug)]
pub enum TokenKind {
    /// An authorization server, by OAuth 2.0's client credentials.
    ClientCredentials(ClientCredentials),
    /// Nobody: a token for Amazon MSK is a request that is signed with the credentials of AWS's own ways.
    MskIam {
        /// The cluster's region.
        region: String,
    },
}

/// OAuth 2.0's client credentials.
#[derive(Clone)]
pub struct ClientCredentials {
    /// Address of the token endpoint.
    pub endpoint: String,
    /// Who asks.
    pub client_id: String,
    /// Its secret.
    pub client_secret: String,
    /// What the token should be good for, where the server wants to be told.
    pub scope: Option<String>,
    /// Certificates in PEM to trust beside the system's.
    pub ca_pem: Option<Vec<u8>>,
}

impl fmt::Debug for ClientCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ClientCredentials");
        shown.field("endpoint", &self.endpoint).field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

impl TokenSource {
    /// Shows everything that decides on the tokens.
    pub(super) fn each_part(&self, show: &mut dyn FnMut(&[u8])) {
        match &self.kind {
            TokenKind::MskIam { region } => show(region.as_bytes()),
            TokenKind::ClientCredentials(own) => {
                show(own.endpoint.as_bytes());
                show(own.client_id.as_bytes());
                show(own.client_secret.as_bytes());
                show(own.scope.as_deref().unwrap_or_default().as_bytes());
                show(own.ca_pem.as_deref().unwrap_or_default());
            }
        }
    }

    /// Gets a token. Blocks, and is for a thread outside of any runtime.
    pub(super) fn fetch(&self) -> Result<OAuthToken, Unread> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Unread::new(Reason::Unreachable, format!("no runtime for a token: {error}")))?;
        let now = (self.now)();
        let fetched = runtime.block_on(async {
            let token = async {
                match &self.kind {
                    TokenKind::ClientCredentials(own) => own.ask(now).await,
                    TokenKind::MskIam { region } => msk::token(region, now).await,
                }
            };
            tokio::time::timeout(LONGEST, token).await
        });
        fetched.unwrap_or_else(|_| Err(Unread::new(Reason::TimedOut, "no token came in time")))
    }
}

#[derive(Deserialize)]
struct Granted {
    access_token: String,
    expires_in: u32,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Refused {
    error: String,
    error_description: String,
}

impl ClientCredentials {
    async fn ask(&self, now: Moment) -> Result<OAuthToken, Unread> {
        let unreachable = |error: reqwest::Error| {
            let words =
                format!("the token endpoint {} cannot be asked: {}", self.endpoint, with_causes(&error.without_url()));
            Unread::new(Reason::Unreachable, words)
        };
        let trusted = match &self.ca_pem {
            Some(pem) => Certificate::from_pem_bundle(pem).map_err(unreachable)?,
            None => Vec::new(),
        };
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            .timeout(LONGEST)
            // A redirected request would carry the secret to somebody else.
            .redirect(redirect::Policy::none())
            .tls_certs_merge(trusted)
            .build()
            .map_err(unreachable)?;
        let mut form = vec![("grant_type", "client_credentials")];
        form.extend(self.scope.as_deref().map(|scope| ("scope", scope)));
        let request = client
            .post(&self.endpoint)
            .basic_auth(&self.client_id, Some(&self.client_secret))
            .header(ACCEPT, "application/json")
            .form(&form);
        let answer = request.send().await.map_err(unreachable)?;
        let status = answer.status();
        let body = answer.bytes().await.map_err(unreachable)?;
        if !status.is_success() {
            return Err(self.refusal(status, &body));
        }
        let granted: Granted = serde_json::from_slice(&body).map_err(|_| {
            let words = format!("the token endpoint {} answered without access_token and expires_in", self.endpoint);
            Unread::new(Reason::Malformed, words)
        })?;
        let ends = now.plus(Duration::from_secs(u64::from(granted.expires_in)));
        Ok(OAuthToken {
            token: granted.access_token,
            principal_name: self.client_id.clone(),
            lifetime_ms: ends.millis(),
        })
    }

    fn refusal(&self, status: StatusCode, body: &[u8]) -> Unread {
        let said: Refused = serde_json::from_slice(body).unwrap_or_default();
        let reason = match status.as_u16() {
            400 | 401 | 403 => Reason::Denied,
            404 => Reason::NotFound,
            _ => Reason::Unreachable,
        };
        let said: String = [said.error, said.error_description]
            .iter()
            .filter(|words| !words.is_empty())
            .map(|words| format!(": {}", words.chars().take(200).collect::<String>()))
            .collect();
        Unread::new(reason, format!("the token endpoint {} answered {status}{said}", self.endpoint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials() -> ClientCredentials {
        ClientCredentials {
            endpoint: "https://issuer/token".to_owned(),
            client_id: "brinkwatch".to_owned(),
            client_secret: "hunter2".to_owned(),
            scope: None,
            ca_pem: None,
        }
    }

    #[test]
    fn a_refusal_says_what_the_server_said() {
        let check = |status: u16, body: &str, reason: Reason, words: &str| {
            let unread = credentials().refusal(StatusCode::from_u16(status).unwrap(), body.as_bytes());
            assert_eq!((unread.reason, unread.detail.as_str()), (reason, words), "{status} {body}");
        };
        let of = |rest: &str| format!("the token endpoint https://issuer/token answered {rest}");
        check(
            401,
            r#"{"error":"invalid_client","error_description":"no such client"}"#,
            Reason::Denied,
            &of("401 Unauthorized: invalid_client: no such client"),
        );
        check(400, r#"{"error":"invalid_scope"}"#, Reason::Denied, &of("400 Bad Request: invalid_scope"));
        check(503, "<html>", Reason::Unreachable, &of("503 Service Unavailable"));
        check(404, "", Reason::NotFound, &of("404 Not Found"));
    }

    #[test]
    fn a_secret_is_not_printed() {
        assert!(!format!("{:?}", credentials()).contains("hunter2"));
    }
}

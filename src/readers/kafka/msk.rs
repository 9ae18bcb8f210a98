//! A token for Amazon MSK's IAM: a signed request to connect, which the broker has checked by AWS. Nothing is sent
//! anywhere to make one, but where the credentials themselves come from a service of AWS.

use std::error::Error;
use std::time::{Duration, UNIX_EPOCH};

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SignatureLocation, SigningSettings, sign};
use aws_sigv4::sign::v4;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use object_store::RetryConfig;
use object_store::aws::{AmazonS3Builder, AwsCredential};
use rdkafka::client::OAuthToken;

use crate::measures::{Moment, Reason, Unread};

/// MSK takes no token that is good for longer.
const LIFETIME: Duration = Duration::from_secs(900);
const AGENT: &str = "brinkwatch";

/// Signs a token with the credentials that a store of checkpoints in S3 would use: variables, web identity, container
/// and machine roles.
pub(super) async fn token(region: &str, now: Moment) -> Result<OAuthToken, Unread> {
    let none = |error: object_store::Error| {
        let words = error.to_string();
        // Whose own name for it is that of a store.
        let words = words.trim_start_matches("Generic S3 error: ");
        Unread::new(Reason::Denied, format!("no credentials of AWS: {words}"))
    };
    let retry = RetryConfig { max_retries: 1, retry_timeout: Duration::from_secs(5), ..RetryConfig::default() };
    let store = AmazonS3Builder::from_env()
        .with_region(region)
        // A builder wants one; it is never asked for anything.
        .with_bucket_name("unused")
        .with_retry(retry)
        .build()
        .map_err(none)?;
    let credential = store.credentials().get_credential().await.map_err(none)?;
    let url = signed(region, &credential, now)
        .map_err(|error| Unread::new(Reason::Malformed, format!("the token cannot be signed: {error}")))?;
    Ok(OAuthToken {
        token: URL_SAFE_NO_PAD.encode(format!("{url}&User-Agent={AGENT}")),
        principal_name: AGENT.to_owned(),
        lifetime_ms: now.plus(LIFETIME).millis(),
    })
}

fn signed(region: &str, credential: &AwsCredential, now: Moment) -> Result<String, Box<dyn Error + Send + Sync>> {
    let own = (credential.key_id.as_str(), credential.secret_key.as_str(), credential.token.clone());
    let identity = Credentials::new(own.0, own.1, own.2, None, AGENT).into();
    let mut settings = SigningSettings::default();
    settings.signature_location = SignatureLocation::QueryParams;
    settings.expires_in = Some(LIFETIME);
    let millis = u64::try_from(now.millis())?;
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name("kafka-cluster")
        .time(UNIX_EPOCH + Duration::from_millis(millis))
        .settings(settings)
        .build()?
        .into();
    let host = format!("kafka.{region}.amazonaws.com");
    let mut request = http::Request::get(format!("https://{host}/?Action=kafka-cluster%3AConnect")).body(())?;
    let uri = request.uri().to_string();
    let headers = std::iter::once(("host", host.as_str()));
    let signable = SignableRequest::new("GET", &uri, headers, SignableBody::Bytes(&[]))?;
    let (instructions, _) = sign(signable, &params)?.into_parts();
    instructions.apply_to_request_http1x(&mut request);
    Ok(request.uri().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_a_signed_request_to_connect() {
        let credential = AwsCredential {
            key_id: "AKIDEXAMPLE".to_owned(),
            secret_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            token: Some("session/token+=".to_owned()),
        };
        let url = signed("eu-west-1", &credential, Moment::from_millis(1_700_000_000_000)).unwrap();
        for part in [
            "https://kafka.eu-west-1.amazonaws.com/?Action=kafka-cluster%3AConnect&",
            "X-Amz-Algorithm=AWS4-HMAC-SHA256",
            "X-Amz-Credential=AKIDEXAMPLE%2F20231114%2Feu-west-1%2Fkafka-cluster%2Faws4_request",
            "X-Amz-Date=20231114T221320Z",
            "X-Amz-Expires=900",
            "X-Amz-SignedHeaders=host",
            "X-Amz-Security-Token=session%2Ftoken%2B%3D",
            "X-Amz-Signature=",
        ] {
            assert!(url.contains(part), "{part} in {url}");
        }
    }
}

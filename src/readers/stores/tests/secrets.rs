//! Secrets that are rotated, and secrets that hold several things in one.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::measures::Reason;
use crate::readers::CheckpointReader;
use crate::readers::stores::connection_string::{ConnectionString, parse};
use crate::readers::stores::{StoreKind, StoreSecret, StoreSettings, Stores};

const DEADLINE: Duration = Duration::from_secs(3);

/// A store that denies every request without the word `fresh` in it, and holds nothing.
fn server() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let denied = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&denied);
    // ends with the test process
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            drop(answer(stream, &count));
        }
    });
    (endpoint, denied)
}

fn answer(mut stream: TcpStream, denied: &AtomicUsize) -> std::io::Result<()> {
    let mut head = String::new();
    let mut lines = BufReader::new(stream.try_clone()?);
    while lines.read_line(&mut head)? > 2 {}
    let is_listing = head.contains("list-type=2") || head.contains("comp=list");
    let (status, body) = match (head.contains("fresh"), is_listing) {
        (false, _) => {
            denied.fetch_add(1, Ordering::Relaxed);
            ("403 Forbidden", "<Error><Code>AccessDenied</Code></Error>")
        }
        (true, false) => ("404 Not Found", ""),
        (true, true) if head.contains("comp=list") => ("200 OK", "<EnumerationResults><Blobs/></EnumerationResults>"),
        (true, true) => ("200 OK", "<ListBucketResult></ListBucketResult>"),
    };
    let length = body.len();
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

fn file(path: &Path) -> Option<StoreSecret> {
    let path = path.to_owned();
    Some(StoreSecret::read_by(move || Ok(fs::read_to_string(&path)?)))
}

fn s3(endpoint: &str, path: &Path) -> (&'static str, StoreSettings) {
    let mut settings = StoreSettings::new(StoreKind::S3);
    settings.endpoint = Some(endpoint.to_owned());
    settings.access_key_id = Some("AKIAEXAMPLE".to_owned());
    settings.secret_access_key = Some(StoreSecret::given("x"));
    settings.session_token = file(path);
    ("s3a://bucket/cp", settings)
}

fn azure(endpoint: &str, path: &Path) -> (&'static str, StoreSettings) {
    let mut settings = StoreSettings::new(StoreKind::Azure);
    settings.endpoint = Some(endpoint.to_owned());
    settings.account = Some("acct".to_owned());
    settings.sas_token = file(path);
    ("az://container/cp", settings)
}

#[tokio::test]
async fn a_secret_that_was_rotated_is_read_again_when_the_store_denies() {
    for of_kind in [s3, azure] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        fs::write(&path, "sig=stale").unwrap();
        let (endpoint, denied) = server();
        let (location, mut settings) = of_kind(&endpoint, &path);
        settings.allow_http = true;
        let mut stores = Stores::new([("lake".to_owned(), settings)].into(), DEADLINE);
        let store = stores.open(location, Some("lake")).unwrap();
        let reason = async || store.read(DEADLINE).await.unwrap_err().reason;
        assert_eq!(reason().await, Reason::Denied);
        assert_eq!(denied.load(Ordering::Relaxed), 1, "an unchanged secret is not tried again");
        fs::remove_file(&path).unwrap();
        assert_eq!(reason().await, Reason::Denied, "in the midst of a rotation");
        fs::write(&path, "sig=fresh").unwrap();
        // one denial, and the same request again with the new secret: the poll does not fail for it
        assert_eq!(reason().await, Reason::NotFound);
        assert_eq!(denied.load(Ordering::Relaxed), 3);
        assert_eq!(reason().await, Reason::NotFound);
        assert_eq!(denied.load(Ordering::Relaxed), 3);
    }
}

#[test]
fn a_connection_string_says_account_credential_and_endpoint() {
    let check = |text: &str, account: &str, key: Option<&str>, signature: Option<&str>, endpoint: Option<&str>| {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let expected = ConnectionString {
            account: account.to_owned(),
            account_key: owned(key),
            sas_token: owned(signature),
            endpoint: owned(endpoint),
        };
        assert_eq!(parse(text), Ok(expected), "{text}");
    };
    let portal = "DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=a2V5PT0=;EndpointSuffix=core.windows.net";
    check(portal, "acct", Some("a2V5PT0="), None, None);
    check("AccountName=acct;AccountKey=a2V5PT0==", "acct", Some("a2V5PT0=="), None, None);
    check(
        "AccountName=acct;AccountKey=k;EndpointSuffix=core.chinacloudapi.cn;",
        "acct",
        Some("k"),
        None,
        Some("https://acct.blob.core.chinacloudapi.cn"),
    );
    check(
        "accountname=dev; accountkey=k; BlobEndpoint=http://127.0.0.1:10000/dev/; QueueEndpoint=http://127.0.0.1:10001/dev",
        "dev",
        Some("k"),
        None,
        Some("http://127.0.0.1:10000/dev"),
    );
    check(
        "BlobEndpoint=https://acct.blob.core.windows.net/;SharedAccessSignature=?sv=2024&sig=c2ln%3D",
        "acct",
        None,
        Some("sv=2024&sig=c2ln%3D"),
        Some("https://acct.blob.core.windows.net"),
    );
}

#[test]
fn a_connection_string_without_sense_is_refused_and_not_repeated() {
    for (text, words) in [
        ("hunter2", "no list of name=value"),
        ("AccountName=acct;hunter2", "no list of name=value"),
        ("AccountName=acct", "lacks AccountKey"),
        ("AccountKey=hunter2", "lacks AccountName"),
        ("UseDevelopmentStorage=true", "names the emulator"),
    ] {
        let mistake = parse(text).unwrap_err();
        assert!(mistake.contains(words) && !mistake.contains("hunter2"), "{text}: {mistake}");
    }
}

#[test]
fn the_account_of_a_connection_string_is_the_location_s() {
    let mut settings = StoreSettings::new(StoreKind::Azure);
    settings.connection_string = Some(StoreSecret::given("AccountName=acct;AccountKey=a2V5"));
    let mut stores = Stores::new([("lake".to_owned(), settings)].into(), DEADLINE);
    stores.open("az://container/cp", Some("lake")).unwrap();
    stores.open("abfss://container@acct.dfs.core.windows.net/cp", Some("lake")).unwrap();
    let other = stores.open("abfss://container@other.dfs.core.windows.net/cp", Some("lake")).unwrap_err();
    assert!(other.to_string().contains("another account"), "{other}");
}

//! Stores that fail: what is said of it, and that they are left alone for a while.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use object_store::memory::InMemory;
use object_store::throttle::{ThrottleConfig, ThrottledStore};

use crate::measures::{Reason, Unread};
use crate::readers::CheckpointReader;
use crate::readers::stores::shared::{Fetched, SharedStore};
use crate::readers::stores::{StoreKind, StoreSecret, StoreSettings, Stores};

const DEADLINE: Duration = Duration::from_secs(3);

/// An S3 server that gives one answer to everything, and counts.
struct Server {
    endpoint: String,
    asked: Arc<AtomicUsize>,
}

impl Server {
    fn answering(status: &'static str, body: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        // ends with the test process
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                count.fetch_add(1, Ordering::Relaxed);
                std::thread::spawn(move || answer(stream, status, body));
            }
        });
        Self { endpoint, asked }
    }

    fn stores(&self) -> Stores {
        let mut settings = StoreSettings::new(StoreKind::S3);
        settings.endpoint = Some(self.endpoint.clone());
        settings.access_key_id = Some("AKIAEXAMPLE".to_owned());
        settings.secret_access_key = Some(StoreSecret::given("hunter2"));
        settings.allow_http = true;
        Stores::new([("lake".to_owned(), settings)].into(), DEADLINE)
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

fn answer(mut stream: std::net::TcpStream, status: &str, body: &str) -> Option<()> {
    let mut request = [0; 8192];
    // however much of it came: every request is answered alike
    let _length = stream.read(&mut request).ok()?;
    if status.is_empty() {
        // says nothing for longer than anyone waits
        std::thread::sleep(DEADLINE * 10);
        return None;
    }
    let length = body.len();
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}").ok()
}

async fn unread(server: &Server) -> Unread {
    server.stores().open("s3a://bucket/cp", Some("lake")).unwrap().read(DEADLINE).await.unwrap_err()
}

#[tokio::test]
async fn each_failure_has_its_reason_and_its_words() {
    let denied = "<?xml version=\"1.0\"?><Error><Code>SignatureDoesNotMatch</Code><Message>wrong key</Message>\
                  <AWSAccessKeyId>AKIAEXAMPLE</AWSAccessKeyId><SignatureProvided>c2ln</SignatureProvided></Error>";
    for (status, body, reason, words) in [
        ("403 Forbidden", denied, Reason::Denied, "SignatureDoesNotMatch: wrong key"),
        ("401 Unauthorized", "", Reason::Denied, "401 Unauthorized"),
        ("400 Bad Request", "<Error><Code>ExpiredToken</Code></Error>", Reason::Denied, "ExpiredToken"),
        ("404 Not Found", "<Error><Code>NoSuchBucket</Code></Error>", Reason::NotFound, "no such bucket"),
        ("301 Moved Permanently", "", Reason::Unreachable, "another region"),
        ("500 Internal Server Error", "", Reason::Unreachable, "the store failed"),
        ("503 Slow Down", "<Error><Code>SlowDown</Code></Error>", Reason::Unreachable, "the store is overloaded"),
        ("418 I'm a teapot", "", Reason::Malformed, "the answer makes no sense"),
        ("200 OK", "{}", Reason::Malformed, ""),
        ("", "", Reason::TimedOut, ""),
    ] {
        let unread = unread(&Server::answering(status, body)).await;
        assert_eq!(unread.reason, reason, "{status}: {unread}");
        assert!(unread.detail.starts_with("s3a://bucket/cp/") && unread.detail.contains(words), "{status}: {unread}");
        for secret in ["hunter2", "AKIAEXAMPLE", "c2ln"] {
            assert!(!unread.detail.contains(secret), "{unread}");
        }
    }
}

#[tokio::test]
async fn a_port_where_nobody_listens_is_unreachable_before_the_deadline() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server { endpoint: format!("http://{closed}"), asked: Arc::default() };
    let unread = unread(&server).await;
    assert_eq!(unread.reason, Reason::Unreachable, "{unread}");
}

#[tokio::test]
async fn a_store_that_throttles_is_left_alone_by_all_its_queries() {
    let server = Server::answering("503 Slow Down", "");
    let mut stores = server.stores();
    let (first, second) =
        (stores.open("s3a://bucket/a", Some("lake")).unwrap(), stores.open("s3a://bucket/b", Some("lake")).unwrap());
    first.read(DEADLINE).await.unwrap_err();
    let asked = server.asked();
    // the request and two repetitions
    assert_eq!((asked, first.requests().get), (3, 3));
    let unread = second.read(DEADLINE).await.unwrap_err();
    assert_eq!(unread.reason, Reason::Unreachable);
    assert!(unread.detail.contains("the store asked for fewer requests; it is asked again in "), "{unread}");
    assert_eq!(server.asked(), asked);
}

/// The header's words end the status line here: the server writes what follows on a line of its own.
#[tokio::test]
async fn a_store_that_says_how_long_is_left_alone_so_long() {
    for (status, least, most) in [
        ("503 Slow Down\r\nRetry-After: 120", 119.0, 120.0),
        ("429 Too Many Requests\r\nRetry-After: 40", 39.0, 40.0),
        ("503 Slow Down\r\nRetry-After: 86400", 299.0, 300.0),
        ("503 Slow Down\r\nRetry-After: 1", 3.0, 5.0),
        ("503 Slow Down\r\nRetry-After: soon", 3.0, 5.0),
    ] {
        let server = Server::answering(status, "");
        let store = server.stores().open("s3a://bucket/cp", Some("lake")).unwrap();
        store.read(DEADLINE).await.unwrap_err();
        let unread = store.read(DEADLINE).await.unwrap_err();
        let (_, rest) = unread.detail.split_once("it is asked again in ").unwrap();
        let rest: f64 = rest.trim_end_matches(" s").parse().unwrap();
        assert!((least..=most).contains(&rest), "{status}: {unread}");
    }
}

/// Whoever is sent in a circle never gets an answer with a status that would tell it.
#[tokio::test]
async fn redirects_are_told_as_such() {
    let elsewhere = Server::answering("403 Forbidden", "<Error><Code>AccessDenied</Code></Error>");
    let to = |place: &str| {
        let line = format!("307 Temporary Redirect\r\nLocation: {place}/bucket/cp/metadata");
        Server::answering(line.leak(), "")
    };
    let unread_there = unread(&to(&elsewhere.endpoint)).await;
    assert_eq!(unread_there.reason, Reason::Denied, "{unread_there}");
    assert_eq!(elsewhere.asked(), 1);
    let circle = Server::answering("301 Moved Permanently\r\nLocation: /bucket/cp/metadata", "");
    let unread = unread(&circle).await;
    assert_eq!(unread.reason, Reason::Unreachable, "{unread}");
    assert!(unread.detail.contains("redirect"), "{unread}");
}

#[tokio::test(start_paused = true)]
async fn after_a_rest_one_request_tries_alone_and_the_rests_grow() {
    let an_hour = ThrottleConfig { wait_get_per_call: Duration::from_secs(3600), ..ThrottleConfig::default() };
    let hanging = Arc::new(ThrottledStore::new(InMemory::new(), an_hour));
    let store = Arc::new(SharedStore::new(hanging, 4, Some(Duration::from_millis(500))));
    let count = Arc::default();
    let fetch = async || store.fetch(&"a".into(), None, &count).await.unwrap_err();
    let asked = || Arc::<std::sync::atomic::AtomicU64>::as_ref(&count).load(Ordering::Relaxed);
    assert_eq!(fetch().await.reason, Reason::TimedOut);
    for rest in [5, 10, 20, 20] {
        let resting = fetch().await;
        assert!(resting.words.contains("it is asked again in"), "{}", resting.words);
        // nothing new is known: a reason that changed would be news in the log
        assert_eq!(resting.reason, Reason::TimedOut);
        let before = asked();
        tokio::time::advance(Duration::from_secs(rest)).await;
        let (trial, other) = tokio::join!(fetch(), fetch());
        assert_eq!((trial.reason, other.reason, asked()), (Reason::TimedOut, Reason::TimedOut, before + 1));
        assert!(other.words.contains("one request is trying"), "{}", other.words);
    }
}

/// A trial used to hold up the whole round, as long as a request may take, again and again while the store hung.
#[tokio::test(start_paused = true)]
async fn a_trial_that_hangs_costs_a_reading_a_second_and_one_that_ends_late_is_known_to_the_next() {
    let wait =
        |seconds| ThrottleConfig { wait_get_per_call: Duration::from_secs(seconds), ..ThrottleConfig::default() };
    let slow = Arc::new(ThrottledStore::new(InMemory::new(), wait(3600)));
    let client: Arc<dyn object_store::ObjectStore> = Arc::<ThrottledStore<InMemory>>::clone(&slow);
    let store = Arc::new(SharedStore::new(client, 4, Some(Duration::from_secs(9))));
    let count = Arc::default();
    store.fetch(&"a".into(), None, &count).await.unwrap_err();
    slow.config_mut(|config| *config = wait(4));
    tokio::time::advance(Duration::from_secs(5)).await;
    let began = tokio::time::Instant::now();
    let trial = store.fetch(&"a".into(), None, &count).await.unwrap_err();
    assert!(trial.words.contains("one request is trying"), "{}", trial.words);
    assert_eq!(began.elapsed(), Duration::from_secs(1));
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(matches!(store.fetch(&"a".into(), None, &count).await, Ok(Fetched::Missing)));
}

/// Every operation used to have a thread of its own: a hundred checkpoints on the local disk took two hundred threads.
#[tokio::test(start_paused = true)]
async fn files_that_hang_hold_up_the_others_by_moments_and_files_that_do_not_take_turns() {
    let hour = ThrottleConfig { wait_get_per_call: Duration::from_secs(3600), ..ThrottleConfig::default() };
    let hanging = Arc::new(ThrottledStore::new(InMemory::new(), hour));
    let client: Arc<dyn object_store::ObjectStore> = Arc::<ThrottledStore<InMemory>>::clone(&hanging);
    let store = Arc::new(SharedStore::of_this_machine(client));
    for number in 0..32 {
        let (store, file) = (Arc::clone(&store), format!("{number}"));
        tokio::spawn(async move { store.fetch(&file.as_str().into(), None, &Arc::default()).await });
    }
    // all of them are there, and half of them have a place
    tokio::task::yield_now().await;
    let moments = ThrottleConfig { wait_get_per_call: Duration::from_millis(10), ..ThrottleConfig::default() };
    hanging.config_mut(|config| *config = moments);
    let began = tokio::time::Instant::now();
    let fetch = async || store.fetch(&"a".into(), None, &Arc::default()).await;
    assert!(matches!(fetch().await, Ok(Fetched::Missing)));
    // those that wait find a file that answers by now, in the turns of the sixteen before them
    assert_eq!(began.elapsed(), Duration::from_millis(120));
    let began = tokio::time::Instant::now();
    futures::future::join_all((0..32).map(|_| fetch())).await;
    assert_eq!(began.elapsed(), Duration::from_millis(20));
}

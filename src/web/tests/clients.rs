//! Clients of all kinds: those that hang, those that are slow, those that ask oddly.

use std::io::Write;
use std::net::TcpStream;
use tokio::time::Instant;

use super::super::serve::{LIMITS, Limits};
use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

fn half_asked(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\n").unwrap();
    stream
}

fn limited(limits: Limits) -> Served {
    let mut served = Served::with(fixture::round());
    served.limit(limits);
    served
}

#[test]
fn two_hundred_that_hang_half_way_cost_no_other_an_answer() {
    let served = Served::with(fixture::round());
    let hanging: Vec<TcpStream> = (0..200).map(|_| half_asked(served.address)).collect();
    for path in ["/metrics", "/-/healthy", "/", "/api/v1/queries"] {
        assert_eq!(served.get(path).status, 200, "{path}");
    }
    drop(hanging);
}

#[test]
fn two_hundred_at_once_get_the_same_answer() {
    let served = Served::with(fixture::round());
    let bodies: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let asking: Vec<_> =
            (0..200).map(|_| scope.spawn(|| served.ask("GET", "/api/v1/targets", "identity").body)).collect();
        asking.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(bodies.iter().all(|body| *body == bodies[0] && !body.is_empty()));
}

#[test]
fn who_says_nothing_is_cut_off_and_its_place_is_given_to_the_next() {
    let limits = Limits { connections: 1, silence: Duration::from_millis(200), ..LIMITS };
    let served = limited(limits);
    let mut hanging = half_asked(served.address);
    let began = Instant::now();
    assert_eq!(served.get("/-/healthy").status, 200, "answered when the place is free");
    let mut rest = Vec::new();
    // An end, in order or by a reset: both are a cut.
    drop(hanging.read_to_end(&mut rest));
    assert!(began.elapsed() < PATIENCE, "it was cut");
}

/// Each byte breaks the silence, and the head is never whole.
#[test]
fn who_speaks_a_byte_at_a_time_is_cut_off() {
    let limits = Limits { connections: 1, silence: Duration::from_millis(500), ..LIMITS };
    let served = limited(limits);
    let mut hanging = half_asked(served.address);
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| {
            let began = Instant::now();
            while hanging.write_all(b"x").is_ok() && began.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(50));
            }
            began.elapsed()
        });
        assert_eq!(served.get("/-/healthy").status, 200, "answered when the place is free");
        assert!(slow.join().unwrap() < PATIENCE, "it was cut");
    });
}

#[test]
fn a_head_that_is_too_large_is_refused() {
    let served = Served::with(fixture::round());
    let ask = |size: usize| {
        let mut stream = TcpStream::connect(served.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let padding = "x".repeat(size);
        // Cut off while it still speaks: that is a refusal too.
        let asked = write!(stream, "GET /-/healthy HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx: {padding}\r\n\r\n");
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let status = String::from_utf8_lossy(&answer).split(' ').nth(1).map(str::to_owned);
        status.unwrap_or_else(|| format!("cut off: {asked:?} {read:?}"))
    };
    assert_eq!(ask(20 * 1_024), "200");
    let refused = ask(4 * LIMITS.head);
    assert!(refused == "431" || refused.starts_with("cut off"), "{refused}");
    let refused = ask(10_000_000);
    assert!(refused == "431" || refused.starts_with("cut off"), "{refused}");
    assert_eq!(served.get("/-/healthy").status, 200);
}

#[test]
fn who_takes_nothing_is_cut_off() {
    let limits = Limits { connections: 1, stall: Duration::from_millis(200), ..LIMITS };
    let served = limited(limits);
    let mut round = fixture::round();
    let partitions = (0..20_000).map(|number| partition(number, 0, 50_000)).collect();
    round.queries = [("large".to_owned(), fixture::query(verdict(QueryState::Behind, &[("t", partitions)])))].into();
    served.board.publish(round);
    let mut slow = TcpStream::connect(served.address).unwrap();
    slow.write_all(b"GET /api/v1/queries/large HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let began = Instant::now();
    assert_eq!(served.get("/-/healthy").status, 200);
    assert!(began.elapsed() < PATIENCE);
    drop(slow);
}

#[test]
fn a_slow_reader_gets_the_whole_answer() {
    let served = Served::with(fixture::round());
    let whole = served.get("/").body;
    let mut slow = TcpStream::connect(served.address).unwrap();
    slow.set_read_timeout(Some(PATIENCE)).unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut read = Vec::new();
    let mut few = [0; 512];
    loop {
        let size = slow.read(&mut few).unwrap();
        if size == 0 {
            break;
        }
        read.extend_from_slice(&few[..size]);
        std::thread::yield_now();
    }
    assert!(read.ends_with(&whole[whole.len() - 100..]));
}

#[test]
fn every_path_takes_get_and_head_and_nothing_else() {
    let served = Served::with(fixture::round());
    for path in [
        "/",
        "/queries/orders-enriched",
        "/gaps",
        "/assets/brinkwatch.css",
        "/metrics",
        "/-/healthy",
        "/-/ready",
        "/config",
        "/rules",
        "/api/v1/queries",
        "/api/v1/queries/orders-enriched",
        "/api/v1/gaps",
        "/api/v1/targets",
        "/api/v1/openapi.json",
    ] {
        for encoding in ["identity", "gzip"] {
            let head = served.ask("HEAD", path, encoding);
            assert_eq!((head.status, head.body.len()), (200, 0), "HEAD {path} {encoding}");
            assert_eq!(head.header("content-type"), served.ask("GET", path, encoding).header("content-type"), "{path}");
        }
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
            let answer = served.ask(method, path, "identity");
            assert_eq!(answer.status, 405, "{method} {path}");
            assert_eq!(answer.header("allow"), "GET,HEAD", "{method} {path}");
        }
    }
}

#[test]
fn whatever_a_client_says_that_it_takes_it_gets_an_answer_that_it_can_read() {
    let served = Served::with(fixture::round());
    let encodings = [
        ("", ""),
        ("gzip", "gzip"),
        ("GZIP", "gzip"),
        ("br;q=1.0, gzip;q=0.8, *;q=0.1", "gzip"),
        ("deflate", ""),
        ("br, zstd", ""),
        ("gzip;q=0", ""),
        ("identity;q=0, nonsense;;q=x", ""),
    ];
    for path in ["/", "/metrics", "/api/v1/queries"] {
        for (accepted, expected) in encodings {
            let answer = served.ask("GET", path, accepted);
            assert_eq!((answer.status, answer.header("content-encoding")), (200, expected), "{path} {accepted:?}");
            assert!(answer.header("vary").contains("accept-encoding"), "{path} {accepted:?}");
        }
        for accept in ["text/html", "application/openmetrics-text;version=1.0.0", "*/*;q=0", "", "nonsense"] {
            let url = format!("http://{}{path}", served.address);
            assert_eq!(
                ureq::get(url).header("accept", accept).call().unwrap().status().as_u16(),
                200,
                "{path} {accept}"
            );
        }
    }
}

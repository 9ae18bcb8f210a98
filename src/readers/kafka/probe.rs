//! What listens where a broker should be. Asked only when a client got nowhere, on a connection of its own.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::certificates;
use crate::measures::{Reason, Unread};

/// Who says nothing for so long is called silent.
const ENOUGH: Duration = Duration::from_millis(500);

/// What a server made of a request that no broker and no TLS server can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Http,
    Closed,
    Nothing,
}

/// Says what a server is, where that explains why it is not read. `None` when it does not.
pub(super) fn what_answers(host: &str, port: u16, by_tls: bool, wait: Duration) -> Option<Unread> {
    let server = format!("{host}:{port}");
    let shakes_hands = certificates::shakes_hands(host, port, wait);
    if by_tls && shakes_hands {
        return None;
    }
    let unreachable = |words: String| Some(Unread::new(Reason::Unreachable, words));
    if shakes_hands {
        return unreachable(format!("{server} expects TLS or a login: it shakes hands by TLS"));
    }
    match answer(host, port, wait).ok()? {
        // A broker ends what it cannot read, whether it wants a login or not. One that answers a stranger wants none, and
        // is merely slow.
        Answer::Closed if !by_tls && answers_strangers(host, port, wait) => None,
        // A broker that is merely slow says nothing for that long.
        Answer::Nothing if wait < ENOUGH => None,
        Answer::Nothing => {
            Some(Unread::new(Reason::TimedOut, format!("{server} accepts connections and says nothing")))
        }
        Answer::Http if by_tls => unreachable(format!("{server} does not speak TLS: it speaks HTTP, and is no broker")),
        Answer::Http => unreachable(format!("{server} speaks HTTP: it is no broker")),
        Answer::Closed if by_tls => unreachable(format!("{server} does not speak TLS: a listener for plain text?")),
        Answer::Closed => unreachable(format!("{server} expects TLS or a login: it closes connections in plain text")),
    }
}

fn answer(host: &str, port: u16, wait: Duration) -> io::Result<Answer> {
    let mut stream = connect(host, port, wait)?;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
    let mut begin = [0; 5];
    Ok(match stream.read_exact(&mut begin) {
        Ok(()) if &begin == b"HTTP/" => Answer::Http,
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Answer::Nothing,
        // A broker, or TLS: they cannot read this, and end it.
        Ok(()) | Err(_) => Answer::Closed,
    })
}

/// A Metadata request, version 1, for no topic and from no named client: Kafka's framing, and the correlation id 1.
const METADATA: [u8; 18] = [0, 0, 0, 14, 0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 0];

/// Whether a broker answers in plain text to whoever has not logged in.
fn answers_strangers(host: &str, port: u16, wait: Duration) -> bool {
    let ask = || {
        let mut stream = connect(host, port, wait)?;
        stream.write_all(&METADATA)?;
        let mut begin = [0; 8];
        stream.read_exact(&mut begin)?;
        io::Result::Ok(begin[4..] == METADATA[8..12])
    };
    ask().unwrap_or(false)
}

/// A connection that waits for nothing longer than that.
pub(super) fn connect(host: &str, port: u16, wait: Duration) -> io::Result<TcpStream> {
    let address = (host, port).to_socket_addrs()?.next().ok_or(io::ErrorKind::NotFound)?;
    let stream = TcpStream::connect_timeout(&address, wait)?;
    stream.set_read_timeout(Some(wait))?;
    stream.set_write_timeout(Some(wait))?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    const WAIT: Duration = ENOUGH;

    /// A server that answers each connection with these bytes and then closes it; with `None` it keeps it and says nothing.
    fn server(says: Option<&'static [u8]>) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            let mut kept = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                match says {
                    Some(bytes) => {
                        let mut request = [0; 64];
                        assert!(stream.read(&mut request).unwrap() > 0);
                        stream.write_all(bytes).unwrap();
                    }
                    None => kept.push(stream),
                }
            }
        });
        port
    }

    #[test]
    fn a_server_is_known_by_what_it_answers() {
        let check = |says: Option<&'static [u8]>, by_tls: bool, reason: Reason, words: &str| {
            let unread = what_answers("127.0.0.1", server(says), by_tls, WAIT).unwrap();
            assert_eq!(unread.reason, reason, "{unread}");
            assert!(unread.detail.contains(words), "{unread}");
        };
        check(Some(b"HTTP/1.1 400 Bad Request\r\n\r\n"), false, Reason::Unreachable, "speaks HTTP: it is no broker");
        check(
            Some(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
            true,
            Reason::Unreachable,
            "does not speak TLS: it speaks HTTP",
        );
        check(Some(b""), false, Reason::Unreachable, "expects TLS or a login");
        check(Some(b""), true, Reason::Unreachable, "a listener for plain text?");
        check(None, false, Reason::TimedOut, "accepts connections and says nothing");
        check(None, true, Reason::TimedOut, "accepts connections and says nothing");
    }

    /// A busy machine made a slow broker look like one that wants a login, since both end what they cannot read.
    #[test]
    fn a_broker_that_answers_strangers_is_not_said_to_want_a_login() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = [0; 18];
                if stream.read_exact(&mut request).is_ok() && request == METADATA {
                    stream.write_all(&[0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
                }
            }
        });
        assert_eq!(what_answers("127.0.0.1", port, false, WAIT), None);
        let unread = what_answers("127.0.0.1", port, true, WAIT).unwrap();
        assert!(unread.detail.contains("a listener for plain text?"), "{unread}");
    }
}

//! From librdkafka's words to what a person can act upon.

use std::time::Duration;

use super::access::Access;
use super::{certificates, kerberos, probe};
use crate::measures::{Reason, Unread};

/// A server, and who says so: a bootstrap server by the configuration, a broker with an id by the cluster.
#[derive(Debug, PartialEq, Eq)]
struct Server<'a> {
    host: &'a str,
    port: u16,
    broker: Option<i32>,
}

/// What stood in the way, as far as it can be found out in that time.
pub(super) fn explain(told: Option<&Unread>, access: &Access, first: &str, wait: Duration) -> Option<Unread> {
    let protocol = access.properties.get("security.protocol").map(|protocol| protocol.to_ascii_uppercase());
    let by_tls = protocol.is_some_and(|protocol| protocol.ends_with("SSL"));
    let without_ticket = kerberos::explain(told, &access.properties, wait);
    if without_ticket.is_some() {
        return without_ticket;
    }
    let Some(told) = told else {
        let server = server(first)?;
        return probe::what_answers(server.host, server.port, by_tls, wait);
    };
    let words = told.detail.as_str();
    let has = |part: &str| words.contains(part);
    let (server, rest) = server_and_rest(words).map_or((server(first), words), |(server, rest)| (Some(server), rest));
    if has("certificate verify failed") {
        let server = server?;
        let wrong = certificates::what_is_wrong_with(server.host, server.port, wait)?;
        return Some(Unread::new(Reason::Unreachable, wrong));
    }
    if has(" alert ") {
        return Some(Unread::new(Reason::Denied, refused_certificate(words, access)));
    }
    if has("Failed to resolve") {
        return Some(Unread::new(Reason::Unreachable, short(rest)));
    }
    let server = server?;
    if has("Connect to ") {
        let place = format!("{}:{}", server.host, server.port);
        let why = short(rest.rsplit("failed: ").next().unwrap_or(rest));
        let words = match server.broker {
            Some(id) => format!("broker {id} advertises {place}, which cannot be reached: {why}"),
            None => format!("{place} cannot be reached: {why}"),
        };
        return Some(Unread::new(Reason::Unreachable, words));
    }
    let is_unclear = ["Disconnected", "disconnected", "Invalid response size", "SSL routines", "timed out"];
    if is_unclear.iter().any(|part| has(part)) {
        return probe::what_answers(server.host, server.port, by_tls, wait);
    }
    None
}

/// The broker ended it with one of TLS's alerts, all of which are about what we have shown.
fn refused_certificate(words: &str, access: &Access) -> String {
    let alert = words.split(" alert ").nth(1).unwrap_or_default();
    let alert = alert.split([':', '(']).next().unwrap_or_default().trim();
    let Some(file) = access.properties.get("ssl.certificate.location") else {
        return format!("the broker wants a certificate of ours, and there is none: {alert}");
    };
    certificates::what_is_wrong_with_ours(file)
        .unwrap_or_else(|| format!("the broker refuses our certificate: {alert}"))
}

/// Without how long it took and in which state of librdkafka's.
fn short(words: &str) -> String {
    words.split(" (after ").next().unwrap_or(words).to_owned()
}

/// `sasl_ssl://host:port/id: rest`, where the id is that of a broker, or `bootstrap`; the protocol may be left out.
fn server_and_rest(words: &str) -> Option<(Server<'_>, &str)> {
    let (name, rest) = words.split_once(": ")?;
    let (place, id) = name.rsplit_once('/')?;
    let server = server(place)?;
    Some((Server { broker: id.parse().ok(), ..server }, rest))
}

/// The first of some servers: `host:port`, or with a protocol in front.
fn server(place: &str) -> Option<Server<'_>> {
    let first = place.split(',').next()?.trim();
    let first = first.split_once("://").map_or(first, |(_, place)| place);
    let (host, port) = first.rsplit_once(':').unwrap_or((first, "9092"));
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Some(Server { host, port: port.parse().ok()?, broker: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_found_in_the_words() {
        let check = |words: &str, host: &str, port, broker, rest: &str| {
            assert_eq!(server_and_rest(words), Some((Server { host, port, broker }, rest)), "{words}");
        };
        check("ssl://b1:9093/bootstrap: SSL handshake failed", "b1", 9093, None, "SSL handshake failed");
        check("127.0.0.1:9092/3: Connect to x", "127.0.0.1", 9092, Some(3), "Connect to x");
        check("sasl_ssl://[::1]:9092/3: a: b", "::1", 9092, Some(3), "a: b");
        assert_eq!(server_and_rest("3/3 brokers are down"), None);
        assert_eq!(server("b1:9092, b2:9092").map(|server| (server.host, server.port)), Some(("b1", 9092)));
        assert_eq!(server("b1").map(|server| (server.host, server.port)), Some(("b1", 9092)));
    }

    #[test]
    fn words_of_librdkafka_become_words_for_a_person() {
        let check = |words: &str, reason: Reason, expected: &str| {
            let told = Unread::new(Reason::Unreachable, words);
            let explained = explain(Some(&told), &Access::default(), "b:9092", Duration::ZERO);
            assert_eq!(explained, Some(Unread::new(reason, expected)), "{words}");
        };
        check(
            "127.0.0.1:19/1: Connect to ipv4#127.0.0.1:19 failed: Connection refused (after 0ms in state CONNECT)",
            Reason::Unreachable,
            "broker 1 advertises 127.0.0.1:19, which cannot be reached: Connection refused",
        );
        check(
            "b:9092/bootstrap: Connect to ipv4#10.0.0.1:9092 failed: Connection refused (after 0ms in state CONNECT)",
            Reason::Unreachable,
            "b:9092 cannot be reached: Connection refused",
        );
        check(
            "nowhere:9092/bootstrap: Failed to resolve 'nowhere:9092': Name or service not known (after 2ms in state CONNECT)",
            Reason::Unreachable,
            "Failed to resolve 'nowhere:9092': Name or service not known",
        );
        check(
            "ssl://b:9093/1: Receive failed: error:0A00045C:SSL routines::tlsv13 alert certificate required: SSL alert number 116",
            Reason::Denied,
            "the broker wants a certificate of ours, and there is none: certificate required",
        );
    }

    #[test]
    fn what_is_clear_is_left_as_it_is() {
        let told = Unread::new(Reason::Denied, "sasl_ssl://b:9093/1: SASL authentication error: wrong password");
        assert_eq!(explain(Some(&told), &Access::default(), "b:9092", Duration::ZERO), None);
    }
}

//! `/metrics`: always 200, from memory.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use prometheus::TextEncoder;
use prometheus::core::Collector;
use prometheus::process_collector::ProcessCollector;

use super::WebState;
use crate::measures::Moment;
use crate::metrics::exposition::About;
use crate::rounds::board::plain;
use crate::shard::Shard;

/// Prometheus 3 refuses a scrape whose type it does not know.
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(super) async fn metrics(State(state): State<WebState>, headers: HeaderMap) -> Response {
    let gzip = state.board().scrape(state.now(), &process());
    let head = [(header::CONTENT_TYPE, CONTENT_TYPE), (header::VARY, "accept-encoding")];
    if takes_gzip(&headers) {
        return (head, [(header::CONTENT_ENCODING, "gzip")], gzip).into_response();
    }
    match plain(&gzip) {
        Ok(text) => (head, text).into_response(),
        Err(error) => {
            (StatusCode::INTERNAL_SERVER_ERROR, format!("cannot unpack our own text: {error}\n")).into_response()
        }
    }
}

/// What this program was built from, for [`Board::set_about`](crate::rounds::board::Board::set_about).
#[must_use]
pub const fn about_this_build(config_ok: bool, config_loaded_at: Option<Moment>, shard: Shard) -> About {
    About {
        version: env!("CARGO_PKG_VERSION"),
        revision: match option_env!("BRINKWATCH_REVISION") {
            Some(revision) => revision,
            None => "unknown",
        },
        rustc: env!("BRINKWATCH_RUSTC"),
        config_ok,
        config_loaded_at,
        shard,
    }
}

/// The standard metrics of a process, in order of names. Where the system does not tell, they are absent.
fn process() -> String {
    let mut families = ProcessCollector::for_self().collect();
    families.sort_by(|left, right| left.name().cmp(right.name()));
    TextEncoder::new().encode_to_string(&families).unwrap_or_default()
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let offers = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut named = None;
    let mut any = false;
    for offer in offers.flat_map(|value| value.split(',')) {
        let (coding, parameters) = offer.split_once(';').unwrap_or((offer, ""));
        let quality = parameters.trim().strip_prefix("q=").map_or(Some(1.0), |quality| quality.trim().parse().ok());
        let wanted = quality.is_some_and(|quality: f32| quality > 0.0);
        match coding.trim() {
            coding if coding.eq_ignore_ascii_case("gzip") => named = Some(wanted),
            "*" => any = wanted,
            _ => {}
        }
    }
    named.unwrap_or(any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_those_who_take_it() {
        let check = |value: &'static str, expected| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, value.parse().unwrap());
            assert_eq!(takes_gzip(&headers), expected, "{value}");
        };
        check("gzip", true);
        check("deflate, GZIP;q=0.5", true);
        check("gzip;q=0", false);
        check("gzip; q=0.0, *", false);
        check("*", true);
        check("identity", false);
        check("", false);
        assert!(!takes_gzip(&HeaderMap::new()));
    }

    #[test]
    fn the_process_is_measured_in_the_standard_names() {
        let text = process();
        for name in [
            "process_start_time_seconds",
            "process_resident_memory_bytes",
            "process_open_fds",
            "process_cpu_seconds_total",
        ] {
            assert!(text.contains(&format!("\n{name} ")), "{name}\n{text}");
        }
    }
}

//! The log: to stderr, one line an event.

use std::io;

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `key=value` pairs.
    Logfmt,
    /// One JSON object a line.
    Json,
    /// For people at a terminal.
    Pretty,
}

/// Starts the log of this process. `level` is the least severe level that is written; `RUST_LOG`, given as
/// `directives`, overrides it. A second call changes nothing.
pub fn start(level: &str, format: Format, directives: Option<&str>) {
    let filter = EnvFilter::builder().with_default_directive(LevelFilter::INFO.into());
    let filter = match directives {
        Some(directives) if !directives.is_empty() => filter.parse_lossy(directives),
        _ => filter.parse_lossy(level),
    };
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        Format::Logfmt => Box::new(tracing_logfmt::builder().layer().with_writer(io::stderr)),
        Format::Json => Box::new(fmt::layer().json().flatten_event(true).with_writer(io::stderr)),
        Format::Pretty => Box::new(fmt::layer().with_writer(io::stderr)),
    };
    // A subscriber that is already there (a test's, a second start) stays.
    if tracing_subscriber::registry().with(lines.with_filter(filter)).try_init().is_err() {
        tracing::debug!("the log was already started");
    }
}

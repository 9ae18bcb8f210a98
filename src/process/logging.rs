//! The log: to stderr, one line an event.

use std::io;
use std::sync::OnceLock;

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};

/// What lets the level be changed later; absent where `RUST_LOG` rules, and before the log is started.
static LEVEL: OnceLock<Handle<EnvFilter, Registry>> = OnceLock::new();

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
    let directives = directives.filter(|directives| !directives.is_empty());
    let (filter, handle) = reload::Layer::new(filter(directives.unwrap_or(level)));
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        Format::Logfmt => Box::new(tracing_logfmt::builder().layer().with_writer(io::stderr)),
        Format::Json => Box::new(fmt::layer().json().flatten_event(true).with_writer(io::stderr)),
        Format::Pretty => Box::new(fmt::layer().with_writer(io::stderr)),
    };
    // A subscriber that is already there (a test's, a second start) stays.
    if tracing_subscriber::registry().with(lines.with_filter(filter)).try_init().is_err() {
        tracing::debug!("the log was already started");
        return;
    }
    if directives.is_none() && LEVEL.set(handle).is_err() {
        tracing::debug!("the log's level was already in hand");
    }
}

/// Changes the least severe level that is written, while the process runs. `RUST_LOG` still overrides it.
pub fn change_level(level: &str) {
    match LEVEL.get().map(|handle| handle.reload(filter(level))) {
        None => tracing::info!("RUST_LOG overrides the configured level of the log"),
        Some(Err(error)) => tracing::warn!(%error, "the log's level stays as it was"),
        Some(Ok(())) => tracing::info!(level, "the log's level is changed"),
    }
}

fn filter(directives: &str) -> EnvFilter {
    EnvFilter::builder().with_default_directive(LevelFilter::INFO.into()).parse_lossy(directives)
}

//! `brinkwatch run`: the daemon.

use clap::Args;
use tracing::{error, info, warn};

use super::config::ConfigSource;
use crate::config::{Log, LogFormat};
use crate::daemon;
use crate::process::exit_code::ExitCode;
use crate::process::logging;
use crate::process::service;
use crate::process::signals::StopSignals;

/// Watch the configured queries until stopped
///
/// HTTP answers at once, whatever Kafka or a store does. SIGTERM or SIGINT stops in order, within two seconds; a second
/// one stops at once.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  brinkwatch run --config /etc/brinkwatch/brinkwatch.toml\n\n\
                        Exit code: 0 stopped as asked, 1 a failure at run time, such as a port that is taken, 78 invalid \
                        configuration.")]
pub struct RunArgs {
    /// Where the configuration comes from.
    #[command(flatten)]
    source: ConfigSource,
    /// Listen here; the same as --set server.listen=…
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
}

/// Runs the daemon until a signal or a fault ends it.
///
/// # Errors
/// When it cannot be started, or one of its parts failed.
pub async fn run(mut args: RunArgs) -> anyhow::Result<ExitCode> {
    // Before anything that must be stopped in order.
    let mut signals = StopSignals::take_over()?;
    args.source.set.extend(args.listen.take().map(|listen| ("server.listen".to_owned(), listen)));
    let config = args.source.load()?;
    start_log(config.log);
    info!(
        version = env!("CARGO_PKG_VERSION"),
        revision = crate::web::about_this_build(true, None).revision,
        config = args.source.described(),
        "starting"
    );
    let running = daemon::start(config, args.source.for_commands()).await?;
    service::tell_ready();
    until_stopped(running, &mut signals).await
}

/// Starts the log as configured; `RUST_LOG` overrides the level.
pub(super) fn start_log(log: Log) {
    let format = match log.format {
        LogFormat::Logfmt => logging::Format::Logfmt,
        LogFormat::Json => logging::Format::Json,
        LogFormat::Pretty => logging::Format::Pretty,
    };
    logging::start(log.level.label(), format, std::env::var("RUST_LOG").ok().as_deref());
}

/// Waits for a signal, then stops the daemon in order; a second signal cuts that short.
pub(super) async fn until_stopped(mut running: daemon::Running, signals: &mut StopSignals) -> anyhow::Result<ExitCode> {
    let signal = tokio::select! {
        signal = signals.next() => signal,
        fault = running.fault() => {
            error!(error = format!("{fault:#}"), "a part of the daemon failed");
            running.stop().await;
            return Err(fault);
        }
    };
    info!(signal, "stopping");
    service::tell_stopping();
    tokio::select! {
        () = running.stop() => info!("stopped"),
        second = signals.next() => warn!(signal = second, "stopping at once"),
    }
    Ok(ExitCode::Fine)
}

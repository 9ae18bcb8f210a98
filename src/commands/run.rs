//! `brinkwatch run`: the daemon.

use std::time::Duration;

use clap::Args;
use tracing::{error, info, warn};

use super::config::ConfigSource;
use crate::config::{Log, LogFormat};
use crate::daemon::{self, Happening, Running};
use crate::measures::with_causes;
use crate::process::exit_code::ExitCode;
use crate::process::logging;
use crate::process::service::{self, Watchdog};
use crate::process::signals::{HeardSignals, ReloadSignal, StopSignals};
use crate::shard::Shard;

/// Watch the configured queries until stopped
///
/// HTTP answers at once, whatever Kafka or a store does. SIGTERM or SIGINT stops in order, within two seconds; a second
/// one stops at once. SIGHUP reads the configuration again: what changed is changed, and with a mistake in it the one
/// before stays in force.
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
    /// Watch only the queries of one shard: its ordinal, from 0, and how many there are, such as 2/5
    ///
    /// All shards read the same configuration; the name of a query decides which one watches it. The name of a pod of a
    /// StatefulSet, which ends with its number, may stand for the ordinal. Pods are dealt out in turn: with ten of them,
    /// --shard "$POD_NAME/5" makes two of each shard.
    #[arg(long, value_name = "ORDINAL/SHARDS", default_value_t, hide_default_value = true)]
    shard: Shard,
}

/// So long a signal may go unheard. A stop in order takes as long at most.
const UNHEARD: Duration = Duration::from_millis(1_500);

/// Runs the daemon until a signal or a fault ends it.
///
/// # Errors
/// When it cannot be started, or one of its parts failed.
pub async fn run(mut args: RunArgs) -> anyhow::Result<ExitCode> {
    // Before anything that must be stopped in order.
    let mut signals = StopSignals::take_over()?.heard_within(UNHEARD);
    let mut reload = ReloadSignal::take_over()?;
    args.source.set.extend(args.listen.take().map(|listen| ("server.listen".to_owned(), listen)));
    let config = args.source.load()?;
    start_log(config.log);
    info!(
        version = env!("CARGO_PKG_VERSION"),
        revision = crate::web::about_this_build(true, None, args.shard).revision,
        config = args.source.described(),
        "starting"
    );
    let running = tokio::select! {
        started = daemon::start(config, args.source.for_commands(), args.shard) => started?,
        signal = signals.next() => {
            info!(signal, "stopped before it had started");
            return Ok(ExitCode::Fine);
        }
    };
    service::tell_ready();
    until_stopped(running, &args.source, &mut signals, &mut reload).await
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

/// Keeps the daemon until a signal or a fault ends it: reads the configuration again when that is asked for, and tells
/// the service manager's watchdog that it is alive. Stops it in order; a second signal cuts that short.
async fn until_stopped(
    mut running: Running,
    source: &ConfigSource,
    signals: &mut HeardSignals,
    reload: &mut ReloadSignal,
) -> anyhow::Result<ExitCode> {
    let mut watchdog = Watchdog::asked_for();
    let signal = loop {
        tokio::select! {
            signal = signals.next() => break signal,
            () = reload.next() => drop(read_again(&mut running, source, "SIGHUP")),
            () = watchdog.due() => if running.is_alive().await {
                service::tell_alive();
            },
            happening = running.next() => match happening {
                Happening::ReloadAsked(asked) => asked.answer(read_again(&mut running, source, "POST /-/reload")),
                Happening::Fault(fault) => {
                    error!(error = format!("{fault:#}"), "a part of the daemon failed");
                    running.stop().await;
                    return Err(fault);
                }
            },
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

/// Reads the configuration again; on a mistake, every one in words.
fn read_again(running: &mut Running, source: &ConfigSource, asked_by: &str) -> Result<(), String> {
    info!(asked_by, config = source.described(), "reading the configuration again");
    service::tell_reloading();
    let outcome = running.reload(source.load());
    service::tell_ready();
    outcome.map_err(|error| with_causes(&error))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use clap::error::ErrorKind;

    use crate::commands::{Command, CommandLine};

    fn shard(arguments: &[&str]) -> Result<String, (ErrorKind, i32, String)> {
        let parsed = CommandLine::try_parse_from(["brinkwatch", "run"].iter().chain(arguments));
        match parsed.map_err(|error| (error.kind(), error.exit_code(), error.to_string()))?.command {
            Command::Run(args) => Ok(args.shard.to_string()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_fleet_is_whole_unless_a_shard_is_named() {
        assert_eq!(shard(&[]), Ok("0/1".to_owned()));
        assert_eq!(shard(&["--shard", "2/5"]), Ok("2/5".to_owned()));
        assert_eq!(shard(&["--shard=brinkwatch-4/5"]), Ok("4/5".to_owned()));
    }

    #[test]
    fn a_shard_that_is_none_is_wrong_usage_told_in_words() {
        fn check(text: &str, words: &str) {
            let (kind, code, said) = shard(&["--shard", text]).unwrap_err();
            assert_eq!((kind, code), (ErrorKind::ValueValidation, 2), "{text}: {said}");
            let whole = format!("error: invalid value '{text}' for '--shard <ORDINAL/SHARDS>': {words}\n");
            assert!(said.starts_with(&whole), "{said}");
        }
        check("5/5", "ordinals count from 0: there is no shard 5 of 5, and the last one is 4/5");
        check("2", "write ORDINAL/SHARDS, such as 0/3 for the first of three");
        check("x/3", "the ordinal \"x\" is no number, and no name that ends with one, such as brinkwatch-2");
        check("0/0", "the number of shards \"0\" is no number from 1 to 1000");
        check(
            "$(POD_NAME)/3",
            "the ordinal \"$(POD_NAME)\" is no number, and no name that ends with one, such as brinkwatch-2",
        );
        assert_eq!(shard(&["--shard", ""]).unwrap_err().1, 2, "a variable that is not set");
    }
}

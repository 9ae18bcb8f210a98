//! `brinkwatch demo`: the daemon on an embedded Kafka stand-in and four simulated Spark queries.
//!
//! What is shown is computed by the same rooms as in `run`; only Kafka and Spark are played. So this is the one place
//! outside the readers that names a Kafka client, and the one place in the project that writes a topic or a
//! checkpoint: its own topics in its own process, its own checkpoints in a temporary folder.

mod configuration;
mod show;
mod simulated;
mod spark;
mod stand_in;
mod story;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use anyhow::Context as _;
use clap::Args;
use tempfile::TempDir;
use tokio::signal::unix::{Signal, SignalKind, signal};

use self::show::Show;
use self::story::{STORIES, Story};
use crate::config::{self, ConfigFile};
use crate::daemon;
use crate::process::exit_code::ExitCode;
use crate::shard::Shard;

const USUAL_ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9917);

/// Watch simulated queries in trouble, with nothing to install
#[derive(Args, Clone, Debug)]
#[command(
    long_about = "Watch simulated queries in trouble, with nothing to install: the daemon on a Kafka stand-in and four \
                  simulated Spark queries, all in this process. One query is healthy, one is slow and runs out of \
                  retention, one is stopped and loses data within a minute, and one has a checkpoint from which Spark \
                  would not start.\n\n\
                  Everything lives in memory (about 100 MiB) and in a temporary folder, which is removed at the end. \
                  The stand-in limits its topics by size and answers no look-ups by time: so there are ratios, \
                  forecasts and losses to see, but no deadlines.",
    after_help = "Example:\n  brinkwatch demo --listen 127.0.0.1:0\n\n\
                  Ctrl-C ends it. Exit code: 0 ended by a signal, 1 something failed."
)]
pub struct DemoArgs {
    /// Where to serve pages and metrics, port 0 for a free one [default: 127.0.0.1:9917, or a free port if it is taken]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Play so many times as fast, for tests
    #[arg(long, value_name = "TIMES", default_value_t = 1, hide = true, value_parser = clap::value_parser!(u32).range(1..=10))]
    speed: u32,
}

/// Plays the demo until Ctrl-C or another polite signal.
///
/// # Errors
/// When something of it cannot start, or breaks.
pub async fn run(args: DemoArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    // From here on a signal is remembered, and does not end the process before it has cleaned up.
    let mut end = EndSignals::listen()?;
    let (listen, moved) = address(args.listen)?;
    say(out, &introduction(&STORIES))?;

    let mut set = Set::build(args.speed).await?;
    let ended = perform(&mut set, listen, moved, &mut end, out).await;
    // The show joins its thread, which may be in the middle of a tick.
    tokio::task::spawn_blocking(move || set.strike()).await.context("cannot end the demo")??;
    ended
}

/// Runs the daemon on the set until the end is asked for or the show breaks.
async fn perform(
    set: &mut Set,
    listen: SocketAddr,
    moved: bool,
    end: &mut EndSignals,
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let text = configuration::text(listen, &set.show.bootstrap_servers, set.folder.path(), &STORIES);
    let file = ConfigFile::Text { name: "the demo's configuration", text: &text };
    let config = config::load(file, [], &[])?;
    // The commands that pages show can be typed in another terminal, for as long as the demo lasts.
    let path = set.folder.path().join("brinkwatch.toml");
    std::fs::write(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
    let options = vec!["--config".to_owned(), path.display().to_string()];
    let mut running = daemon::start(config, options, Shard::whole()).await?;
    if moved {
        say(out, &format!("Port {} is taken, so another one is used.", USUAL_ADDRESS.port()))?;
    }
    say(out, &format!("open http://{}/\n\nCtrl-C ends it and leaves nothing behind.", running.address))?;

    let outcome = tokio::select! {
        () = end.wait() => Ok(ExitCode::Fine),
        error = set.show.failed() => Err(error),
        error = running.fault() => Err(error),
    };
    running.stop().await;
    outcome
}

/// The running show, and the folder it plays in. Dropped in this order: nothing writes when the folder goes.
struct Set {
    show: Show,
    folder: TempDir,
}

impl Set {
    async fn build(speed: u32) -> anyhow::Result<Self> {
        let build = move || {
            let folder = tempfile::Builder::new()
                .prefix("brinkwatch-demo-")
                .tempdir()
                .context("cannot create a temporary folder")?;
            let show = Show::start(folder.path().to_owned(), &STORIES, speed)?;
            Ok(Self { show, folder })
        };
        tokio::task::spawn_blocking(build).await.context("cannot set the demo up")?
    }

    fn strike(self) -> anyhow::Result<()> {
        let Self { show, folder } = self;
        drop(show);
        let path = folder.path().display().to_string();
        folder.close().with_context(|| format!("cannot remove {path}"))
    }
}

/// Where to listen, and whether that is another port than the usual one. An address that was asked for is never
/// changed: when it is taken, the daemon says so.
fn address(asked: Option<SocketAddr>) -> anyhow::Result<(SocketAddr, bool)> {
    if let Some(asked) = asked {
        return Ok((asked, false));
    }
    match TcpListener::bind(USUAL_ADDRESS) {
        Ok(_) => Ok((USUAL_ADDRESS, false)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok((SocketAddr::new(USUAL_ADDRESS.ip(), 0), true)),
        Err(error) => Err(error).with_context(|| format!("cannot listen on {USUAL_ADDRESS}")),
    }
}

fn introduction(stories: &[Story]) -> String {
    let mut text = "A Kafka stand-in and four simulated Spark queries, all in this process:\n\n".to_owned();
    for story in stories {
        text.push_str(&format!("  {:<12} {}\n", story.query, story.look_for));
    }
    text.push_str("\nThey start now; numbers settle within ten seconds.\n");
    text
}

/// Says something to a person. A reader that went away early ends nothing: the page is still there.
fn say(out: &mut dyn Write, text: &str) -> anyhow::Result<()> {
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).context("cannot write to stdout"),
        _ => Ok(()),
    }
}

/// The signals that end the demo: Ctrl-C, a service manager, a terminal that is closed.
struct EndSignals([Signal; 3]);

impl EndSignals {
    fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self([listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?, listen(SignalKind::hangup())?]))
    }

    async fn wait(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => (),
            _ = terminate.recv() => (),
            _ = hangup.recv() => (),
        }
    }
}

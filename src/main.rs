//! Parses the command line, runs the command, ends with its exit code.

use std::process::ExitCode;
use std::time::Duration;

use brinkwatch::commands::{self, CommandLine};
use clap::Parser;

/// How long work on threads may go on after the command has ended.
const GRACE: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    let arguments = CommandLine::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("brinkwatch: the system gives no threads: {error}");
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(commands::run(arguments));
    // A file on a disk that hangs is waited for on a thread, and would keep the process for ever.
    runtime.shutdown_timeout(GRACE);
    code.into()
}

//! Parses the command line, runs the command, ends with its exit code.

use std::process::ExitCode;

use brinkwatch::commands::{self, CommandLine};
use clap::Parser;

#[tokio::main]
async fn main() -> ExitCode {
    commands::run(CommandLine::parse()).await.into()
}

//! `brinkwatch replay`: what would it have said.

mod json;
mod setup;
mod table;

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::Ended;
use super::output::OutputFormat;
use crate::process::exit_code::ExitCode;
use crate::replay::{self, Scenario};

pub use json::document;
pub use setup::setup;

/// Judge again what was written down
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  brinkwatch replay incident.json --output json\n\n\
                        Exit code: 0 played, 2 the scenario makes no sense, 3 it could not be read.")]
pub struct ReplayArgs {
    /// A scenario: a file that `record` wrote, or one written by hand; - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// Plays the scenario and prints what was said in each step.
///
/// # Errors
/// When the file cannot be read or makes no sense, or the output cannot be written.
pub async fn run(args: &ReplayArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let named = args.file.display();
    let text = read(args).with_context(|| format!("{named}")).context(Ended::with(ExitCode::NotRead, "not read"))?;
    let scenario = replay::parse(&text)
        .with_context(|| format!("{named}"))
        .context(Ended::with(ExitCode::Usage, "no scenario that can be played"))?;
    let played = answer(&scenario).await.with_context(|| format!("{named}"))?;
    match args.output {
        OutputFormat::Json => {
            serde_json::to_writer_pretty(&mut *out, &document(&scenario, &played))?;
            writeln!(out)?;
        }
        output => table::write(&played, output, out)?,
    }
    Ok(ExitCode::Fine)
}

async fn answer(scenario: &Scenario) -> anyhow::Result<Played> {
    let setup = setup(scenario).context(Ended::with(ExitCode::Usage, "no configuration that can be used"))?;
    Ok(replay::play(scenario, &setup).await?)
}

/// What was said, step by step, by checkpoint.
type Played = std::collections::BTreeMap<String, Vec<replay::Played>>;

fn read(args: &ReplayArgs) -> anyhow::Result<String> {
    if args.file.as_os_str() != "-" {
        return Ok(fs::read_to_string(&args.file)?);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(text)
}

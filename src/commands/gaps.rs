//! `gaps`: what was lost, and what became of it.

mod backfill;
mod export;
mod parquet;
mod print;
mod record;

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};

use self::backfill::{BackfillArgs, no_ledger};
use self::export::ExportArgs;
use self::print::{print_all, print_one};
use self::record::RecordArgs;
use super::Ended;
use super::config::ConfigSource;
use super::ledger;
use super::output::OutputFormat;
use super::targets::{ensure_known, unknown_topic};
use crate::ledger::{Acknowledge, Desk, DeskError, Gap, Place, RecoveryPath, RecoveryStatus, Settlement};
use crate::process::clock;
use crate::process::exit_code::ExitCode;

/// How long places may be looked through for a query that nothing else names.
const LOOK_THROUGH: Duration = Duration::from_secs(30);

/// Look at the records of lost offsets, and settle them
#[derive(Args, Debug)]
#[command(
    long_about = "Look at the records of lost offsets, and settle them. They stand in the ledger of the daemon \
                  (state_dir, or ledger.url), which may be running: it sees at its next round what was written here.",
    after_help = "Example:\n  brinkwatch gaps list\n\nExit code: 0 done, 2 no such gap or query, 3 the ledger cannot be read or written, 78 invalid \
                  configuration."
)]
pub struct GapsArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: GapsAction,
}

/// What to do with gaps.
#[derive(Debug, Subcommand)]
pub enum GapsAction {
    /// Print the gaps that nobody has settled
    List(ListArgs),
    /// Print one gap with all that is known of it
    Show(ShowArgs),
    /// Write a gap down by hand, or whatever is lost now
    Record(RecordArgs),
    /// Write down what became of a gap
    Resolve(ResolveArgs),
    /// Release a state that numbers alone do not lift: recreated, beyond_end, cluster_mismatch, gone
    Acknowledge(AcknowledgeArgs),
    /// Print every record with all its columns, for a table elsewhere
    Export(ExportArgs),
    /// Print what to fetch from where it came from: ranges, the time in which it was written, SQL to fill in
    Backfill(BackfillArgs),
}

/// Which gaps to print.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  brinkwatch gaps list --query orders")]
pub struct ListArgs {
    /// Where the configuration comes from.
    #[command(flatten)]
    pub source: ConfigSource,
    /// Only those of this query
    #[arg(long, value_name = "QUERY")]
    pub query: Option<String>,
    /// Those as well that are settled
    #[arg(long)]
    pub all: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// Which gap to print.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  brinkwatch gaps show 17")]
pub struct ShowArgs {
    /// Where the configuration comes from.
    #[command(flatten)]
    pub source: ConfigSource,
    /// The gap's number
    pub id: i64,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// What became of a gap.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  brinkwatch gaps resolve 17 --path new_checkpoint --status replayed --evidence 'INC-4711' --by anna"
)]
pub struct ResolveArgs {
    /// Where the configuration comes from.
    #[command(flatten)]
    pub source: ConfigSource,
    /// The gap's number
    pub id: i64,
    /// How it was dealt with
    #[arg(long, value_parser = PossibleValuesParser::new(RecoveryPath::ALL.iter().map(|path| path.word())))]
    pub path: String,
    /// What became of it
    #[arg(long, value_parser = PossibleValuesParser::new(settled_words()))]
    pub status: String,
    /// What shows it: a ticket, a query's result
    #[arg(long)]
    pub evidence: String,
    /// Who says so
    #[arg(long, value_name = "NAME")]
    pub by: String,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// What is acknowledged.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  brinkwatch gaps acknowledge orders --topic orders --evidence 'INC-4711' --by anna")]
pub struct AcknowledgeArgs {
    /// Where the configuration comes from.
    #[command(flatten)]
    pub source: ConfigSource,
    /// The query's name
    pub query: String,
    /// Only this topic
    #[arg(long)]
    pub topic: Option<String>,
    /// Only this partition
    #[arg(long, requires = "topic")]
    pub partition: Option<i32>,
    /// What shows that the state is known and settled
    #[arg(long)]
    pub evidence: String,
    /// Who says so
    #[arg(long, value_name = "NAME")]
    pub by: String,
}

/// Runs `brinkwatch gaps`.
///
/// # Errors
/// When the configuration is invalid, the ledger cannot be read or written, or nothing has the given name.
pub async fn run(args: &GapsArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let config = args.action.source().load()?;
    let Some(place) = &ledger::place(&config)? else { return Err(no_ledger()) };
    match &args.action {
        GapsAction::List(list) => {
            let gaps = of_query(&list.source, place, list.query.as_deref()).await?;
            let wanted: Vec<Gap> = gaps.into_iter().filter(|gap| list.wants(gap)).collect();
            print_all(&wanted, list.output, out)?;
        }
        GapsAction::Show(show) => {
            let gap = ended(ended(Desk::open_to_read(place).await)?.gap(show.id).await)?;
            print_one(&gap, show.output, out)?;
        }
        GapsAction::Record(args) => return record::record(args, place, out).await,
        GapsAction::Backfill(args) => return backfill::backfill(args, place, out).await,
        GapsAction::Export(args) => {
            export::export(&of_query(&args.source, place, args.query.as_deref()).await?, args, out)?;
        }
        GapsAction::Resolve(resolve) => {
            let settlement = resolve.settlement()?;
            let gap = ended(ended(Desk::open_to_write(place).await)?.settle(resolve.id, &settlement).await)?;
            match resolve.output {
                OutputFormat::Table => writeln!(out, "gap {} is {}", resolve.id, gap.recovery_status.word())?,
                output => print_all(&[gap], output, out)?,
            }
        }
        GapsAction::Acknowledge(said) => {
            let said = said.said();
            let mut desk = ended(Desk::open_to_write(place).await)?;
            ensure_topic(&mut desk, &said).await?;
            let clusters = ended(desk.acknowledge(&said, clock::now()).await)?;
            writeln!(out, "acknowledged; the next round of {} hears of it", clusters.join(", "))?;
        }
    }
    Ok(ExitCode::Fine)
}

/// The records, of one query or of all. "None" is said of queries that there are, and of no other.
async fn of_query(source: &ConfigSource, place: &Place, query: Option<&str>) -> anyhow::Result<Vec<Gap>> {
    let mut gaps = ended(ended(Desk::open_to_read(place).await)?.gaps().await)?;
    if let Some(query) = query {
        ensure_known(source, query, &gaps, LOOK_THROUGH).await?;
        gaps.retain(|gap| gap.stream_name == query);
    }
    Ok(gaps)
}

/// A state is released for a topic that the query is remembered with, and for no other: a mistyped name would release
/// nothing, and say that it did.
async fn ensure_topic(desk: &mut Desk, said: &Acknowledge) -> anyhow::Result<()> {
    let Some(topic) = &said.topic else { return Ok(()) };
    let memories = ended(desk.remembered(&said.query).await)?;
    let known: BTreeSet<String> =
        memories.values().flat_map(|memory| memory.topics.keys().map(ToString::to_string)).collect();
    if known.is_empty() || known.contains(topic) { Ok(()) } else { Err(unknown_topic(topic, known.iter())) }
}

impl GapsAction {
    const fn source(&self) -> &ConfigSource {
        match self {
            Self::List(args) => &args.source,
            Self::Show(args) => &args.source,
            Self::Resolve(args) => &args.source,
            Self::Acknowledge(args) => &args.source,
            Self::Record(args) => &args.source,
            Self::Export(args) => &args.source,
            Self::Backfill(args) => &args.source,
        }
    }
}

impl ListArgs {
    fn wants(&self, gap: &Gap) -> bool {
        self.all || gap.is_open()
    }
}

impl ResolveArgs {
    fn settlement(&self) -> anyhow::Result<Settlement> {
        let (path, status) = (RecoveryPath::of_word(&self.path), RecoveryStatus::of_word(&self.status));
        let (Some(path), Some(status)) = (path, status) else { bail!("no such path or status") };
        Ok(Settlement { path, status, evidence: self.evidence.clone(), by: self.by.clone() })
    }
}

impl AcknowledgeArgs {
    fn said(&self) -> Acknowledge {
        Acknowledge {
            query: self.query.clone(),
            topic: self.topic.clone(),
            partition: self.partition,
            evidence: self.evidence.clone(),
            by: self.by.clone(),
        }
    }
}

/// Nobody settles a gap by leaving it open.
fn settled_words() -> Vec<&'static str> {
    RecoveryStatus::ALL.iter().filter(|status| **status != RecoveryStatus::Open).map(|status| status.word()).collect()
}

fn ended<T>(outcome: Result<T, DeskError>) -> anyhow::Result<T> {
    let code = match &outcome {
        Err(DeskError::NoGap { .. } | DeskError::NoQuery { .. }) => ExitCode::Usage,
        _ => ExitCode::NotRead,
    };
    outcome.context(Ended::with(code, "not done"))
}

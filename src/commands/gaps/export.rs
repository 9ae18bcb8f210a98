//! `gaps export`: the records for a table elsewhere, every column of them.

use std::io::{self, IsTerminal, Write};

use anyhow::anyhow;
use clap::{Args, ValueEnum};

use super::parquet;
use super::print::{FIELDS, fields, json};
use crate::commands::Ended;
use crate::commands::config::ConfigSource;
use crate::commands::output::{Align, Rows};
use crate::ledger::Gap;
use crate::process::exit_code::ExitCode;

/// What is exported.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  brinkwatch gaps export --output sql > streaming_gaps.sql\n  \
                        brinkwatch gaps export --output parquet > streaming_gaps.parquet\n\n\
                        Exit code: 0 printed, 2 no such query, or a terminal that Parquet would spoil, 3 no ledger, 78 invalid \
                        configuration.")]
pub struct ExportArgs {
    /// Where the configuration comes from.
    #[command(flatten)]
    pub source: ConfigSource,
    /// Only those of this query
    #[arg(long, value_name = "QUERY")]
    pub query: Option<String>,
    /// In which form
    #[arg(long, value_enum, default_value_t)]
    pub output: ExportFormat,
    /// The table's name, in SQL
    #[arg(long, value_name = "NAME", default_value = "streaming_gaps")]
    pub table: String,
}

/// The forms of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Comma-separated values with a header line
    #[default]
    Csv,
    /// The same as `gaps list --output json`
    Json,
    /// CREATE TABLE and INSERT, as Spark takes them
    Sql,
    /// A Parquet file, for a pipe or a file
    Parquet,
}

pub(super) fn export(gaps: &[Gap], args: &ExportArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    match args.output {
        ExportFormat::Csv => {
            let columns: Vec<(&'static str, Align)> = FIELDS.iter().map(|(name, _)| (*name, Align::Left)).collect();
            let mut rows = Rows::new(&columns);
            gaps.iter().for_each(|gap| rows.push(fields(gap).into_iter().map(Option::unwrap_or_default).collect()));
            rows.write_csv(out)?;
        }
        ExportFormat::Json => json(gaps, out)?,
        ExportFormat::Sql => write!(out, "{}", sql(gaps, &args.table))?,
        ExportFormat::Parquet if io::stdout().is_terminal() => {
            return Err(anyhow!("write it into a file: --output parquet > streaming_gaps.parquet")
                .context(Ended::with(ExitCode::Usage, "Parquet is not for a terminal")));
        }
        ExportFormat::Parquet => out.write_all(&parquet::file(gaps)?)?,
    }
    Ok(())
}

/// The table as a Delta table, and its rows.
fn sql(gaps: &[Gap], table: &str) -> String {
    let columns: Vec<String> = FIELDS.iter().map(|(name, kind)| format!("  `{name}` {kind}")).collect();
    let mut text = format!("CREATE TABLE IF NOT EXISTS {table} (\n{}\n) USING DELTA;\n", columns.join(",\n"));
    if gaps.is_empty() {
        return text;
    }
    let names: Vec<String> = FIELDS.iter().map(|(name, _)| format!("`{name}`")).collect();
    let rows: Vec<String> = gaps.iter().map(|gap| format!("  ({})", values(gap))).collect();
    text.push_str(&format!("INSERT INTO {table} ({}) VALUES\n{};\n", names.join(", "), rows.join(",\n")));
    text
}

fn values(gap: &Gap) -> String {
    let value = |((_, kind), value): (&(&str, &str), Option<String>)| match (*kind, value) {
        (_, None) => "NULL".to_owned(),
        ("BIGINT" | "INT", Some(number)) => number,
        ("TIMESTAMP", Some(time)) => format!("TIMESTAMP {}", literal(&time)),
        (_, Some(text)) => literal(&text),
    };
    FIELDS.iter().zip(fields(gap)).map(value).collect::<Vec<_>>().join(", ")
}

/// Spark reads backslashes in a literal, and takes two quotes in a row for the end of one and the beginning of another.
pub(super) fn literal(text: &str) -> String {
    let mut quoted = String::from("'");
    for letter in text.chars() {
        match letter {
            '\\' => quoted.push_str("\\\\"),
            '\'' => quoted.push_str("\\'"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            other => quoted.push(other),
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_cannot_end_early() {
        for (text, expected) in [
            ("plain", "'plain'"),
            ("it's", "'it\\'s'"),
            ("\\'; DROP TABLE x", "'\\\\\\'; DROP TABLE x'"),
            ("a\nb", "'a\\nb'"),
        ] {
            assert_eq!(literal(text), expected);
        }
    }
}

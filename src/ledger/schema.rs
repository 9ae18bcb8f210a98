//! The file's shape, in numbered steps, and how it is opened.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Connection, Executor, Row};
use thiserror::Error;

/// Each step, in order: step 1 makes version 1. A step that was released is never changed.
const STEPS: [&str; 1] = [include_str!("migrations/0001_beginning.sql")];

/// How long a write waits for another writer. Commands write in one short transaction.
const BUSY: Duration = Duration::from_secs(5);

/// Why the file cannot be used.
#[derive(Debug, Error)]
pub enum SchemaError {
    /// It was written by a later release, and must not be touched.
    #[error(
        "the ledger has version {found}, and this program knows versions up to {known}: it was written by a later release"
    )]
    Newer {
        /// What the file says.
        found: i64,
        /// What this program writes.
        known: i64,
    },
    /// SQLite failed.
    #[error("the ledger's file cannot be used")]
    Database(#[from] sqlx::Error),
}

/// Opens the file for writing, makes it when it is not there, and brings it to the newest version.
pub(super) async fn open(file: &Path) -> Result<SqliteConnection, SchemaError> {
    // Full: a round is published after its transaction, and what was published must survive a power cut as well.
    let options =
        options(file).create_if_missing(true).journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
    let mut connection = SqliteConnection::connect_with(&options).await?;
    migrate(&mut connection).await?;
    Ok(connection)
}

/// Opens the file for reading, where it cannot be written.
pub(super) async fn open_to_read(file: &Path) -> Result<SqliteConnection, SchemaError> {
    let mut connection = match SqliteConnection::connect_with(&options(file).read_only(true)).await {
        Ok(connection) => connection,
        // In a folder that cannot be written, SQLite cannot make the shared memory of its journal.
        Err(_) => SqliteConnection::connect_with(&options(file).read_only(true).immutable(true)).await?,
    };
    let found = version(&mut connection).await?;
    refuse_newer(found)?;
    Ok(connection)
}

/// Opens the file of a ledger that exists, for a command beside a running daemon.
pub(super) async fn open_existing(file: &Path) -> Result<SqliteConnection, SchemaError> {
    let mut connection = SqliteConnection::connect_with(&options(file)).await?;
    migrate(&mut connection).await?;
    Ok(connection)
}

fn options(file: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(file).busy_timeout(BUSY)
}

async fn migrate(connection: &mut SqliteConnection) -> Result<(), SchemaError> {
    refuse_newer(version(connection).await?)?;
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    // Once more: another process may have been at it.
    let found = version(&mut transaction).await?;
    refuse_newer(found)?;
    for (number, step) in (1_i64..).zip(STEPS) {
        if number <= found {
            continue;
        }
        (&mut *transaction).execute(step).await?;
        sqlx::query("INSERT INTO ledger_schema (version) VALUES (?)").bind(number).execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(())
}

async fn version(connection: &mut SqliteConnection) -> Result<i64, SchemaError> {
    let there = sqlx::query("SELECT 1 FROM sqlite_master WHERE name = 'ledger_schema'");
    if there.fetch_optional(&mut *connection).await?.is_none() {
        let first = "CREATE TABLE IF NOT EXISTS ledger_schema (version BIGINT PRIMARY KEY)";
        sqlx::query(first).execute(connection).await?;
        return Ok(0);
    }
    let newest = sqlx::query("SELECT COALESCE(MAX(version), 0) FROM ledger_schema").fetch_one(connection).await?;
    Ok(newest.try_get(0)?)
}

fn refuse_newer(found: i64) -> Result<(), SchemaError> {
    let known = i64::try_from(STEPS.len()).unwrap_or(i64::MAX);
    if found > known { Err(SchemaError::Newer { found, known }) } else { Ok(()) }
}

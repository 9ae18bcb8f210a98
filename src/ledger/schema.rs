//! The ledger's shape, in numbered steps, and how it is opened.

use std::fs;

use thiserror::Error;

use super::database::{self, Database, Told};
use super::place::{FILE_NAME, Place};
use super::statement::sql;

/// Each step, in order: step 1 makes version 1. A step that was released is never changed.
pub(super) const STEPS: [&str; 2] =
    [include_str!("migrations/0001_beginning.sql"), include_str!("migrations/0002_watchers.sql")];

/// Why the ledger cannot be used.
#[derive(Debug, Error)]
pub enum SchemaError {
    /// It was written by a later release, and must not be touched.
    #[error(
        "the ledger has version {found}, and this program knows versions up to {known}: it was written by a later release"
    )]
    Newer {
        /// What the ledger says.
        found: i64,
        /// What this program writes.
        known: i64,
    },
    /// There is none yet.
    #[error("there is no ledger")]
    Absent,
    /// The server takes no writes.
    #[error("the server takes no writes: it follows another server, or the database is read-only")]
    ReadOnly,
    /// The database failed.
    #[error("the ledger's database cannot be used")]
    Database(#[source] Told),
}

impl From<sqlx::Error> for SchemaError {
    fn from(cause: sqlx::Error) -> Self {
        Self::Database(cause.into())
    }
}

/// Opens a ledger for writing, makes it when it is not there, and brings it to the newest version.
pub(super) async fn open(place: &Place) -> Result<Database, SchemaError> {
    let mut database = match place {
        Place::Folder(folder) => database::make_file(&folder.join(FILE_NAME)).await?,
        Place::Server(server) => database::connect(server).await?,
    };
    writable(&mut database).await?;
    migrate(&mut database).await?;
    Ok(database)
}

/// Opens a ledger that exists, for a command beside a running daemon.
pub(super) async fn open_existing(place: &Place) -> Result<Database, SchemaError> {
    let mut database = existing(place, false).await?;
    version(&mut database).await?.ok_or(SchemaError::Absent)?;
    writable(&mut database).await?;
    migrate(&mut database).await?;
    Ok(database)
}

/// Opens a ledger for reading, where it cannot be written. One of an earlier release is brought to this one first.
pub(super) async fn open_to_read(place: &Place) -> Result<Database, SchemaError> {
    let mut database = existing(place, true).await?;
    match version(&mut database).await? {
        None => Err(SchemaError::Absent),
        Some(found) if found < newest() => open_existing(place).await,
        Some(found) => refuse_newer(found).map(|()| database),
    }
}

async fn existing(place: &Place, to_read: bool) -> Result<Database, SchemaError> {
    let folder = match place {
        Place::Folder(folder) => folder,
        Place::Server(server) => return Ok(database::connect(server).await?),
    };
    let file = folder.join(FILE_NAME);
    if !fs::exists(&file).map_err(sqlx::Error::Io)? {
        return Err(SchemaError::Absent);
    }
    Ok(if to_read { database::open_file_to_read(&file).await? } else { database::open_file(&file).await? })
}

async fn writable(database: &mut Database) -> Result<(), SchemaError> {
    if database.is_read_only().await? { Err(SchemaError::ReadOnly) } else { Ok(()) }
}

async fn migrate(database: &mut Database) -> Result<(), SchemaError> {
    let found = version(database).await?.unwrap_or(0);
    refuse_newer(found)?;
    // A server has said that it takes writes, and where nothing is to be changed nobody needs the right to. Whether a
    // file can be written only a write shows.
    if found == newest() && matches!(database, Database::Postgres(_)) {
        return Ok(());
    }
    database.begin().await?;
    // Daemons of one fleet start together.
    database.lock("brinkwatch schema").await?;
    // Not asked whether it is there: inside a transaction PostgreSQL may go on believing what it saw before.
    database.run("CREATE TABLE IF NOT EXISTS ledger_schema (version BIGINT PRIMARY KEY)").await?;
    let found = newest_step(database).await?;
    refuse_newer(found)?;
    for (number, step) in (1_i64..).zip(STEPS).filter(|(number, _)| *number > found) {
        database.run(&database.step(step)).await?;
        database.execute(sql("INSERT INTO ledger_schema (version) VALUES (?)").bind(number)).await?;
    }
    database.commit().await?;
    Ok(())
}

async fn version(database: &mut Database) -> Result<Option<i64>, SchemaError> {
    if !database.has_table("ledger_schema").await? {
        return Ok(None);
    }
    newest_step(database).await.map(Some)
}

async fn newest_step(database: &mut Database) -> Result<i64, SchemaError> {
    let newest = database.rows(sql("SELECT COALESCE(MAX(version), 0) AS version FROM ledger_schema")).await?;
    Ok(newest.first().map(|row| row.get("version")).transpose()?.unwrap_or(0))
}

fn newest() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

fn refuse_newer(found: i64) -> Result<(), SchemaError> {
    let known = newest();
    if found > known { Err(SchemaError::Newer { found, known }) } else { Ok(()) }
}

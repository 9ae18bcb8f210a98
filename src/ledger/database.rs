//! A connection to either database. What differs between the two stands here, and nowhere else.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, Executor};
use tokio::time::timeout;

use super::place::Server;
use super::statement::{Row, Statement, Value};
use crate::measures::with_causes;

/// How long a write to a file waits for another writer. Commands write in one short transaction.
const BUSY: Duration = Duration::from_secs(5);

/// How long a server may take to answer a new connection.
pub(super) const CONNECT: Duration = Duration::from_secs(3);

/// How long it may take over one statement. The server gives up by itself a little earlier: so it says what it waited
/// for, and a transaction of ours that nobody hears of any more does not hold its locks.
const STATEMENT: Duration = Duration::from_secs(5);
const LIMITS: &str = "SET LOCAL statement_timeout = '4500ms'; SET LOCAL lock_timeout = '4s'; \
    SET LOCAL idle_in_transaction_session_timeout = '10s'";

/// A good-bye is a courtesy, for which nobody waits long.
const CLOSE: Duration = Duration::from_millis(500);

/// What a database said. Its own words only: sqlx tells them once in its message and once as its cause.
#[derive(Debug)]
pub struct Told(pub(super) sqlx::Error);

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            sqlx::Error::Database(cause) => cause.fmt(f),
            sqlx::Error::Io(cause) => cause.fmt(f),
            sqlx::Error::Tls(cause) => write!(f, "no TLS: {}", with_causes(cause.as_ref())),
            sqlx::Error::Configuration(cause) => f.write_str(&with_causes(cause.as_ref())),
            other => other.fmt(f),
        }
    }
}

impl std::error::Error for Told {}

impl From<sqlx::Error> for Told {
    fn from(cause: sqlx::Error) -> Self {
        Self(cause)
    }
}

/// A connection.
pub(super) enum Database {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite(_) => "Sqlite",
            Self::Postgres(_) => "Postgres",
        })
    }
}

/// Opens a file for writing, and makes it where it is not there.
pub(super) async fn make_file(file: &Path) -> sqlx::Result<Database> {
    // Full: a round is published after its transaction, and what was published must survive a power cut as well.
    let options =
        options(file).create_if_missing(true).journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
    Ok(Database::Sqlite(SqliteConnection::connect_with(&options).await?))
}

/// Opens a file that is there.
pub(super) async fn open_file(file: &Path) -> sqlx::Result<Database> {
    Ok(Database::Sqlite(SqliteConnection::connect_with(&options(file)).await?))
}

/// Opens a file that cannot be written.
pub(super) async fn open_file_to_read(file: &Path) -> sqlx::Result<Database> {
    let connection = match SqliteConnection::connect_with(&options(file).read_only(true)).await {
        Ok(connection) => connection,
        // In a folder that cannot be written, SQLite cannot make the shared memory of its journal.
        Err(_) => SqliteConnection::connect_with(&options(file).read_only(true).immutable(true)).await?,
    };
    Ok(Database::Sqlite(connection))
}

fn options(file: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(file).busy_timeout(BUSY)
}

/// Connects to a server.
pub(super) async fn connect(server: &Server) -> sqlx::Result<Database> {
    let mut options: PgConnectOptions = server.url.parse()?;
    if options.get_application_name().is_none() {
        options = options.application_name("brinkwatch");
    }
    if let Some(password) = &server.password {
        options = options.password(&password().map_err(sqlx::Error::Configuration)?);
    }
    // Poolers between us and the server hand a connection on after each transaction, and prepared statements with it. So
    // none is kept here, and none is given a name there.
    let options = options.statement_cache_capacity(0).disable_statement_logging();
    within(CONNECT, PgConnection::connect_with(&options)).await.map(Database::Postgres)
}

impl Database {
    /// Begins a transaction that writes. A file is ours alone from here on; a server's tables are not, see
    /// [`Self::lock`].
    pub(super) async fn begin(&mut self) -> sqlx::Result<()> {
        match self {
            Self::Sqlite(_) => self.run("BEGIN IMMEDIATE").await,
            Self::Postgres(_) => self.run(&format!("BEGIN; {LIMITS}")).await,
        }
    }

    /// Begins a transaction that reads, and sees everything as it was at one moment.
    pub(super) async fn begin_to_read(&mut self) -> sqlx::Result<()> {
        match self {
            Self::Sqlite(_) => self.run("BEGIN").await,
            Self::Postgres(_) => self.run(&format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {LIMITS}")).await,
        }
    }

    pub(super) async fn commit(&mut self) -> sqlx::Result<()> {
        self.run("COMMIT").await
    }

    pub(super) async fn rollback(&mut self) -> sqlx::Result<()> {
        self.run("ROLLBACK").await
    }

    /// Keeps others out of something until the transaction ends. Whoever takes several takes them in order of their
    /// names, and before it touches a row that others write: then nobody waits for one who waits for him.
    pub(super) async fn lock(&mut self, what: &str) -> sqlx::Result<()> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(_) => {
                let take = super::statement::sql("SELECT 1 FROM pg_advisory_xact_lock(hashtextextended(?, 0))");
                self.rows(take.bind(what)).await.map(drop)
            }
        }
    }

    /// For the end of a statement whose rows are about to be written: nobody may change them in between, not even a
    /// person at a prompt, who takes no lock of ours.
    pub(super) const fn for_update(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "",
            Self::Postgres(_) => " FOR UPDATE",
        }
    }

    /// A step of the schema in the words of the database. Both understand the rest.
    pub(super) fn step(&self, text: &str) -> String {
        match self {
            Self::Sqlite(_) => text.to_owned(),
            Self::Postgres(_) => {
                text.replace("INTEGER PRIMARY KEY AUTOINCREMENT", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY")
            }
        }
    }

    /// Whether there is a table of this name.
    pub(super) async fn has_table(&mut self, name: &str) -> sqlx::Result<bool> {
        let asked = match self {
            Self::Sqlite(_) => "SELECT 1 FROM sqlite_master WHERE name = ?",
            Self::Postgres(_) => "SELECT 1 WHERE to_regclass(?) IS NOT NULL",
        };
        Ok(!self.rows(super::statement::sql(asked).bind(name)).await?.is_empty())
    }

    /// Whether a server refuses to write: it follows another one, or was told so. A file tells when it is written.
    pub(super) async fn is_read_only(&mut self) -> sqlx::Result<bool> {
        match self {
            Self::Sqlite(_) => Ok(false),
            Self::Postgres(_) => {
                let asked = super::statement::sql("SELECT current_setting('transaction_read_only') AS answer");
                let rows = self.rows(asked).await?;
                Ok(rows.first().map(|row| row.get::<String>("answer")).transpose()?.as_deref() == Some("on"))
            }
        }
    }

    /// Runs statements without values.
    pub(super) async fn run(&mut self, text: &str) -> sqlx::Result<()> {
        match self {
            Self::Sqlite(connection) => connection.execute(text).await.map(drop),
            Self::Postgres(connection) => within(STATEMENT, connection.execute(text)).await.map(drop),
        }
    }

    /// Runs a statement.
    pub(super) async fn execute(&mut self, statement: Statement<'_>) -> sqlx::Result<()> {
        self.rows(statement).await.map(drop)
    }

    /// Runs a statement, and answers with its rows.
    pub(super) async fn rows(&mut self, statement: Statement<'_>) -> sqlx::Result<Vec<Row>> {
        match self {
            Self::Sqlite(connection) => {
                let Statement { text, values } = statement;
                let query = values.into_iter().fold(sqlx::query(&text), |query, value| match value {
                    Value::Text(text) => query.bind(text),
                    Value::Number(number) => query.bind(number),
                });
                Ok(query.fetch_all(connection).await?.into_iter().map(Row::Sqlite).collect())
            }
            Self::Postgres(connection) => {
                let text = statement.numbered();
                let values = statement.values.into_iter().map(Value::without_nul);
                let once = sqlx::query(&text).persistent(false);
                let query = values.fold(once, |query, value| match value {
                    Value::Text(text) => query.bind(text),
                    Value::Number(number) => query.bind(number),
                });
                let rows = within(STATEMENT, query.fetch_all(connection)).await?;
                Ok(rows.into_iter().map(Row::Postgres).collect())
            }
        }
    }

    /// Brings into a file what stands in the journal beside it only. A server has no such thing.
    pub(super) async fn empty_journal(&mut self) -> sqlx::Result<()> {
        match self {
            Self::Sqlite(_) => self.run("PRAGMA wal_checkpoint(TRUNCATE)").await,
            Self::Postgres(_) => Ok(()),
        }
    }

    pub(super) async fn close(self) -> sqlx::Result<()> {
        match self {
            Self::Sqlite(connection) => connection.close().await,
            Self::Postgres(connection) => within(CLOSE, connection.close()).await,
        }
    }
}

async fn within<T>(limit: Duration, work: impl Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
    timeout(limit, work).await.unwrap_or_else(|_| {
        let words = format!("the server did not answer within {} ms", limit.as_millis());
        Err(sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, words)))
    })
}

/// Whether the server was silent, or held us up as long.
pub(super) fn is_silence(cause: &sqlx::Error) -> bool {
    match cause {
        sqlx::Error::Io(cause) => cause.kind() == io::ErrorKind::TimedOut,
        // It gave up by itself, over a statement or a lock, as we would have a moment later.
        sqlx::Error::Database(told) => told.code().is_some_and(|code| code == "57014" || code == "55P03"),
        _ => false,
    }
}

/// Whether the connection has ended, so that another one may well work: a server that was started anew, a firewall or
/// a pooler that lets nothing idle live for long.
pub(super) fn is_cut(cause: &sqlx::Error) -> bool {
    match cause {
        _ if is_silence(cause) => false,
        sqlx::Error::Io(_) => true,
        // "operator intervention": the server shuts down, or somebody ended our session; and a session that idled.
        sqlx::Error::Database(told) => told.code().is_some_and(|code| code.starts_with("57P")),
        _ => false,
    }
}

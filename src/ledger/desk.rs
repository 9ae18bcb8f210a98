//! What people do with the ledger: look at gaps, settle them, acknowledge a state. Beside a running daemon.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Row};
use thiserror::Error;

use super::gap::{Gap, RecoveryPath, RecoveryStatus};
use super::rows::{COLUMNS, gap_of};
use super::schema::{self, SchemaError};
use super::shelf;
use super::times::text_of;
use super::transaction;
use super::writer::FILE_NAME;
use crate::judgement::QueryMemory;
use crate::measures::Moment;

/// The ledger of a folder, opened by a command.
#[derive(Debug)]
pub struct Desk {
    connection: SqliteConnection,
}

/// What becomes of a gap.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// How it is dealt with.
    pub path: RecoveryPath,
    /// What became of it.
    pub status: RecoveryStatus,
    /// What shows it.
    pub evidence: String,
    /// Who says so.
    pub by: String,
}

/// That a state is known and settled.
#[derive(Clone, Debug)]
pub struct Acknowledge {
    /// The query's name.
    pub query: String,
    /// The topic; absent: all of them.
    pub topic: Option<String>,
    /// The partition; absent: all of them.
    pub partition: Option<i32>,
    /// What shows it.
    pub evidence: String,
    /// Who says so.
    pub by: String,
}

/// Why the ledger does not answer.
#[derive(Debug, Error)]
pub enum DeskError {
    /// No daemon has kept one there.
    #[error("there is no ledger at {}", file.display())]
    NotThere {
        /// Where it would be.
        file: PathBuf,
    },
    /// It cannot be opened.
    #[error("the ledger cannot be opened")]
    Open(#[source] SchemaError),
    /// It cannot be read or written.
    #[error("the ledger cannot be used")]
    Use(#[from] sqlx::Error),
    /// It did not answer in time. What was asked for may still be done.
    #[error("the ledger did not answer within {} s", waited.as_secs())]
    Silent {
        /// How long it was given.
        waited: Duration,
    },
    /// No gap has this number.
    #[error("there is no gap {id}")]
    NoGap {
        /// The number.
        id: i64,
    },
    /// No query has this name.
    #[error("the ledger knows no query {query:?}; it knows {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") })]
    NoQuery {
        /// The name.
        query: String,
        /// The names that it knows.
        known: Vec<String>,
    },
}

impl Desk {
    /// Opens the ledger of a folder for reading.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub async fn open_to_read(folder: &Path) -> Result<Self, DeskError> {
        let connection = schema::open_to_read(&existing(folder)?).await.map_err(DeskError::Open)?;
        Ok(Self { connection })
    }

    /// Opens the ledger of a folder for a short transaction.
    ///
    /// # Errors
    /// When there is none, or it cannot be written.
    pub async fn open_to_write(folder: &Path) -> Result<Self, DeskError> {
        let connection = schema::open_existing(&existing(folder)?).await.map_err(DeskError::Open)?;
        Ok(Self { connection })
    }

    /// Opens the ledger of a folder for a short transaction, and makes it where no daemon has kept one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn open_or_make(folder: &Path) -> Result<Self, DeskError> {
        fs::create_dir_all(folder).map_err(sqlx::Error::Io)?;
        let connection = schema::open(&folder.join(FILE_NAME)).await.map_err(DeskError::Open)?;
        Ok(Self { connection })
    }

    /// Every gap, the oldest record first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn gaps(&mut self) -> Result<Vec<Gap>, DeskError> {
        let sql = format!("SELECT {COLUMNS} FROM streaming_gaps ORDER BY id");
        let rows = sqlx::query(&sql).fetch_all(&mut self.connection).await?;
        Ok(rows.iter().map(gap_of).collect::<Result<_, _>>()?)
    }

    /// What is remembered of a cluster's queries. One whose memory makes no sense is as good as unknown.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn memories(&mut self, cluster: &str) -> Result<BTreeMap<String, QueryMemory>, DeskError> {
        Ok(shelf::memories(&mut self.connection, cluster).await?.0)
    }

    /// The newest gaps, so many at most, the newest record first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn newest_gaps(&mut self, at_most: u32) -> Result<Vec<Gap>, DeskError> {
        // What is open matters most: it is never cut off by what was settled later.
        let sql = format!(
            "SELECT {COLUMNS} FROM streaming_gaps ORDER BY recovery_status = 'open' DESC, id DESC LIMIT {at_most}"
        );
        let rows = sqlx::query(&sql).fetch_all(&mut self.connection).await?;
        Ok(rows.iter().map(gap_of).collect::<Result<_, _>>()?)
    }

    /// The gap with this number.
    ///
    /// # Errors
    /// When there is none, or the ledger cannot be read.
    pub async fn gap(&mut self, id: i64) -> Result<Gap, DeskError> {
        let sql = format!("SELECT {COLUMNS} FROM streaming_gaps WHERE id = ?");
        let row = sqlx::query(&sql).bind(id).fetch_optional(&mut self.connection).await?;
        Ok(gap_of(&row.ok_or(DeskError::NoGap { id })?)?)
    }

    /// What the daemon remembers of a query, by cluster.
    ///
    /// # Errors
    /// When the ledger cannot be read, or knows no such query.
    pub async fn remembered(&mut self, query: &str) -> Result<BTreeMap<String, QueryMemory>, DeskError> {
        let rows = sqlx::query("SELECT query, kafka_cluster FROM query_memory ORDER BY query, kafka_cluster");
        let (mut clusters, mut known): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for row in rows.fetch_all(&mut self.connection).await? {
            let name: String = row.try_get("query")?;
            if name == query {
                clusters.push(row.try_get("kafka_cluster")?);
            }
            known.push(name);
        }
        let mut memories = BTreeMap::new();
        for cluster in clusters {
            if let Some(memory) = shelf::memories(&mut self.connection, &cluster).await?.0.remove(query) {
                memories.insert(cluster, memory);
            }
        }
        known.dedup();
        if memories.is_empty() { Err(DeskError::NoQuery { query: query.to_owned(), known }) } else { Ok(memories) }
    }

    /// Writes a gap down by hand: what a record has already is not recorded again. Answers with the records of that log
    /// that hold a part of it.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub async fn record(&mut self, found: &Gap) -> Result<Vec<Gap>, DeskError> {
        let mut transaction = self.connection.begin_with("BEGIN IMMEDIATE").await?;
        transaction::record(&mut transaction, found).await?;
        transaction.commit().await?;
        let gaps = self.gaps().await?;
        let holds = |gap: &Gap| gap.same_log(found) && gap.from < found.to && found.from < gap.to;
        Ok(gaps.into_iter().filter(holds).collect())
    }

    /// Writes down what became of a gap.
    ///
    /// # Errors
    /// When there is no such gap, or the ledger cannot be written.
    pub async fn settle(&mut self, id: i64, settlement: &Settlement) -> Result<Gap, DeskError> {
        let sql = "UPDATE streaming_gaps SET recovery_path = ?, recovery_status = ?, evidence = evidence || '; ' || ?, \
            recorded_by = ? WHERE id = ?";
        let row = sqlx::query(sql).bind(settlement.path.word()).bind(settlement.status.word());
        let row = row.bind(&settlement.evidence).bind(&settlement.by).bind(id);
        row.execute(&mut self.connection).await?;
        self.gap(id).await
    }

    /// Writes down that a state is acknowledged, and answers with the clusters whose next rounds will hear of it.
    ///
    /// # Errors
    /// When the query is not known, or the ledger cannot be written.
    pub async fn acknowledge(&mut self, said: &Acknowledge, now: Moment) -> Result<Vec<String>, DeskError> {
        let mut transaction = self.connection.begin_with("BEGIN IMMEDIATE").await?;
        let known = "SELECT query, kafka_cluster FROM query_memory ORDER BY query, kafka_cluster";
        let (mut clusters, mut names) = (Vec::new(), Vec::new());
        for row in sqlx::query(known).fetch_all(&mut *transaction).await? {
            let (query, cluster): (String, String) = (row.try_get("query")?, row.try_get("kafka_cluster")?);
            if query == said.query {
                clusters.push(cluster);
            }
            names.push(query);
        }
        if clusters.is_empty() {
            names.dedup();
            return Err(DeskError::NoQuery { query: said.query.clone(), known: names });
        }
        for cluster in &clusters {
            let sql = "INSERT INTO acknowledgements (query, kafka_cluster, topic, partition, evidence, recorded_by, \
                acknowledged_at) VALUES (?, ?, ?, ?, ?, ?, ?)";
            let row = sqlx::query(sql).bind(&said.query).bind(cluster).bind(&said.topic).bind(said.partition);
            let row = row.bind(&said.evidence).bind(&said.by).bind(text_of(now));
            row.execute(&mut *transaction).await?;
        }
        transaction.commit().await?;
        Ok(clusters)
    }
}

fn existing(folder: &Path) -> Result<PathBuf, DeskError> {
    let file = folder.join(FILE_NAME);
    if file.exists() { Ok(file) } else { Err(DeskError::NotThere { file }) }
}

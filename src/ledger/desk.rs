//! What people do with the ledger: look at gaps, settle them, acknowledge a state. Beside a running daemon.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use thiserror::Error;

use super::database::{Database, Told};
use super::gap::{Gap, RecoveryPath, RecoveryStatus};
use super::place::Place;
use super::rows::{COLUMNS, gap_of};
use super::schema::{self, SchemaError};
use super::shelf;
use super::statement::sql;
use super::times::text_of;
use super::transaction::{self, name_of_lock};
use crate::judgement::QueryMemory;
use crate::measures::Moment;

/// A ledger, opened by a command.
#[derive(Debug)]
pub struct Desk {
    database: Database,
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
    #[error("there is no ledger at {place}")]
    NotThere {
        /// Where it would be.
        place: String,
    },
    /// It cannot be opened.
    #[error("the ledger at {place} cannot be opened")]
    Open {
        /// Where it is.
        place: String,
        /// Why.
        #[source]
        cause: SchemaError,
    },
    /// It cannot be read or written.
    #[error("the ledger cannot be used")]
    Use(#[source] Told),
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

impl From<sqlx::Error> for DeskError {
    fn from(cause: sqlx::Error) -> Self {
        Self::Use(cause.into())
    }
}

impl Desk {
    /// Opens a ledger for reading.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub async fn open_to_read(place: impl Into<Place>) -> Result<Self, DeskError> {
        let place = place.into();
        opened(&place, schema::open_to_read(&place).await)
    }

    /// Opens a ledger for a short transaction.
    ///
    /// # Errors
    /// When there is none, or it cannot be written.
    pub async fn open_to_write(place: impl Into<Place>) -> Result<Self, DeskError> {
        let place = place.into();
        opened(&place, schema::open_existing(&place).await)
    }

    /// Opens a ledger for a short transaction, and makes it where no daemon has kept one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn open_or_make(place: impl Into<Place>) -> Result<Self, DeskError> {
        let place = place.into();
        if let Place::Folder(folder) = &place {
            fs::create_dir_all(folder).map_err(sqlx::Error::Io)?;
        }
        opened(&place, schema::open(&place).await)
    }

    /// Every gap, the oldest record first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn gaps(&mut self) -> Result<Vec<Gap>, DeskError> {
        let rows = self.database.rows(sql(format!("SELECT {COLUMNS} FROM streaming_gaps ORDER BY id"))).await?;
        Ok(rows.iter().map(gap_of).collect::<Result<_, _>>()?)
    }

    /// What is remembered of a cluster's queries. One whose memory makes no sense is as good as unknown.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn memories(&mut self, cluster: &str) -> Result<BTreeMap<String, QueryMemory>, DeskError> {
        self.database.begin_to_read().await?;
        let shelved = shelf::memories(&mut self.database, None, cluster).await?;
        self.database.commit().await?;
        Ok(shelved.memories)
    }

    /// The newest gaps, so many at most, the newest record first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn newest_gaps(&mut self, at_most: u32) -> Result<Vec<Gap>, DeskError> {
        // What is open matters most: it is never cut off by what was settled later.
        let text = format!(
            "SELECT {COLUMNS} FROM streaming_gaps ORDER BY recovery_status = 'open' DESC, id DESC LIMIT {at_most}"
        );
        let rows = self.database.rows(sql(text)).await?;
        Ok(rows.iter().map(gap_of).collect::<Result<_, _>>()?)
    }

    /// The gap with this number.
    ///
    /// # Errors
    /// When there is none, or the ledger cannot be read.
    pub async fn gap(&mut self, id: i64) -> Result<Gap, DeskError> {
        let text = format!("SELECT {COLUMNS} FROM streaming_gaps WHERE id = ?");
        let rows = self.database.rows(sql(text).bind(id)).await?;
        Ok(gap_of(rows.first().ok_or(DeskError::NoGap { id })?)?)
    }

    /// What the daemon remembers of a query, by cluster.
    ///
    /// # Errors
    /// When the ledger cannot be read, or knows no such query.
    pub async fn remembered(&mut self, query: &str) -> Result<BTreeMap<String, QueryMemory>, DeskError> {
        let (clusters, known) = self.watched(query).await?;
        let mut memories = BTreeMap::new();
        for cluster in clusters {
            if let Some(memory) = self.memories(&cluster).await?.remove(query) {
                memories.insert(cluster, memory);
            }
        }
        if memories.is_empty() { Err(DeskError::NoQuery { query: query.to_owned(), known }) } else { Ok(memories) }
    }

    /// The clusters that a query is remembered on, and the names of all queries.
    async fn watched(&mut self, query: &str) -> sqlx::Result<(Vec<String>, Vec<String>)> {
        let known = "SELECT DISTINCT query, kafka_cluster FROM query_memory ORDER BY query, kafka_cluster";
        let (mut clusters, mut names): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for row in self.database.rows(sql(known)).await? {
            let name: String = row.get("query")?;
            if name == query {
                clusters.push(row.get("kafka_cluster")?);
            }
            names.push(name);
        }
        names.dedup();
        Ok((clusters, names))
    }

    /// Writes a gap down by hand: what a record has already is not recorded again. Answers with the records of that log
    /// that hold a part of it.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub async fn record(&mut self, found: &Gap) -> Result<Vec<Gap>, DeskError> {
        self.database.begin().await?;
        self.database.lock(&name_of_lock(found)).await?;
        transaction::record(&mut self.database, found).await?;
        self.database.commit().await?;
        let gaps = self.gaps().await?;
        let holds = |gap: &Gap| gap.same_log(found) && gap.from < found.to && found.from < gap.to;
        Ok(gaps.into_iter().filter(holds).collect())
    }

    /// Writes down what became of a gap.
    ///
    /// # Errors
    /// When there is no such gap, or the ledger cannot be written.
    pub async fn settle(&mut self, id: i64, settlement: &Settlement) -> Result<Gap, DeskError> {
        self.database.begin().await?;
        if let Err(cause) = self.settle_inside(id, settlement).await {
            // Where the connection is gone, so is the transaction; what went wrong before is what counts.
            drop(self.database.rollback().await);
            return Err(cause);
        }
        self.database.commit().await?;
        self.gap(id).await
    }

    async fn settle_inside(&mut self, id: i64, settlement: &Settlement) -> Result<(), DeskError> {
        // A daemon that goes on finding this loss must not write it back as it was.
        let lock = name_of_lock(&self.gap(id).await?);
        self.database.lock(&lock).await?;
        let text = "UPDATE streaming_gaps SET recovery_path = ?, recovery_status = ?, \
            evidence = evidence || '; ' || ?, recorded_by = ? WHERE id = ?";
        let row = sql(text).bind(settlement.path.word()).bind(settlement.status.word());
        Ok(self.database.execute(row.bind(&settlement.evidence).bind(&settlement.by).bind(id)).await?)
    }

    /// Writes down that a state is acknowledged, and answers with the clusters whose next rounds will hear of it.
    ///
    /// # Errors
    /// When the query is not known, or the ledger cannot be written.
    pub async fn acknowledge(&mut self, said: &Acknowledge, now: Moment) -> Result<Vec<String>, DeskError> {
        let (clusters, known) = self.watched(&said.query).await?;
        if clusters.is_empty() {
            return Err(DeskError::NoQuery { query: said.query.clone(), known });
        }
        self.database.begin().await?;
        for cluster in &clusters {
            let text = "INSERT INTO acknowledgements (query, kafka_cluster, topic, partition, evidence, recorded_by, \
                acknowledged_at) VALUES (?, ?, ?, ?, ?, ?, ?)";
            let row = sql(text).bind(&said.query).bind(cluster).bind(&said.topic).bind(said.partition);
            self.database.execute(row.bind(&said.evidence).bind(&said.by).bind(text_of(now))).await?;
        }
        self.database.commit().await?;
        Ok(clusters)
    }
}

fn opened(place: &Place, outcome: Result<Database, SchemaError>) -> Result<Desk, DeskError> {
    match outcome {
        Ok(database) => Ok(Desk { database }),
        Err(SchemaError::Absent) => Err(DeskError::NotThere { place: place.to_string() }),
        Err(cause) => Err(DeskError::Open { place: place.to_string(), cause }),
    }
}

//! What is read from the file, and the one transaction that a round is written in.

use std::collections::BTreeSet;

use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Row};

use super::gap::Gap;
use super::memory::Book;
use super::merge::merged;
use super::rows::{COLUMNS, gap_of, insert, update};
use super::seam::{Acknowledgement, NotedEvent, RoundNotes};
use super::shelf;
use super::times::text_of;

/// What earlier rounds left behind that could not be written.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    pub(super) gaps: Book,
    pub(super) events: Vec<NotedEvent>,
    pub(super) heard: BTreeSet<i64>,
}

/// Writes a round, with the backlog: whole or not at all. Answers with the gaps that nobody has settled.
pub(super) async fn write(
    connection: &mut SqliteConnection,
    round: &RoundNotes,
    backlog: &Backlog,
) -> sqlx::Result<Vec<Gap>> {
    let at = text_of(round.at);
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    shelf::put(&mut transaction, &round.cluster, &round.memories, at.as_deref()).await?;
    for found in backlog.gaps.all().chain(&round.findings) {
        record(&mut transaction, found).await?;
    }
    for NotedEvent { query, kafka_cluster, event } in backlog.events.iter().chain(&round.events) {
        let sql = "INSERT INTO events (query, kafka_cluster, topic, event, happened_at, detail) \
            VALUES (?, ?, ?, ?, ?, ?)";
        let row = sqlx::query(sql).bind(query).bind(kafka_cluster).bind(event.topic.as_deref());
        let row = row.bind(event.kind.label()).bind(text_of(event.at)).bind(&event.detail);
        row.execute(&mut *transaction).await?;
    }
    for id in backlog.heard.iter().chain(&round.acknowledged) {
        let heard = sqlx::query("UPDATE acknowledgements SET heard_at = ? WHERE id = ?").bind(&at).bind(id);
        heard.execute(&mut *transaction).await?;
    }
    let open = open_gaps(&mut transaction).await?;
    transaction.commit().await?;
    Ok(open)
}

/// Puts one finding into the table.
pub(super) async fn record(connection: &mut SqliteConnection, found: &Gap) -> sqlx::Result<()> {
    let before = of_log(connection, found).await?;
    let after = merged(before.clone(), found);
    for old in &before {
        if !after.iter().any(|gap| gap.id == old.id) {
            let delete = sqlx::query("DELETE FROM streaming_gaps WHERE id = ?").bind(old.id);
            delete.execute(&mut *connection).await?;
        }
    }
    for gap in &after {
        match gap.id {
            _ if before.contains(gap) => {}
            Some(id) => update(connection, id, gap).await?,
            None => insert(connection, gap).await?,
        }
    }
    Ok(())
}

async fn of_log(connection: &mut SqliteConnection, like: &Gap) -> sqlx::Result<Vec<Gap>> {
    // Touching ranges count as well, since neighbours become one.
    let sql = format!(
        "SELECT {COLUMNS} FROM streaming_gaps WHERE stream_name = ? AND kafka_cluster = ? AND topic = ? AND partition = ? \
         AND topic_id IS NOT DISTINCT FROM ? AND missing_from_offset <= ? AND missing_to_offset_exclusive >= ?"
    );
    let rows = sqlx::query(&sql).bind(&like.stream_name).bind(&like.kafka_cluster).bind(&like.topic);
    let rows = rows.bind(like.partition).bind(&like.topic_id).bind(like.to).bind(like.from);
    rows.fetch_all(connection).await?.iter().map(gap_of).collect()
}

/// All gaps that nobody has settled.
pub(super) async fn open_gaps(connection: &mut SqliteConnection) -> sqlx::Result<Vec<Gap>> {
    let sql = format!("SELECT {COLUMNS} FROM streaming_gaps WHERE recovery_status = 'open'");
    sqlx::query(&sql).fetch_all(connection).await?.iter().map(gap_of).collect()
}

/// What people acknowledged and no round has heard of.
pub(super) async fn unheard(connection: &mut SqliteConnection, cluster: &str) -> sqlx::Result<Vec<Acknowledgement>> {
    let sql = "SELECT id, query, topic, partition FROM acknowledgements \
        WHERE kafka_cluster = ? AND heard_at IS NULL ORDER BY id";
    let rows = sqlx::query(sql).bind(cluster).fetch_all(connection).await?;
    rows.iter()
        .map(|row| {
            Ok(Acknowledgement {
                id: row.try_get("id")?,
                query: row.try_get("query")?,
                topic: row.try_get("topic")?,
                partition: row.try_get("partition")?,
            })
        })
        .collect()
}

//! Memories as rows of the file, and back.

use std::collections::BTreeMap;

use sqlx::sqlite::{Sqlite, SqliteConnection};
use sqlx::{QueryBuilder, Row};

use super::pieces::{Content, Piece, Pieces};
use crate::judgement::QueryMemory;
use crate::measures::{TopicName, TopicPartition};

/// So many rows go into one statement.
const AT_ONCE: usize = 200;

/// Writes the pieces that changed. A query as a whole comes before its partitions.
pub(super) async fn put(
    connection: &mut SqliteConnection,
    cluster: &str,
    pieces: &[Piece],
    at: Option<&str>,
) -> sqlx::Result<()> {
    let mut rows: Vec<(&str, &TopicPartition, &Content)> = Vec::new();
    for piece in pieces {
        match (&piece.partition, &piece.content) {
            (None, Some(content)) => {
                if piece.is_first {
                    let clear = sqlx::query("DELETE FROM partition_memory WHERE query = ? AND kafka_cluster = ?");
                    clear.bind(&piece.query).bind(cluster).execute(&mut *connection).await?;
                }
                let upsert = "INSERT INTO query_memory (query, kafka_cluster, memory, remembered_at) \
                    VALUES (?, ?, ?, ?) ON CONFLICT (query, kafka_cluster) DO UPDATE SET memory = excluded.memory, \
                    remembered_at = excluded.remembered_at";
                let row = sqlx::query(upsert).bind(&piece.query).bind(cluster).bind(&content.memory).bind(at);
                row.execute(&mut *connection).await?;
            }
            (Some(partition), Some(content)) => rows.push((&piece.query, partition, content)),
            (Some(partition), None) => {
                let delete = "DELETE FROM partition_memory \
                    WHERE query = ? AND kafka_cluster = ? AND topic = ? AND partition = ?";
                let row = sqlx::query(delete).bind(&piece.query).bind(cluster).bind(partition.topic.as_ref());
                row.bind(partition.partition).execute(&mut *connection).await?;
            }
            (None, None) => {}
        }
    }
    for some in rows.chunks(AT_ONCE) {
        upsert(cluster, some, at).build().execute(&mut *connection).await?;
    }
    Ok(())
}

fn upsert<'a>(
    cluster: &'a str,
    rows: &[(&'a str, &'a TopicPartition, &'a Content)],
    at: Option<&'a str>,
) -> QueryBuilder<'a, Sqlite> {
    let mut sql = QueryBuilder::new(
        "INSERT INTO partition_memory (query, kafka_cluster, topic, partition, memory, bounds, remembered_at) ",
    );
    sql.push_values(rows, |mut row, (query, partition, content)| {
        row.push_bind(*query).push_bind(cluster).push_bind(partition.topic.as_ref()).push_bind(partition.partition);
        row.push_bind(content.memory.as_str()).push_bind(content.window.as_deref()).push_bind(at);
    });
    sql.push(
        " ON CONFLICT (query, kafka_cluster, topic, partition) DO UPDATE SET memory = excluded.memory, \
         bounds = COALESCE(excluded.bounds, partition_memory.bounds), remembered_at = excluded.remembered_at",
    );
    sql
}

/// What is remembered of a cluster's queries, and the names of those whose memory makes no sense.
pub(super) async fn memories(
    connection: &mut SqliteConnection,
    cluster: &str,
) -> sqlx::Result<(BTreeMap<String, QueryMemory>, Vec<String>)> {
    let mut pieces = Pieces::default();
    let rows = sqlx::query("SELECT query, memory FROM query_memory WHERE kafka_cluster = ?").bind(cluster);
    for row in rows.fetch_all(&mut *connection).await? {
        pieces.put_whole(row.try_get("query")?, row.try_get("memory")?);
    }
    let rows = "SELECT query, topic, partition, memory, bounds FROM partition_memory WHERE kafka_cluster = ?";
    for row in sqlx::query(rows).bind(cluster).fetch_all(connection).await? {
        let topic: String = row.try_get("topic")?;
        let at = TopicPartition::new(&TopicName::from(topic), row.try_get("partition")?);
        pieces.put_partition(row.try_get("query")?, at, row.try_get("memory")?, row.try_get("bounds")?);
    }
    let (mut memories, mut senseless) = (BTreeMap::new(), Vec::new());
    for (query, memory) in pieces.memories() {
        match memory {
            Ok(memory) => _ = memories.insert(query, memory),
            Err(_) => senseless.push(query),
        }
    }
    Ok((memories, senseless))
}

//! The daemons that share a ledger: what each has heard, and which of them are gone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::database::Database;
use super::seam::Acknowledgement;
use super::statement::sql;
use super::times::text_of;
use crate::measures::Moment;

/// A daemon that was not seen for so long will not come back under its name: in some fleets each start has a new one.
const GONE: Duration = Duration::from_secs(7 * 24 * 3600);

/// What people acknowledged and this daemon has not heard of.
pub(super) async fn unheard(
    database: &mut Database,
    watcher: &str,
    cluster: &str,
) -> sqlx::Result<Vec<Acknowledgement>> {
    let text = "SELECT id, query, topic, partition FROM acknowledgements WHERE kafka_cluster = ? AND NOT EXISTS \
        (SELECT 1 FROM hearings WHERE acknowledgement = acknowledgements.id AND watcher = ?) ORDER BY id";
    let rows = database.rows(sql(text).bind(cluster).bind(watcher)).await?;
    rows.iter()
        .map(|row| {
            Ok(Acknowledgement {
                id: row.get("id")?,
                query: row.get("query")?,
                topic: row.get("topic")?,
                partition: row.get("partition")?,
            })
        })
        .collect()
}

/// What is in the memories already, by query: whoever takes over another daemon's memory takes over what that one has
/// heard, and where nothing is remembered there is nothing that an old word could release. To hear it once more would
/// release what came up since.
pub(super) async fn heard(
    database: &mut Database,
    cluster: &str,
    memories_of: &BTreeMap<String, String>,
) -> sqlx::Result<BTreeMap<String, BTreeSet<i64>>> {
    let text = "SELECT id, query, watcher FROM acknowledgements LEFT JOIN hearings ON acknowledgement = id \
        WHERE kafka_cluster = ?";
    let mut heard: BTreeMap<String, BTreeSet<i64>> = BTreeMap::new();
    for row in database.rows(sql(text).bind(cluster)).await? {
        let (query, by): (String, Option<String>) = (row.get("query")?, row.get("watcher")?);
        if memories_of.get(&query).is_none_or(|of| by.as_ref() == Some(of)) {
            heard.entry(query).or_default().insert(row.get("id")?);
        }
    }
    Ok(heard)
}

/// Writes down that this daemon has heard.
pub(super) async fn hear(
    database: &mut Database,
    watcher: &str,
    acknowledged: impl Iterator<Item = &i64>,
    at: Option<&str>,
) -> sqlx::Result<()> {
    for id in acknowledged {
        let text = "INSERT INTO hearings (acknowledgement, watcher, heard_at) VALUES (?, ?, ?) \
            ON CONFLICT (acknowledgement, watcher) DO NOTHING";
        database.execute(sql(text).bind(*id).bind(watcher).bind(at)).await?;
    }
    Ok(())
}

/// Writes down that this daemon is at work, and clears away what those remembered that are gone for good, as far as
/// somebody else remembers it newer.
pub(super) async fn seen(database: &mut Database, watcher: &str, at: Moment) -> sqlx::Result<()> {
    let text = "INSERT INTO watchers (name, seen_at) VALUES (?, ?) \
        ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at";
    database.execute(sql(text).bind(watcher).bind(text_of(at))).await?;
    let gone = Moment::from_millis(at.millis() - i64::try_from(GONE.as_millis()).unwrap_or(i64::MAX));
    let superseded = "DELETE FROM query_memory WHERE watcher IN (SELECT name FROM watchers WHERE seen_at < ?) \
        AND EXISTS (SELECT 1 FROM query_memory AS other WHERE other.query = query_memory.query \
        AND other.kafka_cluster = query_memory.kafka_cluster AND other.remembered_at > query_memory.remembered_at)";
    database.execute(sql(superseded).bind(text_of(gone))).await?;
    let left_alone = "DELETE FROM partition_memory WHERE watcher IN (SELECT name FROM watchers WHERE seen_at < ?) \
        AND NOT EXISTS (SELECT 1 FROM query_memory AS whole WHERE whole.query = partition_memory.query \
        AND whole.kafka_cluster = partition_memory.kafka_cluster AND whole.watcher = partition_memory.watcher)";
    database.execute(sql(left_alone).bind(text_of(gone))).await?;
    // Whose memory is gone needs not be remembered to have heard, or to have been here.
    let heard_for_nobody = "DELETE FROM hearings WHERE watcher IN (SELECT name FROM watchers WHERE seen_at < ?) \
        AND NOT EXISTS (SELECT 1 FROM query_memory WHERE query_memory.watcher = hearings.watcher)";
    database.execute(sql(heard_for_nobody).bind(text_of(gone))).await?;
    let forgotten = "DELETE FROM watchers WHERE seen_at < ? \
        AND NOT EXISTS (SELECT 1 FROM query_memory WHERE query_memory.watcher = watchers.name) \
        AND NOT EXISTS (SELECT 1 FROM partition_memory WHERE partition_memory.watcher = watchers.name)";
    database.execute(sql(forgotten).bind(text_of(gone))).await
}

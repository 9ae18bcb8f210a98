//! Memories as rows, and back. Each daemon has its own: see [`chosen`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::database::Database;
use super::pieces::{Content, Piece, Pieces};
use super::statement::{Statement, sql};
use super::times::moment_of;
use crate::judgement::QueryMemory;
use crate::measures::{Moment, TopicName, TopicPartition};

/// So many rows go into one statement.
const AT_ONCE: usize = 200;

/// A daemon goes on with its own memory, unless another one's is newer by more than this: then it was away. Well more
/// than the time after which a fleet at rest is written down again.
const AWAY: Duration = Duration::from_secs(900);

/// Memories as they were found.
#[derive(Debug, Default)]
pub(super) struct Shelved {
    /// By query.
    pub(super) memories: BTreeMap<String, QueryMemory>,
    /// Queries whose memory makes no sense.
    pub(super) senseless: Vec<String>,
    /// Whose memory each one is.
    pub(super) of: BTreeMap<String, String>,
}

/// Writes the pieces that changed. A query as a whole comes before its partitions.
pub(super) async fn put(
    database: &mut Database,
    watcher: &str,
    cluster: &str,
    pieces: &[Piece],
    at: Option<&str>,
) -> sqlx::Result<()> {
    let mut rows: Vec<(&str, &TopicPartition, &Content)> = Vec::new();
    for piece in pieces {
        match (&piece.partition, &piece.content) {
            (None, Some(content)) => {
                if piece.is_first {
                    let clear = "DELETE FROM partition_memory WHERE kafka_cluster = ? AND query = ? AND watcher = ?";
                    database.execute(sql(clear).bind(cluster).bind(&piece.query).bind(watcher)).await?;
                }
                let upsert = "INSERT INTO query_memory (watcher, query, kafka_cluster, memory, remembered_at) \
                    VALUES (?, ?, ?, ?, ?) ON CONFLICT (kafka_cluster, query, watcher) DO UPDATE \
                    SET memory = excluded.memory, remembered_at = excluded.remembered_at";
                let row = sql(upsert).bind(watcher).bind(&piece.query).bind(cluster);
                database.execute(row.bind(&content.memory).bind(at)).await?;
            }
            (Some(partition), Some(content)) => rows.push((&piece.query, partition, content)),
            (Some(partition), None) => {
                let delete = "DELETE FROM partition_memory \
                    WHERE kafka_cluster = ? AND query = ? AND watcher = ? AND topic = ? AND partition = ?";
                let row = sql(delete).bind(cluster).bind(&piece.query).bind(watcher);
                database.execute(row.bind(partition.topic.as_ref()).bind(partition.partition)).await?;
            }
            (None, None) => {}
        }
    }
    for some in rows.chunks(AT_ONCE) {
        database.execute(upsert(watcher, cluster, some, at)).await?;
    }
    Ok(())
}

fn upsert<'a>(
    watcher: &'a str,
    cluster: &'a str,
    rows: &[(&'a str, &'a TopicPartition, &'a Content)],
    at: Option<&'a str>,
) -> Statement<'a> {
    let places = vec!["(?, ?, ?, ?, ?, ?, ?, ?)"; rows.len()].join(", ");
    let text = format!(
        "INSERT INTO partition_memory (watcher, query, kafka_cluster, topic, partition, memory, bounds, remembered_at) \
         VALUES {places} ON CONFLICT (kafka_cluster, query, watcher, topic, partition) DO UPDATE \
         SET memory = excluded.memory, bounds = COALESCE(excluded.bounds, partition_memory.bounds), \
         remembered_at = excluded.remembered_at"
    );
    rows.iter().fold(sql(text), |statement, (query, partition, content)| {
        let statement = statement.bind(watcher).bind(*query).bind(cluster).bind(partition.topic.as_ref());
        let statement = statement.bind(partition.partition).bind(content.memory.as_str());
        statement.bind(content.window.as_deref()).bind(at)
    })
}

/// What is remembered of a cluster's queries, for a daemon or, without a name, for anybody. All of one query's memory is
/// one daemon's, as it was at one moment.
pub(super) async fn memories(database: &mut Database, watcher: Option<&str>, cluster: &str) -> sqlx::Result<Shelved> {
    let of = chosen(database, watcher, cluster).await?;
    let mut pieces = Pieces::default();
    let watchers: BTreeSet<&String> = of.values().collect();
    for watcher in watchers {
        let is_chosen = |query: &String| of.get(query) == Some(watcher);
        let rows = "SELECT query, memory FROM query_memory WHERE kafka_cluster = ? AND watcher = ?";
        for row in database.rows(sql(rows).bind(cluster).bind(watcher)).await? {
            let query: String = row.get("query")?;
            if is_chosen(&query) {
                pieces.put_whole(query, row.get("memory")?);
            }
        }
        let rows = "SELECT query, topic, partition, memory, bounds FROM partition_memory \
            WHERE kafka_cluster = ? AND watcher = ?";
        for row in database.rows(sql(rows).bind(cluster).bind(watcher)).await? {
            let query: String = row.get("query")?;
            if is_chosen(&query) {
                let topic: String = row.get("topic")?;
                let at = TopicPartition::new(&TopicName::from(topic), row.get("partition")?);
                pieces.put_partition(query, at, row.get("memory")?, row.get("bounds")?);
            }
        }
    }
    let mut shelved = Shelved { of, ..Shelved::default() };
    for (query, memory) in pieces.memories() {
        match memory {
            Ok(memory) => _ = shelved.memories.insert(query, memory),
            Err(_) => shelved.senseless.push(query),
        }
    }
    Ok(shelved)
}

/// Whose memory counts, by query: the daemon's own, else the newest.
async fn chosen(
    database: &mut Database,
    watcher: Option<&str>,
    cluster: &str,
) -> sqlx::Result<BTreeMap<String, String>> {
    let mut newest: BTreeMap<String, BTreeMap<String, Option<Moment>>> = BTreeMap::new();
    let wholes = "SELECT query, watcher, remembered_at FROM query_memory WHERE kafka_cluster = ?";
    for row in database.rows(sql(wholes).bind(cluster)).await? {
        let at: String = row.get("remembered_at")?;
        newest.entry(row.get("query")?).or_default().insert(row.get("watcher")?, moment_of(&at));
    }
    let partitions = "SELECT query, watcher, MAX(remembered_at) AS remembered_at FROM partition_memory \
        WHERE kafka_cluster = ? GROUP BY query, watcher";
    for row in database.rows(sql(partitions).bind(cluster)).await? {
        let (query, of): (String, String) = (row.get("query")?, row.get("watcher")?);
        let at: String = row.get("remembered_at")?;
        if let Some(known) = newest.get_mut(&query).and_then(|watchers| watchers.get_mut(&of)) {
            *known = (*known).max(moment_of(&at));
        }
    }
    Ok(newest.into_iter().filter_map(|(query, watchers)| Some((query, choose(&watchers, watcher)?))).collect())
}

fn choose(watchers: &BTreeMap<String, Option<Moment>>, watcher: Option<&str>) -> Option<String> {
    let (newest, at) = watchers.iter().max_by_key(|(name, at)| (**at, *name))?;
    let own = watcher.and_then(|watcher| watchers.get_key_value(watcher));
    let is_recent = |own: &Option<Moment>| match (own, at) {
        (Some(own), Some(newest)) => newest.since(*own) <= AWAY,
        (own, newest) => own == newest,
    };
    Some(own.filter(|(_, at)| is_recent(at)).map_or(newest, |(name, _)| name).clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_goes_on_with_its_own_memory_unless_it_was_away() {
        let check = |watchers: &[(&str, Option<i64>)], of: Option<&str>, expected: &str| {
            let at = |seconds: &i64| Moment::from_millis(1000 * seconds);
            let known = watchers.iter().map(|(name, seconds)| ((*name).to_owned(), seconds.as_ref().map(at))).collect();
            assert_eq!(choose(&known, of).as_deref(), Some(expected), "{watchers:?}");
        };
        check(&[("", Some(0))], Some(""), "");
        check(&[("a", Some(100)), ("b", Some(130))], Some("a"), "a");
        check(&[("a", Some(100)), ("b", Some(1001))], Some("a"), "b");
        check(&[("a", Some(100)), ("b", Some(130))], Some("c"), "b");
        check(&[("a", Some(100)), ("b", Some(130))], None, "b");
        check(&[("a", None), ("b", Some(130))], Some("a"), "b");
    }
}

//! The one transaction that a round is written in.

use std::collections::BTreeSet;

use super::database::Database;
use super::gap::Gap;
use super::memory::Book;
use super::merge::merged;
use super::rows::{COLUMNS, gap_of, insert, update};
use super::seam::{NotedEvent, RoundNotes};
use super::shelf;
use super::statement::sql;
use super::times::text_of;
use super::watchers;

/// What earlier rounds left behind that could not be written.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    pub(super) gaps: Book,
    pub(super) events: Vec<NotedEvent>,
    pub(super) heard: BTreeSet<i64>,
}

/// Who writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writing<'a> {
    /// The daemon's name.
    pub(super) watcher: &'a str,
    /// Whether to write down that it is at work.
    pub(super) is_seen: bool,
}

/// Writes a round, with the backlog: whole or not at all. Answers with the gaps of its cluster that nobody has settled.
pub(super) async fn write(
    database: &mut Database,
    writing: Writing<'_>,
    round: &RoundNotes,
    backlog: &Backlog,
) -> sqlx::Result<Vec<Gap>> {
    let (at, watcher) = (text_of(round.at), writing.watcher);
    let found: Vec<&Gap> = backlog.gaps.all().chain(&round.findings).collect();
    database.begin().await?;
    lock(database, &found, writing.is_seen).await?;
    shelf::put(database, watcher, &round.cluster, &round.memories, at.as_deref()).await?;
    for found in found {
        record(database, found).await?;
    }
    for NotedEvent { query, kafka_cluster, event } in backlog.events.iter().chain(&round.events) {
        let text = "INSERT INTO events (watcher, query, kafka_cluster, topic, event, happened_at, detail) \
            VALUES (?, ?, ?, ?, ?, ?, ?)";
        let row = sql(text).bind(watcher).bind(query).bind(kafka_cluster).bind(event.topic.as_deref());
        database.execute(row.bind(event.kind.label()).bind(text_of(event.at)).bind(&event.detail)).await?;
    }
    watchers::hear(database, watcher, backlog.heard.iter().chain(&round.acknowledged), at.as_deref()).await?;
    if writing.is_seen {
        watchers::seen(database, watcher, round.at).await?;
    }
    let open = open_gaps(database, &round.cluster).await?;
    database.commit().await?;
    Ok(open)
}

/// Two daemons that find one loss make one record of it: the second waits until the first is done, and then sees it.
/// A loss of another query waits for nobody.
async fn lock(database: &mut Database, found: &[&Gap], is_seen: bool) -> sqlx::Result<()> {
    let mut names: BTreeSet<String> = found.iter().map(|gap| name_of_lock(gap)).collect();
    if is_seen {
        names.insert("brinkwatch watchers".to_owned());
    }
    for name in names {
        database.lock(&name).await?;
    }
    Ok(())
}

/// The lock of a query's gaps.
pub(super) fn name_of_lock(gap: &Gap) -> String {
    format!("brinkwatch gaps {} {}", gap.kafka_cluster, gap.stream_name)
}

/// Puts one finding into the table. Its lock is held.
pub(super) async fn record(database: &mut Database, found: &Gap) -> sqlx::Result<()> {
    let before = of_log(database, found).await?;
    let after = merged(before.clone(), found);
    for old in &before {
        if !after.iter().any(|gap| gap.id == old.id) {
            database.execute(sql("DELETE FROM streaming_gaps WHERE id = ?").bind(old.id)).await?;
        }
    }
    for gap in &after {
        match gap.id {
            _ if before.contains(gap) => {}
            Some(id) => update(database, id, gap).await?,
            None => insert(database, gap).await?,
        }
    }
    Ok(())
}

async fn of_log(database: &mut Database, like: &Gap) -> sqlx::Result<Vec<Gap>> {
    // Touching ranges count as well, since neighbours become one.
    let text = format!(
        "SELECT {COLUMNS} FROM streaming_gaps WHERE stream_name = ? AND kafka_cluster = ? AND topic = ? AND partition = ? \
         AND topic_id IS NOT DISTINCT FROM ? AND missing_from_offset <= ? AND missing_to_offset_exclusive >= ? \
         ORDER BY id{}",
        database.for_update()
    );
    let rows = sql(text).bind(&like.stream_name).bind(&like.kafka_cluster).bind(&like.topic);
    let rows = rows.bind(like.partition).bind(&like.topic_id).bind(like.to).bind(like.from);
    database.rows(rows).await?.iter().map(gap_of).collect()
}

/// The gaps of a cluster that nobody has settled.
pub(super) async fn open_gaps(database: &mut Database, cluster: &str) -> sqlx::Result<Vec<Gap>> {
    let text = format!("SELECT {COLUMNS} FROM streaming_gaps WHERE recovery_status = 'open' AND kafka_cluster = ?");
    database.rows(sql(text).bind(cluster)).await?.iter().map(gap_of).collect()
}

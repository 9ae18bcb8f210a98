//! Gaps as rows of the table, and back.

use super::database::Database;
use super::gap::{Gap, RecoveryPath, RecoveryStatus};
use super::statement::{Row, Statement, sql};
use super::times::{moment_of, text_of};
use crate::judgement::Certainty;
use crate::measures::Moment;

/// The columns, in the order of [`gap_of`].
pub(super) const COLUMNS: &str = "id, stream_name, kafka_cluster, topic, topic_id, partition, missing_from_offset, \
    missing_to_offset_exclusive, certainty, detected_at, estimated_first_missing_at, estimated_last_missing_at, \
    recovery_path, recovery_status, evidence, recorded_by";

const INSERT: &str = "INSERT INTO streaming_gaps (stream_name, kafka_cluster, topic, topic_id, partition, \
    missing_from_offset, missing_to_offset_exclusive, certainty, detected_at, estimated_first_missing_at, \
    estimated_last_missing_at, recovery_path, recovery_status, evidence, recorded_by) \
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

const UPDATE: &str = "UPDATE streaming_gaps SET stream_name = ?, kafka_cluster = ?, topic = ?, topic_id = ?, \
    partition = ?, missing_from_offset = ?, missing_to_offset_exclusive = ?, certainty = ?, detected_at = ?, \
    estimated_first_missing_at = ?, estimated_last_missing_at = ?, recovery_path = ?, recovery_status = ?, \
    evidence = ?, recorded_by = ? WHERE id = ?";

pub(super) async fn insert(database: &mut Database, gap: &Gap) -> sqlx::Result<()> {
    database.execute(bound(INSERT, gap)).await
}

pub(super) async fn update(database: &mut Database, id: i64, gap: &Gap) -> sqlx::Result<()> {
    database.execute(bound(UPDATE, gap).bind(id)).await
}

fn bound<'a>(text: &'a str, gap: &'a Gap) -> Statement<'a> {
    sql(text)
        .bind(&gap.stream_name)
        .bind(&gap.kafka_cluster)
        .bind(&gap.topic)
        .bind(&gap.topic_id)
        .bind(gap.partition)
        .bind(gap.from)
        .bind(gap.to)
        .bind(gap.certainty.label())
        .bind(text_of(gap.detected_at))
        .bind(gap.first_missing_at.and_then(text_of))
        .bind(gap.last_missing_at.and_then(text_of))
        .bind(gap.recovery_path.map(RecoveryPath::word))
        .bind(gap.recovery_status.word())
        .bind(&gap.evidence)
        .bind(&gap.recorded_by)
}

/// A row with [`COLUMNS`].
pub(super) fn gap_of(row: &Row) -> sqlx::Result<Gap> {
    let certainty: String = row.get("certainty")?;
    let status: String = row.get("recovery_status")?;
    let path: Option<String> = row.get("recovery_path")?;
    let detected_at: String = row.get("detected_at")?;
    Ok(Gap {
        id: row.get("id")?,
        stream_name: row.get("stream_name")?,
        kafka_cluster: row.get("kafka_cluster")?,
        topic: row.get("topic")?,
        topic_id: row.get("topic_id")?,
        partition: row.get("partition")?,
        from: row.get("missing_from_offset")?,
        to: row.get("missing_to_offset_exclusive")?,
        certainty: read("certainty", certainty_of(&certainty), &certainty)?,
        detected_at: read("detected_at", moment_of(&detected_at), &detected_at)?,
        first_missing_at: moment(row, "estimated_first_missing_at")?,
        last_missing_at: moment(row, "estimated_last_missing_at")?,
        recovery_path: path.map(|word| read("recovery_path", RecoveryPath::of_word(&word), &word)).transpose()?,
        recovery_status: read("recovery_status", RecoveryStatus::of_word(&status), &status)?,
        evidence: row.get("evidence")?,
        recorded_by: row.get("recorded_by")?,
    })
}

fn certainty_of(word: &str) -> Option<Certainty> {
    Certainty::ALL.iter().copied().find(|certainty| certainty.label() == word)
}

/// An estimate that cannot be read is none.
fn moment(row: &Row, column: &str) -> sqlx::Result<Option<Moment>> {
    let text: Option<String> = row.get(column)?;
    Ok(text.as_deref().and_then(moment_of))
}

fn read<T>(column: &str, value: Option<T>, text: &str) -> sqlx::Result<T> {
    value.ok_or_else(|| sqlx::Error::ColumnDecode {
        index: column.to_owned(),
        source: format!("{text:?} is none of its values").into(),
    })
}

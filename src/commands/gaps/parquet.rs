//! The records as a Parquet file: one row group, without compression. Gaps are few.

use std::sync::Arc;

use ::parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use anyhow::Context;
use chrono::DateTime;

use super::print::{FIELDS, fields};
use crate::ledger::Gap;

/// The whole file.
///
/// # Errors
/// When the library refuses what it is given, which only a fault of ours makes it do.
pub(super) fn file(gaps: &[Gap]) -> anyhow::Result<Vec<u8>> {
    let schema = parse_message_type(&schema()).context("the schema makes no sense")?;
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, Arc::new(schema), Arc::new(WriterProperties::default()))?;
    let mut group = writer.next_row_group()?;
    let rows: Vec<[Option<String>; 16]> = gaps.iter().map(fields).collect();
    for (index, (name, kind)) in FIELDS.iter().enumerate() {
        let values: Vec<Option<&str>> = rows.iter().map(|row| row.get(index).and_then(Option::as_deref)).collect();
        let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
        let present = values.into_iter().flatten();
        let mut column = group.next_column()?.with_context(|| format!("the schema lacks {name}"))?;
        match *kind {
            "STRING" => {
                let texts: Vec<ByteArray> = present.map(ByteArray::from).collect();
                column.typed::<ByteArrayType>().write_batch(&texts, Some(&levels), None)?;
            }
            "INT" => {
                let numbers = present.map(str::parse).collect::<Result<Vec<i32>, _>>()?;
                column.typed::<Int32Type>().write_batch(&numbers, Some(&levels), None)?;
            }
            "TIMESTAMP" => {
                let millis = |text| DateTime::parse_from_rfc3339(text).map(|time| time.timestamp_millis());
                let times = present.map(millis).collect::<Result<Vec<i64>, _>>()?;
                column.typed::<Int64Type>().write_batch(&times, Some(&levels), None)?;
            }
            _ => {
                let numbers = present.map(str::parse).collect::<Result<Vec<i64>, _>>()?;
                column.typed::<Int64Type>().write_batch(&numbers, Some(&levels), None)?;
            }
        }
        column.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(file)
}

fn schema() -> String {
    let column = |(name, kind): &(&str, &str)| match *kind {
        "STRING" => format!("optional binary {name} (STRING);"),
        "INT" => format!("optional int32 {name};"),
        "TIMESTAMP" => format!("optional int64 {name} (TIMESTAMP(MILLIS,true));"),
        _ => format!("optional int64 {name};"),
    };
    let columns: Vec<String> = FIELDS.iter().map(column).collect();
    format!("message streaming_gaps {{ {} }}", columns.join(" "))
}

#[cfg(test)]
mod tests {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use bytes::Bytes;

    use super::*;
    use crate::judgement::Certainty;
    use crate::ledger::RecoveryStatus;
    use crate::measures::Moment;

    fn gap(id: i64, topic_id: Option<&str>) -> Gap {
        Gap {
            id: Some(id),
            stream_name: "orders".to_owned(),
            kafka_cluster: "main".to_owned(),
            topic: "orders".to_owned(),
            topic_id: topic_id.map(str::to_owned),
            partition: 3,
            from: 120,
            to: i64::MAX,
            certainty: Certainty::Certain,
            detected_at: Moment::from_millis(1_796_007_188_123),
            first_missing_at: None,
            last_missing_at: None,
            recovery_path: None,
            recovery_status: RecoveryStatus::Open,
            evidence: "it's \"INC-1\",\nзаказ".to_owned(),
            recorded_by: "anna".to_owned(),
        }
    }

    fn rows(gaps: &[Gap]) -> Vec<String> {
        let reader = SerializedFileReader::new(Bytes::from(file(gaps).unwrap())).unwrap();
        reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
    }

    #[test]
    fn a_file_that_was_written_is_read_again_with_every_column_and_nothing_where_nothing_is_known() {
        let rows = rows(&[gap(1, Some("0f0f")), gap(2, None)]);
        assert_eq!(rows.len(), 2);
        for told in [
            "id: 1,",
            "topic_id: \"0f0f\"",
            "partition: 3,",
            "missing_to_offset_exclusive: 9223372036854775807",
            "detected_at: 2026-11-30 02:53:08.123",
            "estimated_first_missing_at: null",
            "заказ",
        ] {
            assert!(rows[0].contains(told), "{told}: {}", rows[0]);
        }
        assert!(rows[1].contains("topic_id: null"), "{}", rows[1]);
    }

    #[test]
    fn no_gap_is_a_file_without_rows() {
        assert!(rows(&[]).is_empty());
    }
}

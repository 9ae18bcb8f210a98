//! Partitions as comma-separated values, for a spreadsheet. An unknown value is an empty cell.

use super::shapes::{Partition, QueryDetail};

const HEAD: &str = "kafka_cluster,topic,partition,state,committed,planned,earliest,latest,headroom_offsets,lag_offsets,\
                    lost_offsets,possibly_lost_offsets,beyond_end_offsets,remaining_ratio,deadline,projected_loss\r\n";

pub(super) fn partitions(clusters: &[QueryDetail]) -> String {
    let mut text = HEAD.to_owned();
    for detail in clusters {
        for partition in &detail.partitions {
            let cells = row(detail.kafka_cluster(), partition);
            text.push_str(&cells.join(","));
            text.push_str("\r\n");
        }
    }
    text
}

fn row(cluster: &str, partition: &Partition) -> [String; 16] {
    fn cell(value: Option<impl ToString>) -> String {
        value.map_or_else(String::new, |value| value.to_string())
    }
    [
        quoted(cluster),
        quoted(&partition.topic),
        partition.partition.to_string(),
        partition.state.to_owned(),
        cell(partition.committed),
        cell(partition.planned),
        cell(partition.earliest),
        cell(partition.latest),
        cell(partition.headroom_offsets),
        cell(partition.lag_offsets),
        cell(partition.lost_offsets),
        cell(partition.possibly_lost_offsets),
        cell(partition.beyond_end_offsets),
        cell(partition.remaining_ratio),
        cell(partition.deadline.as_ref()),
        cell(partition.projected_loss.as_ref()),
    ]
}

/// In quotes where needed; and a text that a spreadsheet would take for a formula stays a text.
fn quoted(text: &str) -> String {
    let shown = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() };
    if shown.contains([',', '"', '\n', '\r']) { format!("\"{}\"", shown.replace('"', "\"\"")) } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_cell_and_no_formula() {
        let check = |text: &str, cell: &str| assert_eq!(quoted(text), cell);
        check("orders", "orders");
        check("a,b", "\"a,b\"");
        check("say \"hi\"\n", "\"say \"\"hi\"\"\n\"");
        check("=1+1", "'=1+1");
    }
}

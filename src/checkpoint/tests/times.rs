//! When things happened, as far as file times can be believed.

use super::*;
use crate::measures::BatchId;

const MINUTE: i64 = 60_000;

fn entry(timestamp: i64) -> String {
    format!("v1\n{{\"batchTimestampMs\":{timestamp}}}\n{{\"orders\":{{\"0\":5}}}}")
}

/// Reads batches 0 and 1 with these times (of file, of batch), and a commit of batch 1.
fn read_with(batches: [(Option<i64>, i64); 2], committed_at: Option<i64>) -> CheckpointReading {
    let mut listing = Listing::default();
    let mut contents = files(&[METADATA]);
    add(&mut listing, "metadata", 45, None);
    for (id, (file, batch)) in batches.into_iter().enumerate() {
        let path = format!("offsets/{id}");
        add(&mut listing, &path, 80, file.map(Moment::from_millis));
        contents.insert(path, entry(batch).into_bytes());
    }
    add(&mut listing, "commits/1", 29, committed_at.map(Moment::from_millis));
    read(&listing, &contents)
}

#[test]
fn file_times_say_when_a_batch_was_planned_and_committed() {
    let reading = read_with([(Some(1_100), 1_000), (Some(2_100), 2_000)], Some(2_900));
    assert_eq!(reading.planned_at, Some(Moment::from_millis(2_100)));
    assert_eq!(reading.batch_timestamp, Some(Moment::from_millis(2_000)));
    assert_eq!(reading.last_commit_at, Some(Moment::from_millis(2_900)));
    assert_eq!(reading.batches.len(), 2);
    assert_eq!(reading.batches[0].batch, BatchId(0));
    assert_eq!(reading.batches[0].planned_at, Some(Moment::from_millis(1_100)));
    assert_eq!(reading.batches[0].committed_at, None);
    assert_eq!(reading.problems, []);
}

#[test]
fn a_store_without_times_leaves_the_drivers_clock() {
    let reading = read_with([(None, 1_000), (None, 2_000)], None);
    assert_eq!(reading.planned_at, Some(Moment::from_millis(2_000)));
    assert_eq!(reading.last_commit_at, Some(Moment::from_millis(2_000)));
}

#[test]
fn a_rerun_after_an_outage_counts_from_its_commit() {
    let reading = read_with([(Some(1_100), 1_000), (Some(2_100), 2_000)], Some(9_000 * MINUTE));
    assert_eq!(reading.last_commit_at, Some(Moment::from_millis(9_000 * MINUTE)));
    assert_eq!(reading.problems, []);
}

#[test]
fn times_of_a_copy_are_not_believed() {
    let now = 1_000 * MINUTE;
    let copied = read_with([(Some(now), MINUTE), (Some(now + 10), 9 * MINUTE)], Some(now + 20));
    let older_than_its_batch = read_with([(None, MINUTE), (Some(MINUTE), 9 * MINUTE)], Some(MINUTE));
    for reading in [copied, older_than_its_batch] {
        assert_eq!(
            reading.problems.iter().map(|problem| problem.kind.label()).collect::<Vec<_>>(),
            ["copied_or_restored"]
        );
        assert_eq!(reading.planned_at, Some(Moment::from_millis(9 * MINUTE)));
        assert_eq!(reading.last_commit_at, Some(Moment::from_millis(9 * MINUTE)));
    }
}

/// The store's clock stamps files, the driver's clock stands in the entries: they differ by what they are apart.
#[test]
fn clocks_that_are_apart_are_no_copy_unless_the_stores_is_minutes_behind() {
    let hour = 60 * MINUTE;
    for (store_ahead, is_told) in [
        (0, false),
        (-30_000, false),
        (-59_000, false),
        (30_000, false),
        (hour, false),
        (-2 * MINUTE, true),
        (-hour, true),
    ] {
        let [first, second] = [hour * 10, hour * 10 + 5 * MINUTE];
        let committed = second + 3_000;
        let reading = read_with(
            [(Some(first + store_ahead), first), (Some(second + store_ahead), second)],
            Some(committed + store_ahead),
        );
        let problems: Vec<_> = reading.problems.iter().map(|problem| problem.kind.label()).collect();
        assert_eq!(problems, if is_told { vec!["copied_or_restored"] } else { vec![] }, "{store_ahead}");
        // what is believed is never further off than the clocks are
        let believed = if is_told { second } else { committed + store_ahead };
        assert_eq!(reading.last_commit_at, Some(Moment::from_millis(believed)), "{store_ahead}");
        assert_eq!(reading.newest_committed, Some(BatchId(1)));
    }
}

#[test]
fn the_start_is_when_the_initial_offsets_were_written() {
    let mut listing = Listing::default();
    add(&mut listing, "metadata", 45, None);
    add(&mut listing, "sources/0/0", 20, Some(Moment::from_millis(7_000)));
    add(&mut listing, "sources/1/0", 20, Some(Moment::from_millis(3_000)));
    let contents = files(&[METADATA, ("sources/0/0", &initial(r#"{"orders":{"0":5}}"#)), ("sources/1/0", "v1\n4")]);
    assert_eq!(read(&listing, &contents).started_at, Some(Moment::from_millis(7_000)));
}

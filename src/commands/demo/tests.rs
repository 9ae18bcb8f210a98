use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use super::show::{Show, Stage};
use super::simulated::PAST_BATCHES;
use super::spark::Checkpoint;
use super::stand_in::{RETENTION_BYTES, StandIn};
use super::story::{Pace, STORIES, Story};
use crate::checkpoint::ProblemKind;
use crate::config::{self, ConfigFile};
use crate::measures::Moment;
use crate::readers::CheckpointReader;
use crate::readers::stores::CheckpointStore;

const TICK: Duration = Duration::from_millis(200);

fn story(pace: Pace) -> &'static Story {
    STORIES.iter().find(|story| story.pace == pace).unwrap()
}

/// Names below a folder, with what the files hold.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                match fs::read(path) {
                    Ok(content) => _ = found.insert(name, content),
                    // A show that goes on renames what it has written.
                    Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound),
                }
            }
        }
    }
    found
}

/// The positions in the newest committed entry of a simulated query.
fn committed(folder: &Path, story: &Story) -> Vec<i64> {
    let files = files(&folder.join(story.query));
    let newest = files.keys().filter_map(|name| name.strip_prefix("commits/")?.parse::<u64>().ok()).max().unwrap();
    let entry = String::from_utf8(files[&format!("offsets/{newest}")].clone()).unwrap();
    let positions: BTreeMap<String, BTreeMap<String, i64>> =
        serde_json::from_str(entry.lines().nth(2).unwrap()).unwrap();
    (0..story.partitions).map(|partition| positions[story.topic][&partition.to_string()]).collect()
}

/// Thousandths of the log before the committed offset, for each partition; negative when it has lost some.
fn permille(stage: &Stage, folder: &Path, story: &Story) -> Vec<i64> {
    stage.stand_in.flush().unwrap();
    let offsets = committed(folder, story).into_iter().zip(0..);
    offsets.map(|(offset, partition)| stage.stand_in.bounds(story.topic, partition).unwrap().permille(offset)).collect()
}

/// Plays one query for so many seconds without waiting for them, and shows each of its seconds.
fn play(pace: Pace, seconds: u32) -> Vec<Vec<i64>> {
    let folder = tempfile::tempdir().unwrap();
    let stories = STORIES.iter().position(|story| story.pace == pace).map(|at| &STORIES[at..=at]).unwrap();
    let mut stage = Stage::set(folder.path(), stories).unwrap();
    let mut seen = vec![permille(&stage, folder.path(), &stories[0])];
    for _ in 0..seconds {
        for _ in 0..5 {
            stage.advance(TICK).unwrap();
        }
        seen.push(permille(&stage, folder.path(), &stories[0]));
    }
    seen
}

#[test]
fn the_stand_in_drops_the_oldest_records_by_size() {
    let mut stand_in = StandIn::start().unwrap();
    stand_in.create_topic("a.topic", 2).unwrap();
    stand_in.write("a.topic", 1, 8000, 1024).unwrap();
    stand_in.flush().unwrap();
    let untouched = stand_in.bounds("a.topic", 0).unwrap();
    assert_eq!((untouched.earliest, untouched.latest), (0, 0));
    let before = stand_in.bounds("a.topic", 1).unwrap();
    assert_eq!(before.latest, 8000);
    let kept = usize::try_from(before.latest - before.earliest).unwrap() * 1024;
    assert!(kept <= RETENTION_BYTES && kept > RETENTION_BYTES * 9 / 10, "{before:?}");

    stand_in.write("a.topic", 1, 100, 1024).unwrap();
    stand_in.flush().unwrap();
    let after = stand_in.bounds("a.topic", 1).unwrap();
    assert!(after.earliest > before.earliest, "{before:?} {after:?}");
}

#[test]
fn a_healthy_query_keeps_nearly_all_of_its_retention_ahead() {
    let worst = play(Pace::KeepsUp, 60).into_iter().flatten().min().unwrap();
    assert!(worst > 900, "{worst}");
}

#[test]
fn a_slow_query_falls_to_the_brink_within_a_minute_and_stays_there_without_a_loss() {
    let seen: Vec<i64> = play(Pace::FallsBehind, 600).into_iter().map(|all| all.into_iter().min().unwrap()).collect();
    let first_below = |permille: i64| seen.iter().position(|worst| *worst < permille).unwrap();
    assert!(seen[0] > 600, "it starts without trouble: {}", seen[0]);
    assert!((10..40).contains(&first_below(500)), "{}", first_below(500));
    assert!((30..70).contains(&first_below(200)), "{}", first_below(200));
    assert!(seen.iter().all(|worst| *worst > 0), "{seen:?}");
    assert!(seen[first_below(500)..].iter().all(|worst| *worst < 500), "{seen:?}");
}

#[test]
fn a_stopped_query_is_at_risk_first_and_then_loses_more_and_more() {
    let seen = play(Pace::Stopped, 120);
    let first_lost = seen.iter().position(|all| all[0] < 0).unwrap();
    assert!((30..60).contains(&first_lost), "{first_lost}");
    assert!((0..500).contains(&seen[0][0]), "{:?}", seen[0]);
    let rises = seen.windows(2).any(|pair| pair[1][0] > pair[0][0] + 10);
    assert!(!rises, "a stopped query never gains: {seen:?}");
    assert!(seen.last().unwrap().iter().all(|permille| *permille < 0), "{seen:?}");
}

#[test]
fn the_log_of_the_torn_query_moves_from_the_first_minute_and_lasts_for_hours() {
    let seen = play(Pace::Torn, 60);
    assert!(seen[60][0] < seen[0][0] && seen[60][0] > 900, "{:?} {:?}", seen[0], seen[60]);
}

#[test]
fn a_torn_newest_entry_is_half_of_a_whole_one() {
    let folder = tempfile::tempdir().unwrap();
    let torn = story(Pace::Torn);
    Stage::set(folder.path(), &STORIES).unwrap();
    let files = files(&folder.path().join(torn.query));
    let entry = String::from_utf8(files[&format!("offsets/{PAST_BATCHES}")].clone()).unwrap();
    assert!(entry.starts_with("v1\n{\"batchWatermarkMs\":0,\"batchTimestampMs\":"), "{entry}");
    assert_eq!(entry.lines().count(), 2, "{entry}");
    assert!(!files.contains_key(&format!("commits/{PAST_BATCHES}")));
}

#[tokio::test]
async fn only_the_torn_checkpoint_has_a_problem() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = Stage::set(folder.path(), &STORIES).unwrap();
    // At the start, with a batch open, and long after the first purge.
    for ticks in [0, 1, 10, 1500] {
        for _ in 0..ticks {
            stage.advance(TICK).unwrap();
        }
        for story in STORIES {
            let store = CheckpointStore::open(folder.path().join(story.query).to_str().unwrap()).unwrap();
            let reading = store.read(Duration::from_secs(10)).await.unwrap();
            let problems: Vec<ProblemKind> = reading.problems.iter().map(|problem| problem.kind).collect();
            let expected: &[ProblemKind] =
                if story.pace == Pace::Torn { &[ProblemKind::NewestOffsetsMalformed] } else { &[] };
            assert_eq!(problems, expected, "{} after {ticks}: {:?}", story.query, reading.problems);
            assert_eq!(reading.restartable, Some(story.pace != Pace::Torn), "{}", story.query);
            let positions: Vec<i64> = (reading.sources[0].topics[story.topic].values())
                .map(|position| position.committed.unwrap().get())
                .collect();
            assert_eq!(positions, committed(folder.path(), &story), "{}", story.query);
        }
    }
}

#[test]
fn the_configuration_is_one_that_an_operator_could_have_written() {
    let folder = Path::new("/tmp/a \"strange\" folder");
    let text = super::configuration::text(([127, 0, 0, 1], 1234).into(), "127.0.0.1:9092", folder, &STORIES);
    let config = config::load(ConfigFile::Text { name: "demo", text: &text }, [], &[]).unwrap();
    assert_eq!(config.server.listen.port(), 1234);
    assert_eq!(config.queries.len(), STORIES.len());
    for story in STORIES {
        assert_eq!(Path::new(&config.queries[story.query].checkpoint), folder.join(story.query));
        let limits = &config.clusters["demo"].retention_overrides[story.topic];
        assert_eq!((limits.retention_ms, limits.retention_bytes), (Some(-1), Some(5_242_880)));
    }
}

#[test]
fn a_checkpoint_has_spark_s_files_and_spark_s_text() {
    let folder = tempfile::tempdir().unwrap();
    let at = Moment::from_millis(1_700_000_000_000);
    let checkpoint = Checkpoint::create(folder.path().to_owned(), "a.topic", &[5, 0], at).unwrap();
    checkpoint.plan(0, &[7, 9], at).unwrap();
    checkpoint.commit(0, at).unwrap();
    let files = files(folder.path());
    assert_eq!(files.keys().collect::<Vec<_>>(), ["commits/0", "metadata", "offsets/0", "sources/0/0"]);
    assert_eq!(files["commits/0"], b"v1\n{\"nextBatchWatermarkMs\":0}");
    assert_eq!(files["sources/0/0"], b"\0v1\n{\"a.topic\":{\"0\":5,\"1\":0}}");
    let metadata = String::from_utf8(files["metadata"].clone()).unwrap();
    assert!(metadata.starts_with("{\"id\":\"") && metadata.len() == "{\"id\":\"\"}".len() + 36, "{metadata}");
    let entry = String::from_utf8(files["offsets/0"].clone()).unwrap();
    let lines: Vec<&str> = entry.split('\n').collect();
    assert_eq!((lines[0], lines[2], lines.len()), ("v1", "{\"a.topic\":{\"0\":7,\"1\":9}}", 3));
    assert!(lines[1].starts_with("{\"batchWatermarkMs\":0,\"batchTimestampMs\":1700000000000,\"conf\":{"), "{entry}");
    let written = fs::metadata(folder.path().join("offsets/0")).unwrap().modified().unwrap();
    assert_eq!(written.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis(), 1_700_000_000_000);
}

#[test]
fn old_batches_are_purged_as_spark_does() {
    let folder = tempfile::tempdir().unwrap();
    let at = Moment::from_millis(1_700_000_000_000);
    let checkpoint = Checkpoint::create(folder.path().to_owned(), "t", &[0], at).unwrap();
    for batch in 0..300 {
        checkpoint.plan(batch, &[1], at).unwrap();
        checkpoint.commit(batch, at).unwrap();
    }
    let files = files(folder.path());
    let of = |log: &'static str| files.keys().filter_map(move |name| name.strip_prefix(log)?.parse::<u64>().ok());
    assert_eq!((of("offsets/").min(), of("offsets/").count()), (Some(199), 101));
    assert_eq!((of("commits/").min(), of("commits/").count()), (Some(199), 101));
    assert_eq!(files.len(), 204, "and no temporary file stays");
}

#[test]
fn nothing_is_written_once_a_show_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let show = Show::start(folder.path().to_owned(), &STORIES, 10).unwrap();
    let begun = committed(folder.path(), story(Pace::KeepsUp));
    while committed(folder.path(), story(Pace::KeepsUp)) == begun {
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(show);
    let path = folder.path().to_owned();
    folder.close().unwrap();
    assert!(!path.exists());
}

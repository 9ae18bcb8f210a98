//! Every real checkpoint is read as Spark itself resumes from it.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use brinkwatch::commands::inspect::Inspected;
use brinkwatch::readers::CheckpointReader;
use brinkwatch::readers::stores::CheckpointStore;
use serde_json::Value;

use checkpoints::{cases, expected, laid_out};

mod checkpoints;

const DEADLINE: Duration = Duration::from_secs(60);

/// The JSON of `inspect`, without what differs from run to run or is only wording.
async fn inspected(root: &Path) -> Value {
    let store = CheckpointStore::open(root.to_str().unwrap()).unwrap();
    let reading = store.read(DEADLINE).await.unwrap();
    let mut json = serde_json::to_value(Inspected::new(store.location(), &reading)).unwrap();
    let json_object = json.as_object_mut().unwrap();
    assert_eq!(json_object.remove("checkpoint"), Some(Value::from(format!("file://{}", root.display()))));
    for problem in json["problems"].as_array_mut().unwrap() {
        let detail = problem.as_object_mut().unwrap().remove("detail");
        assert!(detail.is_some_and(|detail| detail.as_str().is_some_and(|words| !words.is_empty())));
    }
    json
}

#[tokio::test]
async fn every_real_checkpoint_is_read_as_spark_resumes_from_it() {
    let cases = cases();
    assert_eq!(cases.len(), 65);
    for case in cases {
        let expected = expected(&case);
        let copy = laid_out(&case, &expected);
        assert_eq!(inspected(copy.path()).await, expected["reading"], "{}", case.display());
    }
}

fn everything(root: &Path) -> BTreeMap<PathBuf, (Option<Vec<u8>>, std::time::SystemTime)> {
    let mut all = BTreeMap::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(path) = open.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let bytes = metadata.is_file().then(|| fs::read(&path).unwrap());
        if metadata.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        all.insert(path, (bytes, metadata.modified().unwrap()));
    }
    all
}

#[tokio::test]
async fn reading_leaves_a_read_only_checkpoint_as_it_was() {
    use std::os::unix::fs::PermissionsExt;
    for name in ["killed-mid-batch-spark43", "batch0-earliest-spark43", "compacted-spark43"] {
        let case = cases().into_iter().find(|case| case.ends_with(name)).unwrap();
        let expected = expected(&case);
        let copy = laid_out(&case, &expected);
        let set_mode = |directory_mode, file_mode| {
            for path in everything(copy.path()).into_keys() {
                let mode = if path.is_dir() { directory_mode } else { file_mode };
                fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            }
        };
        set_mode(0o555, 0o444);
        let before = everything(copy.path());
        assert_eq!(inspected(copy.path()).await, expected["reading"], "{name}");
        let after = everything(copy.path());
        set_mode(0o755, 0o644);
        assert_eq!(before, after, "{name}");
    }
}

//! Real checkpoints out of `fixtures/checkpoints`, laid out as Spark left them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;

/// Every case, by name.
pub(crate) fn cases() -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/checkpoints");
    let mut cases: Vec<PathBuf> =
        fs::read_dir(fixtures).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    cases.sort();
    cases
}

/// What is expected of a case.
pub(crate) fn expected(case: &Path) -> Value {
    serde_json::from_slice(&fs::read(case.join("expected.json")).unwrap()).unwrap()
}

/// A copy with what git does not keep: file times and empty directories.
pub(crate) fn laid_out(case: &Path, expected: &Value) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for directory in ["offsets", "commits"] {
        fs::create_dir(copy.path().join(directory)).unwrap();
    }
    for (name, time) in expected["file_times"].as_object().unwrap() {
        let (from, to) = (case.join("checkpoint").join(name), copy.path().join(name));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(&to, fs::read(from).unwrap()).unwrap();
        let time = chrono::DateTime::parse_from_rfc3339(time.as_str().unwrap()).unwrap();
        let since_epoch = Duration::from_millis(u64::try_from(time.timestamp_millis()).unwrap());
        File::options().write(true).open(to).unwrap().set_modified(UNIX_EPOCH + since_epoch).unwrap();
    }
    copy
}

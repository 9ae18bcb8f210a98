//! A plain listing of one local directory, for the few cases in which the store's own gives up on all of it: a name
//! that is no UTF-8, a link that leads back to where it came from.

use std::io;
use std::path::PathBuf;

use super::checkpoint_store::Children;
use crate::checkpoint::LogEntry;
use crate::measures::Moment;

/// Lists a directory; what can not be a file of Spark's is left out. A missing directory is an empty one.
pub(super) async fn list(directory: PathBuf) -> io::Result<Children> {
    let mut children = Children::default();
    let mut entries = match tokio::fs::read_dir(&directory).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(children),
        other => other?,
    };
    while let Some(entry) = entries.next_entry().await? {
        let Ok(name) = entry.file_name().into_string() else { continue };
        // follows links; fails for those that lead nowhere or in a circle
        let Ok(metadata) = tokio::fs::metadata(entry.path()).await else { continue };
        if metadata.is_dir() {
            children.directories.push(name);
        } else if metadata.is_file() {
            let modified = metadata.modified().ok().and_then(|time| {
                let since_epoch = time.duration_since(std::time::UNIX_EPOCH).ok()?;
                Some(Moment::from_millis(i64::try_from(since_epoch.as_millis()).ok()?))
            });
            children.files.push(LogEntry { name, size: metadata.len(), modified });
        }
    }
    Ok(children)
}

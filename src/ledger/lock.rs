//! One daemon per ledger: two would judge with each other's memory.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// The file whose lock a daemon holds as long as it lives, however it ends. Not the database itself: commands write
/// there too.
const LOCK: &str = "brinkwatch.lock";

/// Takes the lock of a folder; `None` when another process has it.
pub(super) fn take(folder: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(LOCK))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(cause)) => Err(cause),
    }
}

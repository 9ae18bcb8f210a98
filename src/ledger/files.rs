//! Whether a ledger's file is still the one that was opened. Another may be put in its place, or none may be left: the
//! connection goes on working, and whatever it writes is never found again.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::place::FILE_NAME;

/// What SQLite keeps beside a file that is open, under its name with these ends.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

/// Device and number of a file. The number of one that is open is given to no other.
type Identity = (u64, u64);

/// Numbers of files that were closed are given out again; hardly at the same moment.
type Born = (Identity, Option<SystemTime>);

/// A ledger's file as it was opened, with what SQLite keeps beside it.
#[derive(Debug)]
pub(super) struct Files {
    file: PathBuf,
    opened: Option<Identity>,
    beside: Vec<(PathBuf, Born)>,
}

impl Files {
    /// Before a ledger is opened: a file that is replaced while that goes on is not taken for the one that was opened.
    pub(super) fn before(folder: &Path) -> Self {
        let file = folder.join(FILE_NAME);
        Self { opened: look(&file).as_ref().map(identity), file, beside: Vec::new() }
    }

    /// Once it is open, and so is there.
    pub(super) fn opened(mut self) -> Self {
        self.opened = self.opened.or_else(|| look(&self.file).as_ref().map(identity));
        let beside = BESIDE.map(|end| self.file.with_file_name(format!("{FILE_NAME}{end}")));
        self.beside = beside.into_iter().filter_map(|path| Some((path.clone(), born(&look(&path)?)))).collect();
        self
    }

    /// Whether the file that was opened still lies in its place.
    pub(super) fn are_in_place(&self) -> bool {
        self.opened.is_some() && look(&self.file).as_ref().map(identity) == self.opened
    }

    /// Takes away what lies beside another file and is not its own: SQLite leaves it there when the file that it belongs
    /// to is gone, and would put its pages into the other one.
    pub(super) fn clear(&self) -> io::Result<()> {
        if self.are_in_place() {
            return Ok(());
        }
        for (path, before) in &self.beside {
            if look(path).as_ref().map(born).as_ref() == Some(before) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

fn look(path: &Path) -> Option<Metadata> {
    fs::metadata(path).ok()
}

fn identity(file: &Metadata) -> Identity {
    (file.dev(), file.ino())
}

fn born(file: &Metadata) -> Born {
    (identity(file), file.created().ok())
}

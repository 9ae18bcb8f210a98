//! A value that is made of files, and made again when they change: certificates are renewed and tokens are rotated
//! while the daemon runs.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::measures::with_causes;
use sha2::{Digest, Sha256};
use thiserror::Error;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};
use tracing::{info, warn};

/// Files are looked at when the value is wanted, and no more often than this.
const REST: Duration = Duration::from_secs(1);
/// Whoever wants the value waits no longer for a look: a disk that hangs must not hang those who ask.
const PATIENCE: Duration = Duration::from_millis(500);

/// Why the value cannot be made.
#[derive(Debug, Error)]
pub enum FileError {
    /// A file cannot be read.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What stands in a file is not what is wanted.
    #[error("{} cannot be used", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<dyn Error + Send + Sync>,
    },
}

/// What is wrong with one of the files, by its place among them.
pub(super) struct Flaw(pub(super) usize, pub(super) Box<dyn Error + Send + Sync>);

type Make<T> = Box<dyn Fn(&[Vec<u8>]) -> Result<T, Flaw> + Send + Sync>;

/// The newest value that could be made. When the files change into something that cannot be used, it stays: they may be
/// in the middle of being replaced, and a server without a certificate serves nobody.
pub(super) struct Renewed<T> {
    files: Vec<PathBuf>,
    make: Make<T>,
    held: Mutex<Held<T>>,
}

struct Held<T> {
    value: Arc<T>,
    /// Of the contents that it was made of.
    print: [u8; 32],
    looked_at: Instant,
    /// A look is under way. There is one at a time, however long it takes.
    is_looking: bool,
    /// What was wrong at the last look, once told.
    trouble: Option<String>,
}

impl<T: Send + Sync + 'static> Renewed<T> {
    /// Reads the files for the first time.
    ///
    /// # Errors
    /// When the value cannot be made.
    pub(super) fn read(
        files: Vec<PathBuf>,
        make: impl Fn(&[Vec<u8>]) -> Result<T, Flaw> + Send + Sync + 'static,
    ) -> Result<Arc<Self>, FileError> {
        let contents = read_all(&files)?;
        let value = make(&contents).map_err(|flaw| named(&files, flaw))?;
        let held = Held {
            value: Arc::new(value),
            print: print(&contents),
            looked_at: Instant::now(),
            is_looking: false,
            trouble: None,
        };
        Ok(Arc::new(Self { files, make: Box::new(make), held: Mutex::new(held) }))
    }

    /// The value as the files are now, or were when they could last be read in time.
    pub(super) async fn current(self: &Arc<Self>) -> Arc<T> {
        if self.is_due() {
            let this = Arc::clone(self);
            match timeout(PATIENCE, spawn_blocking(move || this.look())).await {
                Ok(Ok(())) => {}
                // What was in them crashed whoever read it: the next look may find better.
                Ok(Err(crash)) => {
                    self.held().is_looking = false;
                    warn!(files = ?self.files, error = %crash, "files cannot be used; what they held before is used");
                }
                Err(_) => warn!(files = ?self.files, "files are not read in time; what they held before is used"),
            }
        }
        Arc::clone(&self.held().value)
    }

    /// Whether it is time for a look. Says so to one who asks, however long the look then takes.
    fn is_due(&self) -> bool {
        let mut held = self.held();
        let is_due = !held.is_looking && held.looked_at.elapsed() >= REST;
        if is_due {
            (held.looked_at, held.is_looking) = (Instant::now(), true);
        }
        is_due
    }

    fn look(&self) {
        let looked = read_all(&self.files).and_then(|contents| {
            let print = print(&contents);
            if self.held().print == print {
                return Ok(None);
            }
            let value = (self.make)(&contents).map_err(|flaw| named(&self.files, flaw))?;
            Ok(Some((value, print)))
        });
        let mut held = self.held();
        held.is_looking = false;
        match looked {
            Ok(Some((value, print))) => {
                info!(files = ?self.files, "files that changed are in use");
                (held.value, held.print, held.trouble) = (Arc::new(value), print, None);
            }
            Ok(None) => {
                if held.trouble.take().is_some() {
                    info!(files = ?self.files, "files are as they were before");
                }
            }
            Err(error) => {
                let trouble = with_causes(&error);
                if held.trouble.as_ref() != Some(&trouble) {
                    warn!(files = ?self.files, error = trouble, "files that changed are not used; what they held before is");
                }
                held.trouble = Some(trouble);
            }
        }
    }

    fn held(&self) -> MutexGuard<'_, Held<T>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Without the value, which is a secret.
impl<T> fmt::Debug for Renewed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Renewed").field("files", &self.files).finish_non_exhaustive()
    }
}

fn read_all(files: &[PathBuf]) -> Result<Vec<Vec<u8>>, FileError> {
    let read =
        |path: &PathBuf| std::fs::read(path).map_err(|source| FileError::Unreadable { path: path.clone(), source });
    files.iter().map(read).collect()
}

fn named(files: &[PathBuf], Flaw(place, source): Flaw) -> FileError {
    FileError::Unusable { path: files.get(place).map(PathBuf::as_path).unwrap_or(Path::new("")).to_owned(), source }
}

fn print(contents: &[Vec<u8>]) -> [u8; 32] {
    let mut print = Sha256::new();
    for content in contents {
        print.update(content.len().to_be_bytes());
        print.update(content);
    }
    print.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(contents: &[Vec<u8>]) -> Result<i32, Flaw> {
        let text = String::from_utf8_lossy(&contents[0]);
        text.trim().parse().map_err(|error| Flaw(0, Box::new(error)))
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_file_holds_counts_a_second_later_and_what_cannot_be_used_leaves_the_value_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("number");
        std::fs::write(&file, "1").unwrap();
        let renewed = Renewed::read(vec![file.clone()], number).unwrap();
        let expect = async |content: Option<&str>, expected: i32| {
            match content {
                Some(text) => std::fs::write(&file, text).unwrap(),
                None => std::fs::remove_file(&file).unwrap(),
            }
            tokio::time::advance(REST).await;
            assert_eq!(*renewed.current().await, expected, "{content:?}");
        };
        expect(Some("2"), 2).await;
        expect(Some("nonsense"), 2).await;
        expect(None, 2).await;
        expect(Some("3"), 3).await;
        std::fs::write(&file, "4").unwrap();
        assert_eq!(*renewed.current().await, 3, "not looked at again at once");
    }

    /// A pipe that nobody writes into is a disk that hangs.
    #[tokio::test]
    async fn a_file_that_cannot_be_read_to_its_end_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("number");
        std::fs::write(&file, "1").unwrap();
        let renewed = Renewed::read(vec![file.clone()], number).unwrap();
        std::fs::remove_file(&file).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &file, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
        renewed.held().looked_at -= REST;
        assert_eq!(*renewed.current().await, 1, "what it held before, once the patience is over");
        renewed.held().looked_at -= REST;
        assert!(!renewed.is_due(), "one look at a time");
        // The look ends, and counts, as soon as it can.
        std::fs::write(&file, "2").unwrap();
        while renewed.held().is_looking {
            tokio::task::yield_now().await;
        }
        assert_eq!(*renewed.held().value, 2);
    }

    #[test]
    fn the_first_reading_says_which_file_is_wrong_and_why() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("number");
        let error = Renewed::read(vec![file.clone()], number).unwrap_err();
        assert!(
            with_causes(&error).ends_with("number cannot be read: No such file or directory (os error 2)"),
            "{error}"
        );
        std::fs::write(&file, "x").unwrap();
        let error = Renewed::read(vec![file], number).unwrap_err();
        assert!(with_causes(&error).ends_with("number cannot be used: invalid digit found in string"), "{error}");
    }
}

//! Which checkpoints a discovery believes in. One that appears is believed at once; one that vanishes only when a
//! second look does not show it either: an answer that shrank is doubted before it takes a query off the page.

use std::collections::BTreeSet;

use crate::measures::{Reason, Unread};
use crate::readers::Looked;

/// So many looks take known checkpoints for granted as long as their directories are there; the next one does not.
const FULL_LOOK_EVERY: u64 = 12;

/// The checkpoints of one place, by their paths.
#[derive(Debug, Default)]
pub(super) struct Known {
    paths: BTreeSet<String>,
    /// Those that the last look did not show.
    doubted: BTreeSet<String>,
    looks: u64,
}

impl Known {
    pub(super) const fn paths(&self) -> &BTreeSet<String> {
        &self.paths
    }

    /// Whether another look should come soon.
    pub(super) fn is_in_doubt(&self) -> bool {
        !self.doubted.is_empty()
    }

    /// What the next look may take for granted.
    pub(super) fn granted(&self) -> BTreeSet<String> {
        if self.looks.is_multiple_of(FULL_LOOK_EVERY) { BTreeSet::new() } else { &self.paths - &self.doubted }
    }

    /// Takes in what a look showed.
    ///
    /// # Errors
    /// When it did not show everything; what it did show is taken in all the same.
    pub(super) fn take(&mut self, looked: &Looked) -> Result<(), Unread> {
        self.looks += 1;
        if looked.paths.is_empty() && looked.unread.is_empty() && !self.paths.is_empty() {
            // A disk that is not mounted, a prefix that was renamed: that is not the end of all its queries.
            let known = self.paths.len();
            let detail = format!("no checkpoint is left there; the {known} that were known are kept");
            return Err(Unread::new(Reason::NotFound, detail));
        }
        let is_hidden = |path: &String| looked.unread.iter().any(|(directory, _)| lies_in(path, directory));
        let (hidden, open): (BTreeSet<String>, BTreeSet<String>) =
            (&self.paths - &looked.paths).into_iter().partition(is_hidden);
        let gone = &open & &self.doubted;
        self.doubted = &(&open - &gone) | &(&hidden & &self.doubted);
        self.paths = &(&self.paths - &gone) | &looked.paths;
        looked.unread.first().map_or(Ok(()), |(_, unread)| Err(unread.clone()))
    }
}

fn lies_in(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&str]) -> BTreeSet<String> {
        paths.iter().map(|path| (*path).to_owned()).collect()
    }

    fn shows(paths: &[&str], unread: &[&str]) -> Looked {
        let denied = |path: &&str| ((*path).to_owned(), Unread::new(Reason::Denied, "no right"));
        Looked { paths: set(paths), unread: unread.iter().map(denied).collect() }
    }

    /// Takes looks one after the other and compares what is believed after each.
    fn check(looks: &[(Looked, &[&str])]) {
        let mut known = Known::default();
        for (at, (looked, expected)) in looks.iter().enumerate() {
            drop(known.take(looked));
            assert_eq!(known.paths(), &set(expected), "after look {at}");
        }
    }

    #[test]
    fn what_appears_is_believed_at_once_and_what_vanishes_at_the_second_look() {
        check(&[
            (shows(&["a", "b"], &[]), &["a", "b"]),
            (shows(&["a", "b", "c"], &[]), &["a", "b", "c"]),
            (shows(&["a", "c"], &[]), &["a", "b", "c"]),
            (shows(&["a", "c"], &[]), &["a", "c"]),
        ]);
    }

    #[test]
    fn what_was_missed_once_and_is_back_was_never_away() {
        check(&[
            (shows(&["a", "b"], &[]), &["a", "b"]),
            (shows(&["a"], &[]), &["a", "b"]),
            (shows(&["a", "b"], &[]), &["a", "b"]),
            (shows(&["a"], &[]), &["a", "b"]),
        ]);
    }

    #[test]
    fn what_lies_below_an_unread_directory_is_kept_and_the_rest_goes_on() {
        check(&[
            (shows(&["team/a", "team/b", "teams", "x"], &[]), &["team/a", "team/b", "teams", "x"]),
            (shows(&["new"], &["team"]), &["new", "team/a", "team/b", "teams", "x"]),
            (shows(&["new"], &["team"]), &["new", "team/a", "team/b"]),
            (shows(&["new", "team/a"], &[]), &["new", "team/a", "team/b"]),
        ]);
    }

    #[test]
    fn a_place_that_shows_nothing_any_more_has_failed_however_often_it_is_looked_at() {
        let mut known = Known::default();
        assert_eq!(known.take(&shows(&[], &[])), Ok(()), "nothing was known");
        known.take(&shows(&["a"], &[])).unwrap();
        for _ in 0..3 {
            assert_eq!(known.take(&shows(&[], &[])).unwrap_err().reason, Reason::NotFound);
            assert_eq!(known.paths(), &set(&["a"]));
        }
    }

    #[test]
    fn a_look_that_did_not_show_everything_has_failed_with_the_reason() {
        let mut known = Known::default();
        assert_eq!(known.take(&shows(&["a"], &["team"])).unwrap_err().reason, Reason::Denied);
        assert_eq!(known.paths(), &set(&["a"]));
    }

    #[test]
    fn known_checkpoints_are_granted_but_for_doubted_ones_and_in_every_twelfth_look() {
        let mut known = Known::default();
        assert_eq!(known.granted(), set(&[]));
        known.take(&shows(&["a", "b"], &[])).unwrap();
        assert_eq!(known.granted(), set(&["a", "b"]));
        known.take(&shows(&["a"], &[])).unwrap();
        assert_eq!((known.granted(), known.is_in_doubt()), (set(&["a"]), true));
        let full = (0..24).filter(|_| {
            known.take(&shows(&["a"], &[])).unwrap();
            known.granted().is_empty()
        });
        assert_eq!(full.count(), 2);
    }
}

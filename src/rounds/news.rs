//! When a failure is news: when it begins, changes and ends. The counters carry the rest.

use crate::measures::Unread;

#[derive(Debug, PartialEq)]
pub(super) enum Change<'a> {
    Down(&'a Unread),
    Up,
    /// No news.
    Still(&'a Unread),
}

/// A poll that fails for another reason than the one before is news as well.
pub(super) fn change<'a>(polls_before: u64, before: Option<&Unread>, now: Option<&'a Unread>) -> Option<Change<'a>> {
    match (before, now) {
        (None, Some(unread)) => Some(Change::Down(unread)),
        (Some(old), Some(new)) if old.reason != new.reason => Some(Change::Down(new)),
        (Some(_), Some(same)) => Some(Change::Still(same)),
        (Some(_), None) => Some(Change::Up),
        (None, None) => (polls_before == 0).then_some(Change::Up),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::Reason;

    #[test]
    fn a_failure_is_told_when_it_begins_changes_and_ends() {
        let away = Unread::new(Reason::Unreachable, "connection refused");
        let denied = Unread::new(Reason::Denied, "authentication failed");
        assert_eq!(change(0, None, None), Some(Change::Up), "the first good poll");
        assert_eq!(change(7, None, None), None);
        assert_eq!(change(0, None, Some(&away)), Some(Change::Down(&away)));
        assert_eq!(change(7, Some(&away), Some(&away)), Some(Change::Still(&away)));
        assert_eq!(change(7, Some(&away), Some(&denied)), Some(Change::Down(&denied)));
        assert_eq!(change(7, Some(&denied), None), Some(Change::Up));
    }
}

//! Statements and rows, the same for both databases.

use std::borrow::Cow;

use sqlx::postgres::{PgRow, Postgres};
use sqlx::sqlite::{Sqlite, SqliteRow};
use sqlx::{Decode, Row as _, Type};

/// A statement with its values, in the order of its question marks.
#[derive(Debug)]
pub(super) struct Statement<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) values: Vec<Value<'a>>,
}

/// The values that the ledger's columns hold.
#[derive(Debug)]
pub(super) enum Value<'a> {
    Text(Option<Cow<'a, str>>),
    Number(Option<i64>),
}

/// A statement whose values are to be bound.
pub(super) fn sql<'a>(text: impl Into<Cow<'a, str>>) -> Statement<'a> {
    Statement { text: text.into(), values: Vec::new() }
}

impl<'a> Statement<'a> {
    pub(super) fn bind(mut self, value: impl Into<Value<'a>>) -> Self {
        self.values.push(value.into());
        self
    }

    /// The text as PostgreSQL wants it: `$1` for the first question mark. No text of ours quotes one.
    pub(super) fn numbered(&self) -> String {
        let mut parts = self.text.split('?');
        let mut numbered = parts.next().unwrap_or_default().to_owned();
        for (number, part) in (1..).zip(parts) {
            numbered.push_str(&format!("${number}{part}"));
        }
        numbered
    }
}

impl<'a> Value<'a> {
    /// PostgreSQL takes every letter but one, and a text with that one would be refused again and again.
    pub(super) fn without_nul(self) -> Self {
        match self {
            Self::Text(Some(text)) if text.contains('\0') => Self::Text(Some(text.replace('\0', "\u{fffd}").into())),
            other => other,
        }
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Some(text.into()))
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(Some(text.into()))
    }
}

impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(text: Option<&'a str>) -> Self {
        Self::Text(text.map(Cow::Borrowed))
    }
}

impl<'a> From<&'a Option<String>> for Value<'a> {
    fn from(text: &'a Option<String>) -> Self {
        text.as_deref().into()
    }
}

impl From<Option<String>> for Value<'_> {
    fn from(text: Option<String>) -> Self {
        Self::Text(text.map(Cow::Owned))
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Number(Some(number))
    }
}

impl From<Option<i64>> for Value<'_> {
    fn from(number: Option<i64>) -> Self {
        Self::Number(number)
    }
}

impl From<i32> for Value<'_> {
    fn from(number: i32) -> Self {
        Self::Number(Some(number.into()))
    }
}

impl From<Option<i32>> for Value<'_> {
    fn from(number: Option<i32>) -> Self {
        Self::Number(number.map(i64::from))
    }
}

/// A row of an answer.
pub(super) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

/// What a column can be read as.
pub(super) trait Column:
    for<'r> Decode<'r, Sqlite> + Type<Sqlite> + for<'r> Decode<'r, Postgres> + Type<Postgres>
{
}

impl<T> Column for T where T: for<'r> Decode<'r, Sqlite> + Type<Sqlite> + for<'r> Decode<'r, Postgres> + Type<Postgres> {}

impl Row {
    pub(super) fn get<T: Column>(&self, column: &str) -> sqlx::Result<T> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_marks_become_numbers() {
        let check = |text: &str, expected: &str| assert_eq!(sql(text).numbered(), expected);
        check("SELECT 1", "SELECT 1");
        check("? = a AND b = ?", "$1 = a AND b = $2");
        check(&"?".repeat(11), "$1$2$3$4$5$6$7$8$9$10$11");
    }

    #[test]
    fn a_letter_that_postgresql_refuses_is_replaced() {
        let Value::Text(Some(text)) = Value::from("a\0b").without_nul() else { panic!("a text") };
        assert_eq!(text, "a\u{fffd}b");
    }
}

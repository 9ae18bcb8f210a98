//! The forms that commands print findings in. JSON is a contract of its own in each command; the other three are rows.

use std::io::{self, Write};

use clap::ValueEnum;

/// How to print.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Aligned columns, for people
    #[default]
    Table,
    /// Versioned, for programs
    Json,
    /// Comma-separated values with a header line
    Csv,
    /// A Markdown table, for tickets
    Markdown,
}

/// On which side a column's cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Rows under named columns.
#[derive(Clone, Debug)]
pub struct Rows {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Rows {
    /// No rows yet, under these columns.
    #[must_use]
    pub fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row, with a cell for each column. An empty cell is an unknown value.
    pub fn push(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Aligned columns under a header; unknown values are dashes.
    ///
    /// # Errors
    /// When the output can not be written.
    pub fn write_table(&self, out: &mut dyn Write) -> io::Result<()> {
        let widths: Vec<usize> = (0..self.columns.len()).map(|column| self.width(column)).collect();
        let header: Vec<String> = self.columns.iter().map(|(name, _)| name.to_uppercase()).collect();
        for cells in std::iter::once(&header).chain(&self.rows) {
            let mut line = String::new();
            for ((cell, width), (_, align)) in cells.iter().zip(&widths).zip(&self.columns) {
                let cell = printable(if cell.is_empty() { "-" } else { cell });
                match align {
                    Align::Left => line.push_str(&format!("{cell:<width$}  ")),
                    Align::Right => line.push_str(&format!("{cell:>width$}  ")),
                }
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    /// Comma-separated, quoted where needed (RFC 4180); unknown values are empty.
    ///
    /// # Errors
    /// When the output can not be written.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let header: Vec<String> = self.columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        for cells in std::iter::once(&header).chain(&self.rows) {
            let cells: Vec<String> = cells.iter().map(|cell| csv_cell(cell)).collect();
            writeln!(out, "{}", cells.join(","))?;
        }
        Ok(())
    }

    /// A Markdown table; unknown values are empty.
    ///
    /// # Errors
    /// When the output can not be written.
    pub fn write_markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let header: Vec<String> = self.columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        writeln!(out, "| {} |", header.join(" | "))?;
        let marks = self.columns.iter().map(|(_, align)| if *align == Align::Right { "---:" } else { "---" });
        writeln!(out, "| {} |", marks.collect::<Vec<_>>().join(" | "))?;
        for cells in &self.rows {
            let cells: Vec<String> = cells.iter().map(|cell| printable(cell).replace('|', "\\|")).collect();
            writeln!(out, "| {} |", cells.join(" | "))?;
        }
        Ok(())
    }

    fn width(&self, column: usize) -> usize {
        let header = self.columns.get(column).map_or(0, |(name, _)| name.chars().count());
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| printable(cell).chars().count().max(1)).fold(header, usize::max)
    }
}

/// Text out of files, without what would move a terminal's cursor.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{FFFD}' } else { letter }).collect()
}

fn csv_cell(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Rows {
        let mut rows = Rows::new(&[("topic", Align::Left), ("committed", Align::Right)]);
        rows.push(vec!["orders|eu".to_owned(), "12".to_owned()]);
        rows.push(vec!["a \"b\", c\u{7}".to_owned(), String::new()]);
        rows
    }

    fn written(write: impl Fn(&Rows, &mut dyn Write) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&rows(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_table_aligns_numbers_to_the_right_and_shows_unknown_as_a_dash() {
        let expected = "TOPIC      COMMITTED\norders|eu         12\na \"b\", c\u{FFFD}          -\n";
        assert_eq!(written(Rows::write_table), expected);
    }

    #[test]
    fn csv_quotes_what_would_be_misread() {
        assert_eq!(written(Rows::write_csv), "topic,committed\norders|eu,12\n\"a \"\"b\"\", c\u{7}\",\n");
    }

    #[test]
    fn markdown_escapes_its_own_bars() {
        let expected = "| topic | committed |\n| --- | ---: |\n| orders\\|eu | 12 |\n| a \"b\", c\u{FFFD} |  |\n";
        assert_eq!(written(Rows::write_markdown), expected);
    }
}

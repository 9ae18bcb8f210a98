//! Lines of the text format.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::metrics::catalogue::Metric;

/// Lines by family.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    families: BTreeMap<&'static str, (&'static Metric, String)>,
}

impl Blocks {
    /// Each family that has a line, in order of names.
    pub fn families(&self) -> impl Iterator<Item = (&'static Metric, &str)> {
        self.families.values().map(|(metric, lines)| (*metric, lines.as_str()))
    }

    /// Adds a line. A value that is not a number is no value, and adds nothing.
    pub fn put(&mut self, metric: &'static Metric, labels: &Labels, value: impl Into<Sample>) {
        let value = value.into();
        if matches!(value, Sample::Real(real) if real.is_nan()) {
            return;
        }
        let (_, lines) = self.families.entry(metric.name).or_insert_with(|| (metric, String::new()));
        lines.push_str(metric.name);
        if !labels.0.is_empty() {
            lines.push('{');
            lines.push_str(&labels.0);
            lines.push('}');
        }
        lines.push(' ');
        value.write(lines);
        lines.push('\n');
    }

    /// Adds a line if there is a value.
    pub fn put_some(&mut self, metric: &'static Metric, labels: &Labels, value: Option<impl Into<Sample>>) {
        if let Some(value) = value {
            self.put(metric, labels, value);
        }
    }
}

/// `# HELP` and `# TYPE` of a family.
#[must_use]
pub fn header(metric: &Metric) -> String {
    let mut help = String::with_capacity(metric.help.len());
    for character in metric.help.chars() {
        match character {
            '\\' => help.push_str("\\\\"),
            '\n' => help.push_str("\\n"),
            other => help.push(other),
        }
    }
    let name = metric.name;
    format!("# HELP {name} {help}\n# TYPE {name} {}\n", metric.kind.word())
}

/// Labels of a line, escaped once and used for many.
#[derive(Clone, Debug, Default)]
pub struct Labels(String);

impl Labels {
    /// No label.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// These labels and one more.
    #[must_use]
    pub fn and(&self, name: &str, value: &str) -> Self {
        let mut text = String::with_capacity(self.0.len() + name.len() + value.len() + 4);
        text.push_str(&self.0);
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(name);
        text.push_str("=\"");
        for character in value.chars() {
            match character {
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                '"' => text.push_str("\\\""),
                other => text.push(other),
            }
        }
        text.push('"');
        Self(text)
    }
}

/// The value of a line. Whole numbers stay whole, whatever their size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sample {
    /// A whole number.
    Whole(i128),
    /// Any other.
    Real(f64),
}

impl Sample {
    fn write(self, text: &mut String) {
        let written = match self {
            Self::Whole(number) => write!(text, "{number}"),
            Self::Real(f64::INFINITY) => write!(text, "+Inf"),
            Self::Real(f64::NEG_INFINITY) => write!(text, "-Inf"),
            Self::Real(number) => write!(text, "{number}"),
        };
        written.expect("a String takes every text");
    }
}

impl From<bool> for Sample {
    fn from(flag: bool) -> Self {
        Self::Whole(i128::from(flag))
    }
}

impl From<i32> for Sample {
    fn from(number: i32) -> Self {
        Self::Whole(i128::from(number))
    }
}

impl From<i64> for Sample {
    fn from(number: i64) -> Self {
        Self::Whole(i128::from(number))
    }
}

impl From<u64> for Sample {
    fn from(number: u64) -> Self {
        Self::Whole(i128::from(number))
    }
}

impl From<f64> for Sample {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

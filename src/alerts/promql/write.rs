//! Expressions as text.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use super::{Compare, Condition, Fold, Matcher, Matching, Over, REPLICA_LABELS, Series, Value};
use crate::metrics::catalogue::Side;

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}

impl Condition {
    fn lines(&self) -> Vec<String> {
        match self {
            Self::Literal(value, compare, literal) => vec![format!("{value} {compare} {literal}")],
            Self::Below(left, right) => vec![left.to_string(), format!("< {right}")],
            Self::Above(left, right) => vec![left.to_string(), format!("> {right}")],
            Self::BelowPerQuery(left, right) => {
                vec![left.to_string(), format!("< on (query, kafka_cluster) group_left () {right}")]
            }
            Self::While(value, condition) => joined(&[vec![value.to_string()], condition.operand()], "and"),
            Self::Any(all) => joined(&all.iter().map(Self::operand).collect::<Vec<_>>(), "or"),
            Self::Both(left, right) => joined(&[left.operand(), right.operand()], "and"),
            Self::Unless(left, right) => joined(&[left.operand(), right.operand()], "unless"),
            Self::Absent(metric) => vec![format!("absent({})", metric.name)],
        }
    }

    /// In parentheses, unless it is a plain comparison: nobody should have to know which of `and` and `or` binds tighter.
    fn operand(&self) -> Vec<String> {
        let lines = self.lines();
        if matches!(self, Self::Literal(..) | Self::Absent(_)) {
            return lines;
        }
        let inner = lines.into_iter().map(|line| format!("  {line}"));
        std::iter::once("(".to_owned()).chain(inner).chain([")".to_owned()]).collect()
    }
}

fn joined(operands: &[Vec<String>], operator: &str) -> Vec<String> {
    operands.join(&operator.to_owned())
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Of(series) => write!(f, "{series}"),
            Self::Age(value) => write!(f, "time() - {value}"),
            Self::Left(value) => write!(f, "{value} - time()"),
            Self::Share(left, right) => write!(f, "({left}) / {right}"),
            Self::Sum(left, right) => write!(f, "({left} + {right})"),
            Self::Times(factor, value) => write!(f, "{factor} * {value}"),
            Self::AtLeast(value, literal) => write!(f, "clamp_min({value}, {literal})"),
            Self::Distinct(series) => write!(f, "count(count_values(\"value\", {series}))"),
        }
    }
}

impl Display for Series {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let side = if self.highest { Side::Max.word() } else { self.metric.worse.word() };
        let over = match self.over {
            Over::Last => "last_over_time",
            Over::Max => "max_over_time",
        };
        let matchers: Vec<String> = self.matchers.iter().map(Matcher::to_string).collect();
        let matchers = if matchers.is_empty() { String::new() } else { format!("{{{}}}", matchers.join(", ")) };
        let read = format!("{over}({}{matchers}[{}])", self.metric.name, duration(self.window));
        match &self.fold {
            Fold::Without(more) => {
                write!(f, "{side} without ({}) ({read})", [&REPLICA_LABELS, more.as_slice()].concat().join(", "))
            }
            Fold::By(labels) if labels.is_empty() => write!(f, "{side}({read})"),
            Fold::By(labels) => write!(f, "{side} by ({}) ({read})", labels.join(", ")),
            Fold::Each => f.write_str(&read),
        }
    }
}

impl Display for Matcher {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let label = self.label;
        match &self.matching {
            Matching::Is(value) => write!(f, "{label}={}", quoted(value)),
            Matching::BeginsWith(prefix) => write!(f, "{label}=~{}", quoted(&beginning(prefix))),
            Matching::NoneBegins(prefixes) => {
                let pattern = prefixes.iter().map(|prefix| beginning(prefix)).collect::<Vec<_>>().join("|");
                write!(f, "{label}!~{}", quoted(&pattern))
            }
            Matching::NoneOf(values) => match values.as_slice() {
                [value] => write!(f, "{label}!={}", quoted(value)),
                several => {
                    let pattern = several.iter().map(|value| regex_escaped(value)).collect::<Vec<_>>().join("|");
                    write!(f, "{label}!~{}", quoted(&pattern))
                }
            },
        }
    }
}

impl Display for Compare {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Below => "<",
            Self::AtMost => "<=",
            Self::Above => ">",
            Self::Equal => "==",
        })
    }
}

/// A string literal. Whatever could break a line of YAML or not be printable is escaped, so that the whole expression
/// may stand in a block of plain text.
fn quoted(value: &str) -> String {
    let mut text = String::from("\"");
    for letter in value.chars() {
        match letter {
            '"' | '\\' => text.extend(['\\', letter]),
            '\n' => text.push_str("\\n"),
            ' '..='~' => text.push(letter),
            _ if letter.is_alphanumeric() => text.push(letter),
            _ => text.push_str(&format!("\\U{:08x}", u32::from(letter))),
        }
    }
    text.push('"');
    text
}

fn beginning(prefix: &str) -> String {
    format!("{}.*", regex_escaped(prefix))
}

/// A value as a regular expression of RE2 that matches only itself. Prometheus anchors both ends.
fn regex_escaped(value: &str) -> String {
    let mut text = String::new();
    for letter in value.chars() {
        if r"\.+*?()|[]{}^$".contains(letter) {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}

/// A duration in the largest unit that holds it without a remainder.
pub(in crate::alerts) fn duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    if millis == 0 {
        return "0m".to_owned();
    }
    let units = [(3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];
    let fitting = units.into_iter().find(|(size, _)| millis.is_multiple_of(*size));
    fitting.map_or_else(String::new, |(size, unit)| format!("{}{unit}", millis / size))
}

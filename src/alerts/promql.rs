//! The part of PromQL that the rules need, as values.
//!
//! The types keep the rules' promises: a selector names a metric of the catalogue, a series is always folded and read
//! over a window, the right side of a comparison is a literal or another folded series, and a [`Condition`] has its
//! comparison outermost.

mod write;

use std::time::Duration;

use crate::metrics::catalogue::Metric;

pub(super) use write::duration;

/// What makes one series per replica where the rest is equal.
pub const REPLICA_LABELS: [&str; 2] = ["instance", "pod"];

/// Which series of a metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matcher {
    /// A label of the metric.
    pub label: &'static str,
    /// What its value must be.
    pub matching: Matching,
}

/// What a label's value must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matching {
    /// This.
    Is(String),
    /// What begins with this.
    BeginsWith(String),
    /// None of these; never empty.
    NoneOf(Vec<String>),
    /// Nothing that begins with one of these; never empty.
    NoneBegins(Vec<String>),
}

/// How a window becomes one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The newest value.
    Last,
    /// The highest: for flags where one good value in the window is good enough, and for "was it ever higher".
    Max,
}

/// Which labels are left when replicas are folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fold {
    /// All but the replica's and these.
    Without(Vec<&'static str>),
    /// Only these.
    By(Vec<&'static str>),
    /// All of them, replica by replica: for what is wrong with one process.
    Each,
}

/// A metric, folded with its worse side.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Which metric.
    pub metric: &'static Metric,
    /// Which series of it.
    pub matchers: Vec<Matcher>,
    /// How a window becomes a value.
    pub over: Over,
    /// How far back to look.
    pub window: Duration,
    /// What is left of the labels.
    pub fold: Fold,
    /// Keeps the higher of two replicas, whatever side is the worse one: what is compared against a past maximum.
    pub highest: bool,
}

/// A number per set of labels.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A metric.
    Of(Series),
    /// `time() - v`.
    Age(Box<Value>),
    /// `v - time()`.
    Left(Box<Value>),
    /// `a / b`.
    Share(Box<Value>, Box<Value>),
    /// `a + b`.
    Sum(Box<Value>, Box<Value>),
    /// `factor * v`.
    Times(f64, Box<Value>),
    /// The number, or the literal where that is more.
    AtLeast(Box<Value>, f64),
    /// How many different values the series have.
    Distinct(Series),
}

/// How two numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `==`
    Equal,
}

/// What must hold. Each is a comparison, or several.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// Against a literal.
    Literal(Value, Compare, f64),
    /// Against another number with the same labels.
    Below(Value, Value),
    /// The other way round.
    Above(Value, Value),
    /// A number per topic against one per query.
    BelowPerQuery(Value, Value),
    /// Holds with this value while the other condition does.
    While(Value, Box<Condition>),
    /// Any of them.
    Any(Vec<Condition>),
    /// Both; the value is the first one's.
    Both(Box<Condition>, Box<Condition>),
    /// The first, but not where the second holds.
    Unless(Box<Condition>, Box<Condition>),
    /// No series of this metric at all.
    Absent(&'static Metric),
}

impl Series {
    /// The newest value of a metric, folded over replicas.
    #[must_use]
    pub fn newest(metric: &'static Metric, window: Duration) -> Self {
        let fold = Fold::Without(Vec::new());
        Self { metric, matchers: Vec::new(), over: Over::Last, window, fold, highest: false }
    }

    /// Only the series with this value of a bounded label. The label is dropped: it says no more than the alert.
    #[must_use]
    pub fn only(mut self, label: &'static str, value: &'static str) -> Self {
        self.matchers.push(Matcher { label, matching: Matching::Is(value.to_owned()) });
        if let Fold::Without(dropped) = &mut self.fold {
            dropped.push(label);
        }
        self
    }

    /// Folds this label as well.
    #[must_use]
    pub fn and_without(mut self, label: &'static str) -> Self {
        if let Fold::Without(dropped) = &mut self.fold {
            dropped.push(label);
        }
        self
    }

    /// Keeps only these labels.
    #[must_use]
    pub fn by(mut self, labels: &[&'static str]) -> Self {
        self.fold = Fold::By(labels.to_vec());
        self
    }

    /// Replica by replica.
    #[must_use]
    pub fn each(self) -> Self {
        Self { fold: Fold::Each, ..self }
    }

    /// As a value.
    #[must_use]
    pub const fn value(self) -> Value {
        Value::Of(self)
    }

    /// How long ago the moment is that this metric tells.
    #[must_use]
    pub fn age(self) -> Value {
        Value::Age(Box::new(self.value()))
    }

    /// How far away the moment is that this metric tells.
    #[must_use]
    pub fn left(self) -> Value {
        Value::Left(Box::new(self.value()))
    }
}

impl Value {
    /// More than the literal.
    #[must_use]
    pub const fn above(self, literal: f64) -> Condition {
        Condition::Literal(self, Compare::Above, literal)
    }

    /// Less than the literal.
    #[must_use]
    pub const fn below(self, literal: f64) -> Condition {
        Condition::Literal(self, Compare::Below, literal)
    }

    /// The literal or less.
    #[must_use]
    pub const fn at_most(self, literal: f64) -> Condition {
        Condition::Literal(self, Compare::AtMost, literal)
    }

    /// Exactly the literal.
    #[must_use]
    pub const fn equals(self, literal: f64) -> Condition {
        Condition::Literal(self, Compare::Equal, literal)
    }
}

impl Condition {
    /// Every series that is read.
    #[must_use]
    pub fn series(&self) -> Vec<&Series> {
        match self {
            Self::Literal(value, _, _) => value.series(),
            Self::Below(left, right) | Self::Above(left, right) | Self::BelowPerQuery(left, right) => {
                [left.series(), right.series()].concat()
            }
            Self::While(value, condition) => [value.series(), condition.series()].concat(),
            Self::Any(all) => all.iter().flat_map(Self::series).collect(),
            Self::Both(left, right) | Self::Unless(left, right) => [left.series(), right.series()].concat(),
            Self::Absent(_) => Vec::new(),
        }
    }
}

impl Value {
    fn series(&self) -> Vec<&Series> {
        match self {
            Self::Of(series) | Self::Distinct(series) => vec![series],
            Self::Age(value) | Self::Left(value) | Self::Times(_, value) | Self::AtLeast(value, _) => value.series(),
            Self::Share(left, right) | Self::Sum(left, right) => [left.series(), right.series()].concat(),
        }
    }
}

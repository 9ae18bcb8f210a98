//! What which version of Spark understands.

use std::fmt;
use std::str::FromStr;

/// A version of Spark, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SparkVersion {
    major: u32,
    minor: u32,
}

impl SparkVersion {
    /// A version by its two numbers.
    #[must_use]
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Whether it knows the option.
    #[must_use]
    pub fn knows(self, form: Form) -> bool {
        self >= form.since()
    }

    /// Whether a time later than a partition's last record may be told to mean the end
    /// (`startingOffsetsByTimestampStrategy`). Before, and unless told so, Spark refuses to start.
    #[must_use]
    pub fn takes_times_past_the_end(self) -> bool {
        self >= Self::new(3, 2)
    }
}

impl FromStr for SparkVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("{text:?} is no version of Spark: write 3.5 or 4.0.1");
        let mut parts = text.trim().split(['.', '-']);
        let number = |part: Option<&str>| part.map(|part| part.parse().map_err(|_| wrong())).transpose();
        let major: u32 = number(parts.next())?.ok_or_else(wrong)?;
        let minor: u32 = number(parts.next())?.unwrap_or(0);
        if major < 2 {
            Err(format!("Spark {text} has no Structured Streaming with Kafka"))
        } else {
            Ok(Self { major, minor })
        }
    }
}

impl fmt::Display for SparkVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The option that tells a new query where to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An offset for every partition.
    Offsets,
    /// A time for every partition.
    ByTimestamp,
    /// One time for all.
    Timestamp,
}

impl Form {
    /// The option's name.
    #[must_use]
    pub const fn option(self) -> &'static str {
        match self {
            Self::Offsets => "startingOffsets",
            Self::ByTimestamp => "startingOffsetsByTimestamp",
            Self::Timestamp => "startingTimestamp",
        }
    }

    /// The first version that knows it.
    #[must_use]
    pub const fn since(self) -> SparkVersion {
        match self {
            Self::Offsets => SparkVersion::new(2, 0),
            Self::ByTimestamp => SparkVersion::new(3, 0),
            Self::Timestamp => SparkVersion::new(3, 2),
        }
    }
}

//! Who set a setting that is in force.

/// Where the value of a topic's setting comes from. It decides how a change is undone: what a topic has of its own is
/// set back, and what it took from its brokers is taken away again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetBy {
    /// The topic's own configuration.
    Topic,
    /// The brokers' configuration, in their files or while they ran.
    Brokers,
    /// Nobody: it is Kafka's default.
    Default,
    /// Our own configuration, since the brokers do not say.
    Hand,
}

impl SetBy {
    /// From the number that brokers send. Others exist, and services send numbers of their own: those say nothing.
    #[must_use]
    pub const fn of(source: i32) -> Option<Self> {
        match source {
            1 => Some(Self::Topic),
            2..=4 => Some(Self::Brokers),
            5 => Some(Self::Default),
            _ => None,
        }
    }

    /// The label's text.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Topic => "topic",
            Self::Brokers => "brokers",
            Self::Default => "default",
            Self::Hand => "by_hand",
        }
    }
}

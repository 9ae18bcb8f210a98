//! What the process says to its caller when it ends.

/// The exit codes of every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCode {
    /// All is well.
    Fine,
    /// There is a finding: loss, risk, not restartable. For the daemon: a failure at run time.
    Finding,
    /// The command line makes no sense.
    Usage,
    /// Something could not be read.
    NotRead,
    /// The configuration is invalid.
    Configuration,
}

impl ExitCode {
    /// The number that the caller sees.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Finding => 1,
            Self::Usage => 2,
            Self::NotRead => 3,
            Self::Configuration => 78,
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}

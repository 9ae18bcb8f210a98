//! One file per subcommand.

pub mod metrics;

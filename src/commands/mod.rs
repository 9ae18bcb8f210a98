//! One file per subcommand.

pub mod config;

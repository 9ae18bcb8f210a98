//! What belongs to the process as a whole: clock, signals, logging, the service manager, exit codes.

pub mod clock;
pub mod exit_code;
pub mod logging;
pub mod service;
pub mod signals;

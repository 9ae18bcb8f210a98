//! The ledger, over restarts and in trouble.

mod bed;
mod file;
mod merging;
mod pieces;
mod replaced;
mod sharing;
mod trouble;
mod versions;

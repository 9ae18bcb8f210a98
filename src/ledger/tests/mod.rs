//! The ledger, over restarts and in trouble.

mod file;
mod merging;
mod pieces;
mod trouble;

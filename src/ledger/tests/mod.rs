//! The ledger, over restarts and in trouble.

mod merging;

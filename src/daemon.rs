//! The composition: builds the rooms; start, reload, stop. Nothing else knows them all.

pub mod stores;

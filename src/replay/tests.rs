//! The format, key by key.

//! One entry of the commit log, `commits/N`. That it exists is what counts; its content only decides whether Spark
//! would start.

use super::text::{self, BadFile};

/// Versions of the commit log: 1 since Spark 2.2, 2 since 4.0, 3 since 4.2.
const NEWEST_VERSION: u32 = 3;

/// Larger commits (those that name state store files) are not fetched: they are surely not half written at the start.
pub(super) const LARGEST_WORTH_READING: u64 = 4096;

/// Checks the version line. `v1` alone is a valid commit.
pub(super) fn check(bytes: &[u8]) -> Result<u32, BadFile> {
    let text = text::decode(bytes)?;
    text::version(text::lines(text).next().unwrap_or_default(), NEWEST_VERSION)
}

//! The text form that all of Spark's logs share: lines, the first of which names a version.

/// Why a log file says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BadFile {
    /// No byte in it, or nothing but the zeros and blanks that a power loss leaves behind.
    Empty,
    /// It makes no sense, for this reason.
    Malformed(String),
    /// It has the right shape, and nobody can say for sure what Spark makes of it.
    Doubtful(String),
    /// A format that we do not know.
    Unsupported(String),
}

/// The text of a log file. Spark decodes strictly, and so do we.
pub(super) fn decode(bytes: &[u8]) -> Result<&str, BadFile> {
    if is_blank(bytes) {
        return Err(BadFile::Empty);
    }
    // Spark 2.0 wrote serialized Java objects
    if bytes.starts_with(&[0xAC, 0xED]) {
        return Err(BadFile::Unsupported("a serialized Java object, as Spark 2.0 wrote".to_owned()));
    }
    std::str::from_utf8(bytes).map_err(|_| BadFile::Malformed("not UTF-8 text".to_owned()))
}

/// Whether a file holds nothing: no byte, or only blanks and zeros.
pub(super) fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0 || byte.is_ascii_whitespace())
}

/// Splits as Java's `readLine` does: at `\n`, `\r` and `\r\n`, and the last terminator starts no further line.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some(end) = rest.find(['\n', '\r']) else {
            return Some(std::mem::take(&mut rest));
        };
        let (line, tail) = rest.split_at(end);
        rest = tail.strip_prefix("\r\n").unwrap_or_else(|| tail.get(1..).unwrap_or_default());
        Some(line)
    })
}

/// The number of a version line such as `v1`, when it is one that we know. Strict as Spark is: a byte order mark before
/// it or a blank after it is an error.
pub(super) fn version(line: &str, newest_known: u32) -> Result<u32, BadFile> {
    let number =
        line.strip_prefix('v').and_then(|digits| digits.parse::<i32>().ok()).and_then(|n| u32::try_from(n).ok());
    match number {
        Some(number @ 1..) if number <= newest_known => Ok(number),
        Some(1..) => Err(BadFile::Unsupported(format!("version {}", shortened(line)))),
        _ => Err(BadFile::Malformed(format!("\"{}\" is no version line", shortened(line)))),
    }
}

/// The start of a library's words, which may repeat all of a file's content.
pub(super) fn cut(words: &str) -> String {
    const MOST: usize = 200;
    match words.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}

/// The start of a text, so that a strange file does not fill a page.
pub(super) fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", text[..end].escape_debug()),
        None => text.escape_debug().to_string(),
    }
}

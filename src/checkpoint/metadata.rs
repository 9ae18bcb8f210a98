//! `metadata`: one line of JSON with the query's id.

use serde::Deserialize;

use super::text::cut;

#[derive(Deserialize)]
struct StreamMetadata {
    id: String,
}

/// The query's id, or what is wrong with the file.
pub(super) fn query_id(bytes: &[u8]) -> Result<String, String> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err("it is empty".to_owned());
    }
    let metadata: StreamMetadata = serde_json::from_slice(bytes).map_err(|error| cut(&error.to_string()))?;
    let mut groups = metadata.id.split('-');
    let hexadecimal = |group: &str| (1..=16).contains(&group.len()) && group.bytes().all(|b| b.is_ascii_hexdigit());
    if groups.clone().count() != 5 || !groups.all(hexadecimal) {
        return Err("its id is no UUID".to_owned());
    }
    Ok(metadata.id)
}

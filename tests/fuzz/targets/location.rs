//! The bytes are a location, as an operator writes it.

use brinkwatch::readers::stores::{StoreError, shown};

use super::measured;

/// Runs it.
pub fn run(data: &[u8]) {
    let Ok(location) = std::str::from_utf8(data) else { return };
    match measured(location.len(), || shown(location)) {
        // what is shown can be given again, and means the same
        Ok(place) => assert_eq!(shown(&place).unwrap(), place),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Some((scheme, rest)) = location.split_once("://") {
        let with_password = format!("{scheme}://user:hunter2@{rest}");
        assert!(matches!(shown(&with_password), Err(StoreError::HoldsSecret)), "{with_password}");
    }
}

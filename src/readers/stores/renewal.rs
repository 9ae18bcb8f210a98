//! A store's secrets change while the daemon runs: keys are rotated. Files of secrets are read when a store is opened,
//! and again when it denies something; what has changed makes a new client.

use std::sync::{Arc, Mutex, PoisonError};

use object_store::ObjectStore;
use tracing::{info, warn};

use super::clients;
use super::location::{Address, StoreError};
use super::settings::{Patience, Secrets, StoreSettings};
use crate::measures::with_causes;

/// A client, and what is needed to make another one.
#[derive(Debug)]
pub(super) struct Renewal {
    address: Address,
    settings: Option<StoreSettings>,
    patience: Patience,
    made: Mutex<(Arc<dyn ObjectStore>, Secrets)>,
}

impl Renewal {
    /// Makes the first client.
    pub(super) fn open(
        address: &Address,
        settings: Option<&StoreSettings>,
        patience: Patience,
    ) -> Result<Self, StoreError> {
        let secrets = settings.map(StoreSettings::secrets).transpose()?.unwrap_or_default();
        let client = clients::client(address, settings, &secrets, patience)?;
        Ok(Self {
            address: address.clone(),
            settings: settings.cloned(),
            patience,
            made: Mutex::new((client, secrets)),
        })
    }

    /// The client as it is now.
    pub(super) fn client(&self) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.made.lock().unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Another client than the one that was denied something, if the secrets have changed since that one was made.
    pub(super) fn after_denial(&self, denied: &Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        let settings = self.settings.as_ref()?;
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&made.0, denied) {
            // somebody else was denied something at the same time
            return Some(Arc::clone(&made.0));
        }
        let renewed = settings.secrets().and_then(|secrets| {
            if secrets == made.1 {
                return Ok(None);
            }
            let client = clients::client(&self.address, self.settings.as_ref(), &secrets, self.patience)?;
            Ok(Some((client, secrets)))
        });
        match renewed {
            Ok(None) => None,
            Ok(Some(renewed)) => {
                info!(kind = settings.kind.label(), "a store denied something, and has new secrets since");
                *made = renewed;
                Some(Arc::clone(&made.0))
            }
            Err(error) => {
                // in the midst of a rotation a file may be away for a moment; the next denial looks again
                let error = with_causes(&error);
                warn!(
                    kind = settings.kind.label(),
                    error, "a store denied something, and its secrets cannot be read again"
                );
                None
            }
        }
    }
}

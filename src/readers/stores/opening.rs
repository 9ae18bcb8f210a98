//! All stores of a process: what lies in the same store shares one client, one limit and one rest.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStore;

use super::checkpoint_store::CheckpointStore;
use super::location::{self, Address, StoreError};
use super::renewal::Renewal;
use super::settings::{Patience, REQUESTS_AT_ONCE, StoreKind, StoreSettings};
use super::shared::SharedStore;

/// Opens checkpoints, and remembers the stores they lie in.
#[derive(Debug)]
pub struct Stores {
    /// By the names that queries give.
    settings: BTreeMap<String, StoreSettings>,
    patience: Patience,
    /// By the name of their settings and their address.
    opened: BTreeMap<(Option<String>, Address), Arc<SharedStore>>,
}

/// Without settings, for readings of half a minute.
impl Default for Stores {
    fn default() -> Self {
        Self::new(BTreeMap::new(), Duration::from_secs(30))
    }
}

/// One place, however it is written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlaceKey(Option<String>, Address, String);

impl Stores {
    /// With settings by name. Requests are given up early enough for readings that have `deadline` each.
    #[must_use]
    pub fn new(settings: BTreeMap<String, StoreSettings>, deadline: Duration) -> Self {
        Self { settings, patience: Patience::within(deadline), opened: BTreeMap::new() }
    }

    /// Takes over the clients that `before` has open in stores whose settings are as they were, with what they know of
    /// their stores.
    pub fn keep(&mut self, before: &Self, is_same: impl Fn(Option<&str>) -> bool) {
        let kept = before.opened.iter().filter(|((name, _), _)| is_same(name.as_deref()));
        self.opened.extend(kept.map(|(key, shared)| (key.clone(), Arc::clone(shared))));
    }

    /// Opens a location with the settings of a name, or with none. Nothing is read yet.
    ///
    /// # Errors
    /// When the location makes no sense, no settings have that name, or they are those of another kind of store.
    pub fn open(&mut self, location: &str, store: Option<&str>) -> Result<CheckpointStore, StoreError> {
        let settings = match store {
            None => None,
            Some(name) => match self.settings.get(name) {
                Some(settings) => Some(settings.clone()),
                None => return Err(StoreError::UnknownStore { name: name.to_owned() }),
            },
        };
        self.open_shared(location, store, settings.as_ref())
    }

    /// From now on, what lies in a location's store is read out of `store`: files in memory take the place of a cloud.
    /// Queries that name settings are not meant.
    ///
    /// # Errors
    /// When the location makes no sense.
    pub fn replace(&mut self, location: &str, store: Arc<dyn ObjectStore>) -> Result<(), StoreError> {
        let address = location::parse(location)?.address;
        let shared = SharedStore::new(store, REQUESTS_AT_ONCE, None);
        self.opened.insert((None, address), Arc::new(shared));
        Ok(())
    }

    /// What two locations have in common that mean one place, however they are written: the server, the store on it,
    /// the path.
    ///
    /// # Errors
    /// When the location makes no sense.
    pub fn place(&self, location: &str, store: Option<&str>) -> Result<PlaceKey, StoreError> {
        let place = location::parse(location)?;
        let settings = store.and_then(|name| self.settings.get(name));
        let endpoint = settings.and_then(|settings| settings.endpoint.clone());
        Ok(PlaceKey(endpoint, place.address, place.root.to_string()))
    }

    pub(super) fn open_with(
        &mut self,
        location: &str,
        settings: Option<&StoreSettings>,
    ) -> Result<CheckpointStore, StoreError> {
        self.open_shared(location, None, settings)
    }

    fn open_shared(
        &mut self,
        location: &str,
        name: Option<&str>,
        settings: Option<&StoreSettings>,
    ) -> Result<CheckpointStore, StoreError> {
        let place = location::parse(location)?;
        if let Some(kind) = settings.map(|settings| settings.kind).filter(|kind| !fits(*kind, &place.address)) {
            return Err(StoreError::OtherKind { location: location.to_owned(), kind: kind.label() });
        }
        let key = (name.map(str::to_owned), place.address.clone());
        let shared = match self.opened.get(&key) {
            Some(shared) => Arc::clone(shared),
            None => {
                let shared = Arc::new(share(&place.address, settings, self.patience)?);
                self.opened.insert(key, Arc::clone(&shared));
                shared
            }
        };
        Ok(CheckpointStore::new(shared, place))
    }
}

fn share(address: &Address, settings: Option<&StoreSettings>, patience: Patience) -> Result<SharedStore, StoreError> {
    let renewal = Renewal::open(address, settings, patience)?;
    if *address == Address::Local {
        return Ok(SharedStore::of_this_machine(renewal.client()));
    }
    let at_once = settings.map_or(REQUESTS_AT_ONCE, |settings| settings.requests_at_once);
    // the clients of the clouds keep their limits themselves
    let limit = matches!(address, Address::Hdfs { .. }).then_some(patience.request);
    Ok(SharedStore::renewed(renewal, at_once, limit))
}

fn fits(kind: StoreKind, address: &Address) -> bool {
    match address {
        Address::Local => false,
        Address::S3 { .. } => kind == StoreKind::S3,
        Address::Azure { .. } => kind == StoreKind::Azure,
        Address::Gcs { .. } => kind == StoreKind::Gcs,
        Address::Hdfs { .. } => kind == StoreKind::Hdfs,
    }
}

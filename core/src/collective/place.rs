//! Room for an object that backends of several ranks share.

use std::{
    any::Any,
    fmt,
    sync::{Arc, OnceLock},
};

/// Room for what backends of the ranks have in common.
#[derive(Default)]
pub(crate) struct SharedPlace(OnceLock<Arc<dyn Any + Send + Sync>>);

impl SharedPlace {
    pub(crate) fn get<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<Arc<T>> {
        Arc::clone(self.0.get_or_init(|| Arc::new(make()))).downcast().ok()
    }
}

impl fmt::Debug for SharedPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedPlace({})", if self.0.get().is_some() { "taken" } else { "free" })
    }
}

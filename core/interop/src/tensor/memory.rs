//! The memory of tensors, and the object attached to it.

use std::{
    any::Any,
    ops::Deref,
    sync::{Arc, OnceLock},
};

use devarray::ErasedArray;

use crate::Door;

/// The memory of tensors, and the object attached to it.
pub(super) struct Memory<D: Door> {
    pub(super) array: ErasedArray<D>,
    attached: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl<D: Door> Memory<D> {
    pub(super) fn new(array: ErasedArray<D>) -> Arc<Self> {
        Arc::new(Self { array, attached: OnceLock::new() })
    }

    /// The attached object, made by `new` if there is none yet; none if it is of another type. No
    /// lock is held while `new` or a destructor runs.
    pub(super) fn attached<T: Any + Send + Sync>(&self, new: impl FnOnce() -> T) -> Option<&T> {
        if self.attached.get().is_none() {
            // Another thread, or `new` itself, may have been faster.
            drop(self.attached.set(Box::new(new())));
        }
        self.attached.get()?.downcast_ref()
    }
}

impl<D: Door> Deref for Memory<D> {
    type Target = ErasedArray<D>;

    fn deref(&self) -> &ErasedArray<D> {
        &self.array
    }
}

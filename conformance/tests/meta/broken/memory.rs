//! The memory of a broken device.
#![allow(unsafe_code)] // implements the unsafe traits of memory, wrongly on purpose

use std::{
    mem::ManuallyDrop,
    ops::Deref,
    sync::{Arc, Weak},
};

use devarray::backend::{Buffer, Device, HostBuffer};

use super::Bug;

/// Device memory that may report a wrong address.
#[derive(Debug)]
pub(crate) struct Placed<B>(Arc<Known<B>>);

/// The memory, which captured operations also know.
#[derive(Debug)]
pub(crate) struct Known<B> {
    pub(super) inner: B,
    shift: u64,
}

impl<B> Placed<B> {
    pub(super) fn new(inner: B, bug: Bug) -> Self {
        Self(Arc::new(Known { inner, shift: if bug == Bug::AddressesOff { 16 } else { 0 } }))
    }

    /// A reference by which it can be found while it exists.
    pub(super) fn downgrade(&self) -> Weak<Known<B>> {
        Arc::downgrade(&self.0)
    }

    /// The memory of such a reference, if it exists.
    pub(super) fn upgrade(known: &Weak<Known<B>>) -> Option<Self> {
        known.upgrade().map(Self)
    }

    /// The wrapped memory; none while something else uses it.
    pub(super) fn into_inner(self) -> Option<B> {
        Arc::into_inner(self.0).map(|known| known.inner)
    }
}

impl<B> Deref for Placed<B> {
    type Target = Known<B>;

    fn deref(&self) -> &Known<B> {
        &self.0
    }
}

// SAFETY: the wrapped buffer keeps the promises, except for its address if that is the bug.
unsafe impl<B: Buffer> Buffer for Placed<B> {
    fn len_bytes(&self) -> usize {
        self.inner.len_bytes()
    }

    fn address(&self) -> u64 {
        self.inner.address() + self.shift
    }
}

/// Pinned memory that is never freed.
#[derive(Debug)]
pub(crate) struct Kept<D: Device>(pub(super) ManuallyDrop<D::HostBuffer>);

impl<D: Device> Kept<D> {
    pub(super) fn new(inner: D::HostBuffer) -> Self {
        Self(ManuallyDrop::new(inner))
    }
}

// SAFETY: the wrapped buffer keeps the promises, and is never freed.
unsafe impl<D: Device> HostBuffer for Kept<D> {
    fn len_bytes(&self) -> usize {
        self.0.len_bytes()
    }

    fn as_ptr(&self) -> *mut u8 {
        self.0.as_ptr()
    }
}

//! Pinning a program's own memory for a while.
#![allow(unsafe_code)] // registers memory that is borrowed for longer than it stays registered

use std::{num::NonZeroUsize, panic::Location};

use crate::{
    Context, Result,
    backend::RegisterHost,
    context::ContextCore,
    layout::Element,
    memory::{LedgerEntry, MemoryKind},
};

impl<D: RegisterHost> Context<D> {
    /// Pins a slice, runs `f` with it, and ends the pinning, also when `f` unwinds. May block for
    /// as long as the driver takes, which for a large slice is longer than a copy. So this is for
    /// memory that is copied often.
    ///
    /// Inside, copies of [scopes](crate::StreamHandle::scope) run at the speed of the link, and in
    /// the background. Without pinning they copy the same bytes, more slowly.  Memory that is
    /// pinned already is used as it is: calls nest, and a part of a pinned slice can be pinned
    /// again.
    ///
    /// Exactly the bytes of the slice are pinned. Elements of a layout in a larger
    /// slice, with strides of any sign, lie in `&mut data[layout.span()]`.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// let mut data = vec![1, 2, 3, 4];
    /// let mut a = Array::zeros(&stream, &[4])?;
    /// context.with_pinned(&mut data, |data| stream.scope(|s| s.upload(data, &mut a.view_mut())))???;
    /// assert_eq!(a.to_vec(&stream)?, data);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`](crate::Error::Unsupported) and any other device error: `f` was not
    /// run. An error while the pinning ends goes to [`take_errors`](Self::take_errors).
    ///
    /// # Panics
    ///
    /// Resumes the panic of `f`, after the pinning ended.
    #[track_caller]
    #[doc(alias = "pinned")]
    #[doc(alias = "register_host_memory")]
    pub fn with_pinned<T: Element, R>(&self, memory: &mut [T], f: impl FnOnce(&mut [T]) -> R) -> Result<R> {
        self.with_all_pinned([memory], |[memory]| f(memory))
    }

    /// Like [`with_pinned`](Self::with_pinned), for several slices at once: all are pinned, or
    /// none. Slices of several types nest.
    ///
    /// # Errors
    ///
    /// The errors of [`with_pinned`](Self::with_pinned).
    ///
    /// # Panics
    ///
    /// The panics of [`with_pinned`](Self::with_pinned).
    #[track_caller]
    pub fn with_all_pinned<'m, T: Element, R, const N: usize>(
        &self,
        mut memory: [&'m mut [T]; N],
        f: impl FnOnce([&mut [T]; N]) -> R,
    ) -> Result<R> {
        let mut pinned = Pinned { core: &self.0, ranges: Vec::with_capacity(N) };
        for slice in &mut memory {
            let Some(len_bytes) = NonZeroUsize::new(size_of_val(&**slice)) else { continue };
            // SAFETY: the slice is borrowed for `'m`, which outlives this frame; the registration
            // ends in this frame, when `pinned` is dropped.
            let range = unsafe { self.0.device.register_host(slice.as_mut_ptr().cast(), len_bytes) }?;
            let entry = self.0.pinned.enter(MemoryKind::Registered, len_bytes.get(), Location::caller());
            pinned.ranges.push((range, entry));
        }
        let memory: [&'m mut [T]; N] = memory;
        Ok(f(memory))
    }
}

/// Ranges that stay pinned until this is dropped. The frame that made it drops it, so nobody can
/// forget it.
struct Pinned<'a, D: RegisterHost> {
    core: &'a ContextCore<D>,
    ranges: Vec<(D::Registration, LedgerEntry)>,
}

impl<D: RegisterHost> Drop for Pinned<'_, D> {
    /// Ends the last pinning first. Nothing in flight uses the memory: whatever lends a borrowed
    /// slice to the device waits inside the borrow, or aborts.
    fn drop(&mut self) {
        let (mut entries, mut errors) = (Vec::new(), Vec::new());
        while let Some((range, entry)) = self.ranges.pop() {
            errors.extend(self.core.device.unregister_host(range).err());
            entries.push(entry);
        }
        // Reported only now, because reporting calls the program's hook, and locks.
        errors.into_iter().for_each(|error| self.core.report(error));
        entries.into_iter().for_each(|entry| self.core.pinned.leave(entry));
    }
}

//! Memory that host and device both reach: mapped arrays, managed arrays, and all arrays of a device
//! that works in host memory.
//!
//! Host and device share one memory. The device sees an array: operations take views of it, and
//! hazard tracking orders them as usual. The host sees a slice, but only while no operation of the
//! device is in the way:
//!
//! - [`host_mut`](MappedArray::host_mut) borrows the array exclusively, so no view lives. It
//!   waits for every operation on it that is in flight, and returns a slice to write. No operation
//!   can be submitted until the slice is gone.
//! - [`host`](MappedArray::host) borrows the array shared and waits for operations that write it:
//!   host and device may read together.
//!
//! Nothing depends on a destructor: forgetting a slice, or unwinding past it, only ends a borrow.
//! If a wait cannot say that the device is finished, the call returns an error and no slice.
#![allow(unsafe_code)] // shows memory as slices while no operation is in the way

mod managed;
mod mapped;
mod reached;

use std::{slice, sync::Arc};

use crate::{
    Array, ErasedArray, Result,
    allocation::Allocation,
    backend::{DeclaredAccess, Device, Event, Quiesced},
    context::ContextCore,
    deferred_drop::Owner,
    hazards::{Position, RecordedEvent},
    layout::{Element, Layout},
    lock::lock,
    operations::Elements,
};

pub use managed::ManagedArray;
pub use mapped::MappedArray;

/// The common part of both kinds. The array itself is never given out, only views of it, so its
/// memory stays the memory at `start`.
#[derive(Debug)]
struct Unified<T: Element, D: Device> {
    array: Array<T, D>,
    start: Start,
}

/// The first byte on the host's side.
#[derive(Debug, Clone, Copy)]
struct Start(*mut u8);

// SAFETY: access through the pointer is ordered by `Unified`, whose references say who may have it.
unsafe impl Send for Start {}
// SAFETY: as for `Send`.
unsafe impl Sync for Start {}

impl<T: Element, D: Device> Unified<T, D> {
    /// Makes an array of no elements.
    fn empty(core: &Arc<ContextCore<D>>, layout: Layout) -> Self {
        let allocation = Allocation::empty(core);
        Self::of(allocation, layout, Start(std::ptr::dangling_mut::<T>().cast()))
    }

    /// Makes an array on `buffer`, whose bytes the host finds at `start`; `owner` owns them.
    fn new(
        core: &Arc<ContextCore<D>>,
        layout: Layout,
        buffer: D::Buffer,
        start: Start,
        owner: Owner,
    ) -> Self {
        Self::of(Allocation::lent(core, buffer, owner), layout, start)
    }

    fn of(allocation: Allocation<D>, layout: Layout, start: Start) -> Self {
        let erased = ErasedArray::of_allocation(Arc::new(allocation), layout, T::BYTES);
        Self { array: Array::of_erased(erased), start }
    }

    fn allocation(&self) -> &Arc<Allocation<D>> {
        self.array.as_erased().allocation()
    }

    #[track_caller]
    fn host(&self) -> Result<&[T]> {
        settle(&self.array.as_erased().elements(), false)?;
        // SAFETY: the memory holds the elements, initialized and aligned (`HostBuffer`), for as
        // long as the array lives. Operations that write it are finished, and new ones need a view
        // from `&mut self`.
        Ok(unsafe { slice::from_raw_parts(self.start.0.cast(), self.array.layout().len()) })
    }

    #[track_caller]
    fn host_mut(&mut self) -> Result<&mut [T]> {
        settle(&self.array.as_erased().elements(), true)?;
        // SAFETY: as in `host`. All operations on it are finished, and new ones need a view, of
        // which none lives.
        Ok(unsafe { slice::from_raw_parts_mut(self.start.0.cast(), self.array.layout().len()) })
    }
}

/// Waits for operations that are in the way of the host's reading these elements or writing them.
#[track_caller]
fn settle<D: Device>(elements: &Elements<'_, D>, write: bool) -> Result<()> {
    let Elements { allocation: memory, layout, item_bytes } = *elements;
    let core = &memory.core;
    let mut tracker = lock(&core.tracker);
    let pending = tracker.pending(&memory.uses, memory.len_bytes(), write);
    let marks: Vec<(usize, RecordedEvent<D>)> = tracker.marks_of(&pending)?;
    let covered = tracker.covered_by(&memory.uses, memory.len_bytes(), write);
    drop(tracker);
    let mut wait = Position { covered, ..Position::default() };
    for (lane, mark) in marks {
        mark.event.synchronize().into_result()?;
        let position = mark.position(lane);
        core.host_waited(&position);
        wait.covered.add(position.covered);
    }
    core.program_waited(Quiesced::Done, &wait).into_result()?;
    if let Some(buffer) = memory.any_buffer().filter(|_| !layout.is_empty()) {
        core.device.note_host_access(&DeclaredAccess::new(buffer, layout, item_bytes, write));
    }
    Ok(())
}

/// The methods that both kinds have.
macro_rules! unified_methods {
    () => {
        /// Borrows the whole array as device memory, to read. Its views and slices are in the same
        /// memory.
        #[must_use]
        pub fn view(&self) -> ArrayView<'_, T, D> {
            self.unified.array.view()
        }

        /// Borrows the whole array as device memory, to write.
        #[must_use]
        pub fn view_mut(&mut self) -> ArrayViewMut<'_, T, D> {
            self.unified.array.view_mut()
        }

        /// The elements in C order, in place. Blocks until no operation in flight writes them.
        /// Operations that read continue, and more may be submitted.
        ///
        /// # Errors
        ///
        /// An operation in flight, or the wait, failed.
        #[track_caller]
        pub fn host(&self) -> Result<&[T]> {
            self.unified.host()
        }

        /// The elements in C order, in place, to write. Blocks until no operation in flight uses
        /// them. No operation can be submitted while the slice is borrowed; later operations see
        /// what was written.
        ///
        /// # Errors
        ///
        /// An operation in flight, or the wait, failed.
        #[track_caller]
        pub fn host_mut(&mut self) -> Result<&mut [T]> {
            self.unified.host_mut()
        }

        /// The context its memory belongs to.
        #[must_use]
        pub fn context(&self) -> Context<D> {
            self.unified.array.context()
        }

        /// The layout of the elements: dense, in C order.
        #[must_use]
        pub fn layout(&self) -> &Layout {
            self.unified.array.layout()
        }

        shape_methods!();
        array_transforms!(ArrayView<'_, T, D>, Array<T, D>);

        fn with_layout(&self, layout: Layout) -> ArrayView<'_, T, D> {
            self.unified.array.with_layout(layout)
        }

        /// The device address; 0 if there are no elements. Not a host pointer.
        #[must_use]
        pub fn address(&self) -> u64 {
            self.unified.allocation().address()
        }
    };
}
use unified_methods;

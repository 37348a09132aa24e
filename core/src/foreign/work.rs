//! Work of other code on arrays.

use std::fmt;

use smallvec::SmallVec;

use crate::{
    ArrayView, ArrayViewMut, Result, StreamHandle,
    allocation::AllocationAccess,
    array::{Element, ErasedView, ErasedViewMut},
    backend::{ChecksForeign as _, DeclaredAccess, Device},
    operations::Elements,
};

/// The declared accesses of an operation of other code. [`StreamHandle::foreign_work`] begins it.
#[must_use = "nothing is ordered before `enqueue`"]
pub struct ForeignWork<'a, D: Device> {
    stream: &'a StreamHandle<D>,
    touches: SmallVec<[AllocationAccess<'a, D>; 4]>,
    /// The exact elements of these accesses.
    declared: SmallVec<[DeclaredAccess<'a, D::Buffer>; 4]>,
}

impl<D: Device> StreamHandle<D> {
    /// Declares an operation that this library does not enqueue itself: a kernel of the program, a
    /// call of another library.
    ///
    /// It is ordered like any operation: after conflicting work on other streams (a strict stream
    /// refuses it instead), and before later conflicting work. The declaration must cover all
    /// memory of arrays that the work touches. Nobody can check that on hardware. The simulator
    /// can: it compares the work that the closure enqueues on the given stream. Memory that other
    /// code allocated for itself, and lent to no array, need not be declared.
    ///
    /// ```
    /// use std::num::NonZeroUsize;
    /// use devarray::{Array, Context, backend::{Device, FillOp, Stream}, copy::Plan, Layout};
    /// use devarray_mock::MockDevice;
    ///
    /// let context = Context::new(MockDevice::new())?;
    /// let (mine, theirs) = (context.stream()?, context.stream()?);
    /// let mut a = Array::<u8, _>::zeros(&mine, &[100])?;
    ///
    /// // As if a kernel of our own were launched on the other stream: it sets the second half to 7.
    /// let (second_half, limits) = (Layout::new(&[50], &[1], 50)?, context.device().info().capabilities.clone());
    /// let plan = Plan::new(&second_half, &second_half, 1, &limits)?;
    /// let target = a.view().buffer().map(|buffer| buffer.twin());
    /// theirs.foreign_work().writes(&mut a.view_mut().slice_axis(0, 50..)?).enqueue(|stream| {
    ///     // SAFETY: inside the array, on the bytes that were declared.
    ///     target.iter().try_for_each(|target| stream.fill(&unsafe { FillOp::new_unchecked(target, &plan, &[7]) }))
    /// })?;
    ///
    /// assert_eq!(a.to_vec(&mine)?[48..52], [0, 0, 7, 7]); // waits for the work of the other stream
    /// assert_eq!(context.device().report().findings, []);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn foreign_work(&self) -> ForeignWork<'_, D> {
        ForeignWork { stream: self, touches: SmallVec::new(), declared: SmallVec::new() }
    }
}

impl<'a, D: Device> ForeignWork<'a, D> {
    /// The work reads these elements.
    pub fn reads<T: Element>(self, view: &'a ArrayView<'_, T, D>) -> Self {
        self.touches(&view.elements(), false)
    }

    /// The work reads and writes these elements.
    pub fn writes<T: Element>(self, view: &'a mut ArrayViewMut<'_, T, D>) -> Self {
        self.touches(&view.elements(), true)
    }

    /// Like [`reads`](Self::reads), of erased elements.
    pub fn reads_erased(self, view: &'a ErasedView<'_, D>) -> Self {
        self.touches(&view.elements(), false)
    }

    /// Like [`writes`](Self::writes), of erased elements.
    pub fn writes_erased(self, view: &'a mut ErasedViewMut<'_, D>) -> Self {
        self.touches(&view.elements(), true)
    }

    fn touches(mut self, elements: &Elements<'a, D>, write: bool) -> Self {
        if !elements.layout.is_empty() {
            let Elements { allocation, layout, item_bytes } = *elements;
            self.touches.push(elements.touch(write));
            // `None` in a recording, which refuses the work.
            let buffer = allocation.any_buffer();
            self.declared.extend(buffer.map(|buffer| DeclaredAccess { buffer, layout, item_bytes, write }));
        }
        self
    }

    /// Orders the stream, then lets `enqueue` put the work on it. Does not synchronize.
    ///
    /// No lock is held meanwhile, so `enqueue` may use the library freely. Work that it enqueues
    /// elsewhere, or later, is not ordered. Its error is returned unchanged. Even if it fails or
    /// panics, it is assumed to have enqueued something.
    ///
    /// # Errors
    ///
    /// - [`Error::DeviceMismatch`](crate::Error::DeviceMismatch): an array is of another context. Here and
    ///   in the next two cases, `enqueue` was not called.
    /// - [`Error::Hazard`](crate::Error::Hazard): the stream is strict, and conflicting work is not
    ///   ordered before this.
    /// - The device could not order the stream.
    /// - Any error of `enqueue`.
    #[track_caller]
    pub fn enqueue<R>(self, enqueue: impl FnOnce(&D::Stream) -> Result<R>) -> Result<R> {
        const OPERATION: &str = "foreign_work";
        let stream = &*self.stream.0;
        for touch in &self.touches {
            stream.check_unrecorded(OPERATION, [touch.allocation])?;
        }
        drop(stream.order(OPERATION, &self.touches)?);
        // The accesses are noted when the work is on the stream, because an event recorded before
        // then does not cover it. No bytes of theirs are used between, because the views are borrowed until then.
        let _noted = Noted(&self);
        match stream.raw.for_foreign_work(&self.declared) {
            Some(told) => enqueue(&told),
            None => enqueue(&stream.raw),
        }
    }
}

/// Notes the accesses when it is dropped.
struct Noted<'w, 'a, D: Device>(&'w ForeignWork<'a, D>);

impl<D: Device> Drop for Noted<'_, '_, D> {
    fn drop(&mut self) {
        self.0.stream.0.submission().note_late(&self.0.touches);
    }
}

impl<D: Device> fmt::Debug for ForeignWork<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ForeignWork({} accesses, {:?})", self.touches.len(), self.stream)
    }
}

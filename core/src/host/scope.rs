//! Copies between borrowed host memory and the device, in the background. It has the shape of
//! `std::thread::scope`.
#![allow(unsafe_code)] // hands borrowed memory to operations that end before the borrow does

use std::{
    fmt,
    io::{self, Write as _},
    marker::PhantomData,
    panic::{self, AssertUnwindSafe},
    process,
};

use crate::{
    Result,
    array::{AsArrayView, AsArrayViewMut, Element, check_count},
    backend::{Device, Quiesced},
    kernel::Running,
    stream::StreamHandle,
};

/// Makes the copies in a closure given to [`StreamHandle::scope`].
///
/// `'env` is what the closure may borrow from around the scope, `'scope` the scope itself; both are
/// invariant, so neither can be stretched.
pub struct Scope<'scope, 'env: 'scope, D: Device> {
    stream: &'scope StreamHandle<D>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl<D: Device> StreamHandle<D> {
    /// Runs `f`, whose copies may borrow host memory from around the scope. Then blocks until all
    /// of the stream's work is finished, also when `f` unwinds: only then is the borrowed memory
    /// free again.
    ///
    /// Inside, copies overlap with each other and with the host. The wait is in this function, not
    /// in a value that could be forgotten.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// let (src, mut dst) = (vec![1, 2, 3, 4], vec![0; 4]);
    /// let mut a = Array::uninit(&stream, &[4])?;
    /// stream.scope(|s| {
    ///     s.upload(&src, &mut a.view_mut())?;
    ///     s.download(&a.view(), &mut dst)
    /// })??;
    /// assert_eq!(dst, src);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - Some of the stream's work failed. The value that `f` returned is then dropped.
    /// - [`Error::Recording`](crate::Error::Recording): this is the stream of a recording. `f` was not called.
    ///
    /// # Panics
    ///
    /// Resumes the panic of `f`, after the wait. If the wait failed too, its error goes to
    /// [`take_errors`](crate::Context::take_errors).
    ///
    /// # Aborts
    ///
    /// If the wait does not say (or panics and cannot say) whether the device is finished with the
    /// borrowed memory. Returning would hand the memory back while it may still be written, and it
    /// is not the library's to leak.
    #[track_caller]
    pub fn scope<'env, R>(
        &self,
        f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env, D>) -> R,
    ) -> Result<R> {
        // Inside the host function of a kernel the wait would panic, and memory might be lent by
        // then. So this panics first.
        Running::check();
        self.0.check_runs("scope")?;
        let scope = Scope { stream: self, scope: PhantomData, env: PhantomData };
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| f(&scope)));
        let (end, wait) = match panic::catch_unwind(AssertUnwindSafe(|| self.0.wait())) {
            Ok((Quiesced::Unknown(error), _)) => abort(&error),
            Ok(waited) => waited,
            Err(_) => abort(&"the wait panicked"),
        };
        match outcome {
            Ok(value) => self.0.core.program_waited(end, &wait).into_result().map(|()| value),
            Err(payload) => {
                // A panic would lose an error that is reported only once.
                match end {
                    Quiesced::Done => self.0.core.host_waited(&wait),
                    Quiesced::Ended(error) | Quiesced::Unknown(error) => self.0.core.report(error),
                }
                panic::resume_unwind(payload)
            }
        }
    }
}

/// Ends the process. It never unwinds, because unwinding would end the borrow; not even if the
/// message cannot be written.
fn abort(reason: &dyn fmt::Display) -> ! {
    let _ = writeln!(
        io::stderr(),
        "devarray: the device may still use memory borrowed by a scope; aborting: {reason}"
    );
    process::abort();
}

impl<'scope, 'env, D: Device> Scope<'scope, 'env, D> {
    /// Copies a slice, elements in C order, to the device, in the background. Does not synchronize:
    /// the slice is borrowed until the scope ends.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::LengthMismatch`](crate::LayoutError::LengthMismatch): the slice does not
    ///   hold as many elements.
    /// - Another context's array, out of memory for scratch, and any other device error.
    #[track_caller]
    pub fn upload<T: Element>(
        &'scope self,
        src: &'env [T],
        dst: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()> {
        let dst = dst.as_array_view_mut();
        check_count(dst.layout().len(), src)?;
        // SAFETY: the slice holds the elements, and is borrowed immutably for `'env`, which ends
        // after the scope waited.
        unsafe { self.stream.0.upload_direct(&dst.elements(), src.as_ptr().cast()) }
    }

    /// Copies the elements, in C order, to a slice, in the background. Does not synchronize: the
    /// slice is borrowed until the scope ends.
    ///
    /// # Errors
    ///
    /// The errors of [`upload`](Self::upload).
    #[track_caller]
    pub fn download<T: Element>(
        &'scope self,
        src: &impl AsArrayView<T, D>,
        dst: &'env mut [T],
    ) -> Result<()> {
        let src = src.as_array_view();
        check_count(src.layout().len(), dst)?;
        // SAFETY: the slice holds the elements, and is borrowed mutably for `'env`, which ends
        // after the scope waited; every bit pattern the device writes is a valid `T`.
        unsafe { self.stream.0.download_direct(&src.elements(), dst.as_mut_ptr().cast()) }
    }
}

impl<D: Device> fmt::Debug for Scope<'_, '_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("stream", self.stream).finish()
    }
}

//! Points in the work of a stream.
#![allow(unsafe_code)] // calls the driver with the event it owns; vouches for the contract of the trait

use std::{
    ptr,
    sync::{Arc, Mutex},
};

use devarray::{
    Result,
    backend::{Event, Quiesced},
};

use crate::{
    context::Context,
    driver::{Answer, Driver, NOT_READY, sys},
    handle::{Handle, locked},
};

/// The purpose of an event: the flags of `cuEventCreate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// Only order. A time would make recording slower.
    Plain = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32,
    /// Order and time.
    Timed = sys::CUevent_flags::CU_EVENT_DEFAULT as u32,
    /// Order, for other processes too. Such events have no time.
    Exported =
        sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32 | sys::CUevent_flags::CU_EVENT_INTERPROCESS as u32,
}

/// An event, recorded once.
///
/// # The end of a wait
///
/// [`Quiesced::Done`] if the driver says so, else [`Quiesced::Unknown`], never [`Quiesced::Ended`].
/// After a fault in a kernel the driver refuses all further work and declares the contents
/// undefined, but it nowhere promises that work of other streams in flight, such as a transfer to
/// host memory, has stopped when the wait returns (`cuda.h`, `CUDA_ERROR_ILLEGAL_ADDRESS` and its
/// like; CUDA C++ Programming Guide, "Error Checking"). Other codes say even less.
#[derive(Debug)]
pub struct CudaEvent {
    context: Arc<Context>,
    raw: RawEvent,
}

/// The driver's event; its owner destroys it.
#[derive(Debug)]
pub(crate) struct RawEvent(Handle<sys::CUevent_st>);

impl RawEvent {
    /// A new event, recorded on a stream of the bound context.
    pub(crate) fn record(driver: &Driver, stream: sys::CUstream, kind: Kind) -> Answer<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: the pointer is to a local of the right type, and the context is bound.
        unsafe { driver.event_create(&raw mut raw, kind as u32) }?;
        // SAFETY: event and stream are alive and of the bound context.
        let recorded = unsafe { driver.event_record(raw, stream) };
        let event = Self(Handle::new(raw));
        recorded.inspect_err(|_| {
            event.destroy(driver).unwrap_or_else(|also| driver.report(driver.error("record", also)));
        })?;
        Ok(event)
    }

    /// Whether it is over. The context must be bound.
    pub(crate) fn query(&self, driver: &Driver) -> Answer {
        // SAFETY: the event is alive, and its context bound.
        unsafe { driver.event_query(self.0.raw()) }
    }

    /// Gives it back to the driver; it is not used afterwards. The context must be bound.
    pub(crate) fn destroy(&self, driver: &Driver) -> Answer {
        // SAFETY: created by `record`, destroyed once.
        unsafe { driver.event_destroy(self.0.raw()) }
    }
}

impl CudaEvent {
    /// Makes an event, recorded on a live stream of the context, or a default stream.
    pub(crate) fn record(context: &Arc<Context>, stream: sys::CUstream, kind: Kind) -> Result<Self> {
        let raw = context.bind().and_then(|driver| RawEvent::record(driver, stream, kind));
        let raw = raw.map_err(|failure| context.error("record", failure))?;
        Ok(Self { context: Arc::clone(context), raw })
    }

    /// Records it again, on a stream of its context. Waits that were enqueued before are for the record before. Nobody
    /// outside of this crate has seen the event, and nobody has queried it.
    pub(crate) fn record_again(&self, stream: sys::CUstream) -> Result<()> {
        self.context.call("record", |driver| {
            // SAFETY: event and stream are alive and of the bound context.
            unsafe { driver.event_record(self.raw(), stream) }
        })
    }

    /// Milliseconds from this event to another, both timed; `None` if one of them is not finished.
    pub(crate) fn milliseconds_until(&self, to: &Self) -> Result<Option<f32>> {
        self.context.check_driver("elapsed", &to.context)?;
        let mut milliseconds = 0.0;
        let answer = self.context.bind().and_then(|driver| {
            // SAFETY: the pointer is to a local of the right type; both events are alive, their
            // context is bound.
            unsafe { driver.event_elapsed_time(&raw mut milliseconds, self.raw(), to.raw()) }
        });
        match answer {
            Ok(()) => Ok(Some(milliseconds)),
            Err(NOT_READY) => Ok(None),
            Err(failure) => Err(self.context.error("elapsed", failure)),
        }
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// The driver's handle, for code outside this library. It is valid as long as the event.
    #[must_use]
    pub fn raw(&self) -> sys::CUevent {
        self.raw.0.raw()
    }
}

// SAFETY: recorded once, before anybody has it, so a query that succeeded succeeds for ever; one that is recorded
// again is not queried. The driver says "ready" only when the captured work is complete. Destroying an event does not
// block, and lifts no wait: "the call does not block and the associated resources will automatically be released
// asynchronously at completion" (cuda.h, `cuEventDestroy`); a wait holds the state captured at the call
// (`cuStreamWaitEvent`).
unsafe impl Event for CudaEvent {
    fn query(&self) -> Result<bool> {
        match self.context.bind().and_then(|driver| self.raw.query(driver)) {
            Ok(()) => Ok(true),
            Err(NOT_READY) => Ok(false),
            Err(failure) => Err(self.context.error("query", failure)),
        }
    }

    fn synchronize(&self) -> Quiesced {
        let waited = self.context.call("synchronize", |driver| {
            // SAFETY: the event is alive, and its context bound.
            unsafe { driver.event_synchronize(self.raw()) }
        });
        waited.map_or_else(Quiesced::Unknown, |()| Quiesced::Done)
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        self.context.release("destroy event", |driver| self.raw.destroy(driver));
    }
}

/// The event that orders a context's streams with streams of other code. It is reused: creating and
/// destroying an event takes longer than the record and the wait.
///
/// Recording it again changes no earlier wait: a wait holds the state captured at the call (cuda.h,
/// `cuStreamWaitEvent`). The lock is held from a record to its wait, so that no other record comes
/// between.
#[derive(Debug, Default)]
pub(crate) struct Crossing(Mutex<Option<RawEvent>>);

impl Crossing {
    /// Makes `wait` wait for the work given to `earlier` so far. `earlier` is a live stream of the
    /// context, or a default stream.
    pub(crate) fn after(
        &self,
        context: &Context,
        earlier: sys::CUstream,
        wait: impl FnOnce(sys::CUevent) -> Result<()>,
    ) -> Result<()> {
        let mut kept = locked(&self.0);
        let raw = context.bind().and_then(|driver| {
            if let Some(event) = &*kept {
                // SAFETY: the event lives until the context closes, the stream as its caller
                // vouches; both are of the bound context.
                unsafe { driver.event_record(event.0.raw(), earlier) }?;
                return Ok(event.0.raw());
            }
            Ok(kept.insert(RawEvent::record(driver, earlier, Kind::Plain)?).0.raw())
        });
        wait(raw.map_err(|failure| context.error("record", failure))?)
    }

    /// Destroys the event of a context that is closing. The context must be bound.
    pub(crate) fn close(&self, driver: &Driver) -> Answer {
        locked(&self.0).take().map_or(Ok(()), |event| event.destroy(driver))
    }
}

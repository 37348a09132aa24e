//! Events of any backend.
#![allow(unsafe_code)] // implements an unsafe trait by forwarding; performs no unsafe operation

use devarray::{
    Result,
    backend::{Event, Quiesced},
};

each_backend!(one_of_each! {
    /// An event of an [`AnyDevice`](crate::AnyDevice).
    AnyEvent: [devarray_cuda::CudaEvent, devarray_host::HostEvent, devarray_mock::MockEvent]
});

// SAFETY: forwards to an event whose implementor vouches for it.
unsafe impl Event for AnyEvent {
    #[inline]
    fn query(&self) -> Result<bool> {
        on_each!((Self, self, event) => event.query())
    }

    #[inline]
    fn synchronize(&self) -> Quiesced {
        on_each!((Self, self, event) => event.synchronize())
    }
}

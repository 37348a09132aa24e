//! Exchanges with other ranks: devices of the same backend.
#![allow(unsafe_code)] // implements an unsafe trait by forwarding

use std::sync::Arc;

use devarray::{
    Result,
    backend::{CollectOp, Collects, CutOff, Joining, RankTurns},
};

use super::AnyDevice;
use crate::{AnyBuffer, AnyStream, project::given, stream::mixed};

each_backend!(one_of_each! {
    /// The part of one rank in a communicator of [`AnyDevice`]s.
    AnyCommunicator: [devarray_cuda::CudaCommunicator, devarray_host::HostCommunicator, devarray_mock::MockCommunicator]
});

// SAFETY: forwards to a device whose implementor vouches for it, or enqueues nothing.
unsafe impl Collects for AnyDevice {
    type Communicator = AnyCommunicator;

    #[track_caller]
    fn join(&self, joining: &Joining<'_>) -> Result<AnyCommunicator> {
        on_each!((Self, self, device) => device.join(joining).map(AnyCommunicator::from))
    }

    #[track_caller]
    fn collect(
        &self,
        stream: &AnyStream,
        communicator: &AnyCommunicator,
        op: &CollectOp<'_, AnyBuffer>,
    ) -> Result<()> {
        on_each!((Self, self, device), (AnyStream, stream, stream), (AnyCommunicator, communicator, communicator) => {
            // SAFETY: it was given to this stream.
            device.collect(stream, communicator, unsafe { given(stream, op) })
        }, else Err(mixed(stream.backend(), op.call().operation)))
    }

    fn abort(&self, communicator: &AnyCommunicator) {
        on_each!((Self, self, device), (AnyCommunicator, communicator, communicator) => {
            device.abort(communicator);
        }, else ());
    }

    fn cut_off(&self, communicator: &AnyCommunicator) -> Option<Arc<dyn CutOff>> {
        on_each!((Self, self, device), (AnyCommunicator, communicator, communicator) => {
            device.cut_off(communicator)
        }, else None)
    }

    fn turns(&self) -> Option<Arc<dyn RankTurns>> {
        on_each!((Self, self, device) => device.turns())
    }
}

//! The part of the simulated device that every device has.
#![allow(unsafe_code)] // implements an unsafe trait; performs no unsafe operation

use std::num::NonZeroUsize;

use devarray::{
    Result,
    backend::{DeclaredAccess, Device, DeviceInfo, HostFlags, MemoryInfo},
};

use super::{
    MockDevice,
    buffer::MockBuffer,
    event::MockEvent,
    host::{MockHostBuffer, out_of_host_memory},
    stream::MockStream,
};
use crate::{engine::HostUse, fault::Site};

// SAFETY: the engine, which all handles share behind one lock, keeps the four promises. Order: a
// lane is a first-in, first-out queue, and a wait leaves it only after the event's operation has
// run. Confinement: device memory is reached only through slices of the allocation, and host memory
// only in the range of the operation. Quiescence: `Done`, `Ended` and `true` are returned only when
// the covered operations have left their lanes. Progress: waits run steps until the work has run,
// and a query runs one step that the work needs.
unsafe impl Device for MockDevice {
    type Buffer = MockBuffer;
    type HostBuffer = MockHostBuffer;
    type Event = MockEvent;
    type Stream = MockStream;

    fn info(&self) -> &DeviceInfo {
        self.shared.info()
    }

    fn memory(&self) -> Result<MemoryInfo> {
        let mut engine = self.shared.engine();
        engine.enter(Site::Memory)?;
        Ok(engine.ask_for_memory())
    }

    fn open_stream(&self) -> Result<MockStream> {
        let mut engine = self.shared.engine();
        engine.enter(Site::OpenStream)?;
        Ok(MockStream::new(self.clone(), engine.open_lane()))
    }

    #[track_caller]
    fn alloc_host(&self, len_bytes: NonZeroUsize) -> Result<MockHostBuffer> {
        let location = devarray::backend::call_location();
        let mut engine = self.shared.engine();
        engine.enter_asking(Site::AllocHost, len_bytes.get())?;
        let kind = HostUse::Pinned(HostFlags::new());
        MockHostBuffer::alloc(&self.shared, &mut engine, len_bytes, kind, location)
            .ok_or_else(|| out_of_host_memory("alloc_host", len_bytes))
    }

    #[track_caller]
    fn note_host_access(&self, access: &DeclaredAccess<'_, MockBuffer>) {
        self.shared.engine().host_touches("host", access, devarray::backend::call_location());
    }
}

//! Kinds of host memory that a device reaches by itself, simulated.
#![allow(unsafe_code)] // implements unsafe traits; performs no unsafe operation

use std::{num::NonZeroUsize, ops::Range, sync::Arc};

use devarray::{
    Error, Result,
    backend::{self, Advice, AllocHost, Capability, Device, HostFlags, ManagedMemory, MapHost, RegisterHost},
};

use super::{
    MockDevice,
    buffer::MockBuffer,
    host::{MockHostBuffer, out_of_host_memory},
    stream::MockStream,
};
use crate::{
    backend::BACKEND,
    engine::{HostUse, Work},
    fault::Site,
};

/// A range of host memory that is pinned; empty if it was pinned already.
#[derive(Debug)]
pub struct MockRegistration(Option<u64>);

impl MockDevice {
    /// Refuses a capability that the device does not have.
    pub(crate) fn check(&self, operation: &'static str, capability: Capability) -> Result<()> {
        if self.info().capabilities.extras.has(capability) {
            return Ok(());
        }
        Err(Error::Unsupported { backend: BACKEND, operation, capability })
    }

    /// The ranges of host memory that are registered now, in the order of registration. A range
    /// goes from the address of the first byte to the address after the last one.
    #[must_use]
    pub fn registered_ranges(&self) -> Vec<Range<usize>> {
        self.shared().engine().registered()
    }

    /// A buffer in host memory that has a place among the device's memories.
    fn over(&self, operation: &'static str, memory: &MockHostBuffer) -> Result<MockBuffer> {
        let mut engine = self.shared().engine();
        engine.enter(Site::MapHost)?;
        if !Arc::ptr_eq(memory.shared(), self.shared()) {
            return Err(Error::DeviceMismatch { backend: BACKEND, operation });
        }
        let place = memory.place.ok_or(Error::Unsupported {
            backend: BACKEND,
            operation,
            capability: Capability::MappedMemory,
        })?;
        let len_bytes = backend::HostBuffer::len_bytes(memory);
        // Until now the memory was the host's, as elements, also if the device has used it before.
        engine.give_values(place.buffer);
        Ok(MockBuffer {
            shared: Arc::clone(self.shared()),
            id: place.buffer,
            len_bytes,
            address: place.address,
            within: None,
        })
    }
}

// SAFETY: the memory belongs to `MockHostBuffer`, whatever the flags are.
unsafe impl AllocHost for MockDevice {
    #[track_caller]
    fn alloc_host_as(&self, len_bytes: NonZeroUsize, flags: HostFlags) -> Result<MockHostBuffer> {
        let location = backend::call_location();
        if flags.mapped {
            self.check("alloc_host", Capability::MappedMemory)?;
        }
        if flags.write_combined {
            self.check("alloc_host", Capability::WriteCombinedMemory)?;
        }
        let mut engine = self.shared().engine();
        engine.enter(Site::AllocHost)?;
        MockHostBuffer::alloc(self.shared(), &mut engine, len_bytes, HostUse::Pinned(flags), location)
            .ok_or_else(|| out_of_host_memory("alloc_host", len_bytes))
    }

    #[track_caller]
    fn note_slow_read(memory: &MockHostBuffer) {
        memory.shared().engine().note_slow_read(memory.number(), backend::call_location());
    }
}

// SAFETY: the engine itself reads and writes the memory, at its own address; the drop of the memory
// takes its place back before it is freed. A later operation is a finding, and reaches nothing.
unsafe impl MapHost for MockDevice {
    fn map_host(&self, memory: &MockHostBuffer) -> Result<MockBuffer> {
        self.over("map_host", memory)
    }
}

// SAFETY: a registration is a note in the ledger; the memory is not touched.
unsafe impl RegisterHost for MockDevice {
    type Registration = MockRegistration;

    #[track_caller]
    unsafe fn register_host(&self, start: *mut u8, len_bytes: NonZeroUsize) -> Result<MockRegistration> {
        let location = backend::call_location();
        self.check("register_host", Capability::RegisteredMemory)?;
        let mut engine = self.shared().engine();
        engine.enter(Site::RegisterHost)?;
        let range = start.addr()..start.addr() + len_bytes.get();
        Ok(MockRegistration(engine.register(range, location)))
    }

    fn unregister_host(&self, registration: MockRegistration) -> Result<()> {
        let Some(number) = registration.0 else { return Ok(()) };
        let mut engine = self.shared().engine();
        engine.enter(Site::UnregisterHost).or_else(|_| engine.enter(Site::UnregisterHost))?;
        engine.unregister(number);
        Ok(())
    }
}

// SAFETY: as for mapped memory.
unsafe impl ManagedMemory for MockDevice {
    type ManagedBuffer = MockHostBuffer;

    #[track_caller]
    fn alloc_managed(&self, len_bytes: NonZeroUsize) -> Result<MockHostBuffer> {
        let location = backend::call_location();
        self.check("alloc_managed", Capability::ManagedMemory)?;
        let mut engine = self.shared().engine();
        engine.enter(Site::AllocManaged)?;
        engine.check_managed(len_bytes.get())?;
        MockHostBuffer::alloc(self.shared(), &mut engine, len_bytes, HostUse::Managed, location)
            .ok_or_else(|| out_of_host_memory("alloc_managed", len_bytes))
    }

    fn managed_buffer(&self, memory: &MockHostBuffer) -> Result<MockBuffer> {
        self.over("managed_buffer", memory)
    }

    #[track_caller]
    unsafe fn prefetch(
        &self,
        stream: &MockStream,
        buffer: &MockBuffer,
        bytes: Range<usize>,
        _to: backend::Location,
    ) -> Result<()> {
        let work = Work::Prefetch { buffer: buffer.id, bytes };
        stream.enqueue(Site::Prefetch, "prefetch", false, &[buffer], work)
    }

    unsafe fn advise(&self, _buffer: &MockBuffer, _bytes: Range<usize>, _advice: Advice) -> Result<()> {
        self.shared().engine().enter(Site::Advise)
    }
}

//! Memory and events shared with other processes, which are simulated too.
#![allow(unsafe_code)] // implements an unsafe trait; performs no unsafe operation

use std::{num::NonZeroUsize, ops::Range, sync::Arc};

use devarray::{
    Error, Result,
    backend::{Capability, Device, Ipc, IpcMemory, IpcToken},
};

use super::{
    MockDevice,
    buffer::{MockBuffer, Within},
    event::MockEvent,
    shared::Shared,
    stream::MockStream,
};
use crate::{
    allocation::{Allocated as _, BufferId},
    backend::BACKEND,
    fault::Site,
};

/// Memory that can be exported. Dropping it frees it.
#[derive(Debug)]
pub struct MockExportable {
    shared: Arc<Shared>,
    buffer: BufferId,
}

impl Drop for MockExportable {
    fn drop(&mut self) {
        self.shared.engine().free_exportable(self.buffer, devarray::backend::call_location());
    }
}

/// Opened memory of another process. Dropping it closes it.
#[derive(Debug)]
pub struct MockOpened {
    shared: Arc<Shared>,
}

impl Drop for MockOpened {
    fn drop(&mut self) {
        self.shared.engine().close_shared();
    }
}

impl MockDevice {
    /// Returns the same device as another process sees it: each of the two can open what the other exports.
    ///
    /// Both are one simulator, as [siblings](Self::sibling) are, and the judge sees both: it finds memory
    /// that one process frees while the other may use it, and a use that no event orders.
    #[must_use]
    pub fn other_process(&self) -> Self {
        let process = self.shared().engine().next_process();
        self.beside(self.info().clone(), process)
    }
}

fn handle_error(operation: &'static str, reason: &'static str) -> Error {
    Error::Handle { backend: BACKEND, operation, reason }
}

/// Puts numbers into a token; the rest is zero.
fn token(numbers: [u64; 2]) -> IpcToken {
    let mut bytes = [0; 64];
    bytes[..8].copy_from_slice(&numbers[0].to_le_bytes());
    bytes[8..16].copy_from_slice(&numbers[1].to_le_bytes());
    IpcToken(bytes)
}

fn numbers(IpcToken(bytes): &IpcToken) -> [u64; 2] {
    [0, 8].map(|at| bytes[at..at + 8].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

// SAFETY: opened memory is the allocation itself, so operations on it are judged and run like its owner's;
// freed memory is not opened. An exported event is an event of the same simulator.
unsafe impl Ipc for MockDevice {
    type Exportable = MockExportable;
    type Opened = MockOpened;

    fn process(&self) -> u64 {
        self.shared().process()
    }

    #[track_caller]
    fn alloc_exportable(&self, len_bytes: NonZeroUsize) -> Result<(MockBuffer, MockExportable)> {
        let location = devarray::backend::call_location();
        self.check("alloc_exportable", Capability::Ipc)?;
        let (mut engine, len_bytes) = (self.shared().engine(), len_bytes.get());
        engine.enter_asking(Site::AllocExportable, len_bytes)?;
        let reserved = engine.reserve(len_bytes, location)?;
        engine.memory_of(reserved.buffer, self.info().ordinal);
        engine.make_exportable(reserved, len_bytes, location);
        let (shared, id, address) = (Arc::clone(self.shared()), reserved.buffer, reserved.address);
        let buffer = MockBuffer { shared, id, len_bytes, address, within: None };
        Ok((buffer, MockExportable { shared: Arc::clone(self.shared()), buffer: id }))
    }

    fn export_memory(&self, buffer: &MockBuffer, _bytes: Range<usize>) -> Result<IpcMemory> {
        let (operation, capability) = ("export", Capability::Ipc);
        self.check(operation, capability)?;
        let mut engine = self.shared().engine();
        engine.enter(Site::Export)?;
        if engine.exportable(buffer.id).is_none() {
            return Err(Error::Unsupported { backend: BACKEND, operation, capability });
        }
        Ok(IpcMemory {
            token: token([buffer.id.number, buffer.id.generation]),
            offset_bytes: buffer.start_bytes() as i64,
            len_bytes: buffer.len_bytes as u64,
        })
    }

    unsafe fn open_memory(&self, memory: &IpcMemory) -> Result<(MockBuffer, MockOpened)> {
        let operation = "open";
        self.check(operation, Capability::Ipc)?;
        let mut engine = self.shared().engine();
        engine.enter(Site::Open)?;
        let [number, generation] = numbers(&memory.token);
        let id = BufferId { number, generation };
        let Some((start, bound_bytes)) = engine.exportable(id) else {
            return Err(handle_error(operation, "the memory is not there"));
        };
        let sizes = (isize::try_from(memory.offset_bytes), usize::try_from(memory.len_bytes));
        let (Ok(start_bytes), Ok(len_bytes)) = sizes else {
            return Err(handle_error(operation, "it names more memory than there is"));
        };
        engine.open_shared();
        drop(engine);
        let shared = Arc::clone(self.shared());
        let address = start.wrapping_add_signed(memory.offset_bytes);
        let within = Some(Within { start_bytes, len_bytes: bound_bytes });
        let buffer = MockBuffer { shared, id, len_bytes, address, within };
        Ok((buffer, MockOpened { shared: Arc::clone(self.shared()) }))
    }

    #[track_caller]
    fn record_exported(&self, stream: &MockStream) -> Result<(MockEvent, IpcToken)> {
        self.check("record_exported", Capability::Ipc)?;
        let mut event = stream.record_stamped(None)?;
        let number = self.shared().engine().publish_event(event.mark, event.snapshot.clone());
        event.exported = Some(number);
        Ok((event, token([number, 0])))
    }

    #[track_caller]
    unsafe fn wait_exported(&self, stream: &MockStream, event: &IpcToken) -> Result<()> {
        let (operation, location) = ("wait_exported", devarray::backend::call_location());
        self.check(operation, Capability::Ipc)?;
        let mut engine = self.shared().engine();
        engine.enter(Site::WaitExported)?;
        let Some((mark, snapshot)) = engine.published_event(numbers(event)[0]) else {
            return Err(handle_error(operation, "the event is not there"));
        };
        let lane = engine.lane_of(stream.name());
        engine.wait(lane, (mark, &snapshot), location);
        Ok(())
    }
}

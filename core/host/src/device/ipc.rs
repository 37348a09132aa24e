//! Memory and events shared with other processes, if the system has pages for it.
#![allow(unsafe_code)] // opens memory as its caller vouches for it

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher as _, Hasher as _},
    num::NonZeroUsize,
    ops::Range,
    process,
    sync::{Arc, OnceLock},
};

use devarray::{
    Error, Result,
    backend::{Buffer as _, Capability, Ipc, IpcMemory, IpcToken},
};

use super::HostDevice;
use crate::{
    HostEvent, HostStream,
    backend::BACKEND,
    memory::{self, DeviceMemory, PagesName, Room, SharedPages},
    order::{Flag, Point},
};

/// Memory that other processes may open. Dropping it frees it here; a process that has opened it keeps it.
#[derive(Debug)]
pub struct HostExportable {
    len_bytes: usize,
    room: Arc<Room>,
    _pages: SharedPages,
}

impl Drop for HostExportable {
    fn drop(&mut self) {
        self.room.uncount(self.len_bytes);
    }
}

/// Memory of another process, opened here. Dropping it closes it.
#[derive(Debug)]
pub struct HostOpened {
    _pages: SharedPages,
}

fn unsupported(operation: &'static str) -> Error {
    Error::Unsupported { backend: BACKEND, operation, capability: Capability::Ipc }
}

fn handle(operation: &'static str, reason: &'static str) -> Error {
    Error::Handle { backend: BACKEND, operation, reason }
}

/// A token that names pages and a position in them.
fn token(pages: PagesName, at: u64) -> IpcToken {
    let mut bytes = [0; 64];
    let PagesName { process, file, identity, len_bytes } = pages;
    for (to, number) in bytes.chunks_exact_mut(8).zip([process, file, identity, len_bytes, at]) {
        to.copy_from_slice(&number.to_le_bytes());
    }
    IpcToken(bytes)
}

fn named(IpcToken(bytes): &IpcToken) -> (PagesName, u64) {
    let (numbers, _) = bytes.as_chunks::<8>();
    let number = |at: usize| u64::from_le_bytes(numbers[at]);
    let [process, file, identity, len_bytes] = [0, 1, 2, 3].map(number);
    (PagesName { process, file, identity, len_bytes }, number(4))
}

// SAFETY: opened memory is the exporter's pages, mapped, from the start of a page. An exported event is
// recorded like any other, and its flag is raised when it is over; a stream's later turns come after a flag
// that it waits for.
unsafe impl Ipc for HostDevice {
    type Exportable = HostExportable;
    type Opened = HostOpened;

    /// Drawn once at random, because process numbers repeat between containers and over time.
    fn process(&self) -> u64 {
        static PROCESS: OnceLock<u64> = OnceLock::new();
        *PROCESS.get_or_init(|| {
            let mut hasher = RandomState::new().build_hasher();
            hasher.write_u32(process::id());
            hasher.finish()
        })
    }

    fn alloc_exportable(&self, len_bytes: NonZeroUsize) -> Result<(DeviceMemory, HostExportable)> {
        let (operation, len_bytes) = ("alloc_exportable", len_bytes.get());
        if !memory::ARE_THERE {
            return Err(unsupported(operation));
        }
        let room = Arc::clone(&self.shared.room);
        room.count(operation, len_bytes)?;
        let Some(pages) = SharedPages::new(len_bytes) else {
            room.uncount(len_bytes);
            return Err(Error::out_of_memory(BACKEND, operation, len_bytes, Some(room.info())));
        };
        let buffer = DeviceMemory::of_shared(&pages, len_bytes);
        Ok((buffer, HostExportable { len_bytes, room, _pages: pages }))
    }

    fn export_memory(&self, buffer: &DeviceMemory, _: Range<usize>) -> Result<IpcMemory> {
        let pages = buffer.name().ok_or_else(|| unsupported("export"))?;
        Ok(IpcMemory { token: token(pages, 0), offset_bytes: 0, len_bytes: buffer.len_bytes() as u64 })
    }

    unsafe fn open_memory(&self, memory: &IpcMemory) -> Result<(DeviceMemory, HostOpened)> {
        let operation = "open";
        if !memory::ARE_THERE {
            return Err(unsupported(operation));
        }
        let (name, _) = named(&memory.token);
        if memory.offset_bytes != 0 || memory.len_bytes > name.len_bytes {
            return Err(handle(operation, "it names more memory than there is"));
        }
        let pages = SharedPages::open(&name).ok_or_else(|| handle(operation, "the memory is not there"))?;
        let len_bytes = usize::try_from(memory.len_bytes).unwrap_or(usize::MAX);
        let buffer = DeviceMemory::lent(pages.start().as_ptr(), len_bytes);
        Ok((buffer, HostOpened { _pages: pages }))
    }

    fn record_exported(&self, stream: &HostStream) -> Result<(HostEvent, IpcToken)> {
        let flag = self.shared.flags.next().ok_or_else(|| unsupported("record_exported"))?;
        let (board, at) = flag.name();
        Ok((stream.record_exported(flag), token(board, at)))
    }

    unsafe fn wait_exported(&self, stream: &HostStream, event: &IpcToken) -> Result<()> {
        let operation = "wait_exported";
        if !memory::ARE_THERE {
            return Err(unsupported(operation));
        }
        let (board, at) = named(event);
        let flag = Flag::open(&board, at).ok_or_else(|| handle(operation, "the event is not there"))?;
        stream.come_after(&Point::elsewhere(flag));
        Ok(())
    }
}

//! Memory of other code, and streams of other code, which are raw streams of the simulator itself.
#![allow(unsafe_code)] // implements an unsafe trait; takes host memory as its caller vouches for it

use std::{
    ops::Range,
    ptr::{self, NonNull},
    sync::Arc,
};

use devarray::{
    Error, Result,
    backend::{Capability, DeclaredAccess, Device, ForeignMemory, ForeignStream, Stream},
};

use super::{
    MockDevice,
    buffer::{MockBuffer, Within},
    shared::Shared,
    stream::MockStream,
};
use crate::{
    allocation::BufferId,
    backend::BACKEND,
    engine::{Bytes, Engine, HostBytes, StreamName},
    fault::Site,
};

/// Adopted memory, counted until it is given back.
#[derive(Debug)]
pub struct MockAdopted {
    shared: Arc<Shared>,
    id: BufferId,
}

impl Drop for MockAdopted {
    fn drop(&mut self) {
        let mut engine = self.shared.engine();
        engine.end_adoption();
        engine.end_lent(self.id, devarray::backend::call_location());
    }
}

fn refused(operation: &'static str, name: &str) -> Error {
    Error::Driver { backend: BACKEND, operation, code: 1, name: name.to_owned() }
}

/// Gives host memory a place among the device's memories. Returns its number, its first address on
/// the host, and its length.
///
/// # Safety
///
/// The bytes are allocated and initialized, and stay so until the place is taken back.
unsafe fn lend(engine: &mut Engine, host: Range<u64>) -> Result<(BufferId, u64, usize), &'static str> {
    let place = usize::try_from(host.end - host.start).ok().zip(usize::try_from(host.start).ok());
    let start = place.and_then(|(_, start)| NonNull::new(ptr::with_exposed_provenance_mut(start)));
    let ((len_bytes, _), start) = place.zip(start).ok_or("no such memory")?;
    // SAFETY: passed on to the caller; core orders the host's accesses with operations as for all
    // adopted memory.
    let bytes = Bytes::Host(unsafe { HostBytes::new(start, len_bytes) });
    let reserved = engine.lend(bytes, devarray::backend::call_location()).ok_or("no address is left")?;
    engine.begin_lent(reserved.buffer);
    Ok((reserved.buffer, host.start, len_bytes))
}

/// The name of lane 0's stream; 0, 1 and 2 mean other streams.
const FIRST_NAME: u64 = 3;

/// The host's side of device memory, for tests that play other code on the host: it reads and
/// writes in place, and is judged.
impl MockDevice {
    /// The host address for an address of the device; none if that is no memory of the device.
    /// Adopted host memory keeps its address.
    #[must_use]
    pub fn host_address(&self, address: u64) -> Option<u64> {
        let engine = self.shared().engine();
        engine.on_host(address).or_else(|| engine.find_memory(&(address..address)).map(|_| address))
    }

    /// Declares that the host reads these elements in place from now on, and writes them if
    /// `access` says so.
    ///
    /// Work that conflicts, and that the host has not waited for, is a finding, DA02 or DA03; so are
    /// bytes without a value that it only reads, DA10. Does
    /// not synchronize: code that lends memory to other code on the host must wait first.
    #[track_caller]
    pub fn lend_to_host(&self, access: &DeclaredAccess<'_, MockBuffer>) {
        let location = devarray::backend::call_location();
        self.shared().engine().host_touches("lend to host", access, location);
    }
}

/// Streams that this library never opens, for tests that play other code: an operation on such a
/// stream stands for work of other code.
impl MockDevice {
    /// The stream that other code calls by this name. The default streams exist without being
    /// opened; any other name is a [stream](MockStream::foreign) of this simulator.
    ///
    /// # Errors
    ///
    /// - [`Error::DeviceMismatch`]: the name belongs to another device, or to another simulator.
    /// - There is no stream of this name.
    pub fn foreign_stream(&self, stream: ForeignStream) -> Result<MockStream> {
        let operation = "foreign_stream";
        if stream.owner().is_some_and(|owner| owner != self.shared().stream_owner()) {
            return Err(Error::DeviceMismatch { backend: BACKEND, operation });
        }
        let name = match stream {
            ForeignStream::LEGACY => StreamName::Legacy,
            ForeignStream::PER_THREAD => StreamName::PerThread,
            stream => {
                let lane = stream.name().checked_sub(FIRST_NAME).and_then(|lane| usize::try_from(lane).ok());
                let lane = lane.filter(|&lane| self.shared().engine().is_open(lane));
                let name = "no such stream".to_owned();
                let unknown = Error::Driver { backend: BACKEND, operation, code: 400, name };
                StreamName::Lane(lane.ok_or(unknown)?)
            }
        };
        Ok(MockStream::named(self.clone(), name))
    }

    /// The stream that other code calls 0; the [profile](crate::Profile) decides which one it is.
    #[must_use]
    pub fn null_stream(&self) -> MockStream {
        MockStream::named(self.clone(), StreamName::Null)
    }

    /// Opens a stream as other code does by default, without asking for a non-blocking one: it is
    /// ordered with the legacy default stream, in both directions.
    ///
    /// # Errors
    ///
    /// The device is lost, or a fault is planned.
    pub fn open_blocking_stream(&self) -> Result<MockStream> {
        let mut engine = self.shared().engine();
        engine.enter(Site::OpenStream)?;
        Ok(MockStream::new(self.clone(), engine.open_blocking_lane()))
    }
}

impl MockStream {
    /// Its name for other code, for this simulator only; none for the [null
    /// stream](MockDevice::null_stream), because nobody knows which one it is.
    #[must_use]
    pub fn foreign(&self) -> Option<ForeignStream> {
        match self.name() {
            StreamName::Lane(lane) => ForeignStream::owned(lane as u64 + FIRST_NAME, self.stream_owner()),
            StreamName::Legacy => Some(ForeignStream::LEGACY),
            StreamName::PerThread => Some(ForeignStream::PER_THREAD),
            StreamName::Null => None,
        }
    }
}

// SAFETY: operations on the buffer are enqueued as operations on the memory that it is part of, so
// they are judged, bounded and run like the owner's. A wait for a foreign stream is a wait for an
// event that was recorded there.
unsafe impl ForeignMemory for MockDevice {
    type Adopted = MockAdopted;

    unsafe fn adopt(&self, start: u64, bytes: Range<usize>) -> Result<(MockBuffer, MockAdopted)> {
        let operation = "adopt";
        self.check(operation, Capability::ForeignMemory)?;
        let mut engine = self.shared().engine();
        engine.enter(Site::Adopt)?;
        let addresses = start + bytes.start as u64..start + bytes.end as u64;
        let (id, address, len_bytes) = match engine.find_memory(&addresses) {
            Some(found) => {
                engine.share_lent(found.0);
                found
            }
            None if self.shared().adopts_host_memory() => {
                // SAFETY: passed on to the caller.
                unsafe { lend(&mut engine, addresses) }.map_err(|name| refused(operation, name))?
            }
            None => return Err(refused(operation, "no such memory")),
        };
        if engine.owner(id).is_some_and(|device| device != self.info().ordinal) {
            engine.end_lent(id, devarray::backend::call_location());
            return Err(Error::DeviceMismatch { backend: BACKEND, operation });
        }
        engine.begin_adoption();
        drop(engine);
        // Addresses of the simulator are far from both ends of the number's range.
        let start_bytes = isize::try_from(start.cast_signed() - address.cast_signed()).unwrap_or(isize::MIN);
        let within = Some(Within { start_bytes, len_bytes });
        let shared = Arc::clone(self.shared());
        let buffer = MockBuffer { shared, id, len_bytes: bytes.end, address: start, within };
        Ok((buffer, MockAdopted { shared: Arc::clone(self.shared()), id }))
    }

    #[track_caller]
    fn wait_for_foreign(&self, stream: &MockStream, other: ForeignStream) -> Result<()> {
        self.check("wait_for_foreign", Capability::ForeignMemory)?;
        stream.wait(&self.foreign_stream(other)?.record()?)
    }

    #[track_caller]
    fn foreign_waits(&self, other: ForeignStream, stream: &MockStream) -> Result<()> {
        self.check("foreign_waits", Capability::ForeignMemory)?;
        self.foreign_stream(other)?.wait(&stream.record()?)
    }
}

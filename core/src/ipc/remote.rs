//! Names of arrays and events for other processes: plain data, with a form in bytes.

use std::fmt;

use super::wire::{Reader, Writer};
use crate::{
    Error, Result,
    backend::{DeviceUuid, Ipc, IpcMemory, IpcToken},
    layout::{Layout, LayoutError, check_inside},
};

/// The first bytes: the format and its version.
const ARRAY: &[u8; 8] = b"dvarray1";
const EVENT: &[u8; 8] = b"dvevent1";

/// The error of bytes that name neither an array nor an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the name of an array or event of another process: {0}")]
pub struct ParseRemoteError(&'static str);

/// The process that made a name. Only another process can use the name, on the same device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    backend: String,
    process: u64,
    device: Option<DeviceUuid>,
}

impl Origin {
    pub(super) fn of<D: Ipc>(device: &D) -> Self {
        let info = device.info();
        Self { backend: info.backend.to_owned(), process: device.process(), device: info.properties.uuid }
    }

    /// Returns an error for a name that this device cannot open.
    pub(super) fn check<D: Ipc>(&self, device: &D, operation: &'static str) -> Result<()> {
        let here = Self::of(device);
        let backend = device.info().backend;
        if (&self.backend, &self.device) != (&here.backend, &here.device) {
            return Err(Error::DeviceMismatch { backend, operation });
        }
        if self.process == here.process {
            let reason = "it was made by this process, which has the thing itself";
            return Err(Error::Handle { backend, operation, reason });
        }
        Ok(())
    }

    fn write(&self, writer: Writer) -> Writer {
        let device = self.device.map_or([0; 16], |uuid| uuid.0);
        writer.text(&self.backend).number(self.process).number(self.device.is_some().into()).bytes(&device)
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let (backend, process) = (reader.text()?.to_owned(), reader.number()?);
        let (known, device) = (reader.number()?, reader.array()?);
        let device = match known {
            0 if device == [0; 16] => None,
            1 => Some(DeviceUuid(device)),
            _ => return None,
        };
        Some(Self { backend, process, device })
    }
}

/// The name of an array of another process. [`Array::export`](crate::Array::export) makes it.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteArray {
    pub(super) origin: Origin,
    pub(super) memory: IpcMemory,
    pub(super) event: IpcToken,
    pub(super) layout: Layout,
    pub(super) item_bytes: usize,
}

impl RemoteArray {
    /// The layout of the elements in the exported memory.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Bytes of one element.
    #[must_use]
    pub fn item_bytes(&self) -> usize {
        self.item_bytes
    }

    /// Names some of its elements, for example a slice of the array. Transforms of
    /// [`layout`](Self::layout) make such layouts.
    ///
    /// ```
    /// # use devarray::{Array, Context};
    /// # let device = devarray_mock::MockDevice::new();
    /// # let context = Context::new(device.clone())?;
    /// # let stream = context.stream()?;
    /// # let other = Context::new(device.other_process())?;
    /// # let theirs = other.stream()?;
    /// let array = Array::<u8, _>::zeros_exportable(&stream, &[10, 10])?;
    /// let exported = array.export(&stream)?;
    /// let column = exported.array().layout().slice_axis(1, 4..5)?;
    /// let remote = exported.array().clone().with_layout(column)?;
    /// // SAFETY: `exported` is kept until the array is dropped and its work done.
    /// let opened = unsafe { Array::<u8, _>::open(&theirs, &remote) }?;
    /// assert_eq!(opened.to_vec(&theirs)?, [0; 10]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::OutOfBounds`]: the elements do not lie in the exported memory.
    /// - [`LayoutError::NotLent`]: some elements do not belong to this name, or this cannot be
    ///   decided.
    pub fn with_layout(self, layout: Layout) -> Result<Self, LayoutError> {
        self.check_inside(&layout)?;
        if !self.layout.contains_elements(self.item_bytes, &layout, self.item_bytes) {
            let span = layout.span();
            return Err(LayoutError::NotLent { start: span.start, end: span.end });
        }
        Ok(Self { layout, ..self })
    }

    /// Returns an error for elements that do not fit the exported memory.
    fn check_inside(&self, layout: &Layout) -> Result<(), LayoutError> {
        let len_bytes = usize::try_from(self.memory.len_bytes).unwrap_or(usize::MAX);
        check_inside(layout, self.item_bytes, len_bytes)
    }

    /// The bytes to send.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let IpcMemory { token, offset_bytes, len_bytes } = &self.memory;
        let layout = &self.layout;
        let writer = self.origin.write(Writer::default().bytes(ARRAY));
        let writer = writer.bytes(&token.0).signed(*offset_bytes).number(*len_bytes).bytes(&self.event.0);
        let writer = writer.number(self.item_bytes as u64).number(layout.shape().len() as u64);
        let writer = layout.shape().iter().fold(writer, |writer, &extent| writer.number(extent as u64));
        let writer = layout.strides().iter().fold(writer, |writer, &stride| writer.signed(stride as i64));
        writer.number(layout.offset() as u64).finish()
    }

    /// Reads sent bytes. Any bytes may be given: wrong ones are an error, and nothing else happens.
    ///
    /// # Errors
    ///
    /// [`to_bytes`](Self::to_bytes) did not write them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ParseRemoteError> {
        let mut reader = Reader::new(bytes);
        if reader.take(8) != Some(ARRAY) {
            return Err(ParseRemoteError("it begins otherwise"));
        }
        let short = ParseRemoteError("it is cut off, or a number in it is out of range");
        let remote = Self::read(&mut reader).ok_or(short)?;
        if !reader.is_at_end() {
            return Err(ParseRemoteError("it goes on behind the end"));
        }
        let outside = |_| ParseRemoteError("the elements lie outside the memory");
        remote.check_inside(&remote.layout).map_err(outside)?;
        Ok(remote)
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let origin = Origin::read(reader)?;
        let token = IpcToken(reader.array()?);
        let (offset_bytes, len_bytes) = (reader.signed()?, reader.number()?);
        let event = IpcToken(reader.array()?);
        let (item_bytes, rank) = (reader.size().filter(|&bytes| bytes > 0)?, reader.size()?);
        // Read one by one, so that a wrong rank ends the reading before it costs memory.
        let shape = (0..rank).map(|_| reader.size()).collect::<Option<Vec<_>>>()?;
        let strides =
            (0..rank).map(|_| isize::try_from(reader.signed()?).ok()).collect::<Option<Vec<_>>>()?;
        let layout = Layout::new(&shape, &strides, reader.size()?).ok()?;
        let memory = IpcMemory { token, offset_bytes, len_bytes };
        Some(Self { origin, memory, event, layout, item_bytes })
    }
}

/// The name of an event of another process.
/// [`StreamHandle::record_exported`](crate::StreamHandle::record_exported) makes it.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteEvent {
    pub(super) origin: Origin,
    pub(super) token: IpcToken,
}

impl RemoteEvent {
    /// The bytes to send.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.origin.write(Writer::default().bytes(EVENT)).bytes(&self.token.0).finish()
    }

    /// Reads sent bytes. Any bytes may be given: wrong ones are an error, and nothing else happens.
    ///
    /// # Errors
    ///
    /// [`to_bytes`](Self::to_bytes) did not write them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ParseRemoteError> {
        let mut reader = Reader::new(bytes);
        if reader.take(8) != Some(EVENT) {
            return Err(ParseRemoteError("it begins otherwise"));
        }
        let origin = Origin::read(&mut reader);
        let token = reader.array().map(IpcToken);
        match origin.zip(token) {
            Some((origin, token)) if reader.is_at_end() => Ok(Self { origin, token }),
            _ => Err(ParseRemoteError("it is cut off, too long, or a number in it is out of range")),
        }
    }
}

impl fmt::Debug for RemoteArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shape, process) = (crate::layout::List(self.layout.shape()), self.origin.process);
        write!(
            f,
            "RemoteArray<{} bytes>{shape:?} of process {process} on {}",
            self.item_bytes, self.origin.backend
        )
    }
}

impl fmt::Debug for RemoteEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteEvent(of process {} on {})", self.origin.process, self.origin.backend)
    }
}

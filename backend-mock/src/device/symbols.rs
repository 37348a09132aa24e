//! Modules of the simulator: lists of variables.
#![allow(unsafe_code)] // implements an unsafe trait; performs no unsafe operation

use std::{collections::BTreeMap, fmt, ops::Range, sync::Arc};

use devarray::{
    Error, Result,
    backend::{Capability, Device, DeviceSymbols},
};

use super::{
    MockDevice,
    buffer::{MockBuffer, Within},
    shared::Shared,
};
use crate::{allocation::BufferId, backend::BACKEND, fault::Site};

/// The alignment of variables in bytes.
const ALIGN_BYTES: usize = 16;

/// A module: memory for its variables, all 0 when it is loaded, and their positions. Dropping it
/// frees the memory.
pub struct MockModule {
    shared: Arc<Shared>,
    buffer: BufferId,
    address: u64,
    len_bytes: usize,
    variables: BTreeMap<String, Range<usize>>,
}

impl fmt::Debug for MockModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MockModule({} variables on {:?})", self.variables.len(), self.shared)
    }
}

impl Drop for MockModule {
    fn drop(&mut self) {
        self.shared.engine().free_exportable(self.buffer, devarray::backend::call_location());
    }
}

/// The variables that an image lists: each line has a name and a number of bytes.
fn variables(image: &[u8]) -> Option<(BTreeMap<String, Range<usize>>, usize)> {
    let (mut variables, mut end) = (BTreeMap::new(), 0_usize);
    for line in std::str::from_utf8(image).ok()?.lines() {
        let (name, len_bytes) = line.split_once(' ')?;
        let start = end.checked_next_multiple_of(ALIGN_BYTES)?;
        end = start.checked_add(len_bytes.parse().ok()?)?;
        variables.insert(name.to_owned(), start..end);
    }
    Some((variables, end))
}

// SAFETY: variables are memory of the simulator like any other; the drop of the module takes it
// back.
unsafe impl DeviceSymbols for MockDevice {
    type Module = MockModule;

    /// The image is text: each line has a name, a space, and the number of bytes of the variable.
    /// All variables are constant memory, which has 64 KiB.
    #[track_caller]
    unsafe fn load_module(&self, image: &[u8]) -> Result<MockModule> {
        let (operation, location) = ("load_module", devarray::backend::call_location());
        self.check(operation, Capability::DeviceSymbols)?;
        let mut engine = self.shared().engine();
        engine.enter(Site::LoadModule)?;
        let refused =
            |name: &str| Error::Driver { backend: BACKEND, operation, code: 218, name: name.to_owned() };
        let (variables, len_bytes) = variables(image).ok_or_else(|| refused("not an image"))?;
        if len_bytes > self.info().properties.constant_memory_bytes {
            return Err(refused("too much constant memory"));
        }
        let len_bytes = len_bytes.max(1);
        let reserved = engine.reserve(len_bytes, location)?;
        engine.memory_of(reserved.buffer, self.info().ordinal);
        engine.make_zeroed(reserved, len_bytes, location);
        let (shared, buffer, address) = (Arc::clone(self.shared()), reserved.buffer, reserved.address);
        Ok(MockModule { shared, buffer, address, len_bytes, variables })
    }

    fn symbol(&self, module: &MockModule, name: &str) -> Result<(u64, usize)> {
        let operation = "symbol";
        self.shared().engine().enter(Site::Symbol)?;
        let reason = "the module has no variable of this name";
        let bytes =
            module.variables.get(name).ok_or(Error::Handle { backend: BACKEND, operation, reason })?;
        Ok((module.address + bytes.start as u64, bytes.len()))
    }

    fn symbol_buffer(&self, module: &MockModule, start: u64, bytes: Range<usize>) -> Result<MockBuffer> {
        let start_bytes = start.wrapping_sub(module.address).cast_signed();
        let within = Within {
            start_bytes: isize::try_from(start_bytes).unwrap_or(isize::MIN),
            len_bytes: module.len_bytes,
        };
        let shared = Arc::clone(self.shared());
        Ok(MockBuffer {
            shared,
            id: module.buffer,
            len_bytes: bytes.end,
            address: start,
            within: Some(within),
        })
    }
}

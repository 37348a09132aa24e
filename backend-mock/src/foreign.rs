//! Memory of other code: of raw streams and buffers of the simulator itself.
#![allow(unsafe_code)] // implements an unsafe trait; performs no unsafe operation

use std::{ops::Range, sync::Arc};

use devarray::{
    Error, Result,
    backend::{Capability, Device, ForeignMemory},
};

use crate::{
    buffer::{MockBuffer, Within},
    device::{BACKEND, MockDevice, Shared},
    fault::Site,
};

/// Adopted memory, counted until it is given up.
#[derive(Debug)]
pub struct MockAdopted {
    shared: Arc<Shared>,
}

impl Drop for MockAdopted {
    fn drop(&mut self) {
        self.shared.engine().end_adoption();
    }
}

// SAFETY: operations on the buffer are enqueued as operations on the memory that it is part of, and so judged, bounded and run
// as those of its owner are.
unsafe impl ForeignMemory for MockDevice {
    type Adopted = MockAdopted;

    unsafe fn adopt(&self, start: u64, bytes: Range<usize>) -> Result<(MockBuffer, MockAdopted)> {
        let operation = "adopt";
        self.check(operation, Capability::ForeignMemory)?;
        let mut engine = self.shared().engine();
        engine.enter(Site::Adopt)?;
        let addresses = start + bytes.start as u64..start + bytes.end as u64;
        let Some((id, address, len_bytes)) = engine.find_memory(addresses) else {
            let name = "no such memory".to_owned();
            return Err(Error::Driver { backend: BACKEND, operation, code: 1, name });
        };
        if engine.owner(id).is_some_and(|device| device != self.info().ordinal) {
            return Err(Error::DeviceMismatch { backend: BACKEND, operation });
        }
        engine.begin_adoption();
        drop(engine);
        // Addresses of the simulator are far from either end of what a number holds.
        let start_bytes = isize::try_from(start.cast_signed() - address.cast_signed()).unwrap_or(isize::MIN);
        let within = Some(Within { start_bytes, len_bytes });
        let shared = Arc::clone(self.shared());
        let buffer = MockBuffer { shared, id, len_bytes: bytes.end, address: start, within };
        Ok((buffer, MockAdopted { shared: Arc::clone(self.shared()) }))
    }
}

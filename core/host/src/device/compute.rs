//! Functions, reductions, gathers, order and products.
#![allow(unsafe_code)] // vouches for the contracts of functions

use devarray::{
    Error, Result,
    backend::{
        FusedOp, Fuses, GatherOp, Gathers, MapOp, Maps, OrderOp, Orders, ProductOp, Products, ReduceOp,
        Reduces,
    },
    gather::{Finished, IndexError},
};

use super::HostDevice;
use crate::{HostStream, backend::BACKEND, captured, execute, memory::DeviceMemory, shared::Shared};

// SAFETY: as for the stream; only the elements of the operands are read and written, and no other byte.
unsafe impl Maps for HostDevice {
    fn map(&self, stream: &HostStream, op: &MapOp<'_, DeviceMemory>) -> Result<()> {
        // SAFETY: the operation proves that the elements lie inside their buffers; at its turn, nothing
        // else uses them.
        let run = |device: &Shared| unsafe { execute::map(&device.threads, op) };
        stream.run_or_take(run, |device| captured::map(device, op));
        Ok(())
    }
}

// SAFETY: as for functions.
unsafe impl Reduces for HostDevice {
    fn reduce(&self, stream: &HostStream, op: &ReduceOp<'_, DeviceMemory>) -> Result<()> {
        // SAFETY: as for `map`.
        stream
            .run_or_take(|device| unsafe { execute::reduce(&device.threads, op) }, |_| captured::reduce(op));
        Ok(())
    }
}

// SAFETY: as for functions.
unsafe impl Fuses for HostDevice {
    fn fuse(&self, stream: &HostStream, op: &FusedOp<'_, DeviceMemory>) -> Result<()> {
        // SAFETY: as for `map`.
        stream.run_or_take(|device| unsafe { execute::fuse(&device.threads, op) }, |_| captured::fuse(op));
        Ok(())
    }
}

// SAFETY: as for functions.
unsafe impl Gathers for HostDevice {
    fn gather(&self, stream: &HostStream, op: &GatherOp<'_, DeviceMemory>) -> Result<()> {
        let run = |device: &Shared| {
            // SAFETY: as for `map`.
            let error = unsafe { execute::gather(&device.threads, op) };
            if let Some(error) = error {
                device.index_errors.put(op.number(), error);
            }
        };
        stream.run_or_take(run, |_| captured::gather(op));
        Ok(())
    }

    fn take_index_error(&self, gather: Finished) -> Option<IndexError> {
        self.shared.index_errors.take(gather.number())
    }
}

// SAFETY: as for functions.
unsafe impl Orders for HostDevice {
    fn order(&self, stream: &HostStream, op: &OrderOp<'_, DeviceMemory>) -> Result<()> {
        let copied_bytes = op.scattered_bytes();
        if copied_bytes > 0 {
            let room = self.shared.room.info();
            if copied_bytes > room.total_bytes {
                return Err(Error::out_of_memory(BACKEND, op.call().name(), copied_bytes, Some(room)));
            }
        }
        let run = |device: &Shared| {
            // SAFETY: as for `map`.
            let error = unsafe { execute::order(&device.threads, op) };
            if let Some(error) = error {
                device.index_errors.put(op.number(), error);
            }
        };
        stream.run_or_take(run, |_| captured::order(op));
        Ok(())
    }
}

// SAFETY: as for functions.
unsafe impl Products for HostDevice {
    fn product(&self, stream: &HostStream, op: &ProductOp<'_, DeviceMemory>) -> Result<()> {
        // SAFETY: as for `map`.
        stream.run_or_take(
            |device| unsafe { execute::product(&device.threads, op) },
            |_| captured::product(op),
        );
        Ok(())
    }
}

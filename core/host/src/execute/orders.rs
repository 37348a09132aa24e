//! Order, search and sums by index, in pieces that threads share.
#![allow(unsafe_code)] // computes on memory that its callers vouch for

use devarray::{backend::OrderOp, gather::IndexError, order::Workers};

use crate::{memory::DeviceMemory, threads::Threads};

impl Workers for Threads {
    fn count(&self) -> usize {
        self.count()
    }

    fn run(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        self.run(pieces, work);
    }
}

/// Makes a call. Returns the first index that is out of range.
///
/// # Safety
///
/// The operands' elements may be read and written; nobody else writes the inputs or touches the results.
pub(crate) unsafe fn order(threads: &Threads, op: &OrderOp<'_, DeviceMemory>) -> Option<IndexError> {
    // SAFETY: passed on to the caller; memory of the device was zeroed or written.
    unsafe { op.run_on_host(|memory| memory.at(0), threads) }
}

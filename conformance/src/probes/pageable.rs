//! Memory that is not pinned, used below the library (which would stage it); and pinning.
#![allow(unsafe_code)] // copies memory of its own, which it keeps until the device is done

use std::{num::NonZeroUsize, ptr};

use devarray::{
    Array, Device, Error, Result,
    backend::{DownloadOp, RegisterHost, Stream, UploadOp},
};

use super::Setting;

/// Memory of the program, kept until it is given up; leaked if something fails before that.
struct Pageable {
    start: *mut u8,
    len: usize,
}

impl Pageable {
    fn new<D: Device>(at: &Setting<D>, value: u8) -> Self {
        // Large enough for a driver's usual method.
        let len = at.load.bytes.min(4 << 20);
        Self { start: Box::into_raw(vec![value; len].into_boxed_slice()).cast(), len }
    }

    fn fill(&self, value: u8) {
        // SAFETY: inside the memory. A device may read it meanwhile, which is what the probe
        // examines.
        unsafe { self.start.write_bytes(value, self.len) };
    }

    /// Whether all bytes have this value now.
    fn holds(&self, value: u8) -> bool {
        // SAFETY: inside the memory, which a device may be writing: that is what the probe
        // examines.
        (0..self.len).all(|at| unsafe { self.start.wrapping_add(at).read_volatile() } == value)
    }

    /// Frees the memory. Nothing is in flight.
    fn give_up(self) {
        // SAFETY: from `Box::into_raw` of a slice of this length.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(self.start, self.len)) });
    }
}

pub(super) fn row_06_a_pageable_source_may_be_read_later<D: Device>(at: Setting<D>) -> Result<&'static str> {
    let source = Pageable::new(&at, 7);
    let array = Array::<u8, D>::uninit(&at.one, &[source.len])?;
    at.delay(&at.one)?;
    // Only this stream uses the array, so no other code needs to know.
    if let Some(to) = array.view().buffer() {
        // SAFETY: the memory is kept until the device is done, and the whole array is written.
        let op = unsafe { UploadOp::new_unchecked(to, 0, source.start.cast_const(), source.len) };
        at.one.raw().upload(&op)?;
    }
    source.fill(9);
    let seen = array.to_vec(&at.one)?;
    source.give_up();
    Ok(match (seen.contains(&7), seen.contains(&9)) {
        (true, false) => "the bytes at the call",
        (false, true) => "later bytes",
        (true, true) => "bytes of both",
        (false, false) => "other bytes",
    })
}

pub(super) fn row_07_a_pageable_download_may_return_before_it_is_done<D: Device>(
    at: Setting<D>,
) -> Result<&'static str> {
    let memory = Pageable::new(&at, 9);
    let array = Array::full(&at.one, &[memory.len], 7_u8)?;
    at.delay(&at.one)?;
    if let Some(from) = array.view().buffer() {
        // SAFETY: as for the upload above.
        let op = unsafe { DownloadOp::new_unchecked(from, 0, memory.start, memory.len) };
        at.one.raw().download(&op)?;
    }
    let answer = if memory.holds(7) { "done at return" } else { "not done at return" };
    at.one.synchronize()?;
    memory.give_up();
    Ok(answer)
}

const LEN: NonZeroUsize = NonZeroUsize::new(1 << 20).unwrap();

/// Whether a stream that was given much work is done after a call.
fn after<D: Device>(at: &Setting<D>, call: impl FnOnce() -> Result<()>) -> Result<&'static str> {
    at.delay(&at.one)?;
    let event = at.one.record()?;
    call()?;
    let done = event.query()?;
    at.one.synchronize()?;
    Ok(if done { "the device is done" } else { "the device is not done" })
}

pub(super) fn row_18_pinned_memory_may_be_had_before_the_device_is_done<D: Device>(
    at: Setting<D>,
) -> Result<&'static str> {
    let mut pinned = None;
    after(&at, || at.context.device().alloc_host(LEN).map(|had| pinned = Some(had)))
}

pub(super) fn row_18_pinned_memory_may_be_gone_before_the_device_is_done<D: Device>(
    at: Setting<D>,
) -> Result<&'static str> {
    let pinned = at.context.device().alloc_host(LEN)?;
    after(&at, || {
        drop(pinned);
        Ok(())
    })
}

pub(super) fn row_18_memory_may_be_pinned_and_unpinned_before_the_device_is_done<D: RegisterHost>(
    at: Setting<D>,
) -> Result<&'static str> {
    let memory = Pageable::new(&at, 0);
    let device = at.context.device();
    let answer = after(&at, || {
        let len = NonZeroUsize::new(memory.len).ok_or(Error::from(devarray::LayoutError::Overflow))?;
        // SAFETY: the memory is kept until after it was unpinned.
        let registration = unsafe { device.register_host(memory.start, len) }?;
        device.unregister_host(registration)
    });
    memory.give_up();
    answer
}

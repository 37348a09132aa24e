//! Allocations, frees, and memory of the host.

use devarray::{Array, Device, Error, Order, Result};

use super::{Setting, transfers::at_return};

const LEN: usize = 1 << 12;

pub(super) fn row_12_no_bytes_need_no_memory<D: Device>(at: Setting<D>) -> Result<&'static str> {
    let array = Array::<f64, D>::zeros(&at.one, &[3, 0])?;
    Ok(if array.is_empty() && array.to_vec(&at.one)?.is_empty() { "an array" } else { "elements" })
}

pub(super) fn row_15_another_stream_sees_memory_that_is_there<D: Device>(
    at: Setting<D>,
) -> Result<&'static str> {
    at.delay(&at.one)?;
    let mut array = Array::<u8, D>::uninit(&at.one, &[LEN])?;
    array.view_mut().fill(&at.two, 7)?;
    Ok(if array.to_vec(&at.two)? == [7; LEN] { "the bytes written" } else { "other bytes" })
}

pub(super) fn row_16_a_free_is_after_every_use<D: Device>(at: Setting<D>) -> Result<&'static str> {
    let array = Array::full(&at.one, &[LEN], 7_u8)?;
    at.delay(&at.two)?;
    let copy = array.view().to_contiguous(&at.two, Order::C)?;
    drop(array);
    // The next owner of the memory writes to it at once.
    let next = Array::full(&at.one, &[LEN], 9_u8)?;
    at.one.synchronize()?;
    let seen = copy.to_vec(&at.two)?;
    drop(next);
    Ok(if seen == [7; LEN] { "the bytes of the reader" } else { "bytes of the next owner" })
}

pub(super) fn row_16_a_free_may_return_before_it_is_done<D: Device>(at: Setting<D>) -> Result<&'static str> {
    let array = Array::full(&at.one, &[LEN], 7_u8)?;
    at.delay(&at.one)?;
    drop(array);
    at_return(&at.one)
}

pub(super) fn row_17_memory_may_be_used_again_by_its_stream<D: Device>(
    at: Setting<D>,
) -> Result<&'static str> {
    let array = Array::<u8, D>::uninit(&at.one, &[LEN])?;
    let address = array.view().bytes()?.address();
    drop(array);
    let next = Array::<u8, D>::uninit(&at.one, &[LEN])?;
    Ok(if next.view().bytes()?.address() == address { "at the same address" } else { "at another address" })
}

pub(super) fn row_31_what_is_refused_changes_nothing<D: Device>(at: Setting<D>) -> Result<&'static str> {
    let array = Array::full(&at.one, &[LEN], 7_u8)?;
    let too_many = at.context.device().memory()?.total_bytes.saturating_add(1);
    let refused = Array::<u8, D>::uninit(&at.one, &[too_many]);
    if !matches!(refused, Err(Error::OutOfMemory { .. })) {
        return Ok("not refused");
    }
    Ok(if array.to_vec(&at.one)? == [7; LEN] { "as before" } else { "changed" })
}

pub(super) fn row_33_arrays_keep_their_device<D: Device>(at: Setting<D>) -> Result<&'static str> {
    let array = Array::full(&at.one, &[LEN], 7_u8)?;
    at.delay(&at.one)?;
    drop(at);
    let stream = array.context().stream()?;
    Ok(if array.to_vec(&stream)? == [7; LEN] { "usable" } else { "other bytes" })
}

//! Copies and fills: when they return, and what is done by then.

use devarray::{Array, Device, Result, StreamHandle, ix};

use super::Setting;

const LEN: usize = 1 << 12;

pub(super) fn row_06_a_borrowed_source_is_free_at_return<D: Device>(at: Setting<D>) -> Result<&'static str> {
    let mut array = Array::<u8, D>::uninit(&at.one, &[LEN])?;
    at.delay(&at.one)?;
    let mut source = vec![7; LEN];
    array.view_mut().copy_from_slice(&at.one, &source)?;
    source.fill(9);
    let seen = array.to_vec(&at.one)?;
    Ok(if seen == [7; LEN] { "the bytes at the call" } else { "later bytes" })
}

pub(super) fn row_07_a_borrowed_destination_is_there_at_return<D: Device>(
    at: Setting<D>,
) -> Result<&'static str> {
    let array = Array::full(&at.one, &[LEN], 7_u8)?;
    at.delay(&at.one)?;
    let mut destination = vec![9; LEN];
    array.view().copy_to_slice(&at.one, &mut destination)?;
    Ok(if destination == [7; LEN] { "the new bytes" } else { "other bytes" })
}

/// Whether the newest work has run, as far as a query can tell.
pub(super) fn at_return<D: Device>(stream: &StreamHandle<D>) -> Result<&'static str> {
    Ok(if stream.record()?.query()? { "done at return" } else { "not done at return" })
}

pub(super) fn row_08_a_pinned_download_may_return_before_it_is_done<D: Device>(
    at: Setting<D>,
) -> Result<&'static str> {
    let (array, pinned) = (Array::full(&at.one, &[LEN], 7_u8)?, at.context.pinned(LEN)?);
    at.delay(&at.one)?;
    let download = array.view().download(&at.one, pinned)?;
    let answer = at_return(&at.one)?;
    download.wait()?;
    Ok(answer)
}

pub(super) fn row_08_a_pinned_upload_may_return_before_it_is_done<D: Device>(
    at: Setting<D>,
) -> Result<&'static str> {
    let (mut array, pinned) = (Array::<u8, D>::uninit(&at.one, &[LEN])?, at.context.pinned(LEN)?);
    at.delay(&at.one)?;
    let upload = array.view_mut().upload(&at.one, pinned)?;
    let answer = at_return(&at.one)?;
    upload.wait()?;
    Ok(answer)
}

pub(super) fn row_11_a_fill_may_return_before_it_is_done<D: Device>(at: Setting<D>) -> Result<&'static str> {
    let mut array = Array::<u8, D>::uninit(&at.one, &[LEN])?;
    at.delay(&at.one)?;
    array.view_mut().fill(&at.one, 7)?;
    at_return(&at.one)
}

pub(super) fn row_11_a_copy_may_return_before_it_is_done<D: Device>(at: Setting<D>) -> Result<&'static str> {
    let (mut array, source) = (Array::<u8, D>::uninit(&at.one, &[LEN])?, Array::full(&at.one, &[LEN], 7)?);
    at.delay(&at.one)?;
    array.view_mut().copy_from(&at.one, &source.view())?;
    at_return(&at.one)
}

pub(super) fn row_32_an_overlapping_move_is_as_through_a_copy<D: Device>(
    at: Setting<D>,
) -> Result<&'static str> {
    let before: Vec<u16> = (0..1000).collect();
    let mut array = Array::from_slice(&at.one, &[1000], &before)?;
    array.view_mut().copy_within(&at.one, &ix![1..], &ix![..-1])?;
    let seen = array.to_vec(&at.one)?;
    Ok(if seen[0] == 0 && seen[1..] == before[..999] { "as through a copy" } else { "mixed" })
}

//! Events, waits and queries.

use devarray::{Array, Device, Result};

use super::Setting;

const LEN: usize = 1 << 12;

pub(super) fn row_20_a_record_is_a_snapshot<D: Device>(at: Setting<D>) -> Result<&'static str> {
    let recorded = at.one.record()?;
    at.delay(&at.one)?;
    let later = at.one.record()?;
    recorded.synchronize()?;
    Ok(if later.query()? { "later work is done" } else { "later work is not done" })
}

pub(super) fn row_20_earlier_work_is_in_the_snapshot<D: Device>(at: Setting<D>) -> Result<&'static str> {
    at.delay(&at.one)?;
    let earlier = at.one.record()?;
    at.one.record()?.synchronize()?;
    Ok(if earlier.query()? { "earlier work is done" } else { "earlier work is not done" })
}

pub(super) fn row_21_a_wait_is_for_what_was_recorded<D: Device>(at: Setting<D>) -> Result<&'static str> {
    let recorded = at.one.record()?;
    at.delay(&at.one)?;
    let later = at.one.record()?;
    at.two.wait(&recorded)?;
    at.two.synchronize()?;
    Ok(if later.query()? { "later work is done" } else { "later work is not done" })
}

pub(super) fn row_22_a_query_does_not_wait<D: Device>(at: Setting<D>) -> Result<&'static str> {
    at.delay(&at.one)?;
    Ok(if at.one.record()?.query()? { "yes" } else { "no" })
}

pub(super) fn row_22_a_query_that_says_yes_is_an_edge<D: Device>(at: Setting<D>) -> Result<&'static str> {
    let (array, pinned) = (Array::full(&at.one, &[LEN], 7_u8)?, at.context.pinned(LEN)?);
    at.delay(&at.one)?;
    let download = array.view().download(&at.one, pinned)?;
    while !download.is_done()? {
        std::thread::yield_now();
    }
    Ok(if *download.wait()? == [7; LEN] { "the new bytes" } else { "other bytes" })
}

pub(super) fn row_22_yes_is_for_good<D: Device>(at: Setting<D>) -> Result<&'static str> {
    let event = at.one.record()?;
    while !event.query()? {
        std::thread::yield_now();
    }
    at.delay(&at.one)?;
    Ok(if event.query()? { "yes again" } else { "no" })
}

pub(super) fn row_23_a_wait_for_a_stream_is_for_all_of_it<D: Device>(at: Setting<D>) -> Result<&'static str> {
    at.delay(&at.one)?;
    let before = at.one.record()?;
    at.delay(&at.one)?;
    let last = at.one.record()?;
    at.one.synchronize()?;
    Ok(if before.query()? && last.query()? { "all done" } else { "not all done" })
}

pub(super) fn row_23_a_wait_for_a_stream_is_for_no_other<D: Device>(at: Setting<D>) -> Result<&'static str> {
    at.delay(&at.one)?;
    let other = at.one.record()?;
    let _ = at.two.record()?;
    at.two.synchronize()?;
    Ok(if other.query()? { "the other is done" } else { "the other is not done" })
}

pub(super) fn row_24_a_dropped_stream_does_its_work<D: Device>(at: Setting<D>) -> Result<&'static str> {
    let stream = at.context.stream()?;
    let mut array = Array::<u8, D>::uninit(&at.two, &[LEN])?;
    at.delay(&stream)?;
    array.view_mut().fill(&stream, 7)?;
    drop(stream);
    Ok(if array.to_vec(&at.two)? == [7; LEN] { "done" } else { "not done" })
}

pub(super) fn row_24_a_dropped_event_keeps_its_edges<D: Device>(at: Setting<D>) -> Result<&'static str> {
    at.delay(&at.one)?;
    let array = Array::full(&at.one, &[LEN], 7_u8)?;
    let event = at.one.record()?;
    at.two.wait(&event)?;
    drop(event);
    let ordered = at.two.record()?;
    ordered.synchronize()?;
    // The event's work is done, and its stream knows: the bytes are there without another wait.
    Ok(if array.to_vec(&at.two)? == [7; LEN] { "the bytes written" } else { "other bytes" })
}

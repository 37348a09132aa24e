//! Default streams of other code, as far as the library deals with them: it waits for them and lets
//! them wait.

use std::{sync::mpsc, thread};

use devarray::{
    Result,
    backend::{ForeignMemory, ForeignStream},
};

use super::Setting;

const LEGACY: ForeignStream = ForeignStream::LEGACY;
const PER_THREAD: ForeignStream = ForeignStream::PER_THREAD;

/// Gives one stream much work, then acts, then waits for the other stream. Returns whether the
/// first is done as well.
fn with_the_other<D: ForeignMemory>(
    at: &Setting<D>,
    act: impl FnOnce() -> Result<()>,
) -> Result<&'static str> {
    at.delay(&at.one)?;
    let other = at.one.record()?;
    act()?;
    let _ = at.two.record()?;
    at.two.synchronize()?;
    Ok(if other.query()? { "the other is done" } else { "the other is not done" })
}

pub(super) fn row_26_the_legacy_stream_waits_for_no_stream_of_the_library<D: ForeignMemory>(
    at: Setting<D>,
) -> Result<&'static str> {
    with_the_other(&at, || at.two.wait_for_foreign(LEGACY))
}

pub(super) fn row_26_no_stream_of_the_library_waits_for_the_legacy_stream<D: ForeignMemory>(
    at: Setting<D>,
) -> Result<&'static str> {
    with_the_other(&at, || at.one.foreign_waits(LEGACY))
}

pub(super) fn row_26_order_passes_through_the_legacy_stream<D: ForeignMemory>(
    at: Setting<D>,
) -> Result<&'static str> {
    with_the_other(&at, || at.one.foreign_waits(LEGACY).and_then(|()| at.two.wait_for_foreign(LEGACY)))
}

pub(super) fn row_26_the_legacy_stream_waits_for_that_of_the_thread<D: ForeignMemory>(
    at: Setting<D>,
) -> Result<&'static str> {
    with_the_other(&at, || at.one.foreign_waits(PER_THREAD).and_then(|()| at.two.wait_for_foreign(LEGACY)))
}

pub(super) fn row_26_the_stream_of_the_thread_waits_for_the_legacy_stream<D: ForeignMemory>(
    at: Setting<D>,
) -> Result<&'static str> {
    with_the_other(&at, || at.one.foreign_waits(LEGACY).and_then(|()| at.two.wait_for_foreign(PER_THREAD)))
}

pub(super) fn row_27_order_passes_through_the_stream_of_the_thread<D: ForeignMemory>(
    at: Setting<D>,
) -> Result<&'static str> {
    with_the_other(&at, || {
        at.one.foreign_waits(PER_THREAD).and_then(|()| at.two.wait_for_foreign(PER_THREAD))
    })
}

pub(super) fn row_27_each_thread_has_a_stream_of_its_own<D: ForeignMemory>(
    at: Setting<D>,
) -> Result<&'static str> {
    let at = &at;
    thread::scope(|scope| {
        let (end, ended) = mpsc::channel::<()>();
        let answer = with_the_other(at, || {
            let (tell, told) = mpsc::channel();
            scope.spawn(move || {
                tell.send(at.one.foreign_waits(PER_THREAD)).ok();
                // A driver was seen to hang if a thread ended while something waited for the
                // thread's stream.
                ended.recv().ok();
            });
            // If the thread panicked, the scope panics, too.
            told.recv().unwrap_or(Ok(()))?;
            at.two.wait_for_foreign(PER_THREAD)
        });
        let done = at.one.synchronize();
        drop(end);
        done.and(answer)
    })
}

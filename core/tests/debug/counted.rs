//! Shows a call that counts rows, a communicator in a recording, and an unchecked communicator.
#![allow(unsafe_code)] // makes a communicator unchecked

use devarray::{
    Array, Error, Result, StreamHandle,
    backend::Collects,
    collective::{Communicator, RankState},
};

use super::shown::Shown;

pub(super) fn counted<D: Collects>(
    shown: &mut Shown,
    stream: &StreamHandle<D>,
    mut ranks: Communicator<D>,
) -> Result<()> {
    drop(stream.record_work((&mut ranks,), |_, (ranks,)| {
        assert!(format!("{ranks:?}").ends_with("on mock:0, 0 calls, of a recording)"), "{ranks:?}");
        Ok(())
    })?);
    ranks.barrier()?;
    // It waits for fewer rows than it sends to itself.
    let rows = Array::<f32, _>::zeros(stream, &[2, 3])?;
    let mut fewer = Array::<f32, _>::zeros(stream, &[1, 3])?;
    let differs = ranks.all_to_all_counted_into(stream, &rows, &[2], &mut fewer, &[1]).err();
    let Some(Error::Collective { error, .. }) = differs else { panic!("the counts differ") };
    let states = error.states().expect("it says what each rank did");
    for state in states.iter() {
        let RankState::Calls(call) = state else { continue };
        shown.add("RowCounts", call.counts.as_ref().expect("rows are counted"));
    }
    // SAFETY: there is one rank.
    let unchecked = unsafe { ranks.into_unchecked() };
    assert!(format!("{unchecked:?}").ends_with("on mock:0, 3 calls, unchecked)"), "{unchecked:?}");
    Ok(())
}

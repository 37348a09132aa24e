//! A point in the work of a stream, and how a wait for it can end.
#![allow(unsafe_code)] // declares an unsafe trait; performs no unsafe operation

use std::fmt::Debug;

use crate::{Error, Result};

/// The end of a wait. There are three, because "it failed" does not say whether memory is still
/// being touched.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "an unknown end means that memory may still be touched"]
#[expect(
    clippy::exhaustive_enums,
    reason = "complete by nature: every caller must decide what each end means for memory"
)]
pub enum Quiesced {
    /// The work is done.
    Done,
    /// The work failed, and the device touches nothing of it any more.
    Ended(Error),
    /// The wait itself failed: the device may still touch the memory of the work. The owner of such
    /// memory must leak it or abort.
    Unknown(Error),
}

impl Quiesced {
    /// `Ok` if the work is done, else the error of either kind. Only for callers whose memory does
    /// not depend on the difference.
    ///
    /// # Errors
    ///
    /// The error that the wait ended with.
    pub fn into_result(self) -> Result<()> {
        match self {
            Self::Done => Ok(()),
            Self::Ended(error) | Self::Unknown(error) => Err(error),
        }
    }
}

/// A snapshot of the work a stream had when the event was recorded.
///
/// # Safety
///
/// `query` answers `true`, and `synchronize` answers `Done` or `Ended`, only when the captured work
/// touches no memory any more; once `true`, always `true`. Repeated queries make progress. Dropping
/// an event neither blocks nor cancels work, nor lifts a wait already enqueued for it.
pub unsafe trait Event: Debug + Send + Sync + 'static {
    /// Whether the captured work is finished. Does not block.
    ///
    /// # Errors
    ///
    /// The captured work, or the device, failed: whether memory is still touched is unknown.
    fn query(&self) -> Result<bool>;

    /// Blocks the calling thread until the captured work is finished.
    fn synchronize(&self) -> Quiesced;
}

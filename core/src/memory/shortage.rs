//! Makes room before an allocation fails.

use std::sync::Arc;

use crate::{
    Error,
    backend::{Device, Quiesced, Stream},
    context::ContextCore,
    lock::lock,
};

impl<D: Device> ContextCore<D> {
    /// Called after an allocation failed with `error`. If memory was short, gives back all memory
    /// that it can, and returns whether to try once more. No lock may be held: it waits for the
    /// device and calls the program's hook.
    #[cold]
    pub(crate) fn makes_room_after(&self, error: &Error) -> bool {
        let Error::OutOfMemory { limited, .. } = error else { return false };
        self.deferred_drops.settle(self);
        self.releases.flush(self);
        // Device memory stays short until the work before its free is finished. A limit does not
        // depend on that.
        if !limited {
            self.wait_for_streams();
        }
        self.watch.out_of_memory(error);
        // Memory that the hook dropped may have been put off.
        self.releases.flush(self);
        true
    }

    /// Waits for every stream of the context.
    fn wait_for_streams(&self) {
        let lanes: Vec<_> = lock(&self.tracker).open_lanes().collect();
        for lane in lanes {
            // The position is taken first: the wait does not cover work that other threads submit
            // meanwhile.
            let tracker = lock(&self.tracker);
            let (Some(stream), position) = (tracker.stream(lane).map(Arc::clone), tracker.position(lane))
            else {
                continue;
            };
            drop(tracker);
            match Stream::synchronize(&*stream) {
                Quiesced::Done => self.host_waited(&position),
                Quiesced::Ended(error) | Quiesced::Unknown(error) => self.report(error),
            }
        }
    }
}

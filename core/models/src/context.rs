//! Questions of a program to its context about memory: of core's `memory/context.rs` and
//! `memory/deferral.rs`, the part that the models call.

use std::sync::Arc;

use super::{MemoryHook, Pending, PendingReleases, Release, ReleaseLimits};
use crate::{Context, backend::Device, context::ContextCore, lock::lock};

impl<D: Device> Context<D> {
    pub(crate) fn set_memory_hook(&self, hook: Option<Arc<dyn MemoryHook>>) {
        self.0.watch.set(hook);
    }

    pub(crate) fn set_release_limits(&self, limits: ReleaseLimits) {
        self.0.releases.change(&*self.0, |state| state.limits = limits);
    }

    pub(crate) fn defer_cleanup<R>(&self, f: impl FnOnce() -> R) -> R {
        self.0.releases.change(&*self.0, |state| state.scopes += 1);
        let _scope = Deferral(&self.0);
        f()
    }

    pub(crate) fn pending_releases(&self) -> PendingReleases {
        let state = lock(&self.0.releases.state);
        PendingReleases { count: state.pending.len(), len_bytes: state.len_bytes }
    }
}

struct Deferral<'c, D: Device>(&'c ContextCore<D>);

impl<D: Device> Drop for Deferral<'_, D> {
    fn drop(&mut self) {
        self.0.releases.change(self.0, |state| state.scopes -= 1);
    }
}

impl<D: Device> Release<D> for ContextCore<D> {
    fn release_now(&self, item: Pending<D>) {
        drop(item);
    }
}

impl<D: Device> Drop for ContextCore<D> {
    fn drop(&mut self) {
        while let Some(item) = self.releases.next() {
            self.release_now(item);
        }
    }
}

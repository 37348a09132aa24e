//! The captures of a recording: one for each set of addresses, a few of them.

use std::{mem::ManuallyDrop, sync::Arc};

use smallvec::SmallVec;

use super::{arguments::Given, branches::is_chain, memory::Placement, recorder::Calls};
use crate::{
    Result,
    allocation::{Allocation, give_back_only},
    backend::{Captured, Captures as _, Device},
    deferred_drop::Owner,
    hazards::Reporting,
    stream::StreamCore,
};

/// Most that are kept. A loop that swaps two arrays needs two.
const MOST_KEPT: usize = 4;

/// Most captures that fail before it is not tried any more.
const MOST_FAILED: u32 = 2;

/// Where the arguments lie: address, length and offset of each.
type Addresses = SmallVec<[(u64, usize, isize); 4]>;

/// The captures, the last one used at the end.
pub(super) struct Launches<D: Device> {
    kept: Vec<Kept<D>>,
    /// Whether a call is made anew at each launch, where it cannot be captured: it may find an index that has no
    /// place.
    is_anew: bool,
    has_several: bool,
    /// Not captured any more, because it cannot be done, or does not pay.
    is_replayed: bool,
    failed: u32,
}

/// A capture for some addresses.
struct Kept<D: Device> {
    addresses: Addresses,
    captured: ManuallyDrop<Box<dyn Captured>>,
    /// Its operations that may find an index that has no place, in the order in which they were captured.
    reports: Vec<Reporting<D>>,
}

impl<D: Device> Launches<D> {
    pub(super) fn new(calls: &Calls<D>) -> Self {
        let is_anew = calls.all.iter().any(|call| call.reports);
        let has_several = calls.all.len() > 1;
        Self { kept: Vec::new(), is_anew, has_several, is_replayed: !has_several, failed: 0 }
    }

    pub(super) fn is_anew(&self) -> bool {
        self.is_anew
    }

    /// Whether there are two calls or more: one alone is not captured.
    pub(super) fn has_several(&self) -> bool {
        self.has_several
    }

    pub(super) fn is_captured(&self) -> bool {
        !self.kept.is_empty()
    }

    /// The capture for these addresses, made now or before. None if the calls are to be made one by one.
    pub(super) fn captured<'c>(
        &'c mut self,
        stream: &StreamCore<D>,
        calls: &Calls<D>,
        (given, memory): (&[Given<'_, D>], Placement<'_, D>),
        launches: &Arc<Allocation<D>>,
    ) -> Option<(&'c dyn Captured, &'c [Reporting<D>])> {
        self.is_replayed |= self.is_anew && !stream.raw.captures_reports();
        if self.is_replayed {
            return None;
        }
        let places = memory.places[..given.len()].iter();
        let addresses: Addresses = places
            .map(|place| (place.allocation.address(), place.allocation.len_bytes(), place.moved_bytes))
            .collect();
        if let Some(at) = self.kept.iter().position(|kept| kept.addresses == addresses) {
            let last = self.kept.remove(at);
            self.kept.push(last);
        } else {
            match capture(stream, calls, memory) {
                Ok(Some((captured, reports))) => {
                    if self.kept.len() == MOST_KEPT {
                        self.give_back_first(launches);
                    }
                    let captured = ManuallyDrop::new(captured);
                    self.kept.push(Kept { addresses, captured, reports });
                }
                Ok(None) => self.is_replayed = true,
                // The calls, made one by one, tell what is wrong.
                Err(_) => {
                    self.failed += 1;
                    self.is_replayed = self.failed == MOST_FAILED;
                    return None;
                }
            }
        }
        self.kept.last().map(|kept| (&**kept.captured, &kept.reports[..]))
    }

    /// Drops all when their launches are over.
    pub(super) fn give_back(&mut self, launches: &Arc<Allocation<D>>) {
        while !self.kept.is_empty() {
            self.give_back_first(launches);
        }
    }

    fn give_back_first(&mut self, launches: &Arc<Allocation<D>>) {
        let Kept { captured, .. } = self.kept.remove(0);
        let owner: Owner = Box::new(ManuallyDrop::into_inner(captured));
        give_back_only(&launches.core, &launches.uses, 1, ManuallyDrop::new(owner));
    }
}

/// A capture, and its operations that may find an index that has no place.
type Capture<D> = (Box<dyn Captured>, Vec<Reporting<D>>);

/// Has the calls captured. None if the backend cannot.
fn capture<D: Device>(
    stream: &StreamCore<D>,
    calls: &Calls<D>,
    memory: Placement<'_, D>,
) -> Result<Option<Capture<D>>> {
    let Some(raw) = stream.raw.capture()? else { return Ok(None) };
    let raw = Arc::new(raw);
    let on = stream.capturing(Arc::clone(&raw));
    // Calls that come one behind the other are captured in order, without a word.
    let has_branches = !is_chain(&calls.behind);
    let done = calls.all.iter().zip(&calls.behind).try_for_each(|(call, behind)| {
        if has_branches {
            on.raw.next_behind(behind);
        }
        call.again(&on, memory)
    });
    let reports = on.take_reports();
    drop(on);
    // Also where a call failed: the stream captures until it is ended.
    let ended = Arc::into_inner(raw).map(D::Stream::end_capture).transpose();
    done?;
    ended.map(|captured| captured.map(|captured| (captured, reports)))
}

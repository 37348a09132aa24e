//! The five checks of an operation.

use std::ops::Range;

use devarray::copy::Plan;

use super::{
    Footprint, Judge, Kind, Place, Touch,
    access_lists::ListedAccess,
    bytes::Bytes,
    clock::Position,
    explanation::last_of_streams,
    initialized::{INITIALIZE, Initialized},
    profile_clocks::Later,
    propagation,
    shadow::{Conflict, Visitor},
};
use crate::{
    allocation::BufferId,
    finding::{Access, Code, Finding, Memory, Operation},
};

/// The accesses that an operation is not ordered after.
pub(super) struct Conflicts {
    these: Vec<Conflict>,
    /// Conflicts that would remain if these were ordered.
    since: Vec<Conflict>,
}

impl From<Vec<Conflict>> for Conflicts {
    fn from(these: Vec<Conflict>) -> Self {
        Self { these, since: Vec::new() }
    }
}

/// The initialized bytes that a copy gives its destination.
enum Flags {
    All,
    None,
    Some(Bytes),
}

impl Judge {
    pub(super) fn verdict(
        &mut self,
        work: &dyn Footprint,
        operation: Operation,
        position: Position,
        pageable: bool,
    ) -> Option<Box<Finding>> {
        match work.kind() {
            Kind::Order => return None,
            Kind::Alloc { buffer, len_bytes } => {
                let alloc = ListedAccess::new(position, operation, Access::Lifetime);
                self.device.insert(buffer, len_bytes, alloc);
                return None;
            }
            Kind::Free(buffer) => return self.free(buffer, operation, position),
            _ => {}
        }
        let touches = work.touches();
        let lifetime = touches.iter().find_map(|Touch { place, bytes, access }| match place {
            Place::Device(id) => self.lifetime(*id, bytes, *access, operation, position),
            Place::Host => None,
        });
        let race = self.races(work, &touches, operation, position, pageable);
        let finding = lifetime
            .or(race)
            .or_else(|| self.overlap(work, &touches, operation))
            .or_else(|| self.uninitialized(work, &touches, operation));
        self.give_values(&touches, work);
        finding
    }

    /// Whether a memory is alive, as far as the operation knows.
    fn lifetime(
        &self,
        id: BufferId,
        bytes: &Bytes,
        access: Access,
        operation: Operation,
        position: Position,
    ) -> Option<Box<Finding>> {
        let span = bytes.span();
        let found = |code, len_bytes| {
            Finding::new(code, operation, access, Memory::Device { id, len_bytes }, span.clone())
        };
        let code = if access == Access::Lifetime { Code::DoubleFree } else { Code::UseAfterFree };
        let Some(buffer) = self.device.buffer(id) else {
            return Some(Box::new(found(code, span.end)));
        };
        if let Some(free) = buffer.freed {
            return Some(Box::new(found(code, buffer.len_bytes).with([free.named()])));
        }
        let clock = self.lanes.clock(position.lane);
        if clock.knows(buffer.alloc.position) {
            return None;
        }
        let missed = vec![Conflict { with: buffer.alloc, bytes: span }];
        // An edge from the allocation alone would leave races with later uses of the memory.
        let writes = access != Access::Read;
        let since = buffer.shadow.conflicts_with(bytes, writes, clock, &self.access_lists);
        let memory = Memory::Device { id, len_bytes: buffer.len_bytes };
        let conflicts = Conflicts { these: missed, since };
        self.conflict(Code::UseBeforeAlloc, operation, access, false, conflicts, |_| memory)
    }

    /// Checks a free: the memory must be alive, and the free must come after every use of it.
    fn free(&mut self, id: BufferId, operation: Operation, position: Position) -> Option<Box<Finding>> {
        let whole = 0..self.device.buffer(id).map_or(0, |buffer| buffer.len_bytes);
        let all = Bytes::range(whole.clone());
        let finding = self.lifetime(id, &all, Access::Lifetime, operation, position).or_else(|| {
            let clock = self.lanes.clock(position.lane);
            let conflicts = self.device.buffer(id)?.shadow.conflicts(&whole, true, clock, &self.access_lists);
            let memory = Memory::Device { id, len_bytes: whole.len() };
            self.conflict(Code::UseAfterFree, operation, Access::Lifetime, false, conflicts, |_| memory)
        });
        self.device.free(id, ListedAccess::new(position, operation, Access::Lifetime));
        finding
    }

    /// Notes the touches of the operation, and returns the races.
    fn races(
        &mut self,
        work: &dyn Footprint,
        touches: &[Touch],
        operation: Operation,
        position: Position,
        pageable: bool,
    ) -> Option<Box<Finding>> {
        let mut race: Option<Box<Finding>> = None;
        for (at, Touch { place, bytes, access }) in touches.iter().enumerate() {
            let of_pageable = pageable && (*place, *access) == (Place::Host, Access::Read);
            let operation = Operation { argument: work.argument(at), ..operation };
            let note = ListedAccess { position, operation, access: *access, of_pageable };
            let shadow = match place {
                Place::Device(id) => self.device.alive_mut(*id).map(|buffer| &mut buffer.shadow),
                Place::Host => Some(&mut self.host.shadow),
            };
            let Some(shadow) = shadow else { continue };
            let conflicts = shadow.touch(bytes, Visitor::new(note, &mut self.access_lists, &self.lanes));
            let found =
                self.conflict(Code::Race, operation, *access, of_pageable, conflicts, |bytes| match place {
                    Place::Device(id) => self.device_name(*id),
                    Place::Host => self.host.name(bytes),
                });
            race = match (race, found) {
                (Some(first), Some(second)) => Some(Box::new(first.joined(*second))),
                (first, second) => first.or(second),
            };
        }
        if self.access_lists.are_many() {
            self.access_lists.sweep(&self.lanes, self.device.shadows_mut().chain([&mut self.host.shadow]));
        }
        race
    }

    /// The finding for some conflicts, explained by the earliest operation; `None` if no conflict
    /// remains under the profile. `of_pageable`: the operation reads the source of an upload of
    /// pageable memory.
    pub(super) fn conflict(
        &self,
        code: Code,
        operation: Operation,
        access: Access,
        of_pageable: bool,
        conflicts: impl Into<Conflicts>,
        memory: impl FnOnce(&mut Range<usize>) -> Memory,
    ) -> Option<Box<Finding>> {
        let Conflicts { these: mut conflicts, since } = conflicts.into();
        if conflicts.is_empty() {
            return None;
        }
        let later = Later { stream: operation.stream, of_pageable };
        let passes_under = self.under_profiles(later, &mut conflicts);
        let mut first = conflicts.iter().min_by_key(|conflict| conflict.with.operation.number)?.clone();
        let memory = memory(&mut first.bytes);
        let finding = Finding::new(code, operation, access, memory, first.bytes.clone());
        let named = conflicts.iter().map(|conflict| conflict.with.named());
        let last = last_of_streams(conflicts.iter().chain(&since));
        let mut finding = finding.with(named);
        for Operation { number, kind, argument, .. } in conflicts.iter().map(|known| known.with.operation) {
            let note = |argument| format!("#{number} reaches it as argument `{argument}` of kernel `{kind}`");
            finding.notes.extend(argument.map(note));
        }
        let mut finding = finding.explain(&self.lanes, operation, &first, &last);
        if let Some(copy) = self.may_have_waited(&first.with).filter(|_| !passes_under.is_empty()) {
            let earlier = first.with.operation.number;
            let what = if copy.number == earlier { "itself".to_owned() } else { format!("#{earlier}") };
            finding = finding.note(format!("the {} #{} may have waited for {what}", copy.kind, copy.number));
        }
        finding.passes_under = passes_under;
        Some(Box::new(finding))
    }

    fn device_name(&self, id: BufferId) -> Memory {
        Memory::Device { id, len_bytes: self.device.buffer(id).map_or(0, |buffer| buffer.len_bytes) }
    }

    /// Finds bytes that an operation reads and writes, or writes twice.
    fn overlap(&self, work: &dyn Footprint, touches: &[Touch], operation: Operation) -> Option<Box<Finding>> {
        let (Kind::Copy(_) | Kind::Compute | Kind::Gather | Kind::Scatter | Kind::Launch) = work.kind()
        else {
            return None;
        };
        let shared = |(at, touch): (usize, &Touch)| {
            let Place::Device(id) = touch.place else { return None };
            let meets = |(before, other): (usize, &Touch)| {
                let writes = touch.access == Access::Write || other.access == Access::Write;
                let may_meet = other.place != touch.place || !writes || work.may_share(before, at);
                if may_meet { None } else { other.bytes.first_common(&touch.bytes) }
            };
            Some((id, touches[..at].iter().enumerate().find_map(meets)?))
        };
        let (id, first) = touches.iter().enumerate().find_map(shared)?;
        let memory = self.device_name(id);
        Some(Box::new(Finding::new(Code::Overlap, operation, Access::Write, memory, first)))
    }

    /// Finds bytes without a value that an operation reads and does not only copy.
    fn uninitialized(
        &self,
        work: &dyn Footprint,
        touches: &[Touch],
        operation: Operation,
    ) -> Option<Box<Finding>> {
        // A gather reads only the elements that its indices name when it runs.
        let known = match work.kind() {
            Kind::Download | Kind::Compute | Kind::Launch => touches,
            Kind::Gather | Kind::Scatter => &touches[1..],
            _ => return None,
        };
        let missing = |touch: &Touch| match touch {
            Touch { place: Place::Device(id), bytes, access: Access::Read } => {
                Some((*id, self.device.buffer(*id)?.initialized.first_missing(bytes)?))
            }
            _ => None,
        };
        let (id, missing) = known.iter().find_map(missing)?;
        let memory = self.device_name(id);
        let finding = Finding::new(Code::Uninitialized, operation, Access::Read, memory, missing);
        Some(Box::new(finding.note(INITIALIZE.to_owned())))
    }

    /// The bytes of a memory, among these, that never got a value.
    pub(crate) fn missing(&self, id: BufferId, bytes: &Bytes) -> Bytes {
        let buffer = self.device.buffer(id).filter(|_| self.on);
        buffer.map_or_else(Bytes::default, |buffer| buffer.initialized.missing(bytes))
    }

    /// Notes that the written bytes have a value from now on, or have none if they were copied from
    /// bytes without one.
    ///
    /// A kernel may write several memories, and all their bytes have a value afterwards: memory that it
    /// does not write completely had a value before.
    fn give_values(&mut self, touches: &[Touch], work: &dyn Footprint) {
        let (kind, partial) = (work.kind(), work.partial());
        for (at, touch) in touches.iter().enumerate() {
            let Touch { place: Place::Device(id), bytes, access: Access::Write } = touch else { continue };
            let flags = match (kind, touches.first()) {
                (Kind::Copy(plan), Some(Touch { place: Place::Device(from), bytes: read, .. })) => self
                    .device
                    .buffer(*from)
                    .map_or(Flags::None, |from| flags_propagated(&from.initialized, read, plan)),
                _ => Flags::All,
            };
            let maybe = self.maybe_initialized_by(kind, touches, at, partial.contains(&at));
            let Some(buffer) = self.device.alive_mut(*id) else { continue };
            buffer.initialized.set(bytes, matches!(flags, Flags::All));
            if let Flags::Some(some) = flags {
                buffer.initialized.set(&some, true);
            }
            buffer.settle(bytes);
            if !maybe.is_empty() {
                buffer.maybe_initialized = buffer.maybe_initialized.with(&maybe);
                self.device.has_maybe_initialized = true;
            }
        }
    }
}

/// The initialized bytes that a copy of `read` gives its destination.
fn flags_propagated(from: &Initialized, read: &Bytes, plan: &Plan) -> Flags {
    if from.first_missing(read).is_none() {
        return Flags::All;
    }
    if from.has_none(read) {
        return Flags::None;
    }
    Flags::Some(propagation::through(plan, read, |set| from.among(set)))
}

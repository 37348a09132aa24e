//! The five questions, asked of one operation.

use std::ops::Range;

use devarray::copy::Plan;
use smallvec::SmallVec;

use super::{
    Judge, Position,
    bytes::Bytes,
    initialized::Initialized,
    shadow::{Conflict, Note},
    worlds::Later,
};
use crate::{
    buffer::BufferId,
    engine::Work,
    finding::{Access, Code, Finding, Memory, Operation},
};

/// One memory that an operation touches, and where.
#[derive(Debug)]
enum Side {
    Device(BufferId, Bytes),
    Host(Range<usize>),
    /// Read by an upload, and not pinned.
    PageableSource(Range<usize>),
}

/// The flags that a copy gives its destination.
enum Flags {
    All,
    None,
    Some(Bytes),
}

impl Judge {
    pub(super) fn verdict(
        &mut self,
        work: &Work,
        operation: Operation,
        position: Position,
        pageable: bool,
    ) -> Option<Finding> {
        let side = |id: &BufferId, bytes: Bytes| Some(Side::Device(*id, bytes));
        let (source, destination) = match work {
            Work::Record(_) | Work::Wait(_) => return None,
            Work::Alloc { buffer, len_bytes } => {
                let alloc = Note::new(position, operation, Access::Lifetime);
                self.device.insert(*buffer, *len_bytes, alloc);
                return None;
            }
            Work::Free { buffer, .. } => return self.free(*buffer, operation, position),
            Work::Copy { dst, src, plan } => {
                (side(src, Bytes::source(plan)), side(dst, Bytes::destination(plan)))
            }
            // No byte changes, but the memory must be there.
            Work::Prefetch { buffer, bytes } => (side(buffer, Bytes::range(bytes.clone())), None),
            Work::Fill { dst, plan, .. } => (None, side(dst, Bytes::destination(plan))),
            Work::Upload { dst, bytes, host } => {
                let source = if pageable { Side::PageableSource } else { Side::Host };
                (Some(source(host.addresses())), side(dst, Bytes::range(bytes.clone())))
            }
            Work::Download { src, bytes, host } => {
                (side(src, Bytes::range(bytes.clone())), Some(Side::Host(host.addresses())))
            }
        };
        let sides = [(source, Access::Read), (destination, Access::Write)];
        let sides: SmallVec<[(Side, Access); 2]> =
            sides.into_iter().filter_map(|(side, access)| Some((side?, access))).collect();

        let lifetime =
            sides.iter().find_map(|(side, access)| self.lifetime(side, *access, operation, position));
        let race = self.races(&sides, operation, position);
        let finding = lifetime
            .or(race)
            .or_else(|| self.overlap(&sides, operation))
            .or_else(|| self.uninitialized(&sides, operation));
        self.give_values(&sides, work);
        finding
    }

    /// Whether the memory of one side is alive, as the operation knows.
    fn lifetime(
        &self,
        side: &Side,
        access: Access,
        operation: Operation,
        position: Position,
    ) -> Option<Finding> {
        let Side::Device(id, bytes) = side else { return None };
        let found = |code, len_bytes| {
            Finding::new(code, operation, access, Memory::Device { id: *id, len_bytes }, bytes.span())
        };
        let Some(buffer) = self.device.buffer(*id) else {
            return Some(found(Code::UseAfterFree, bytes.span().end));
        };
        if let Some(free) = buffer.freed {
            let code = if access == Access::Lifetime { Code::DoubleFree } else { Code::UseAfterFree };
            return Some(found(code, buffer.len_bytes).with([free.named()]));
        }
        if self.lanes.clock(position.lane).knows(buffer.alloc.position) {
            return None;
        }
        let missed = Conflict { with: buffer.alloc, bytes: bytes.span() };
        let memory = Memory::Device { id: *id, len_bytes: buffer.len_bytes };
        self.conflict(Code::UseBeforeAlloc, operation, access, false, vec![missed], |_| memory)
    }

    /// A free: of memory that is alive, and after every use of it.
    fn free(&mut self, id: BufferId, operation: Operation, position: Position) -> Option<Finding> {
        let whole = 0..self.device.buffer(id).map_or(0, |buffer| buffer.len_bytes);
        let side = Side::Device(id, Bytes::range(whole.clone()));
        let finding = self.lifetime(&side, Access::Lifetime, operation, position).or_else(|| {
            let mut conflicts = Vec::new();
            let clock = self.lanes.clock(position.lane);
            self.device.buffer(id)?.shadow.conflicts(&whole, true, clock, &mut conflicts);
            let memory = Memory::Device { id, len_bytes: whole.len() };
            self.conflict(Code::UseAfterFree, operation, Access::Lifetime, false, conflicts, |_| memory)
        });
        self.device.free(id, Note::new(position, operation, Access::Lifetime));
        finding
    }

    /// Notes what the operation touches, and tells with what it races.
    fn races(
        &mut self,
        sides: &[(Side, Access)],
        operation: Operation,
        position: Position,
    ) -> Option<Finding> {
        let (clock, host) = (self.lanes.clock(position.lane), self.lanes.host());
        let mut race: Option<Finding> = None;
        for (side, access) in sides {
            let of_pageable = matches!(side, Side::PageableSource(_));
            let note = Note { position, operation, access: *access, of_pageable };
            let mut conflicts = Vec::new();
            match side {
                Side::Device(id, bytes) => {
                    if let Some(buffer) = self.device.buffer_mut(*id).filter(|buffer| buffer.freed.is_none())
                    {
                        buffer.shadow.touch(bytes, note, clock, host, &mut conflicts);
                    }
                }
                Side::Host(range) => {
                    let bytes = Bytes::range(range.clone());
                    self.host.shadow.touch(&bytes, note, clock, host, &mut conflicts);
                }
                // It may be read before what is before the upload, if the host has not waited for that.
                Side::PageableSource(range) => {
                    self.host.shadow.conflicts(range, false, host, &mut conflicts);
                    let bytes = Bytes::range(range.clone());
                    self.host.shadow.touch(&bytes, note, clock, host, &mut Vec::new());
                }
            }
            let found =
                self.conflict(Code::Race, operation, *access, of_pageable, conflicts, |bytes| match side {
                    Side::Device(id, _) => self.device_name(*id),
                    Side::Host(_) | Side::PageableSource(_) => self.host.name(bytes),
                });
            race = match (race, found) {
                (Some(first), Some(second)) => Some(first.joined(second)),
                (first, second) => first.or(second),
            };
        }
        race
    }

    /// The finding of conflicts, explained by the earliest operation; none if the profile leaves none. `of_pageable`: what conflicts is
    /// the read of the source of an upload of pageable memory.
    pub(super) fn conflict(
        &self,
        code: Code,
        operation: Operation,
        access: Access,
        of_pageable: bool,
        mut conflicts: Vec<Conflict>,
        memory: impl FnOnce(&mut Range<usize>) -> Memory,
    ) -> Option<Finding> {
        let later = Later { stream: operation.stream, of_pageable };
        let passes_under = self.under_profiles(later, &mut conflicts);
        let mut first = conflicts.iter().min_by_key(|conflict| conflict.with.operation.number)?.clone();
        let memory = memory(&mut first.bytes);
        let finding = Finding::new(code, operation, access, memory, first.bytes.clone());
        let named = conflicts.iter().map(|conflict| conflict.with.named());
        let mut finding = finding.with(named).explain(&self.lanes, operation, &first);
        if let Some(copy) = self.may_have_waited(&first.with).filter(|_| !passes_under.is_empty()) {
            let earlier = first.with.operation.number;
            let what = if copy.number == earlier { "itself".to_owned() } else { format!("#{earlier}") };
            finding = finding.note(format!("the {} #{} may have waited for {what}", copy.kind, copy.number));
        }
        Some(Finding { passes_under, ..finding })
    }

    fn device_name(&self, id: BufferId) -> Memory {
        Memory::Device { id, len_bytes: self.device.buffer(id).map_or(0, |buffer| buffer.len_bytes) }
    }

    /// A copy within one memory whose sides share a byte.
    fn overlap(&self, sides: &[(Side, Access)], operation: Operation) -> Option<Finding> {
        let [(Side::Device(src, read), _), (Side::Device(dst, written), _)] = sides else { return None };
        if src != dst {
            return None;
        }
        let first = read.common(written).pieces().first()?.clone();
        Some(Finding::new(Code::Overlap, operation, Access::Write, self.device_name(*dst), first))
    }

    /// A download of bytes without a value.
    fn uninitialized(&self, sides: &[(Side, Access)], operation: Operation) -> Option<Finding> {
        let [(Side::Device(id, bytes), _), (Side::Host(_), _)] = sides else { return None };
        let missing = self.device.buffer(*id)?.initialized.first_missing(bytes)?;
        let finding =
            Finding::new(Code::Uninitialized, operation, Access::Read, self.device_name(*id), missing);
        Some(finding.note("help: fill the array, or make it with `zeros`, before it is read".to_owned()))
    }

    /// The bytes written have a value from now on, or none if they were copied from such.
    fn give_values(&mut self, sides: &[(Side, Access)], work: &Work) {
        let Some((Side::Device(id, bytes), Access::Write)) = sides.last() else { return };
        let flags = match (work, sides.first()) {
            (Work::Copy { plan, .. }, Some((Side::Device(from, read), _))) => {
                self.device.buffer(*from).map_or(Flags::None, |from| carried(&from.initialized, read, plan))
            }
            _ => Flags::All,
        };
        let Some(buffer) = self.device.buffer_mut(*id).filter(|buffer| buffer.freed.is_none()) else {
            return;
        };
        buffer.initialized.set(bytes, matches!(flags, Flags::All));
        if let Flags::Some(some) = flags {
            buffer.initialized.set(&some, true);
        }
    }
}

/// What a copy of `read` carries to its destination.
fn carried(from: &Initialized, read: &Bytes, plan: &Plan) -> Flags {
    if from.first_missing(read).is_none() {
        return Flags::All;
    }
    if from.has_none(read) {
        return Flags::None;
    }
    let of_run = |(src, dst, len): (usize, usize, usize)| {
        from.among(src..src + len).map(move |has| has.start - src + dst..has.end - src + dst)
    };
    let mut pieces: Vec<_> = plan.runs().flat_map(of_run).collect();
    pieces.sort_unstable_by_key(|piece| piece.start);
    Flags::Some(pieces.into_iter().collect())
}

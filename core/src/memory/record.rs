//! The record of one allocation.

use std::{fmt, panic::Location};

use super::MemoryKind;

/// One allocation. `Display` is a line for people.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AllocationRecord {
    /// Its kind.
    pub kind: MemoryKind,
    /// Its number among the allocations of its kind and context, from 1.
    pub number: u64,
    /// Its size.
    pub len_bytes: usize,
    /// The tag of the innermost [`tagged`](super::tagged) around the call that made it.
    pub tag: Option<&'static str>,
    /// The call that made it: the nearest caller that is not `#[track_caller]`.
    pub location: &'static Location<'static>,
    /// Whether somebody holds it.
    pub state: AllocationState,
}

/// The state of a live allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllocationState {
    /// The program holds it, or the device is not finished with it, or it was forgotten.
    Held,
    /// The allocation was dropped, and [waits](crate::Context::set_release_limits) to be given
    /// back.
    Pending,
    /// The allocation could not be freed: it is lost, and
    /// [`take_errors`](crate::Context::take_errors) returned the reason.
    Lost,
}

impl fmt::Display for AllocationRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, number, len_bytes, location, .. } = self;
        write!(f, "{kind} memory, {len_bytes} bytes, number {number}, allocated at {location}")?;
        if let Some(tag) = self.tag {
            write!(f, ", tagged {tag:?}")?;
        }
        match self.state {
            AllocationState::Held => Ok(()),
            AllocationState::Pending => f.write_str(", which waits to be given back"),
            AllocationState::Lost => f.write_str(", which could not be freed"),
        }
    }
}

/// Live allocations under one tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveByTag {
    /// The tag; `None` for allocations without one.
    pub tag: Option<&'static str>,
    /// The number of allocations.
    pub allocations: usize,
    /// Bytes of these allocations.
    pub len_bytes: usize,
}

impl LiveByTag {
    /// Adds records up by tag, the tag with the most bytes first.
    pub(crate) fn of<'a>(records: impl Iterator<Item = &'a AllocationRecord>) -> Vec<Self> {
        let mut by_tag: Vec<Self> = Vec::new();
        for record in records {
            let at = by_tag.iter().position(|sum| sum.tag == record.tag).unwrap_or_else(|| {
                by_tag.push(Self { tag: record.tag, allocations: 0, len_bytes: 0 });
                by_tag.len() - 1
            });
            by_tag[at].allocations += 1;
            by_tag[at].len_bytes += record.len_bytes;
        }
        by_tag.sort_by_key(|sum| (std::cmp::Reverse(sum.len_bytes), sum.tag));
        by_tag
    }
}

impl fmt::Display for LiveByTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tag, allocations, len_bytes } = self;
        write!(f, "{len_bytes} bytes in {allocations} {}", tag.unwrap_or("untagged"))
    }
}

impl fmt::Debug for AllocationRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AllocationRecord({self})")
    }
}

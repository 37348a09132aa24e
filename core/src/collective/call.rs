//! The calls of ranks, as they are compared, and as errors name them.

use std::{fmt, sync::Arc};

use super::{Combination, RowCounts};
use crate::{CallSite, type_name::without_paths};

/// Bytes of a name that ranks compare. Messages between processes carry no more.
pub(super) const MOST_NAME_BYTES: usize = 512;

/// The part of a name that ranks compare: whole characters, and [`MOST_NAME_BYTES`] at most.
pub(super) fn compared(name: &str) -> &str {
    let mut len = name.len().min(MOST_NAME_BYTES);
    while !name.is_char_boundary(len) {
        len -= 1;
    }
    &name[..len]
}

/// A call of one rank.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RankCall {
    /// The method.
    pub operation: &'static str,
    /// The combination of elements, if there is one.
    pub combination: Option<Combination>,
    /// The type of the elements; empty if there are none.
    pub element_type: &'static str,
    /// Bytes of an element.
    pub(super) item_bytes: usize,
    /// Elements of one part; of one row, if rows are counted.
    pub count: usize,
    /// The rows for each rank and from each, if the call counts them.
    pub counts: Option<RowCounts>,
    /// The root, or the rank that the call sends to or receives from.
    pub peer: Option<usize>,
    /// Its number among the calls that the rank made on the communicator, from 0.
    pub number: u64,
    /// The line of the call; unknown if it was made in another process, though messages show it.
    pub site: CallSite,
    /// The line, if it is in another process.
    pub(super) elsewhere: Elsewhere,
}

/// The line of a call in another process. All are equal, like lines of this one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Elsewhere(pub(super) Option<&'static Place>);

/// A line of a program.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) file: &'static str,
    pub(super) line: u32,
    pub(super) column: u32,
}

impl PartialEq for Elsewhere {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Elsewhere {}

impl RankCall {
    /// A call without elements.
    #[track_caller]
    pub(crate) fn new(operation: &'static str, number: u64) -> Self {
        let (combination, peer, counts, site) = (None, None, None, CallSite::here());
        let elsewhere = Elsewhere::default();
        Self {
            operation,
            combination,
            element_type: "",
            item_bytes: 0,
            count: 0,
            counts,
            peer,
            number,
            site,
            elsewhere,
        }
    }

    /// The file, line and column of the call, wherever it was made.
    pub(super) fn place(&self) -> Option<(&'static str, u32, u32)> {
        let here = || self.site.location().map(|at| (at.file(), at.line(), at.column()));
        self.elsewhere.0.map(|at| (at.file, at.line, at.column)).or_else(here)
    }

    pub(super) fn is_send(&self) -> bool {
        self.operation == "send"
    }

    pub(super) fn is_receive(&self) -> bool {
        self.operation == "receive"
    }

    /// Whether it is a call of two ranks.
    pub(super) fn is_of_two(&self) -> bool {
        self.is_send() || self.is_receive()
    }

    /// Whether two ranks that make these calls mean the same. Counts of rows are compared
    /// among all.
    pub(super) fn agrees_with(&self, other: &Self) -> bool {
        let same = self.is_of_two() || (self.operation, self.peer) == (other.operation, other.peer);
        same && self.combination == other.combination
            // The other call may have come in a message, which carries no more of the name.
            && compared(self.element_type) == compared(other.element_type)
            && self.count == other.count
            // Types of one name need not be one type.
            && self.item_bytes == other.item_bytes
    }
}

/// Prints `all_reduce(sum) of 8 f32 (call 3, at src/main.rs:10:5)`.
impl fmt::Display for RankCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.operation)?;
        if let Some(combination) = self.combination {
            write!(f, "({combination})")?;
        }
        if !self.element_type.is_empty() {
            let of = if self.counts.is_some() { "rows of " } else { "" };
            write!(f, " of {of}{} {}", self.count, without_paths(self.element_type))?;
        }
        if let Some(counts) = &self.counts {
            write!(f, ", {counts}")?;
        }
        match (self.peer, self.operation) {
            (Some(peer), "send") => write!(f, " to rank {peer}")?,
            (Some(peer), "receive") => write!(f, " from rank {peer}")?,
            (Some(root), _) => write!(f, " with root {root}")?,
            (None, _) => {}
        }
        write!(f, " (call {}", self.number)?;
        if let Some((file, line, column)) = self.place() {
            write!(f, ", at {file}:{line}:{column}")?;
        }
        f.write_str(")")
    }
}

impl fmt::Debug for RankCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RankCall({} of {}, call {})", self.operation, self.count, self.number)
    }
}

/// The state of a rank when a call of another failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RankState {
    /// It was in a call.
    Calls(RankCall),
    /// It was in no call, after this one.
    Away(RankCall),
    /// It had not joined.
    Missing,
    /// Its communicator was dropped.
    Dropped,
    /// Its thread panicked.
    Panicked,
    /// Its process ended without a goodbye, or is not heard any more.
    Lost,
    /// Nobody can say: the process that would know is gone.
    Unknown,
}

impl fmt::Display for RankState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Calls(call) => write!(f, "calls {call}"),
            Self::Away(call) => write!(f, "makes no call since {call}"),
            Self::Missing => f.write_str("has not joined"),
            Self::Dropped => f.write_str("has dropped its communicator"),
            Self::Panicked => f.write_str("has panicked"),
            Self::Lost => f.write_str("is lost: its process ended, or is not heard any more"),
            Self::Unknown => f.write_str("is in an unknown state"),
        }
    }
}

/// The state of each rank, in the order of ranks. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct RankStates(Arc<[RankState]>);

impl RankStates {
    /// The states, in the order of ranks.
    pub fn iter(&self) -> impl Iterator<Item = &RankState> {
        self.0.iter()
    }
}

impl FromIterator<RankState> for RankStates {
    fn from_iter<I: IntoIterator<Item = RankState>>(states: I) -> Self {
        Self(states.into_iter().collect())
    }
}

/// Prints `rank 0 calls …; rank 1 has panicked`.
impl fmt::Display for RankStates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (rank, state) in self.0.iter().enumerate() {
            let separator = if rank == 0 { "" } else { "; " };
            write!(f, "{separator}rank {rank} {state}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for RankStates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RankStates({} ranks)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two types of one name, as of two blocks of one function: no other rank reads beyond what was given.
    #[test]
    fn calls_with_elements_of_other_lengths_do_not_agree() {
        let [mut one, mut other] = [0, 0].map(|number| RankCall::new("all_gather", number));
        one.item_bytes = 1;
        assert!(!one.agrees_with(&other));
        other.item_bytes = 1;
        assert!(one.agrees_with(&other));
    }

    #[test]
    fn names_are_compared_as_far_as_messages_carry_them() {
        let long: &'static str = "Ä".repeat(MOST_NAME_BYTES).leak();
        let [mut here, mut elsewhere, mut other] = [(); 3].map(|()| RankCall::new("all_gather", 0));
        here.element_type = long;
        elsewhere.element_type = compared(long);
        assert_eq!(elsewhere.element_type.len(), MOST_NAME_BYTES);
        assert_eq!(compared(&format!("x{long}")).len(), MOST_NAME_BYTES - 1, "half a character is left out");
        assert!(here.agrees_with(&elsewhere) && elsewhere.agrees_with(&here));
        other.element_type = &long[..MOST_NAME_BYTES - 2];
        assert!(!here.agrees_with(&other) && !elsewhere.agrees_with(&other));
    }
}

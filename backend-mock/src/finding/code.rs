//! Kinds of findings, and how bad each is.

use std::fmt;

/// The kinds of findings. Written with their class: `error[DA06]`, `may[DA21]`, `lint[DA26]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// DA01: two operations touch a byte, one of them writes, and nothing orders them.
    Race,
    /// DA02: the host reads memory that an operation may still write.
    HostRead,
    /// DA03: the host writes memory that an operation may still use.
    HostWrite,
    /// DA04: pinned memory was given back while an operation may still use it.
    HostFreed,
    /// DA05: memory is used by an operation that is not ordered after its allocation.
    UseBeforeAlloc,
    /// DA06: memory is used after its free, or its free is not ordered after every use.
    UseAfterFree,
    /// DA07: memory is freed that was freed already.
    DoubleFree,
    /// DA08: an operation reaches outside a memory.
    OutOfBounds,
    /// DA10: bytes that never got a value are downloaded to the host, or read by a function, a
    /// reduction, a gather or a kernel.
    Uninitialized,
    /// DA11: one operation reads bytes that it writes, or writes bytes twice, and is no function in
    /// place.
    Overlap,
    /// DA12: something was still alive at the end.
    Leak,
    /// DA13: work of other code touches bytes of an array that it did not declare.
    Undeclared,
    /// DA14: the host function of a kernel writes outside the elements that it may write.
    OutsideArgument,
    /// DA15: the host function of a kernel leaves elements unwritten that it declares to write.
    Unwritten,
    /// DA16: the output of a kernel's host function depends on bytes that it may not read.
    UndeclaredRead,
    /// DA17: the host function of a kernel panicked.
    HostPanicked,
    /// DA18: an index occurs twice, though the program said that none does.
    RepeatedIndex,
    /// DA30: ranks make calls that differ: in the operation, its elements, or the root.
    RanksDisagree,
    /// DA31: ranks wait for each other, and none can go on.
    RanksStuck,
    /// DA32: a send or a receive waits, and its other half does not come.
    Unpaired,
    /// DA33: a rank has ended or panicked, and others need it.
    RankGone,
    /// DA34: a rank waits outside the library, and so all others wait for it.
    RankBlocked,
    /// DA21: right only under some [profiles](crate::Profile): CUDA allows the behaviour that it
    /// needs, but does not promise it.
    ReliesOnProfile,
    /// DA26: the host reads write-combined memory. Right, but slow.
    SlowRead,
    /// DA27: the host waits for a stream or an event that it has waited for already.
    NeedlessSync,
    /// DA28: a stream waits for an event that it comes after already.
    NeedlessWait,
    /// DA29: no output of a kernel depends on an argument that it declares to read. Right for some
    /// contents.
    UnusedInput,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Class {
    /// Undefined behaviour, under some schedule.
    Error,
    /// Relies on documented behaviour that may happen but is not promised.
    May,
    /// Right, but slow or needless. Reported only [on request](crate::Builder::lints).
    Lint,
}

impl Code {
    /// Its number, 12 for `DA12`.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Race => 1,
            Self::HostRead => 2,
            Self::HostWrite => 3,
            Self::HostFreed => 4,
            Self::UseBeforeAlloc => 5,
            Self::UseAfterFree => 6,
            Self::DoubleFree => 7,
            Self::OutOfBounds => 8,
            Self::Uninitialized => 10,
            Self::Overlap => 11,
            Self::Leak => 12,
            Self::Undeclared => 13,
            Self::OutsideArgument => 14,
            Self::Unwritten => 15,
            Self::UndeclaredRead => 16,
            Self::HostPanicked => 17,
            Self::RepeatedIndex => 18,
            Self::RanksDisagree => 30,
            Self::RanksStuck => 31,
            Self::Unpaired => 32,
            Self::RankGone => 33,
            Self::RankBlocked => 34,
            Self::ReliesOnProfile => 21,
            Self::SlowRead => 26,
            Self::NeedlessSync => 27,
            Self::NeedlessWait => 28,
            Self::UnusedInput => 29,
        }
    }

    /// Its severity.
    #[must_use]
    pub const fn class(self) -> Class {
        match self {
            Self::ReliesOnProfile => Class::May,
            Self::SlowRead | Self::NeedlessSync | Self::NeedlessWait | Self::UnusedInput => Class::Lint,
            _ => Class::Error,
        }
    }

    /// Its short name: `DA06`.
    #[must_use]
    pub fn name(self) -> String {
        format!("DA{:02}", self.number())
    }

    /// The family of mistakes, as files of stream programs name it.
    #[must_use]
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Race | Self::HostRead | Self::HostWrite | Self::HostFreed => "race",
            Self::UseBeforeAlloc => "use_before_alloc",
            Self::UseAfterFree | Self::DoubleFree => "use_after_free",
            Self::OutOfBounds => "out_of_bounds",
            Self::Uninitialized => "uninit",
            Self::Overlap => "overlap",
            Self::Leak => "leak",
            Self::Undeclared => "undeclared",
            Self::OutsideArgument => "outside_argument",
            Self::Unwritten => "unwritten",
            Self::UndeclaredRead => "undeclared_read",
            Self::HostPanicked => "host_panicked",
            Self::RepeatedIndex => "repeated_index",
            Self::RanksDisagree => "ranks_disagree",
            Self::RanksStuck => "ranks_stuck",
            Self::Unpaired => "unpaired",
            Self::RankGone => "rank_gone",
            Self::RankBlocked => "rank_blocked",
            Self::ReliesOnProfile => "relies_on_profile",
            Self::SlowRead => "slow_read",
            Self::NeedlessSync => "needless_sync",
            Self::NeedlessWait => "needless_wait",
            Self::UnusedInput => "unused_input",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = match self.class() {
            Class::Error => "error",
            Class::May => "may",
            Class::Lint => "lint",
        };
        write!(f, "{class}[{}]", self.name())
    }
}

//! The function that a program was expanded from, beside its primitives.

use std::{fmt, sync::OnceLock};

use crate::{Function, executor::Prepared};

/// What a program is kept with, and not compared by: its primitives say all that it computes.
#[derive(Default)]
pub(crate) struct Written {
    /// The function, and whether floats are stored; none of programs that were built otherwise.
    function: Option<(Function, bool)>,
    prepared: OnceLock<Box<Prepared>>,
}

impl Written {
    /// Of a function whose results are stored, or are combined.
    pub(crate) fn of(function: &Function, is_stored: bool) -> Self {
        // Without its programs, which would keep each other.
        Self { function: Some((function.alone(), is_stored)), prepared: OnceLock::new() }
    }

    /// Where axes are in another order: `place` says where.
    pub(super) fn with_positions(&self, place: impl Fn(u8) -> Option<usize>) -> Self {
        let moved = |(function, is_stored): &(Function, bool)| {
            let place = |axis| place(axis).and_then(|to| u8::try_from(to).ok());
            Some((function.with_positions(place)?, *is_stored))
        };
        Self { function: self.function.as_ref().and_then(moved), prepared: OnceLock::new() }
    }

    pub(crate) fn function(&self) -> Option<&(Function, bool)> {
        self.function.as_ref()
    }

    pub(crate) fn prepared(&self, prepare: impl FnOnce() -> Prepared) -> &Prepared {
        self.prepared.get_or_init(|| Box::new(prepare()))
    }
}

impl PartialEq for Written {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Written {}

/// Whether there is a function.
impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Written({})", self.function.is_some())
    }
}

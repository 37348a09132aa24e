//! The last step of floats in one loop: an operation, the canonical NaN, and the store, which may go
//! past the caches.

use super::machine::{Compiled, Machine};
use crate::{BinaryOperation, ElementType};

#[cfg(target_arch = "x86_64")]
mod avx512;

/// The compiled loops of an operation.
pub(super) struct Loops {
    /// Gives results to a later step.
    pub(super) step: Compiled,
    /// The last step, if there is a loop for it: one that stores as usual, and one that stores past
    /// the caches. Both put in the canonical NaN.
    pub(super) last: Option<[Compiled; 2]>,
}

/// The computation of a last step.
#[derive(Debug, Clone, Copy)]
pub(super) enum Last {
    /// Nothing: the operand is stored.
    Nothing,
    Sqrt,
    Binary(BinaryOperation),
    /// A function of `f32` that has loops which store.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code))]
    Whole([Compiled; 2]),
}

impl Last {
    /// Its loops, if there are any: one that stores as usual, and one that stores past the caches.
    pub(super) fn loops(self, machine: Machine, of: ElementType) -> Option<[Compiled; 2]> {
        match machine {
            #[cfg(target_arch = "x86_64")]
            Machine::Avx512 => avx512::loops(self, of),
            _ => None,
        }
    }
}

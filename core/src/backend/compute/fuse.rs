//! The operation of several passes over the same rows.
#![allow(unsafe_code)] // declares an unsafe constructor; performs no unsafe operation

use std::fmt;

use super::{MapOp, ReduceOp};

/// Reductions of the same rows, and a function of each element and their results.
///
/// The last input of each reduction but the first is the result of the one before, repeated along
/// the rows. The function has the inputs of the last reduction, and after them the result of that,
/// repeated along the rows, which may be of a wider type: sums of `f16` and `bf16` are `f32`.
#[repr(C)]
pub struct FusedOp<'a, B> {
    pub(crate) reductions: &'a [ReduceOp<'a, B>],
    pub(crate) last: Option<&'a MapOp<'a, B>>,
}

impl<'a, B> FusedOp<'a, B> {
    /// The operation, unchecked.
    ///
    /// # Safety
    ///
    /// There are at least two reductions, all of them totals of the same rows; inputs and results
    /// are as [`FusedOp`] says.
    #[must_use]
    pub unsafe fn new_unchecked(reductions: &'a [ReduceOp<'a, B>], last: Option<&'a MapOp<'a, B>>) -> Self {
        Self { reductions, last }
    }

    /// The reductions, in order, at least two.
    #[must_use]
    pub fn reductions(&self) -> &'a [ReduceOp<'a, B>] {
        self.reductions
    }

    /// The function, if there is one.
    #[must_use]
    pub fn last(&self) -> Option<&'a MapOp<'a, B>> {
        self.last
    }

    /// The name of the call: `"reduce"`, or `"normalize"` with a function.
    #[must_use]
    pub fn name(&self) -> &'static str {
        if self.last.is_some() { "normalize" } else { "reduce" }
    }

    /// Bytes that are written, without values in between.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        match self.last {
            Some(last) => last.len_bytes(),
            None => self.reductions.last().map_or(0, ReduceOp::len_bytes),
        }
    }
}

/// The passes.
impl<B> fmt::Debug for FusedOp<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FusedOp({:?}, {:?})", self.reductions, self.last)
    }
}

//! Maps that are made again and again: their operands have their places, so that only computing is left.
#![allow(unsafe_code)] // computes the elements that callers vouch for

use std::{fmt, ops::Range};

use smallvec::SmallVec;

use super::{
    Prepared, map,
    nest::{Nest, Steps},
};
use crate::{
    interpreter::{InputElements, ResultElements, environment::FloatEnvironment},
    primitive::Program,
};

/// A program with the places of its operands. It has no reference to their memory.
pub struct PlacedMap {
    program: Program,
    nest: Nest,
    shape: Steps<usize>,
    scalars: SmallVec<[u64; 4]>,
}

// SAFETY: it only tells where elements lie; access is the `unsafe` of whoever computes.
unsafe impl Send for PlacedMap {}
// SAFETY: as for `Send`.
unsafe impl Sync for PlacedMap {}

impl PlacedMap {
    /// A program on these operands. Reads and writes none of their elements.
    ///
    /// # Panics
    ///
    /// The conditions of [`execute`](super::execute).
    #[must_use]
    pub fn new(
        program: &Program,
        inputs: &[InputElements<'_>],
        scalars: &[u64],
        result: ResultElements<'_>,
    ) -> Self {
        let nest = Prepared::of(program).nest(inputs, scalars, result);
        let (shape, scalars) = (result.layout.shape().iter().copied().collect(), scalars.into());
        Self { program: program.clone(), nest, shape, scalars }
    }

    /// The number of elements of the result.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a count of elements, not of a container")]
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Computes a range of the elements of the result, counted in row-major order.
    ///
    /// # Panics
    ///
    /// If the range reaches beyond the result.
    ///
    /// # Safety
    ///
    /// The conditions of [`execute`](super::execute), for the elements in the range.
    pub unsafe fn run(&self, range: Range<usize>) {
        let Self { program, nest, shape, scalars } = self;
        assert!(range.end <= self.len(), "the range lies in the result");
        if range.is_empty() {
            return;
        }
        let _standard = FloatEnvironment::standard();
        // SAFETY: as the caller promises
        unsafe { map::map(&Prepared::of(program).code, nest, shape, scalars, range) };
    }
}

impl fmt::Debug for PlacedMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlacedMap({} inputs to {:?})", self.nest.operands.len() - 1, self.shape)
    }
}

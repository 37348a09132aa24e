//! Indices as calls read them.

use crate::{
    Result,
    array::{Array, ArrayView, ErasedView},
    backend::{Compute, Device},
    function::ElementType,
    gather::{Index, IndexType, OutOfRange},
    stream::StreamHandle,
};

/// Indices as numbers that devices read: converted, if they are of another type.
///
/// No closure calls on with them: a call inside one would lose the line of the program.
pub(crate) struct ReadIndices<'a, D: Device> {
    given: (ElementType, ErasedView<'a, D>),
    converted: Option<Array<i64, D>>,
}

impl<'a, D: Compute> ReadIndices<'a, D> {
    #[track_caller]
    pub(crate) fn new<I: Index>(stream: &StreamHandle<D>, indices: &ArrayView<'a, I, D>) -> Result<Self> {
        let element_type = match I::TYPE {
            IndexType::I32 => ElementType::I32,
            IndexType::U32 => ElementType::U32,
            IndexType::I64 | IndexType::Counted => ElementType::I64,
        };
        // Without a bound: numbers of `u64` that `i64` does not have are out of every range.
        let converted = I::converted(stream, indices, OutOfRange::Error, usize::MAX)?;
        Ok(Self { given: (element_type, indices.as_erased().clone()), converted })
    }

    pub(crate) fn typed(&self) -> (ElementType, ErasedView<'_, D>) {
        let (element_type, given) = &self.given;
        let view = self.converted.as_ref().map_or_else(|| given.clone(), |of| of.as_erased().view());
        (*element_type, view)
    }
}

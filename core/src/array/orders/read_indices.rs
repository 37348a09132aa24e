//! Converts indices to types that order calls read.

use crate::{
    Result,
    array::{Array, ArrayView, ErasedView},
    backend::{Compute, Device},
    function::ElementType,
    gather::{Index, IndexType, OutOfRange},
    stream::StreamHandle,
};

/// Indices in a type that devices read: converted, if they have another type.
///
/// Calls that use them stand outside closures: inside one, `#[track_caller]` would name the
/// closure's line, not the program's.
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
        // No bound is needed: a `u64` that does not fit `i64` is out of every range.
        let converted = I::converted(stream, indices, OutOfRange::Error, usize::MAX)?;
        Ok(Self { given: (element_type, indices.as_erased().clone()), converted })
    }

    pub(crate) fn typed(&self) -> (ElementType, ErasedView<'_, D>) {
        let (element_type, given) = &self.given;
        let view = self.converted.as_ref().map_or_else(|| given.clone(), |of| of.as_erased().view());
        (*element_type, view)
    }
}

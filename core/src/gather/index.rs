//! Types of indices, and how arrays of indices reach a device.

use super::{IndexType, OutOfRange};
use crate::{
    Array, ArrayView, Result, StreamHandle,
    backend::Compute,
    function::{Operands, WholeNumber},
    layout::Element,
};

/// Types of indices: the integers. A device reads `i32`, `u32` and `i64`; the others take one more
/// pass over the indices and memory for them as `i64`.
///
/// ```
/// use devarray::{Array, Context, gather::OutOfRange};
///
/// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
/// let lengths = Array::from_slice(&stream, &[3], &[2_u32, 1, 3])?;
/// let ends = lengths.cumsum(&stream, 0)?; // `u64`, as NumPy's
/// let text = Array::from_slice(&stream, &[7], b"abcdefg")?;
/// assert_eq!(text.take(&stream, &ends, 0, OutOfRange::Error)?.to_vec(&stream)?, *b"cdg");
/// # Ok::<(), devarray::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of indices",
    note = "indices are integers; others are cast before"
)]
pub trait Index: Element + sealed::Sealed {
    /// The type that a device reads.
    const TYPE: IndexType;
}

mod sealed {
    use crate::{Array, ArrayView, Element, Result, StreamHandle, backend::Compute, gather::OutOfRange};

    #[expect(unnameable_types, reason = "sealed: backends must know each type")]
    pub trait Sealed: Element {
        /// Converts the indices if no device reads this type. `bound` is the number of valid
        /// indices.
        #[doc(hidden)]
        fn converted<D: Compute>(
            stream: &StreamHandle<D>,
            indices: &ArrayView<'_, Self, D>,
            out_of_range: OutOfRange,
            bound: usize,
        ) -> Result<Option<Array<i64, D>>> {
            let _ = (stream, indices, out_of_range, bound);
            Ok(None)
        }
    }
}

macro_rules! indices {
    ($($of:ty: $name:ident;)*) => {$(
        impl sealed::Sealed for $of {}

        impl Index for $of {
            const TYPE: IndexType = IndexType::$name;
        }
    )*};
}

indices! { i32: I32; u32: U32; i64: I64; }

/// Converts indices, by an expression of the stream, the indices, the treatment of indices out of
/// range and the bound.
macro_rules! converted {
    ($($of:ty: |$stream:ident, $indices:ident, $out_of_range:ident, $bound:ident| $made:expr;)*) => {$(
        impl sealed::Sealed for $of {
            #[track_caller]
            fn converted<D: Compute>(
                $stream: &StreamHandle<D>,
                $indices: &ArrayView<'_, Self, D>,
                $out_of_range: OutOfRange,
                $bound: usize,
            ) -> Result<Option<Array<i64, D>>> {
                $made.map(Some)
            }
        }

        impl Index for $of {
            const TYPE: IndexType = IndexType::I64;
        }
    )*};
}

converted! {
    i8: |stream, indices, _all, _bound| widened(stream, indices);
    u8: |stream, indices, _all, _bound| widened(stream, indices);
    i16: |stream, indices, _all, _bound| widened(stream, indices);
    u16: |stream, indices, _all, _bound| widened(stream, indices);
    u64: |stream, indices, out_of_range, bound| narrowed(stream, indices, out_of_range, bound);
}

/// Index types whose values all fit `i64`.
#[track_caller]
fn widened<I: WholeNumber, D: Compute>(
    stream: &StreamHandle<D>,
    indices: &ArrayView<'_, I, D>,
) -> Result<Array<i64, D>> {
    indices.map(stream, |index| index.cast())
}

/// Index types whose values may exceed `i64`. A larger value becomes the greatest `i64`, which is
/// out of every range too.
#[track_caller]
fn narrowed<D: Compute>(
    stream: &StreamHandle<D>,
    indices: &ArrayView<'_, u64, D>,
    out_of_range: OutOfRange,
    bound: usize,
) -> Result<Array<i64, D>> {
    match out_of_range {
        OutOfRange::Wrap => {
            (indices, bound as u64).map(stream, |(index, bound)| index.remainder(bound).cast())
        }
        OutOfRange::Error | OutOfRange::Clamp => {
            indices.map(stream, |index| index.minimum(i64::MAX.cast_unsigned()).cast())
        }
    }
}

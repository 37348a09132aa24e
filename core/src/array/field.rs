//! One field of a record, named once and checked by the compiler.

use std::{fmt, marker::PhantomData, ops::Range};

use bytemuck::Pod;

use super::Element;

/// The place of the field of type `F` in a record of type `T`. [`field!`](crate::field) makes it.
///
/// Both are plain bytes without padding, so any bytes inside a `T` are a valid `F`.
pub struct Field<T, F> {
    offset_bytes: usize,
    of: PhantomData<fn(T) -> F>,
}

impl<T: Element> Field<T, T> {
    /// The whole record as a field of itself. Turns an array of arrays into an array with one more
    /// axis.
    #[must_use]
    pub const fn whole() -> Self {
        Self { offset_bytes: 0, of: PhantomData }
    }
}

impl<T: Element, F: Pod> Field<T, F> {
    /// Makes a field, for the macro. The type of `_read` says which field it is.
    ///
    /// # Panics
    ///
    /// The field would reach beyond the record. The macro computes offsets that do not; a wrong one
    /// in a constant is a compile error.
    #[doc(hidden)]
    #[must_use]
    pub const fn at(offset_bytes: usize, _read: fn(T) -> F) -> Self {
        let room = size_of::<T>().checked_sub(offset_bytes);
        assert!(matches!(room, Some(room) if size_of::<F>() <= room), "a field lies inside its record");
        Self { offset_bytes, of: PhantomData }
    }

    /// Bytes from the start of the record to the field.
    #[must_use]
    pub const fn offset_bytes(&self) -> usize {
        self.offset_bytes
    }
}

impl<T: Element, E: Element, const N: usize> Field<T, [E; N]> {
    /// The items of the array, as a field with an axis.
    #[must_use]
    pub const fn items(self) -> FieldItems<T, E, N> {
        FieldItems(self)
    }
}

/// The items of a field that is an array. [`Field::items`] returns it.
pub struct FieldItems<T, E, const N: usize>(Field<T, [E; N]>);

/// A field, or the items of one, for [`split_fields`](super::ArrayViewMut::split_fields). Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` names no field of `{T}`",
    label = "not a field",
    note = "name one by `field!(Record, name)`, and the items of a field that is an array by `field!(Record, name).items()`"
)]
pub trait FieldOf<T>: sealed::Sealed<T> {
    /// The element type of a view of the field.
    type Item: Element;

    /// The field's bytes in the record.
    fn range_bytes(&self) -> Range<usize>;

    /// The extent of the axis that a view of the field gains, if it gains one.
    fn axis(&self) -> Option<usize>;
}

mod sealed {
    /// Sealed by the type of records. Without this parameter a program could implement
    /// [`FieldOf`](super::FieldOf) for its own type on a field of another.
    #[expect(unnameable_types, reason = "that seals what it bounds: ranges are believed")]
    pub trait Sealed<T> {}
}

impl<T: Element, F: Element> sealed::Sealed<T> for Field<T, F> {}

impl<T: Element, F: Element> FieldOf<T> for Field<T, F> {
    type Item = F;

    fn range_bytes(&self) -> Range<usize> {
        self.offset_bytes..self.offset_bytes + F::BYTES
    }

    fn axis(&self) -> Option<usize> {
        None
    }
}

impl<T: Element, E: Element, const N: usize> sealed::Sealed<T> for FieldItems<T, E, N> {}

impl<T: Element, E: Element, const N: usize> FieldOf<T> for FieldItems<T, E, N> {
    type Item = E;

    fn range_bytes(&self) -> Range<usize> {
        self.0.offset_bytes..self.0.offset_bytes + N * E::BYTES
    }

    fn axis(&self) -> Option<usize> {
        Some(N)
    }
}

impl<T, F> Clone for Field<T, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, F> Copy for Field<T, F> {}

impl<T, E, const N: usize> Clone for FieldItems<T, E, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, E, const N: usize> Copy for FieldItems<T, E, N> {}

impl<T, F> fmt::Debug for Field<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = (std::any::type_name::<T>(), std::any::type_name::<F>());
        write!(f, "Field({} at byte {} of {})", names.1, self.offset_bytes, names.0)
    }
}

/// The [`Field`] of a record that a path names: `field!(Particle, mass)`,
/// `field!(Particle, inner.x)`.
///
/// It is a constant expression. The field must be visible where the macro is called.
///
/// ```
/// use bytemuck::{Pod, Zeroable};
/// use devarray::{Array, Context, NdLayout, field};
///
/// #[derive(Clone, Copy, Pod, Zeroable)]
/// #[repr(C)]
/// struct Particle {
///     position: [f32; 3],
///     mass: f32,
/// }
///
/// let context = Context::new(devarray_mock::MockDevice::new())?;
/// let stream = context.stream()?;
/// let particles = [1.0, 2.0].map(|k| Particle { position: [k, k + 0.1, k + 0.2], mass: 10.0 * k });
/// let mut a = Array::from_slice(&stream, &[2], &particles)?;
///
/// let masses = a.view().field(field!(Particle, mass))?; // one f32 in every four
/// assert_eq!((masses.shape(), masses.strides()), (&[2][..], &[4][..]));
/// assert_eq!(masses.to_vec(&stream)?, [10.0, 20.0]);
///
/// let positions = a.view_mut().array_field(field!(Particle, position))?; // with an axis of 3
/// positions.slice_axis(-1, 2..)?.fill(&stream, 0.0)?;
/// assert_eq!(a.to_vec(&stream)?[1].position, [2.0, 2.1, 0.0]);
/// # Ok::<(), devarray::Error>(())
/// ```
#[macro_export]
macro_rules! field {
    ($record:ty, $($path:tt).+) => {
        $crate::array::Field::<$record, _>::at(
            ::core::mem::offset_of!($record, $($path).+),
            // The closure takes the record by value: a reference into a packed record would not
            // compile.
            |record: $record| record.$($path).+,
        )
    };
}

impl<T, E, const N: usize> fmt::Debug for FieldItems<T, E, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FieldItems").field(&self.0).finish()
    }
}

//! Several fields of one array, each written through its own view.

use std::ops::Range;

use super::{ArrayViewMut, Element, FieldOf, records::field_layout};
use crate::{Result, backend::Device, layout::LayoutError};

/// Two to four fields of a record, as a tuple of [`Field`](super::Field)s and
/// [`FieldItems`](super::FieldItems).
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name fields of `{T}`",
    label = "not a tuple of two to four fields",
    note = "name them as `(field!(Record, one), field!(Record, other))`"
)]
pub trait Fields<'a, T: Element, D: Device> {
    /// A tuple with one view per field.
    type Views;

    /// Takes a view apart. Programs call [`ArrayViewMut::split_fields`].
    ///
    /// # Errors
    ///
    /// See there.
    #[track_caller]
    fn split(self, records: ArrayViewMut<'a, T, D>) -> Result<Self::Views>;
}

impl<'a, T: Element, D: Device> ArrayViewMut<'a, T, D> {
    /// Views of several fields at once, to be written on different streams: they share no byte.
    ///
    /// ```
    /// use devarray::{Array, Context, field};
    ///
    /// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    /// #[repr(C)]
    /// struct Particle {
    ///     position: [f32; 3],
    ///     mass: f32,
    /// }
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let (left, right) = (context.stream()?, context.stream()?);
    /// let mut a = Array::<Particle, _>::zeros(&left, &[10])?;
    /// let fields = (field!(Particle, position).items(), field!(Particle, mass));
    /// let (mut positions, mut masses) = a.view_mut().split_fields(fields)?;
    /// positions.fill(&left, 1.0)?;
    /// masses.fill(&right, 2.0)?;
    /// assert_eq!(a.to_vec(&left)?[9].position, [1.0; 3]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::FieldOverlap`]: two of the fields share bytes of the record.
    /// - The errors of [`field`](Self::field) and [`array_field`](Self::array_field).
    #[track_caller]
    pub fn split_fields<F: Fields<'a, T, D>>(self, fields: F) -> Result<F::Views> {
        fields.split(self)
    }
}

macro_rules! fields_of_tuple {
    ($($field:ident $at:tt),*) => {
        impl<'a, T: Element, D: Device, $($field: FieldOf<T>),*> Fields<'a, T, D> for ($($field,)*) {
            type Views = ($(ArrayViewMut<'a, $field::Item, D>,)*);

            #[track_caller]
            fn split(self, records: ArrayViewMut<'a, T, D>) -> Result<Self::Views> {
                check_disjoint(&[$(self.$at.range_bytes()),*])?;
                Ok(($({
                    let layout = field_layout::<T, _>(records.layout(), &self.$at)?;
                    ArrayViewMut::new(records.as_erased().part(layout, $field::Item::BYTES))
                },)*))
            }
        }
    };
}

fields_of_tuple!(A 0, B 1);
fields_of_tuple!(A 0, B 1, C 2);
fields_of_tuple!(A 0, B 1, C 2, E 3);

/// Returns an error if two ranges share a byte.
fn check_disjoint(ranges: &[Range<usize>]) -> Result<(), LayoutError> {
    for (count, first) in ranges.iter().enumerate() {
        for second in &ranges[..count] {
            if first.start.max(second.start) < first.end.min(second.end) {
                return Err(LayoutError::FieldOverlap { first: second.clone(), second: first.clone() });
            }
        }
    }
    Ok(())
}

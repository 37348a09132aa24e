//! The shapes of products, by NumPy's rules.

use devarray_layout::{Axes, Layout, broadcast_shapes};

use crate::{ProductError, ProductErrorKind};

/// The shape of the product of arrays of these shapes.
///
/// The last two axes belong to the matrices, and the axes before them number a batch; batches broadcast. An
/// operand with one axis is a row on the left and a column on the right, and its axis of extent 1 is left
/// out of the result.
///
/// ```
/// use devarray_product::product_shape;
///
/// assert_eq!(product_shape(&[2, 3], &[3, 4])?[..], [2, 4]);
/// assert_eq!(product_shape(&[8, 2, 3], &[3])?[..], [8, 2]);
/// assert_eq!(product_shape(&[3], &[3])?[..], []);
/// assert!(product_shape(&[2, 3], &[2, 3]).is_err());
/// # Ok::<(), devarray_product::ProductError>(())
/// ```
///
/// # Errors
///
/// An operand has no axes, the extents to sum over differ, the batches do not broadcast, or the product
/// has more elements than memory can address.
pub fn product_shape(a: &[usize], b: &[usize]) -> Result<Axes<usize>, ProductError> {
    let refuse = |why: &str| Err(ProductError::new(ProductErrorKind::Shape, format!("{a:?} @ {b:?}: {why}")));
    if a.is_empty() || b.is_empty() {
        return refuse("an operand has no axes");
    }
    let (a_batch, [rows, depth]) = matrix(a, Side::Left);
    let (b_batch, [b_depth, columns]) = matrix(b, Side::Right);
    if depth != b_depth {
        return refuse(&format!("the sum is over {depth} elements on the left, and {b_depth} on the right"));
    }
    let Ok(mut shape) = broadcast_shapes([a_batch, b_batch].into_iter()) else {
        return refuse("the axes before the last two do not broadcast");
    };
    shape.extend((a.len() > 1).then_some(rows));
    shape.extend((b.len() > 1).then_some(columns));
    if Layout::contiguous(&shape, devarray_layout::Order::C).is_err() {
        return refuse("too many elements");
    }
    Ok(shape)
}

/// On which side an operand stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// Splits values of axes into the axes of a batch and the two axes of a matrix. There is at least
/// one axis.
pub(crate) fn matrix<T: Copy + One>(axes: &[T], side: Side) -> (&[T], [T; 2]) {
    match (axes, side) {
        (&[only], Side::Left) => (&[], [T::ONE, only]),
        (&[only], Side::Right) => (&[], [only, T::ONE]),
        _ => {
            let (batch, last) = axes.split_at(axes.len() - 2);
            (batch, [last[0], last[1]])
        }
    }
}

/// The value of an axis that an operand lacks.
pub(crate) trait One {
    const ONE: Self;
}

impl One for usize {
    const ONE: Self = 1;
}

/// The stride does not matter.
impl One for isize {
    const ONE: Self = 1;
}

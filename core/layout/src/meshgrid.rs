//! Coordinates along axes, spread over the grid of all their combinations.

use super::{Axes, Layout, LayoutError};

/// Along which axis of a grid the first coordinates vary: NumPy's `indexing`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Indexing {
    /// The first coordinates vary along axis 0, like the rows of a matrix.
    Ij,
    /// The first coordinates vary along axis 1 and the second along axis 0, like `x` and `y` of an
    /// image. The others are as in [`Ij`](Self::Ij).
    Xy,
}

/// Makes one layout of the grid's shape for each of the axes. It repeats the coordinates of its axis
/// along all other axes. All are views. An axis of rank 0 is one coordinate.
///
/// ```
/// use devarray_layout::{Indexing, Layout, Order, meshgrid};
///
/// let axes = [Layout::contiguous(&[4], Order::C)?, Layout::contiguous(&[3], Order::C)?];
/// let [x, y] = &meshgrid(&axes, Indexing::Xy)?[..] else { unreachable!("one for each axis") };
/// assert_eq!((x.shape(), x.strides()), (&[3, 4][..], &[0, 1][..]));
/// assert_eq!((y.shape(), y.strides()), (&[3, 4][..], &[1, 0][..]));
/// # Ok::<(), devarray_layout::LayoutError>(())
/// ```
///
/// # Errors
///
/// - [`LayoutError::RankMismatch`]: a layout of coordinates has more than one axis.
/// - [`LayoutError::Overflow`]: the grid has too many elements.
pub fn meshgrid(axes: &[Layout], indexing: Indexing) -> Result<Vec<Layout>, LayoutError> {
    let rank = axes.len();
    let place = |axis: usize| match indexing {
        Indexing::Xy if rank > 1 && axis < 2 => 1 - axis,
        _ => axis,
    };
    let mut shape: Axes<usize> = std::iter::repeat_n(1, rank).collect();
    for (axis, coordinates) in axes.iter().enumerate() {
        match *coordinates.shape() {
            [] => {}
            [extent] => shape[place(axis)] = extent,
            _ => return Err(LayoutError::RankMismatch { expected: 1, found: coordinates.rank() }),
        }
    }
    let spread = axes.iter().enumerate().map(|(axis, coordinates)| {
        let mut column = coordinates.clone();
        if column.rank() == 0 {
            column = column.expand_dims(0)?;
        }
        // Appends the axes after its own; broadcasting adds the axes in front.
        for _ in place(axis) + 1..rank {
            column = column.expand_dims(-1)?;
        }
        column.broadcast_to(&shape)
    });
    spread.collect()
}

//! The axes that a reduction removes.

use devarray_layout::{Axes, LayoutError};

/// The reduced axes, and the order of axes that has the others first.
#[doc(hidden)]
#[derive(Debug)]
pub struct Reduced {
    pub shape: Axes<usize>,
    pub kept: Vec<usize>,
    pub reduced: Vec<usize>,
}

impl Reduced {
    /// Checks the named axes; without names, takes all.
    ///
    /// # Errors
    ///
    /// [`LayoutError::AxisOutOfRange`], [`LayoutError::RepeatedAxis`].
    pub fn new(shape: Axes<usize>, axes: Option<&[isize]>) -> Result<Self, LayoutError> {
        let rank = shape.len();
        let mut reduced = Vec::new();
        match axes {
            None => reduced.extend(0..rank),
            Some(axes) => {
                for &axis in axes {
                    let found = if axis < 0 { axis.checked_add_unsigned(rank) } else { Some(axis) };
                    let found = found.and_then(|axis| usize::try_from(axis).ok()).filter(|&axis| axis < rank);
                    let found = found.ok_or(LayoutError::AxisOutOfRange { axis, rank })?;
                    if reduced.contains(&found) {
                        return Err(LayoutError::RepeatedAxis { axis: found });
                    }
                    reduced.push(found);
                }
                reduced.sort_unstable();
            }
        }
        let kept = (0..rank).filter(|axis| !reduced.contains(axis)).collect();
        Ok(Self { shape, kept, reduced })
    }

    /// The kept axes, then the reduced ones.
    #[must_use]
    pub fn order(&self) -> Vec<usize> {
        self.kept.iter().chain(&self.reduced).copied().collect()
    }

    #[must_use]
    pub fn shape_of_result(&self, keep_axes: bool) -> Axes<usize> {
        let extent = |axis: usize| if self.reduced.contains(&axis) { 1 } else { self.shape[axis] };
        let axes = 0..self.shape.len();
        axes.filter(|axis| keep_axes || !self.reduced.contains(axis)).map(extent).collect()
    }

    /// The reduced axes.
    #[must_use]
    pub fn axes(&self) -> Vec<isize> {
        self.reduced.iter().map(|&axis| axis.cast_signed()).collect()
    }

    /// The number of elements that are reduced to one.
    #[must_use]
    pub fn count(&self) -> usize {
        self.reduced.iter().map(|&axis| self.shape[axis]).product()
    }
}

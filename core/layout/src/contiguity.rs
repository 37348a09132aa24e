//! The memory order that a layout already has, and the dense layout of its copies.

use std::cmp::Reverse;

use super::{
    Axes, Layout, LayoutError, Order,
    axis::{axes_blank, axes_from_fn},
};

impl Layout {
    /// Whether elements lie densely in row-major order.
    ///
    /// Answers like NumPy's flag: strides of axes of extent 1 are ignored, and an empty or 0-d layout is
    /// contiguous in every order.
    #[must_use]
    #[inline]
    pub fn is_c_contiguous(&self) -> bool {
        self.is_empty() || is_dense(self.shape.iter().zip(&self.strides).rev())
    }

    /// Whether elements lie densely in column-major order; ignores the same strides as
    /// [`is_c_contiguous`](Self::is_c_contiguous).
    #[must_use]
    #[inline]
    pub fn is_f_contiguous(&self) -> bool {
        self.is_empty() || is_dense(self.shape.iter().zip(&self.strides))
    }

    /// Whether elements lie densely, with positive strides, in the order that `order` means for
    /// this layout. Exactly in this case, [`ravel`](Self::ravel) in that order is a view.
    #[must_use]
    #[inline]
    pub fn is_contiguous(&self, order: Order) -> bool {
        match order {
            Order::C => self.is_c_contiguous(),
            Order::F => self.is_f_contiguous(),
            // `A` is `F` exactly where only `F` holds.
            Order::A => self.is_c_contiguous() || self.is_f_contiguous(),
            Order::K => {
                self.is_c_contiguous() || self.is_f_contiguous() || {
                    let axes = self.axes_by_stride();
                    is_dense(axes.iter().rev().map(|&axis| (&self.shape[axis], &self.strides[axis])))
                }
            }
        }
    }

    /// The meaning of `order` for this layout. [`Order::C`] and [`Order::F`] mean themselves, and
    /// [`Order::A`] means one of the two. [`Order::K`] means one of the two if the layout is
    /// contiguous in it, else `K`: axes by descending absolute stride.
    #[must_use]
    #[inline]
    pub fn resolve(&self, order: Order) -> Order {
        match order {
            Order::A if self.is_f_contiguous() && !self.is_c_contiguous() => Order::F,
            Order::A => Order::C,
            Order::K if self.is_c_contiguous() => Order::C,
            Order::K if self.is_f_contiguous() => Order::F,
            order => order,
        }
    }

    /// The layout that a copy of this one in `order` gets: its shape, dense, with positive strides,
    /// at offset 0.
    ///
    /// # Errors
    ///
    /// None. It returns a `Result` like every transform of [`Layout`].
    #[inline]
    pub fn dense_like(&self, order: Order) -> Result<Self, LayoutError> {
        let order = self.resolve(order);
        if order != Order::K {
            return Self::contiguous(&self.shape, order);
        }
        // The layout is not empty: then it would be C-contiguous.
        Ok(self.dense_by(self.axes_by_stride()))
    }

    /// The layout of a copy of this one that is in memory as [`ravel`](Self::ravel) in `order` walks
    /// this layout. It is contiguous in [`Order::K`], so that its own ravel is a view.
    ///
    /// It differs from [`dense_like`](Self::dense_like) only in [`Order::K`], and only if axes
    /// repeat elements: a copy moves the axes of stride 0 innermost, and a ravel leaves them where
    /// they are among the others. Both follow NumPy.
    ///
    /// ```
    /// use devarray::{Layout, NdLayout, Order};
    ///
    /// let rows = Layout::contiguous(&[3], Order::C)?.broadcast_to(&[2, 3])?;
    /// assert_eq!(rows.dense_like(Order::K)?.strides(), [1, 2]);
    /// assert_eq!(rows.dense_to_ravel(Order::K)?.strides(), [3, 1]); // 0 1 2 0 1 2
    /// # Ok::<(), devarray::LayoutError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// None, like [`dense_like`](Self::dense_like).
    #[inline]
    pub fn dense_to_ravel(&self, order: Order) -> Result<Self, LayoutError> {
        match self.resolve(order) {
            Order::K => Ok(self.dense_by(self.axes_to_ravel())),
            order => Self::contiguous(&self.shape, order),
        }
    }

    /// Makes a dense layout of this shape in which the last of `axes` varies fastest. The layout is
    /// not empty.
    fn dense_by(&self, axes: Axes<usize>) -> Self {
        let mut strides: Axes<isize> = axes_blank(self.rank());
        let mut step = 1_isize;
        for axis in axes.into_iter().rev() {
            strides[axis] = step;
            // No product of extents exceeds the length, which fits.
            step = step.wrapping_mul(self.shape[axis].cast_signed());
        }
        Self { shape: self.shape.clone(), strides, offset: 0, len: self.len, start: 0, end: self.len }
            .agreed()
    }

    /// The axes by descending absolute stride; axes with equal strides stay in order. Sorts without
    /// the heap up to rank 20.
    fn axes_by_stride(&self) -> Axes<usize> {
        let mut axes: Axes<usize> = axes_from_fn(self.rank(), |axis| axis);
        axes.sort_by_key(|&axis| Reverse(self.strides[axis].unsigned_abs()));
        axes
    }

    /// The axes by descending absolute stride, except that an axis of stride 0 has no order of its
    /// own: this is the insertion sort of NumPy's iterators. From the last axis to the first, each
    /// moves inside those that step farther, up to the first that does not.
    fn axes_to_ravel(&self) -> Axes<usize> {
        let step = |axis: usize| match self.shape[axis] {
            1 => 0,
            _ => self.strides[axis].unsigned_abs(),
        };
        let mut axes: Axes<usize> = axes_from_fn(self.rank(), |axis| axis);
        for first in (0..axes.len()).rev() {
            let own = step(axes[first]);
            let known = (first + 1..axes.len()).filter(|&at| own != 0 && step(axes[at]) != 0);
            let last_before = known.take_while(|&at| step(axes[at]) > own).last();
            if let Some(last_before) = last_before {
                axes[first..=last_before].rotate_left(1);
            }
        }
        axes
    }
}

/// Whether each axis steps over exactly the span of the faster ones. Axes come fastest first; the
/// layout is not empty.
#[inline]
fn is_dense<'a>(fastest_first: impl Iterator<Item = (&'a usize, &'a isize)>) -> bool {
    let mut step = 1_usize;
    for (&extent, &stride) in fastest_first {
        if extent != 1 {
            if stride.cast_unsigned() != step {
                return false;
            }
            // The product cannot wrap: the layout is not empty, so the product of its extents fits.
            step = step.wrapping_mul(extent);
        }
    }
    true
}

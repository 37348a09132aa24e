//! Describes the differences of two arrays.

use std::{any::type_name, fmt};

use crate::{
    HostArray,
    layout::{Axes, Element},
};

/// The differences of two arrays.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The element type.
    pub dtype: &'static str,
    /// Shape of the array on the left.
    pub left_shape: Axes<usize>,
    /// Shape of the array on the right.
    pub right_shape: Axes<usize>,
    /// The elements that differ; `None` if the shapes differ.
    pub elements: Option<Differing>,
}

/// Elements that differ.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Differing {
    /// Index of the first one, in C order.
    pub position: Axes<usize>,
    /// The element there on the left, and on the right. `Debug` writes them, with their bytes if it
    /// writes both in the same way.
    pub values: [String; 2],
    /// The number of elements that differ.
    pub count: usize,
    /// The number of elements.
    pub len: usize,
}

impl Difference {
    pub(super) fn find<T: Element + fmt::Debug>(
        left: &HostArray<T>,
        right: &HostArray<T>,
        same: impl Fn(&T, &T) -> bool,
    ) -> Option<Self> {
        use crate::NdLayout;

        let of = |elements| Self {
            dtype: short_name(type_name::<T>()),
            left_shape: left.shape().into(),
            right_shape: right.shape().into(),
            elements,
        };
        if left.shape() != right.shape() {
            return Some(of(None));
        }
        let pairs = || left.indexed_iter().zip(right);
        let mut differing = pairs().filter(|((_, left), right)| !same(left, right));
        let ((position, left), right) = differing.next()?;
        let count = 1 + differing.count();
        Some(of(Some(Differing { position, values: texts(left, right), count, len: pairs().len() })))
    }
}

fn texts<T: Element + fmt::Debug>(left: &T, right: &T) -> [String; 2] {
    let texts = [left, right].map(|value| format!("{value:?}"));
    if texts[0] != texts[1] {
        return texts;
    }
    [left, right].map(|value| format!("{value:?} (bytes {:02x?})", bytemuck::bytes_of(value)))
}

/// The name of a type without its path. A generic type or an array keeps its whole name.
fn short_name(name: &'static str) -> &'static str {
    if name.contains(['<', '[', '(']) { name } else { name.rsplit("::").next().unwrap_or(name) }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dtype, left_shape, right_shape, elements } = self;
        let Some(Differing { position, values: [left, right], count, len }) = elements else {
            return write!(f, "shapes differ: left {left_shape:?}, right {right_shape:?} ({dtype})");
        };
        write!(f, "first difference at {position:?}: left {left}, right {right}; ")?;
        write!(f, "{count} of {len} elements differ ({dtype}, shape {left_shape:?})")
    }
}

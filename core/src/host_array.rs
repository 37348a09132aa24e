//! An N-dimensional array in host memory, for programs that read, print or compare results.

mod display;
mod floats;
mod indexed;
mod rows;

use std::ops::{Index, IndexMut};

pub use indexed::IndexedIter;

use crate::{
    Result,
    layout::{Layout, LayoutError, NdLayout, Order},
};

/// A copy in host memory, with elements in C order, to look at, index, iterate over or print.
///
/// [`Array::to_host`](crate::Array::to_host) returns one, and
/// [`Array::from_host_array`](crate::Array::from_host_array) copies one to the device. It computes
/// nothing; with the feature `ndarray` it becomes an array of that crate without a copy.
///
/// ```
/// use devarray::{Array, Context};
///
/// let context = Context::new(devarray_mock::MockDevice::new())?;
/// let stream = context.stream()?;
/// let a = Array::from_slice(&stream, &[2, 3], &[1, 2, 3, 4, 5, 60])?.to_host(&stream)?;
/// assert_eq!(a[[1, 2]], 60);
/// assert_eq!(a.to_string(), "[[ 1  2  3]\n [ 4  5 60]]");
/// let sum: i32 = a.iter().sum();
/// assert_eq!(sum, 75);
/// # Ok::<(), devarray::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct HostArray<T> {
    data: Vec<T>,
    /// Dense in C order.
    layout: Layout,
}

impl<T> HostArray<T> {
    /// Gives elements in C order a shape. Does not copy.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::LengthMismatch`]: there are not as many elements as the shape has.
    /// - [`LayoutError::Overflow`]: the shape has more elements than can be counted.
    #[track_caller]
    pub fn new(shape: &[usize], data: Vec<T>) -> Result<Self> {
        let layout = Layout::contiguous(shape, Order::C)?;
        if layout.len() != data.len() {
            return Err(LayoutError::LengthMismatch { expected: layout.len(), found: data.len() }.into());
        }
        Ok(Self { data, layout })
    }

    /// The layout of the elements in [`as_slice`](Self::as_slice): dense in C order.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The element at an index; `None` if the index does not have one position per axis, or one is
    /// out of range.
    #[must_use]
    pub fn get(&self, index: &[usize]) -> Option<&T> {
        self.data.get(self.position(index)?)
    }

    /// Like [`get`](Self::get), to write.
    #[must_use]
    pub fn get_mut(&mut self, index: &[usize]) -> Option<&mut T> {
        let position = self.position(index)?;
        self.data.get_mut(position)
    }

    /// The position of an index in the data. In C order, extents bound the position by their
    /// product, so sums fit.
    fn position(&self, index: &[usize]) -> Option<usize> {
        let shape = self.layout.shape();
        if index.len() != shape.len() {
            return None;
        }
        let axes = index.iter().zip(shape);
        axes.into_iter().try_fold(0_usize, |before, (&at, &extent)| {
            (at < extent).then(|| before.wrapping_mul(extent).wrapping_add(at))
        })
    }

    /// All elements in C order.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// All elements in C order, to write.
    #[must_use]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// All elements in C order. Does not copy.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }

    /// The elements in C order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.data.iter()
    }

    /// The elements in C order, to write.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.data.iter_mut()
    }

    /// The elements in C order, each with its index.
    ///
    /// ```
    /// use devarray::HostArray;
    ///
    /// let a = HostArray::new(&[2, 2], vec!['a', 'b', 'c', 'd'])?;
    /// let c = a.indexed_iter().find(|(_, value)| **value == 'c');
    /// assert_eq!(c.map(|(index, _)| index.to_vec()), Some(vec![1, 0]));
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[must_use]
    pub fn indexed_iter(&self) -> IndexedIter<'_, T> {
        IndexedIter::new(&self.data, self.layout.shape())
    }
}

impl<T> NdLayout for HostArray<T> {
    fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    fn strides(&self) -> &[isize] {
        self.layout.strides()
    }

    fn offset(&self) -> usize {
        self.layout.offset()
    }
}

/// The element at a position per axis: an array `[1, 2]`, a slice, or a `Vec`.
///
/// # Panics
///
/// Panics like indexing a slice, if the index does not have one position per axis, or one is out of
/// range. [`HostArray::get`] does not panic.
impl<T, I: AsRef<[usize]>> Index<I> for HostArray<T> {
    type Output = T;

    fn index(&self, index: I) -> &T {
        let index = index.as_ref();
        self.get(index).unwrap_or_else(|| refuse(index, self.layout.shape()))
    }
}

impl<T, I: AsRef<[usize]>> IndexMut<I> for HostArray<T> {
    fn index_mut(&mut self, index: I) -> &mut T {
        let index = index.as_ref();
        match self.position(index) {
            Some(position) => &mut self.data[position],
            None => refuse(index, self.layout.shape()),
        }
    }
}

#[cold]
fn refuse(index: &[usize], shape: &[usize]) -> ! {
    panic!("index {index:?} is out of range for shape {shape:?}")
}

impl<T> From<HostArray<T>> for Vec<T> {
    fn from(array: HostArray<T>) -> Self {
        array.data
    }
}

impl<T> IntoIterator for HostArray<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.data.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a HostArray<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut HostArray<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

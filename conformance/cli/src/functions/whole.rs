//! Calls that make an array from an array, and are no function of single elements.

use devarray::{
    ArrayView, ArrayViewMut, ErasedArray, ErasedView, ErasedViewMut, StreamHandle,
    backend::Compute,
    function::{ElementType, Float, FunctionError, FunctionErrorKind},
    math,
    random::{self, Key},
};

/// A call on the elements of one array of `f32` or `f64`, which returns the same number of elements
/// of the same type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Whole {
    /// Each exponential divided by the sum of the exponentials along an axis.
    Softmax(isize),
    /// The logarithm of that.
    LogSoftmax(isize),
    /// Normally distributed random numbers in the positions of the elements, which are not read.
    Normal,
    /// Random numbers from 0 up to 1 in the positions of the elements, which are not read.
    Uniform,
}

impl Whole {
    /// The call of this name, along these axes.
    #[must_use]
    pub fn named(name: &str, axes: Option<&[isize]>) -> Option<Self> {
        match (name, axes) {
            ("softmax", Some(&[axis])) => Some(Self::Softmax(axis)),
            ("log_softmax", Some(&[axis])) => Some(Self::LogSoftmax(axis)),
            ("normal", None) => Some(Self::Normal),
            ("uniform", None) => Some(Self::Uniform),
            _ => None,
        }
    }

    /// The result in a new array. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The elements have another type, and errors of the library.
    pub fn compute<D: Compute>(
        self,
        stream: &StreamHandle<D>,
        (x, of): (&ErasedView<'_, D>, ElementType),
    ) -> devarray::Result<ErasedArray<D>> {
        let mut result = ErasedArray::uninit(stream, x.shape(), of.len_bytes())?;
        self.compute_into(stream, (x, of), &mut result.view_mut())?;
        Ok(result)
    }

    /// Writes the result to existing elements. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`compute`](Self::compute).
    pub fn compute_into<D: Compute>(
        self,
        stream: &StreamHandle<D>,
        (x, of): (&ErasedView<'_, D>, ElementType),
        result: &mut ErasedViewMut<'_, D>,
    ) -> devarray::Result<()> {
        match of {
            ElementType::F32 => self.of::<f32, D>(stream, x, result),
            ElementType::F64 => self.of::<f64, D>(stream, x, result),
            other => {
                let message = format!("elements of f32 or f64 are taken, not {other}");
                Err(FunctionError::new(FunctionErrorKind::Type, message).into())
            }
        }
    }

    fn of<T: Float, D: Compute>(
        self,
        stream: &StreamHandle<D>,
        x: &ErasedView<'_, D>,
        result: &mut ErasedViewMut<'_, D>,
    ) -> devarray::Result<()> {
        let x = ArrayView::<T, D>::from_erased(x.clone())?;
        let mut result = ArrayViewMut::<T, D>::from_erased(result.reborrow())?;
        match self {
            Self::Softmax(axis) => math::softmax_into(stream, &x, axis, &mut result),
            Self::LogSoftmax(axis) => math::log_softmax_into(stream, &x, axis, &mut result),
            Self::Normal => random::normal_into(stream, &mut result, Key::new(1)),
            Self::Uniform => random::uniform_into(stream, &mut result, Key::new(1)),
        }
    }
}

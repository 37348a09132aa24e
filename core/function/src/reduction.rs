//! The parts of reductions and scans.

mod cache;
mod lower;
mod reduced;

pub use lower::{Lowered, Spread, lower_reduction, squared_deviation, sum_type};
pub use reduced::Reduced;

use super::{Computable, ElementType};
use devarray_layout::{AxisList, Integer, position};

/// The operation of a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReduceOperation {
    /// The sum: an `i64` for signed integers and bool, a `u64` for unsigned integers, the same type
    /// for floats.
    Sum,
    /// The product. It has the type of a sum.
    #[doc(alias = "prod")]
    Product,
    /// The least element; NaN if an element is NaN.
    #[doc(alias = "min")]
    Minimum,
    /// The greatest element; NaN if an element is NaN.
    #[doc(alias = "max")]
    Maximum,
    /// The position of the least element, an `i64` counted in row-major order of the reduced axes.
    /// If an element is NaN, the position of the first NaN.
    ArgMinimum,
    /// The position of the greatest element, by the same rules.
    ArgMaximum,
    /// Whether any element is not 0. NaN is not 0.
    Any,
    /// Whether no element is 0.
    All,
    /// The number of elements that are not 0, an `i64`.
    CountNonzero,
    /// The sum of floats divided by their number.
    Mean,
    /// The mean squared deviation of floats from their mean, in two passes.
    #[doc(alias = "var")]
    Variance,
    /// The square root of the variance of floats.
    #[doc(alias = "std")]
    StandardDeviation,
}

impl ReduceOperation {
    const NAMES: [(&'static str, Self); 12] = [
        ("sum", Self::Sum),
        ("prod", Self::Product),
        ("min", Self::Minimum),
        ("max", Self::Maximum),
        ("argmin", Self::ArgMinimum),
        ("argmax", Self::ArgMaximum),
        ("any", Self::Any),
        ("all", Self::All),
        ("count_nonzero", Self::CountNonzero),
        ("mean", Self::Mean),
        ("var", Self::Variance),
        ("std", Self::StandardDeviation),
    ];

    /// The operation of that name: `sum`, `count_nonzero`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|&(known, _)| known == name).map(|(_, operation)| operation)
    }

    /// The names that [`from_name`](Self::from_name) knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().map(|(name, _)| name)
    }

    /// NumPy's name: `sum`, `count_nonzero`.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|&(_, known)| known == self).map_or("", |(name, _)| name)
    }
}

/// A reduction: the operation, the axes, and the form of the result.
///
/// ```
/// use devarray_function::{ElementType, Function, ReduceOperation, Reduction, SliceInput};
/// use devarray_layout::{Layout, Order};
///
/// let x = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let x = SliceInput::new(&x, &Layout::contiguous(&[2, 3], Order::C)?)?;
/// let square = Function::parse("x0 * x0", &[ElementType::F32], &[])?;
/// let along_rows = Reduction::new(ReduceOperation::Sum).axes(&[1]);
/// assert_eq!(square.compute_reduction::<f32>(&[x], &[], &along_rows)?, [14.0, 77.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reduction {
    #[doc(hidden)]
    pub operation: ReduceOperation,
    #[doc(hidden)]
    pub axes: Option<Vec<isize>>,
    #[doc(hidden)]
    pub keep_axes: bool,
    #[doc(hidden)]
    pub element_type: Option<ElementType>,
    #[doc(hidden)]
    pub ddof: u64,
    #[doc(hidden)]
    /// A value that is combined with the result: its type and its bits.
    pub initial: Option<(ElementType, u64)>,
    #[doc(hidden)]
    pub outcome: Option<Outcome>,
}

/// The unusual end of a sum or a product.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// The type of the result, to which it is rounded once.
    pub element_type: ElementType,
    /// Whether the square root is taken before rounding.
    pub root: bool,
}

impl Reduction {
    /// Reduces over all axes.
    #[must_use]
    pub fn new(operation: ReduceOperation) -> Self {
        Self {
            operation,
            axes: None,
            keep_axes: false,
            element_type: None,
            ddof: 0,
            initial: None,
            outcome: None,
        }
    }

    /// Reduces only over these axes, which may be negative. Without axes, each element is reduced
    /// by itself.
    #[must_use]
    pub fn axes(self, axes: impl AxisList) -> Self {
        Self { axes: Some(axes.axes().iter().map(|&axis| position(axis)).collect()), ..self }
    }

    /// Keeps the reduced axes, with extent 1, so that the result broadcasts to the input's shape.
    #[must_use]
    pub fn keep_axes(self) -> Self {
        Self { keep_axes: true, ..self }
    }

    /// Casts elements to this type first.
    #[must_use]
    pub fn cast(self, element_type: ElementType) -> Self {
        Self { element_type: Some(element_type), ..self }
    }

    /// Combines the result of a sum, a product, a minimum or a maximum with this value, which has
    /// the result's type. If there are no elements, the minimum or maximum is this value instead of
    /// an error.
    ///
    /// ```
    /// use devarray::{Array, Context, function::{ReduceOperation, Reduction}};
    /// use devarray_mock::MockDevice;
    ///
    /// let stream = Context::new(MockDevice::new())?.stream()?;
    /// let x = Array::<f32, _>::zeros(&stream, &[0])?;
    /// let greatest = Reduction::new(ReduceOperation::Maximum).initial(-1.0_f32);
    /// assert_eq!(x.reduce_as::<f32>(&stream, &greatest)?.item(&stream)?, -1.0);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[must_use]
    pub fn initial<T: Computable>(self, value: T) -> Self {
        Self { initial: Some((T::TYPE, value.to_bits())), ..self }
    }

    /// Ends a sum or a product in another way than usual.
    #[doc(hidden)]
    #[must_use]
    pub fn outcome(self, element_type: ElementType, root: bool) -> Self {
        Self { outcome: Some(Outcome { element_type, root }), ..self }
    }

    /// Subtracts this from the count before the variance is divided by it: 1 gives the variance of
    /// a sample. A negative difference counts as 0.
    #[must_use]
    pub fn ddof(self, ddof: u64) -> Self {
        Self { ddof, ..self }
    }
}

/// The operation of a scan, on each element and the elements before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScanOperation {
    /// Running sums, with the types of [`ReduceOperation::Sum`].
    Sum,
    /// Running products.
    Product,
    /// The least element so far; NaN from the first NaN on.
    Minimum,
    /// The greatest element so far; NaN from the first NaN on.
    Maximum,
}

impl ScanOperation {
    const NAMES: [(&'static str, Self); 4] =
        [("sum", Self::Sum), ("prod", Self::Product), ("min", Self::Minimum), ("max", Self::Maximum)];

    /// The operation of that name: `sum`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|&(known, _)| known == name).map(|(_, operation)| operation)
    }

    /// The names that [`from_name`](Self::from_name) knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().map(|(name, _)| name)
    }

    /// Its name: `sum`.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|&(_, known)| known == self).map_or("", |(name, _)| name)
    }
}

/// A scan along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scan {
    #[doc(hidden)]
    pub operation: ScanOperation,
    #[doc(hidden)]
    pub axis: isize,
    #[doc(hidden)]
    pub exclusive: bool,
}

impl Scan {
    /// Combines each element with the elements before it along an axis, which may be negative.
    #[must_use]
    pub fn new(operation: ScanOperation, axis: impl Integer) -> Self {
        Self { operation, axis: position(axis), exclusive: false }
    }

    /// Leaves the element itself out of each combination. A sum starts with 0, a product with 1; a
    /// minimum or maximum is an error.
    #[must_use]
    pub fn exclusive(self) -> Self {
        Self { exclusive: true, ..self }
    }
}

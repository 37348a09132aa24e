//! The calls, their inputs and their results.

use devarray_function::ElementType;
use devarray_layout::{Axes, axis_index};

use crate::{OrderError, OrderErrorKind};

/// A call on arrays, with its arguments. A negative axis counts from the end.
///
/// | call | inputs | results |
/// |---|---|---|
/// | `Sort` | x | the elements in order |
/// | `ArgSort` | x | their positions along the axis, `i64` |
/// | `TopK` | x | the first `k` of the order, and their positions, `i64` |
/// | `Unique` | x | the distinct elements ascending; the position of the first of each in x; for each element of x which it is, in x's shape; how many there are of each. All but the first `i64` |
/// | `SearchSorted` | ascending a of one axis, v | for each of v how many of a are below it, or with `right` not above it, `i64` |
/// | `BinCount` | integers x, and weights in x's shape or none | for each of 0 … n − 1 how many of x are it, `i64`, or the sum of their weights |
/// | `Histogram` | x, ascending edges of one axis, two or more | how many of x are in each interval, the last closed, `i64` |
/// | `Put` | x, indices of one axis, v | x, with each slice of v along the axis combined into the slice that its index says |
/// | `Segments` | x, ascending offsets of one axis, one or more | for each pair of neighbouring offsets the slices of x between them along axis 0, combined |
/// | `CsrDot` | values and their columns, ascending offsets, each of one axis, x | for each pair of neighbouring offsets the sum of the values between them, each times the slice of x along axis 0 that its column says |
/// | `NonZero` | x | the positions of elements that are not zero, as rows of `i64` |
/// | `Quantile` | floats x | for each line what is at q (n − 1) of its order, between two neighbours |
///
/// The order is total: numbers go by value, −0 is equal to +0, false comes before true, and NaNs are
/// equal and above all. It is stable, also from the greatest down. Elements that are moved keep their
/// bits; computed ones have the canonical NaN. Sums of floats have one value, which
/// [`Combine::Sum`](devarray_function::Combine) defines for that number of elements.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the table says what the arguments are")]
pub enum Call {
    Sort { axis: isize, descending: bool },
    ArgSort { axis: isize, descending: bool },
    TopK { k: usize, axis: isize, largest: bool },
    Unique,
    SearchSorted { right: bool },
    BinCount { n: usize },
    Histogram,
    Put { operation: Combining, axis: isize },
    Segments { operation: Combining },
    CsrDot,
    NonZero,
    Quantile { q: f64, axis: isize },
}

/// The way to combine elements that go to one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a backend knows them all")]
pub enum Combining {
    /// They are added: integers wrap, and floats have one value.
    Sum,
    /// The least is taken; NaN if one is NaN, and −0 is less than +0.
    Minimum,
    /// The greatest is taken, by the same rules.
    Maximum,
}

/// A result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "complete by nature")]
pub struct Output {
    /// The type of its elements.
    pub element_type: ElementType,
    /// Its shape. If `counted`, the first extent is the largest that is possible.
    pub shape: Axes<usize>,
    /// Whether the number of rows is known only after the work.
    pub counted: bool,
}

impl Output {
    fn new(element_type: ElementType, shape: &[usize]) -> Self {
        Self { element_type, shape: shape.iter().copied().collect(), counted: false }
    }

    fn counted(element_type: ElementType, shape: &[usize]) -> Self {
        Self { counted: true, ..Self::new(element_type, shape) }
    }
}

/// The type of sums of elements.
fn sum_type(element_type: ElementType) -> ElementType {
    match element_type {
        float if float.is_float() => float,
        ElementType::U8 | ElementType::U16 | ElementType::U32 | ElementType::U64 => ElementType::U64,
        _ => ElementType::I64,
    }
}

/// The type and the shape of an input.
type Input<'a> = (ElementType, &'a [usize]);

fn wrong_type<T>(message: impl Into<String>) -> Result<T, OrderError> {
    Err(OrderError::new(OrderErrorKind::Type, message))
}

fn wrong_shape<T>(message: impl Into<String>) -> Result<T, OrderError> {
    Err(OrderError::new(OrderErrorKind::Shape, message))
}

fn one_axis(name: &str, shape: &[usize], least: usize) -> Result<usize, OrderError> {
    match *shape {
        [len] if len >= least => Ok(len),
        [len] => wrong_shape(format!("{name}: {len} elements, of {least} at least")),
        _ => wrong_shape(format!("{name} have one axis, not the shape {shape:?}")),
    }
}

fn axis_of(axis: isize, shape: &[usize]) -> Result<usize, OrderError> {
    axis_index(axis, shape.len()).map_err(|error| OrderError::new(OrderErrorKind::Shape, error.to_string()))
}

impl Call {
    /// Its name in messages: `argsort`, `put_add`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Sort { .. } => "sort",
            Self::ArgSort { .. } => "argsort",
            Self::TopK { .. } => "topk",
            Self::Unique => "unique",
            Self::SearchSorted { .. } => "search_sorted",
            Self::BinCount { .. } => "bincount",
            Self::Histogram => "histogram",
            Self::Put { operation: Combining::Sum, .. } => "put_add",
            Self::Put { operation: Combining::Minimum, .. } => "put_minimum",
            Self::Put { operation: Combining::Maximum, .. } => "put_maximum",
            Self::Segments { operation: Combining::Sum } => "segment_sum",
            Self::Segments { operation: Combining::Minimum } => "segment_minimum",
            Self::Segments { operation: Combining::Maximum } => "segment_maximum",
            Self::CsrDot => "csr_dot",
            Self::NonZero => "nonzero",
            Self::Quantile { .. } => "quantile",
        }
    }

    /// The axis that it works along, in the form in which it was given.
    #[must_use]
    pub const fn axis(&self) -> Option<isize> {
        match *self {
            Self::Sort { axis, .. }
            | Self::ArgSort { axis, .. }
            | Self::TopK { axis, .. }
            | Self::Put { axis, .. }
            | Self::Quantile { axis, .. } => Some(axis),
            _ => None,
        }
    }

    /// The number of results.
    #[must_use]
    pub const fn count_of_outputs(&self) -> usize {
        match self {
            Self::Unique => 4,
            Self::TopK { .. } => 2,
            _ => 1,
        }
    }

    /// Whether it may find an index without a place, or more rows than there is room for.
    #[must_use]
    pub const fn finds_indices(&self) -> bool {
        matches!(
            self,
            Self::BinCount { .. }
                | Self::Put { .. }
                | Self::Segments { .. }
                | Self::CsrDot
                | Self::Unique
                | Self::NonZero
        )
    }

    /// Whether indices are looked at, for inputs of these shapes. If so, an index may be wrong even
    /// if the results have no elements.
    #[must_use]
    pub fn looks_at_indices(&self, shapes: &[&[usize]]) -> bool {
        let none = |shape: &[usize]| shape.contains(&0);
        match *self {
            Self::BinCount { .. } => !none(shapes[0]),
            Self::Put { axis, .. } => {
                let (x, indices) = (shapes[0], shapes[1]);
                axis_index(axis, x.len())
                    .is_ok_and(|axis| !none(&with_extent(x, axis, indices.iter().product())))
            }
            Self::Segments { .. } => shapes[1][..] != [1] && !none(&shapes[0][1..]),
            Self::CsrDot => (shapes[2][..] != [1] || !none(shapes[1])) && !none(&shapes[3][1..]),
            _ => false,
        }
    }

    /// The results for inputs of these types and shapes.
    ///
    /// # Errors
    ///
    /// - [`OrderErrorKind::Type`]: the call takes another number of inputs, or other types.
    /// - [`OrderErrorKind::Shape`]: an axis is out of range, `k` exceeds its extent, `q` is not
    ///   in 0 … 1, or the call does not take these shapes.
    pub fn outputs(&self, inputs: &[Input<'_>]) -> Result<Vec<Output>, OrderError> {
        use ElementType::I64;
        self.check_types(inputs)?;
        let (x, shape) = inputs[0];
        Ok(match *self {
            Self::Sort { axis, .. } => {
                axis_of(axis, shape)?;
                vec![Output::new(x, shape)]
            }
            Self::ArgSort { axis, .. } => {
                axis_of(axis, shape)?;
                vec![Output::new(I64, shape)]
            }
            Self::TopK { k, axis, .. } => {
                let axis = axis_of(axis, shape)?;
                if k > shape[axis] {
                    return wrong_shape(format!("the first {k} of {} elements", shape[axis]));
                }
                let shape = with_extent(shape, axis, k);
                vec![Output::new(x, &shape), Output::new(I64, &shape)]
            }
            Self::Unique => {
                let most: [usize; 1] = [shape.iter().product()];
                let of = |element_type| Output::counted(element_type, &most);
                vec![of(x), of(I64), Output::new(I64, shape), of(I64)]
            }
            Self::SearchSorted { .. } => {
                one_axis("ascending elements", shape, 0)?;
                vec![Output::new(I64, inputs[1].1)]
            }
            Self::BinCount { n } => match inputs.get(1) {
                Some(&(_, weights)) if weights != shape => {
                    return wrong_shape(format!(
                        "weights of the shape {weights:?} for elements of {shape:?}"
                    ));
                }
                Some(&(weights, _)) => vec![Output::new(sum_type(weights), &[n])],
                None => vec![Output::new(I64, &[n])],
            },
            Self::Histogram => vec![Output::new(I64, &[one_axis("edges", inputs[1].1, 2)? - 1])],
            Self::Put { axis, .. } => {
                let axis = axis_of(axis, shape)?;
                let put = with_extent(shape, axis, one_axis("indices", inputs[1].1, 0)?);
                if !broadcasts(inputs[2].1, &put) {
                    return wrong_shape(format!("{:?} does not broadcast to {put:?}", inputs[2].1));
                }
                vec![Output::new(x, shape)]
            }
            Self::Segments { operation } => {
                let groups = one_axis("offsets", inputs[1].1, 1)? - 1;
                if shape.is_empty() {
                    return wrong_shape("an array without axes has no slices");
                }
                let of = if operation == Combining::Sum { sum_type(x) } else { x };
                vec![Output::new(of, &with_extent(shape, 0, groups))]
            }
            Self::CsrDot => {
                let (values, columns) = (one_axis("values", shape, 0)?, one_axis("columns", inputs[1].1, 0)?);
                if values != columns {
                    return wrong_shape(format!("{values} values with {columns} columns"));
                }
                let rows = one_axis("offsets", inputs[2].1, 1)? - 1;
                if inputs[3].1.is_empty() {
                    return wrong_shape("an array without axes has no slices");
                }
                vec![Output::new(sum_type(x), &with_extent(inputs[3].1, 0, rows))]
            }
            Self::NonZero => vec![Output::counted(I64, &[shape.iter().product(), shape.len()])],
            Self::Quantile { q, axis } => {
                let axis = axis_of(axis, shape)?;
                if !(0.0..=1.0).contains(&q) {
                    return wrong_shape(format!("the quantile at {q}, which is not in 0 to 1"));
                }
                let mut rest: Axes<usize> = shape.iter().copied().collect();
                rest.remove(axis);
                vec![Output::new(x, &rest)]
            }
        })
    }

    /// Refuses results that have no value, for inputs with [`outputs`](Self::outputs). This is checked last, when the
    /// results that are there fit, too.
    ///
    /// # Errors
    ///
    /// [`OrderErrorKind::Empty`]: a quantile of no elements is asked for.
    pub fn check_elements(&self, inputs: &[Input<'_>]) -> Result<(), OrderError> {
        let (Self::Quantile { axis, .. }, [(_, shape), ..]) = (self, inputs) else { return Ok(()) };
        let axis = axis_of(*axis, shape)?;
        let is_empty = |(at, &extent): (usize, &usize)| (extent == 0) == (at == axis);
        if shape.iter().enumerate().all(is_empty) {
            return Err(OrderError::new(OrderErrorKind::Empty, "a quantile of no elements"));
        }
        Ok(())
    }

    fn check_types(&self, inputs: &[Input<'_>]) -> Result<(), OrderError> {
        use ElementType::{Bool, I32, I64, U32};
        let types: Vec<ElementType> = inputs.iter().map(|&(element_type, _)| element_type).collect();
        let index = |element_type| matches!(element_type, I32 | U32 | I64);
        let fits = match (self, &types[..]) {
            (
                Self::Sort { .. } | Self::ArgSort { .. } | Self::TopK { .. } | Self::Unique | Self::NonZero,
                [_],
            ) => true,
            (Self::SearchSorted { .. }, [a, v]) => a == v,
            (Self::BinCount { .. }, [x] | [x, _]) => x.is_integer(),
            (Self::Histogram, [x, edges]) => x == edges && *x != Bool,
            (Self::Put { .. }, &[x, indices, v]) => x == v && x != Bool && index(indices),
            (Self::Segments { .. }, &[_, offsets]) => index(offsets),
            (Self::CsrDot, &[values, columns, offsets, x]) => {
                values == x && x != Bool && index(columns) && index(offsets)
            }
            (Self::Quantile { .. }, [x]) => x.is_float(),
            _ => false,
        };
        if fits {
            Ok(())
        } else {
            let types: Vec<String> = types.iter().map(ToString::to_string).collect();
            let types = if types.is_empty() { "no inputs".to_owned() } else { types.join(", ") };
            wrong_type(format!("{} does not take inputs of the types {types}", self.name()))
        }
    }
}

fn with_extent(shape: &[usize], axis: usize, extent: usize) -> Axes<usize> {
    let mut shape: Axes<usize> = shape.iter().copied().collect();
    shape[axis] = extent;
    shape
}

fn broadcasts(from: &[usize], to: &[usize]) -> bool {
    from.len() <= to.len()
        && from.iter().rev().zip(to.iter().rev()).all(|(&from, &to)| from == to || from == 1)
}

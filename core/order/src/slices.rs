//! Makes the calls on slices, in the calling thread.
#![allow(unsafe_code)] // lends slices to the calls, after checking their lengths

use devarray_function::{
    Computable, ElementType, Float, Number, WholeNumber,
    interpreter::{InputElements, ResultElements},
};
use devarray_layout::{Layout, Order};

use crate::{Alone, Call, Combining, Operand, OrderError, OrderErrorKind, Outcome, WrongIndex, execute};

fn dense(len: usize) -> Layout {
    Layout::contiguous(&[len], Order::C).expect("a slice has at most `isize::MAX` bytes")
}

/// Elements of one axis.
struct Line<'a> {
    element_type: ElementType,
    start: *const u8,
    layout: Layout,
    borrow: std::marker::PhantomData<&'a [u8]>,
}

impl<'a> Line<'a> {
    fn new<T: Computable>(elements: &'a [T]) -> Self {
        let start = elements.as_ptr().cast();
        Self { element_type: T::TYPE, start, layout: dense(elements.len()), borrow: std::marker::PhantomData }
    }

    fn operand(&self) -> Operand<'_> {
        (self.element_type, InputElements { start: self.start, layout: &self.layout })
    }
}

/// The memory of a result.
struct Room<'a> {
    element_type: ElementType,
    start: *mut u8,
    layout: Layout,
    borrow: std::marker::PhantomData<&'a mut [u8]>,
}

impl<'a> Room<'a> {
    fn new<T: Computable>(elements: &'a mut [T]) -> Self {
        let layout = dense(elements.len());
        let start = elements.as_mut_ptr().cast();
        Self { element_type: T::TYPE, start, layout, borrow: std::marker::PhantomData }
    }
}

/// Makes a call on lines. Results have the right lengths, or any length if they are counted.
fn make(call: &Call, inputs: &[Line<'_>], rooms: &[Option<Room<'_>>]) -> Result<Outcome, OrderError> {
    let shapes: Vec<_> = inputs.iter().map(|input| (input.element_type, input.layout.shape())).collect();
    let outputs = call.outputs(&shapes)?;
    for (output, room) in
        outputs.iter().zip(rooms).filter_map(|(output, room)| Some((output, room.as_ref()?)))
    {
        if output.element_type != room.element_type {
            let message = format!("the result is of {}, not of {}", output.element_type, room.element_type);
            return Err(OrderError::new(OrderErrorKind::Type, message));
        }
    }
    call.check_elements(&shapes)?;
    let operands: Vec<_> = inputs.iter().map(Line::operand).collect();
    let scalar = Layout::contiguous(&[], Order::C).expect("one element");
    let layouts: Vec<_> = outputs
        .iter()
        .zip(rooms)
        .map(|(output, room)| match room {
            Some(_) if output.shape.is_empty() => scalar.clone(),
            Some(room) if output.shape.len() == 2 => {
                Layout::contiguous(&[room.layout.len(), 1], Order::C).expect("as large as the room")
            }
            Some(room) => room.layout.clone(),
            None => scalar.clone(),
        })
        .collect();
    let results: Vec<_> = rooms
        .iter()
        .zip(&layouts)
        .map(|(room, layout)| Some(ResultElements { start: room.as_ref()?.start, layout }))
        .collect();
    // SAFETY: layouts lie inside the slices, which are borrowed; slices of results are borrowed
    // mutably
    Ok(unsafe { execute(call, &operands, &results, &Alone) })
}

fn refused(wrong: Option<WrongIndex>) -> Result<(), OrderError> {
    wrong.map_or(Ok(()), |wrong| Err(wrong.into()))
}

/// Converts positions, which are `i64` on every device, to `usize`.
fn positions(found: Vec<i64>) -> Vec<usize> {
    if size_of::<usize>() == size_of::<i64>() {
        return bytemuck::cast_vec(found);
    }
    found.into_iter().map(|position| usize::try_from(position).expect("a position in memory")).collect()
}

/// Like [`make`], for a call that fits any slice.
fn fits(call: &Call, inputs: &[Line<'_>], rooms: &[Option<Room<'_>>]) -> Outcome {
    make(call, inputs, rooms).expect("a call that fits any slice")
}

/// Makes a call that fits any slice, and has one result.
fn one<R: Computable>(call: &Call, inputs: &[Line<'_>], len: usize) -> Vec<R> {
    let mut result = vec![R::zeroed(); len];
    fits(call, inputs, &[Some(Room::new(&mut result))]);
    result
}

/// Sorts the elements, ascending or descending. Equal elements keep their order.
///
/// NaNs are above all numbers, zeros of either sign are equal, and every element keeps its bits.
///
/// ```
/// use devarray_order::sort;
///
/// assert_eq!(sort(&[2, -1, 3], false), [-1, 2, 3]);
/// assert!(sort(&[f32::NAN, 0.5, -0.5], true)[0].is_nan());
/// ```
#[must_use]
pub fn sort<T: Computable>(x: &[T], descending: bool) -> Vec<T> {
    one(&Call::Sort { axis: 0, descending }, &[Line::new(x)], x.len())
}

/// The positions of the elements in sorted order: `x[argsort(x, false)[k]]` is `sort(x, false)[k]`.
///
/// ```
/// assert_eq!(devarray_order::argsort(&[2, -1, 2, 3], true), [3, 0, 2, 1]);
/// ```
#[must_use]
pub fn argsort<T: Computable>(x: &[T], descending: bool) -> Vec<usize> {
    positions(one(&Call::ArgSort { axis: 0, descending }, &[Line::new(x)], x.len()))
}

/// The `k` largest elements, descending, or the smallest, ascending, and their positions: the first of
/// [`sort`] and [`argsort`], without sorting the others.
///
/// ```
/// let (values, positions) = devarray_order::top_k(&[1.5, 9.0, 4.0, 9.0], 2, true)?;
/// assert_eq!((values, positions), (vec![9.0, 9.0], vec![1, 3]));
/// # Ok::<(), devarray_order::OrderError>(())
/// ```
///
/// # Errors
///
/// [`OrderErrorKind::Shape`]: there are fewer than `k` elements.
pub fn top_k<T: Computable>(x: &[T], k: usize, largest: bool) -> Result<(Vec<T>, Vec<usize>), OrderError> {
    let held = k.min(x.len());
    let (mut values, mut places) = (vec![T::zeroed(); held], vec![0_i64; held]);
    let call = Call::TopK { k, axis: 0, largest };
    make(&call, &[Line::new(x)], &[Some(Room::new(&mut values)), Some(Room::new(&mut places))])?;
    Ok((values, positions(places)))
}

/// The distinct elements, ascending. The first of equal elements represents them, with its bits. All zeros
/// count as one element, and so do all NaNs.
///
/// ```
/// assert_eq!(devarray_order::unique(&[3_u8, 1, 3, 2, 1]), [1, 2, 3]);
/// ```
#[must_use]
pub fn unique<T: Computable>(x: &[T]) -> Vec<T> {
    let mut values = vec![T::zeroed(); x.len()];
    let rooms = [Some(Room::new(&mut values)), None, None, None];
    let outcome = fits(&Call::Unique, &[Line::new(x)], &rooms);
    values.truncate(outcome.count);
    values
}

/// The distinct elements of a slice, and where they are in it. [`unique_all`] makes it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Unique<T> {
    /// The distinct elements, ascending.
    pub values: Vec<T>,
    /// Where each distinct element occurs first.
    pub firsts: Vec<usize>,
    /// For each element of the slice, the index of its distinct element.
    pub inverse: Vec<usize>,
    /// The number of times that each distinct element occurs.
    pub counts: Vec<usize>,
}

/// Finds the distinct elements with their first positions and counts, and the distinct element of
/// each element.
///
/// ```
/// let found = devarray_order::unique_all(&[0.5, -0.0, 0.0]);
/// assert_eq!((found.values, found.firsts), (vec![-0.0, 0.5], vec![1, 0]));
/// assert_eq!((found.inverse, found.counts), (vec![1, 0, 0], vec![2, 1]));
/// ```
#[must_use]
pub fn unique_all<T: Computable>(x: &[T]) -> Unique<T> {
    let mut values = vec![T::zeroed(); x.len()];
    let [mut firsts, mut inverse, mut counts] = [(); 3].map(|()| vec![0_i64; x.len()]);
    let rooms = [
        Some(Room::new(&mut values)),
        Some(Room::new(&mut firsts)),
        Some(Room::new(&mut inverse)),
        Some(Room::new(&mut counts)),
    ];
    let outcome = fits(&Call::Unique, &[Line::new(x)], &rooms);
    values.truncate(outcome.count);
    firsts.truncate(outcome.count);
    counts.truncate(outcome.count);
    let [firsts, inverse, counts] = [firsts, inverse, counts].map(positions);
    Unique { values, firsts, inverse, counts }
}

/// For each element of `v`, counts the ascending elements below it, or, with `right`, not above it: the
/// position where it can be inserted so that they still ascend.
///
/// ```
/// assert_eq!(devarray_order::search_sorted(&[1.0, 2.0, 2.0, 4.0], &[2.0, 5.0], false), [1, 4]);
/// assert_eq!(devarray_order::search_sorted(&[1.0, 2.0, 2.0, 4.0], &[2.0, 5.0], true), [3, 4]);
/// ```
#[must_use]
pub fn search_sorted<T: Computable>(ascending: &[T], v: &[T], right: bool) -> Vec<usize> {
    positions(one(&Call::SearchSorted { right }, &[Line::new(ascending), Line::new(v)], v.len()))
}

/// Counts how often each of 0 … n − 1 occurs in `x`.
///
/// ```
/// assert_eq!(devarray_order::bincount(&[0_u8, 2, 2], 4)?, [1, 0, 2, 0]);
/// assert!(devarray_order::bincount(&[-1], 4).is_err());
/// # Ok::<(), devarray_order::OrderError>(())
/// ```
///
/// # Errors
///
/// [`OrderErrorKind::Index`]: an element is not in 0 … n − 1.
pub fn bincount<T: WholeNumber>(x: &[T], n: usize) -> Result<Vec<usize>, OrderError> {
    let mut counts = vec![0_i64; n];
    let outcome = make(&Call::BinCount { n }, &[Line::new(x)], &[Some(Room::new(&mut counts))])?;
    refused(outcome.wrong_index)?;
    Ok(positions(counts))
}

/// Sums the weights of the elements that are 0, those that are 1, and so on up to n − 1. Sums of
/// floats have their type and one value; sums of signed integers are `i64`, sums of unsigned
/// integers `u64`, and both wrap.
///
/// ```
/// let sums: Vec<f64> = devarray_order::bincount_weighted(&[0_u32, 2, 2], &[0.5, 1.0, 0.25], 3)?;
/// assert_eq!(sums, [0.5, 0.0, 1.25]);
/// # Ok::<(), devarray_order::OrderError>(())
/// ```
///
/// # Errors
///
/// - [`OrderErrorKind::Type`]: `R` is not the type of the sums.
/// - [`OrderErrorKind::Shape`]: there are more or fewer weights than elements.
/// - [`OrderErrorKind::Index`]: an element is not in 0 … n − 1.
pub fn bincount_weighted<T: WholeNumber, W: Computable, R: Computable>(
    x: &[T],
    weights: &[W],
    n: usize,
) -> Result<Vec<R>, OrderError> {
    let mut sums = vec![R::zeroed(); n];
    let inputs = [Line::new(x), Line::new(weights)];
    refused(make(&Call::BinCount { n }, &inputs, &[Some(Room::new(&mut sums))])?.wrong_index)?;
    Ok(sums)
}

/// Counts how many elements are in each interval of ascending edges. The last interval is closed. NaN
/// and elements outside are not counted.
///
/// ```
/// assert_eq!(devarray_order::histogram(&[0.1, 0.5, 1.0, 7.0], &[0.0, 0.5, 1.0])?, [1, 2]);
/// # Ok::<(), devarray_order::OrderError>(())
/// ```
///
/// # Errors
///
/// [`OrderErrorKind::Shape`]: there are fewer than two edges.
pub fn histogram<T: Number>(x: &[T], edges: &[T]) -> Result<Vec<usize>, OrderError> {
    let mut counts = vec![0_i64; edges.len().saturating_sub(1)];
    make(&Call::Histogram, &[Line::new(x), Line::new(edges)], &[Some(Room::new(&mut counts))])?;
    Ok(positions(counts))
}

/// Combines each element of `v` with the element of `y` that its index names; negative indices count
/// from the end. It is NumPy's `add.at`, with one value: the elements for one place are added like the
/// elements of a sum, and the sum is added to the element that is there.
///
/// ```
/// use devarray_order::{Combining, put};
///
/// let mut y = [1.0, 2.0, 3.0];
/// put(&mut y, &[0, -1, 0], &[0.5, 0.5, 0.25], Combining::Sum)?;
/// assert_eq!(y, [1.75, 2.0, 3.5]);
/// # Ok::<(), devarray_order::OrderError>(())
/// ```
///
/// # Errors
///
/// - [`OrderErrorKind::Type`]: indices are not `i32`, `u32` or `i64`.
/// - [`OrderErrorKind::Shape`]: there are more or fewer indices than elements to put, and not a single
///   element.
/// - [`OrderErrorKind::Index`]: an index has no place. Everything else is put.
pub fn put<T: Number, I: WholeNumber>(
    y: &mut [T],
    indices: &[I],
    v: &[T],
    operation: Combining,
) -> Result<(), OrderError> {
    let x = y.to_vec();
    let inputs = [Line::new(&x), Line::new(indices), Line::new(v)];
    let outcome = make(&Call::Put { operation, axis: 0 }, &inputs, &[Some(Room::new(y))])?;
    refused(outcome.wrong_index)
}

/// Computes the sums, least or greatest elements of the parts of `x` between neighbouring offsets. Sums
/// of floats have their type and one value; sums of signed integers and truth values are `i64`, sums of
/// unsigned integers `u64`, and both wrap.
///
/// ```
/// use devarray_order::{Combining, segments};
///
/// let sums: Vec<i64> = segments(&[1, 2, 3, 4], &[0, 2, 2, 4], Combining::Sum)?;
/// assert_eq!(sums, [3, 0, 7]);
/// assert!(segments::<_, _, i32>(&[1, 2, 3, 4], &[0, 2, 2, 4], Combining::Minimum).is_err());
/// # Ok::<(), devarray_order::OrderError>(())
/// ```
///
/// # Errors
///
/// - [`OrderErrorKind::Type`]: offsets are not `i32`, `u32` or `i64`; or `R` is not the type of the
///   result.
/// - [`OrderErrorKind::Shape`]: there is no offset.
/// - [`OrderErrorKind::Index`]: an offset is outside, or below the one before it.
/// - [`OrderErrorKind::Empty`]: a part has no least or greatest element.
pub fn segments<T: Computable, I: WholeNumber, R: Computable>(
    x: &[T],
    offsets: &[I],
    operation: Combining,
) -> Result<Vec<R>, OrderError> {
    let mut result = vec![R::zeroed(); offsets.len().saturating_sub(1)];
    let inputs = [Line::new(x), Line::new(offsets)];
    refused(make(&Call::Segments { operation }, &inputs, &[Some(Room::new(&mut result))])?.wrong_index)?;
    Ok(result)
}

/// The positions of elements that are not zero. NaN is not zero.
///
/// ```
/// assert_eq!(devarray_order::nonzero(&[0.0, 2.5, -0.0, f64::NAN]), [1, 3]);
/// ```
#[must_use]
pub fn nonzero<T: Computable>(x: &[T]) -> Vec<usize> {
    let of_room = |room| fits(&Call::NonZero, &[Line::new(x)], &[room]);
    let mut found = vec![0_i64; of_room(None).count];
    of_room(Some(Room::new(&mut found)));
    positions(found)
}

/// The value at position `q` (n − 1) of the order of n elements, between two neighbours; NaN if an
/// element is NaN.
///
/// ```
/// assert_eq!(devarray_order::quantile(&[4.0, 1.0, 2.0, 8.0], 0.5)?, 3.0);
/// # Ok::<(), devarray_order::OrderError>(())
/// ```
///
/// # Errors
///
/// - [`OrderErrorKind::Shape`]: `q` is not in 0 … 1.
/// - [`OrderErrorKind::Empty`]: there is no element.
pub fn quantile<T: Float>(x: &[T], q: f64) -> Result<T, OrderError> {
    let mut result = [T::zeroed()];
    make(&Call::Quantile { q, axis: 0 }, &[Line::new(x)], &[Some(Room::new(&mut result))])?;
    Ok(result[0])
}

/// The median: [`quantile`] at ½.
///
/// # Errors
///
/// [`OrderErrorKind::Empty`]: there is no element.
pub fn median<T: Float>(x: &[T]) -> Result<T, OrderError> {
    quantile(x, 0.5)
}

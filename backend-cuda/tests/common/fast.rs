//! Random products with `Precision::Fast`, compared with the sums of their products.

use devarray::{
    Array, ArrayView, Compute, Layout, Result, StreamHandle,
    function::Number,
    product::{Precision, product_shape},
};
use devarray_conformance::Rng;
use half::{bf16, f16};

/// A type that has a fast form.
pub(crate) trait Fast: Number {
    fn of(value: f32) -> Self;
    fn value(self) -> f64;
}

macro_rules! fast {
    ($($type:ty: $of:expr;)*) => {$(
        impl Fast for $type {
            fn of(value: f32) -> Self {
                ($of)(value)
            }

            fn value(self) -> f64 {
                self.into()
            }
        }
    )*};
}

fast! {
    f16: f16::from_f32;
    bf16: bf16::from_f32;
    f32: |value| value;
}

/// A number of a few magnitudes, of either sign; none so small that a product of two underflows.
pub(crate) fn number<T: Fast>(rng: &mut Rng) -> T {
    let magnitude = 0.0625 + rng.below(1 << 20) as f32 / (1 << 20) as f32;
    T::of(magnitude * [1.0, -1.0, 4.0, -0.5][rng.below(4)])
}

/// An array, and a view of it whose axes are permuted, apart, backwards or repeated.
pub(crate) struct Seen<T: Number, D: Compute> {
    data: Vec<T>,
    array: Array<T, D>,
    layout: Layout,
}

impl<T: Fast, D: Compute> Seen<T, D> {
    /// `repeats`: whether elements may be seen several times.
    pub(crate) fn new(s: &StreamHandle<D>, rng: &mut Rng, shape: &[usize], repeats: bool) -> Result<Self> {
        let mut order: Vec<usize> = (0..shape.len()).collect();
        match rng.below(4) {
            0 => order = rng.permutation(shape.len()),
            1 if shape.len() > 1 => order.swap(shape.len() - 1, shape.len() - 2),
            _ => {}
        }
        let mut strides = vec![0_isize; shape.len()];
        let (mut step, mut offset) = (1 + usize::from(rng.below(8) == 0), rng.below(4));
        for &axis in order.iter().rev() {
            if repeats && rng.below(12) == 0 {
                continue;
            }
            strides[axis] = step.cast_signed();
            if rng.below(10) == 0 {
                offset += (shape[axis] - 1) * step;
                strides[axis] = -strides[axis];
            }
            step *= shape[axis];
            step += [0, 0, 1, 7][rng.below(4)];
        }
        let layout = Layout::new(shape, &strides, offset)?;
        let data: Vec<T> = (0..layout.span().end + rng.below(3)).map(|_| number(rng)).collect();
        let array = Array::from_slice(s, &[data.len()], &data)?;
        Ok(Self { data, array, layout })
    }

    pub(crate) fn view(&self) -> Result<ArrayView<'_, T, D>> {
        self.array.view().restride(self.layout.shape(), self.layout.strides(), self.layout.offset())
    }

    /// The element at an index, whose leading axes may be too many, and are broadcast.
    fn at(&self, index: &[usize]) -> f64 {
        self.data[self.place(index)].value()
    }

    fn place(&self, index: &[usize]) -> usize {
        let (shape, strides) = (self.layout.shape(), self.layout.strides());
        let index = &index[index.len() - shape.len()..];
        let steps = index.iter().zip(shape).zip(strides);
        let by =
            steps.map(|((&at, &extent), &stride)| if extent == 1 { 0 } else { at.cast_signed() * stride });
        (self.layout.offset().cast_signed() + by.sum::<isize>()).cast_unsigned()
    }
}

/// All indices of a shape, in order.
fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    (0..shape.iter().product()).map(move |mut number: usize| {
        let mut index = vec![0; shape.len()];
        for (at, &extent) in index.iter_mut().zip(shape).rev() {
            (*at, number) = (number % extent, number / extent);
        }
        index
    })
}

/// Shapes of two matrices, or of batches of them.
fn shapes(rng: &mut Rng, most: usize) -> [Vec<usize>; 2] {
    let mut extent = || [1, 1 + rng.below(8), 1 + rng.below(most), 1 + rng.below(most)][rng.below(4)];
    let [m, k, n] = [extent(), extent(), extent()];
    let (mut a, mut b) = (vec![m, k], vec![k, n]);
    for _ in 0..rng.below(3) {
        let extent = 1 + rng.below(4);
        let [left, right] =
            [(extent, extent), (extent, extent), (1, extent), (extent, 1)][rng.below(4)].into();
        a.insert(0, left);
        b.insert(0, right);
    }
    match rng.below(4) {
        0 => drop(b.drain(..b.len() - 2)),
        1 => drop(a.drain(..a.len() - 2)),
        _ => {}
    }
    [a, b]
}

/// Multiplies two random operands, into a new array and into a view, and compares each element with
/// the sum of its products. `Ok(Err)` describes a mistake. `change` makes a mistake in the result.
pub(crate) fn random_product<T: Fast, D: Compute>(
    s: &StreamHandle<D>,
    rng: &mut Rng,
    most: usize,
    change: impl Fn(&mut [T]),
) -> Result<Result<(), String>> {
    let [of_a, of_b] = shapes(rng, most);
    let (a, b) = (Seen::<T, D>::new(s, rng, &of_a, true)?, Seen::<T, D>::new(s, rng, &of_b, true)?);
    let shape = product_shape(&of_a, &of_b)?;
    let what = format!("{} {:?} @ {:?}", T::TYPE, a.layout, b.layout);
    let mut found = a.view()?.matmul_with(s, &b.view()?, Precision::Fast)?.to_vec(s)?;
    change(&mut found);
    let k = of_a[of_a.len() - 1];
    let gamma = Precision::Fast.gamma(T::TYPE, k);
    let mut to = Seen::<T, D>::new(s, rng, &shape, false)?;
    let mut into =
        to.array.view_mut().restride(to.layout.shape(), to.layout.strides(), to.layout.offset())?;
    a.view()?.matmul_with_into(s, &b.view()?, Precision::Fast, &mut into)?;
    let written = to.array.to_vec(s)?;
    let mut is_written = vec![false; written.len()];
    for (index, found) in indices(&shape).zip(found) {
        let (mut sum, mut magnitude) = (0.0, 0.0);
        for step in 0..k {
            let (mut left, mut right) = (index.clone(), index.clone());
            let last = index.len() - 1;
            left[last] = step;
            right[last - 1] = step;
            let product = a.at(&left) * b.at(&right);
            sum += product;
            magnitude += product.abs();
        }
        let place = to.place(&index);
        is_written[place] = true;
        for found in [found, written[place]] {
            let difference = (found.value() - sum).abs();
            if difference.is_nan() || difference > gamma * magnitude {
                let bound = gamma * magnitude;
                return Ok(Err(format!(
                    "{what}: {index:?} is {}, not {sum} within {bound:e}",
                    found.value()
                )));
            }
        }
    }
    let kept = |at: usize| is_written[at] || written[at].value() == to.data[at].value();
    let beside = (0..written.len()).find(|&at| !kept(at));
    Ok(beside.map_or(Ok(()), |at| Err(format!("{what}: wrote {at} of {:?}", to.layout))))
}

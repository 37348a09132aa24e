//! Relations between views that hold for any elements: two ways lead to the same bytes, and no
//! oracle is needed.

use devarray::{
    Array, ArrayView, Device, Error, Layout, LayoutError, NdLayout, Order,
    layout::{IndexItem, Slice},
};

use crate::{
    Harness, Outcome, Pattern, Rng,
    patterns::{SHAPES, elements},
    violation::{ensure, same},
};

/// Checks a relation on arrays of random shape, and views of them.
fn each_view<D: Device>(
    harness: &Harness<D>,
    relation: impl Fn(&mut Rng, &ArrayView<'_, u32, D>, &devarray::StreamHandle<D>) -> Outcome,
) -> Outcome {
    let stream = harness.context()?.stream()?;
    for (case, mut rng) in harness.rngs().enumerate() {
        let pattern = Pattern::random(&mut rng, SHAPES[case % SHAPES.len()], true);
        let data = elements::<u32>(1, pattern.base_len());
        let array = Array::from_slice(&stream, &pattern.base, &data)?;
        relation(&mut rng, &pattern.view(&array)?, &stream)?;
    }
    Ok(())
}

fn signed(axes: &[usize]) -> Vec<isize> {
    axes.iter().map(|axis| axis.cast_signed()).collect()
}

/// Transposing twice changes nothing.
pub fn transpose_twice<D: Device>(harness: &Harness<D>) -> Outcome {
    each_view(harness, |_, view, stream| {
        let twice = view.transpose().transpose();
        same(&twice.to_vec(stream)?, &view.to_vec(stream)?, "a view transposed twice")
    })
}

/// A permutation and its inverse change nothing; two permutations are one.
pub fn permutations<D: Device>(harness: &Harness<D>) -> Outcome {
    each_view(harness, |rng, view, stream| {
        let (first, second) = (rng.permutation(view.rank()), rng.permutation(view.rank()));
        let mut inverse = first.clone();
        first.iter().enumerate().for_each(|(new, &old)| inverse[old] = new);
        let turned = view.permute(&signed(&first))?;
        let back = turned.permute(&signed(&inverse))?;
        same(&back.to_vec(stream)?, &view.to_vec(stream)?, "a permutation undone")?;
        let both: Vec<usize> = second.iter().map(|&axis| first[axis]).collect();
        let (steps, one) = (turned.permute(&signed(&second))?, view.permute(&signed(&both))?);
        same(&steps.to_vec(stream)?, &one.to_vec(stream)?, "two permutations and their product")
    })
}

/// Flipping twice changes nothing, and a step of -1 is a flip.
pub fn flips<D: Device>(harness: &Harness<D>) -> Outcome {
    each_view(harness, |_, view, stream| {
        for axis in 0..view.rank().cast_signed() {
            let flipped = view.flip(&[axis])?;
            same(&flipped.flip(&[axis])?.to_vec(stream)?, &view.to_vec(stream)?, "a view flipped twice")?;
            let stepped = view.slice_axis(axis, Slice::from(..).step_by(-1))?;
            same(&stepped.to_vec(stream)?, &flipped.to_vec(stream)?, "a step of -1 and a flip")?;
        }
        Ok(())
    })
}

/// A slice of a slice is one slice; bounds beyond the extent clamp; a step of n keeps every n-th.
pub fn slices<D: Device>(harness: &Harness<D>) -> Outcome {
    let stream = harness.context()?.stream()?;
    let data = elements::<u16>(1, 40);
    let array = Array::from_slice(&stream, &[40], &data)?;
    let view = array.view();
    let part = |a: isize, b: isize, step: isize| view.slice_axis(0, Slice::from(a..b).step_by(step));
    let nested = part(3, 33, 2)?.slice_axis(0, 2..9)?;
    same(&nested.to_vec(&stream)?, &part(7, 21, 2)?.to_vec(&stream)?, "a slice of a slice")?;
    same(&part(-1000, 1000, 1)?.to_vec(&stream)?, &data, "a slice beyond both ends")?;
    same(&part(30, 10, 1)?.to_vec(&stream)?, &[], "a slice that ends before it starts")?;
    for step in 1..9_isize {
        let due: Vec<u16> = data.iter().step_by(step.cast_unsigned()).copied().collect();
        same(&part(0, 40, step)?.to_vec(&stream)?, &due, &format!("every element number {step}"))?;
    }
    let zero = part(0, 40, 0).err();
    ensure(matches!(zero, Some(Error::Layout(LayoutError::ZeroStep { .. }, ..))), || {
        format!("a step of 0: {zero:?}")
    })
}

/// Adding a new axis and squeezing it away changes nothing.
pub fn new_axes<D: Device>(harness: &Harness<D>) -> Outcome {
    each_view(harness, |rng, view, stream| {
        let axis = rng.below(view.rank() + 1).cast_signed();
        let wider = view.expand_dims(axis)?;
        same(&wider.to_vec(stream)?, &view.to_vec(stream)?, "a view with a new axis")?;
        same(wider.squeeze_axes(&[axis])?.shape(), view.shape(), "the shape after squeezing it away")?;
        let indexed = view.index(&[IndexItem::NewAxis, IndexItem::Ellipsis])?;
        same(indexed.shape(), view.expand_dims(0)?.shape(), "the shape with a new axis by index")
    })
}

/// Broadcasting in two steps is broadcasting in one, and a shape that does not fit is refused.
pub fn broadcasts<D: Device>(harness: &Harness<D>) -> Outcome {
    let stream = harness.context()?.stream()?;
    let column = Array::from_slice(&stream, &[4, 1], &elements::<u32>(1, 4))?;
    let (view, once) = (column.view(), column.view().broadcast_to(&[3, 4, 5])?);
    let twice = view.broadcast_to(&[4, 5])?.broadcast_to(&[3, 4, 5])?;
    same(&once.to_vec(&stream)?, &twice.to_vec(&stream)?, "a broadcast in one step and in two")?;
    for shape in [&[4][..], &[3, 1], &[4, 0, 2], &[]] {
        let refused = view.broadcast_to(shape).err();
        let due = matches!(refused, Some(Error::Layout(LayoutError::NotBroadcastable { .. }, ..)));
        ensure(due, || format!("[4, 1] broadcast to {shape:?}: {refused:?}"))?;
    }
    Ok(())
}

/// Nine axes go through every kind of copy as few axes do.
pub fn many_axes<D: Device>(harness: &Harness<D>) -> Outcome {
    let stream = harness.context()?.stream()?;
    let shape = [2, 3, 1, 2, 2, 1, 3, 2, 2];
    let data = elements::<u16>(1, 288);
    let array = Array::from_slice(&stream, &shape, &data)?;
    let turned = array.view().transpose().to_contiguous(&stream, Order::C)?;
    same(
        &turned.view().transpose().to_vec(&stream)?,
        &data,
        "nine axes, turned on the device and turned back",
    )?;
    let column_major = array.view().to_contiguous(&stream, Order::F)?;
    same(&column_major.to_vec(&stream)?, &data, "nine axes in column-major order")
}

/// A layout that lies about itself is refused or harmless: core believes only values that it
/// checked.
pub fn inconsistent_layouts<D: Device>(harness: &Harness<D>) -> Outcome {
    struct Liar;
    impl NdLayout for Liar {
        fn shape(&self) -> &[usize] {
            &[usize::MAX, 2]
        }
        fn strides(&self) -> &[isize] {
            &[isize::MAX]
        }
        fn offset(&self) -> usize {
            usize::MAX
        }
        fn is_c_contiguous(&self) -> bool {
            true
        }
    }
    let lied = Liar.to_layout().err();
    ensure(lied == Some(LayoutError::RankMismatch { expected: 2, found: 1 }), || {
        format!("a liar: {lied:?}")
    })?;
    let stream = harness.context()?.stream()?;
    let data = elements::<u32>(1, 6);
    let array = Array::from_slice(&stream, &[2, 3], &data)?;
    let mut kept = [7; 6];
    for (strides, offset) in [([3, 1], 1), ([0, 1], 0), ([-3, 1], 2), ([1, 1], 0)] {
        let refused = match Layout::new(&[2, 3], &strides, offset) {
            Ok(host) => array.view().copy_to_host(&stream, &mut kept, &host).err(),
            Err(error) => Some(error.into()),
        };
        let due = matches!(refused, Some(Error::Layout(..)));
        ensure(due, || format!("a host layout of strides {strides:?} at {offset}: {refused:?}"))?;
    }
    same(&kept, &[7; 6], "a slice after refused downloads")
}

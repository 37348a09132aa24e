//! Numbers of elements and of inputs: none, few, odd numbers, and more than one block.

use devarray::{
    Array, Context, Error,
    backend::{Capability, Compute},
    function::{Computable, ElementType, Expression, Function, FunctionErrorKind, MAX_INPUTS, Operands},
    ix,
};

use crate::{
    Call, Harness, Instrumented, Outcome, Rng,
    computing::{Line, apply, computing},
    patterns::elements,
    violation::{ensure, same},
};

/// A function of sixteen inputs is computed; one more input is an error, and is not split silently.
pub fn sixteen<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    let lines: Vec<Vec<u16>> = (0..MAX_INPUTS as u64).map(|salt| elements(salt, 100)).collect();
    let arrays: Result<Vec<_>, _> =
        lines.iter().map(|line| Line::of(line).array(&stream, &[10, 10])).collect();
    let arrays = arrays?;
    let inputs: Vec<_> = arrays.iter().map(|array| (ElementType::U16, array.view())).collect();
    let text = (1..MAX_INPUTS).fold("x0".to_owned(), |text, at| format!("({text}) * 3 + x{at}"));
    let found = apply(&stream, &text, &inputs, &[])?;
    let each = |at: usize| lines.iter().fold(0_u16, |sum, line| sum.wrapping_mul(3).wrapping_add(line[at]));
    let due: Vec<u64> = (0..100).map(|at| u64::from(each(at))).collect();
    same(&found.bits, &due, "sixteen inputs")?;
    let error = Function::parse("x0", &[ElementType::U16; MAX_INPUTS + 1], &[]).err();
    ensure(error.as_ref().is_some_and(|error| error.kind() == FunctionErrorKind::Size), || {
        format!("seventeen inputs: {error:?}")
    })
}

/// A result without elements enqueues nothing.
pub fn empty<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((context, _)) = computing(harness)? else { return Ok(()) };
    drop(context);
    let (device, log) = Instrumented::new(harness.open()?);
    let computed = Call::Operation(Capability::Functions);
    let stream = Context::new(device)?.stream()?;
    for shape in [&[0_usize][..], &[3, 0, 2]] {
        let mut x = Array::<f32, _>::zeros(&stream, shape)?;
        let y = x.map(&stream, |x| x * 2.0)?;
        ensure(y.shape() == shape, || format!("a function of {shape:?} has the shape {:?}", y.shape()))?;
        x.view_mut().map_in_place(&stream, |x| x + 1.0)?;
    }
    let column = Array::<u8, _>::zeros(&stream, &[3, 1])?;
    let none = Array::<u8, _>::zeros(&stream, &[0])?;
    let both = (&column, &none).map(&stream, |(x, y)| x + y)?;
    same(both.shape(), &[3, 0], "the shape of three rows of nothing")?;
    ensure(!log.calls().contains(&computed), || "a function of no elements was enqueued".into())?;
    // The twin: a result with elements is enqueued.
    drop(column.map(&stream, |x| x + 1)?);
    ensure(log.calls().contains(&computed), || "a function of three elements was not enqueued".into())
}

/// A slice of a line into a slice of another line, at offsets that wide accesses cannot use.
fn slices<T: Computable + devarray::function::WholeNumber + PartialEq + std::fmt::Debug, D: Compute>(
    stream: &devarray::StreamHandle<D>,
    rng: &mut Rng,
    right: impl Fn(T) -> T,
    function: impl FnOnce(Expression<T>) -> Expression<T>,
) -> Outcome {
    let len = rng.below(300);
    let (from, to) = (rng.below(19), rng.below(19));
    let (source, mut all): (Vec<T>, Vec<T>) = (elements(1, from + len + 3), elements(2, to + len + 40));
    let x = Array::from_slice(stream, &[source.len()], &source)?;
    let mut y = Array::from_slice(stream, &[all.len()], &all)?;
    let view = x.slice_axis(0, from..from + len)?;
    (&view,).map_into(stream, &mut y.view_mut().slice_axis(0, to..to + len)?, |(x,)| function(x))?;
    all[to..to + len].iter_mut().zip(&source[from..]).for_each(|(due, &x)| *due = right(x));
    let what = format!("{len} elements of {} bytes from {from} on, to {to} on", T::BYTES);
    same(&y.to_vec(stream)?, &all, &what)
}

/// Elements of every size, in every number, at every offset.
pub fn tails<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    for mut rng in harness.rngs() {
        slices::<u8, D>(&stream, &mut rng, |x| x.wrapping_mul(3) ^ 1, |x| (x * 3) ^ 1)?;
        slices::<u16, D>(&stream, &mut rng, |x| x.wrapping_mul(3) ^ 1, |x| (x * 3) ^ 1)?;
        slices::<u32, D>(&stream, &mut rng, |x| x.wrapping_mul(3) ^ 1, |x| (x * 3) ^ 1)?;
        slices::<u64, D>(&stream, &mut rng, |x| x.wrapping_mul(3) ^ 1, |x| (x * 3) ^ 1)?;
    }
    Ok(())
}

/// Arrays with more elements than a block of any kind, flat and transposed.
pub fn blocks<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    for len in [1023_usize, 65_536, 131_077] {
        let data: Vec<u32> = elements(1, len);
        let x = Array::from_slice(&stream, &[len], &data)?;
        let found = x.map(&stream, |x| x ^ Expression::position(0).cast::<u32>())?;
        let due: Vec<u32> = data.iter().zip(0..).map(|(&x, at)| x ^ at).collect();
        same(&found.to_vec(&stream)?, &due, &format!("{len} elements and their positions"))?;
    }
    let (rows, columns) = (257, 301);
    let (a, b): (Vec<u16>, Vec<u16>) = (elements(1, rows * columns), elements(2, rows * columns));
    let x = Array::from_slice(&stream, &[columns, rows], &a)?;
    let y = Array::from_slice(&stream, &[rows, columns], &b)?;
    let found = (&x.transpose(), &y).map(&stream, |(x, y)| x * 5 + y)?;
    let found = found.index(&ix![.., ..])?.to_vec(&stream)?;
    let each = |at: usize| a[at % columns * rows + at / columns].wrapping_mul(5).wrapping_add(b[at]);
    let due: Vec<u16> = (0..rows * columns).map(each).collect();
    same(&found, &due, "an array and a transposed one")?;
    let unfit = (&x, &y).map(&stream, |(x, y)| x + y).err();
    ensure(matches!(unfit, Some(Error::Layout(..))), || format!("two shapes that do not fit: {unfit:?}"))
}

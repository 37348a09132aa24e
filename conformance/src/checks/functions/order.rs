//! Functions among other work: the waits before and after them, and calls that are refused or fail.

use devarray::{Array, Bool, Context, Error, LayoutError, backend::Compute, function::Operands, math};

use crate::{
    Harness, Instrumented, Outcome,
    computing::computing,
    harness::no_background_errors,
    patterns::elements,
    violation::{ensure, same},
    wrap::is_injected,
};

/// A function waits for work that writes its inputs and for work that uses its result, and later
/// uses wait for it.
pub fn ordered<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((context, one)) = computing(harness)? else { return Ok(()) };
    let (two, three) = (context.stream()?, context.stream()?);
    let len = 2000;
    let line = |salt| -> Vec<u32> { elements(salt, len) };
    for salt in 0..8 {
        let (first, second, old) = (line(salt), line(salt + 50), line(99));
        let mut x = Array::<u32, D>::zeros(&one, &[len])?;
        let mut y = Array::from_slice(&one, &[len], &old)?;
        // Another stream reads it before it is written.
        let kept = y.view().to_contiguous(&two, devarray::Order::C)?;
        x.view_mut().copy_from_slice(&one, &first)?;
        (&x, 3).map_into(&three, &mut y.view_mut(), |(x, k)| x * k)?;
        // Another stream writes it after it was read.
        x.view_mut().copy_from_slice(&two, &second)?;
        let sum = math::add(&one, &x, &y)?;
        y.view_mut().fill(&two, 1)?;
        x.view_mut().map_in_place(&three, |x| x + 1)?;
        let tripled = first.iter().map(|x| x.wrapping_mul(3));
        let due: Vec<u32> = tripled.zip(&second).map(|(x, y)| x.wrapping_add(*y)).collect();
        same(&sum.to_vec(&two)?, &due, "a function of what two streams wrote")?;
        same(&kept.to_vec(&three)?, &old, "what was read before a function wrote over it")?;
        let due: Vec<u32> = second.iter().map(|x| x.wrapping_add(1)).collect();
        same(&x.to_vec(&one)?, &due, "what was written after a function had read, and computed in place")?;
        same(&y.to_vec(&three)?, &vec![1; len], "a fill over the result of a function")?;
        // The memory of an input is reused only after it has been read.
        let negated = math::negate(&two, &Array::from_slice(&one, &[len], &[2_i32; 2000])?)?;
        let recycled = Array::full(&one, &[len], 7_i32)?;
        same(&negated.to_vec(&one)?, &vec![-2; len], "a function of an array that was dropped")?;
        same(&recycled.to_vec(&two)?, &vec![7; len], "memory allocated after an input was dropped")?;
    }
    no_background_errors(&context)
}

/// A strict stream refuses a function that is not ordered after conflicting work, and work that is
/// not ordered after a conflicting function.
pub fn strict<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((context, _)) = computing(harness)? else { return Ok(()) };
    let (one, two) = (context.strict_stream()?, context.strict_stream()?);
    let data: Vec<u32> = elements(1, 100);
    let mut x = Array::from_slice(&one, &[100], &data)?;
    let mut y = Array::<u32, D>::zeros(&two, &[100])?;
    let refused = |what: &str, error: Option<Error>| {
        ensure(matches!(error, Some(Error::Hazard { .. })), || format!("{what}: {error:?}"))
    };
    refused(
        "a function of what is being written",
        (&x,).map_into(&two, &mut y.view_mut(), |(x,)| x + 1).err(),
    )?;
    refused("a function into what is being written", (2,).map_into(&two, &mut x.view_mut(), |(k,)| k).err())?;
    refused("a function in place of it", x.view_mut().map_in_place(&two, |x| x + 1).err())?;
    two.wait(&one.record()?)?;
    (&x,).map_into(&two, &mut y.view_mut(), |(x,)| x + 1)?;
    refused("a write over what a function reads", x.view_mut().fill(&one, 1).err())?;
    let mut z = Array::<u32, D>::zeros(&one, &[100])?;
    refused("a copy of what a function writes", z.view_mut().copy_from(&one, &y.view()).err())?;
    one.wait(&two.record()?)?;
    x.view_mut().fill(&one, 1)?;
    z.view_mut().copy_from(&one, &y.view())?;
    let due: Vec<u32> = data.iter().map(|x| x.wrapping_add(1)).collect();
    same(&z.to_vec(&one)?, &due, "what a function gave, once all waited")
}

/// Arguments that do not fit are refused with the right error, and nothing changes.
pub fn refused<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    let elsewhere = harness.context()?.stream()?;
    let x = Array::from_slice(&stream, &[2, 3], &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let foreign = Array::<f32, D>::zeros(&elsewhere, &[2, 3])?;
    let row = Array::<f32, D>::zeros(&stream, &[3])?;
    let column = Array::<f32, D>::zeros(&stream, &[2])?;
    let mut out = Array::full(&stream, &[2, 3], 9.0_f32)?;
    let shapes = |error: Option<Error>| {
        matches!(
            error,
            Some(Error::Layout(LayoutError::NotBroadcastable { .. } | LayoutError::ShapeMismatch { .. }, ..))
        )
    };
    ensure(shapes(math::add(&stream, &x, &column).err()), || "rows of 3 and of 2 elements".into())?;
    // Inputs are repeated to fit each other, never to fit the result.
    ensure(shapes(math::add_into(&stream, &row, 1.0, &mut out.view_mut()).err()), || {
        "a row was repeated to fit the result".into()
    })?;
    let mut small = Array::<f32, D>::zeros(&stream, &[3])?;
    ensure(shapes(math::add_into(&stream, &x, 1.0, &mut small.view_mut()).err()), || {
        "a result of fewer axes".into()
    })?;
    ensure(shapes(small.view_mut().update(&stream, (&x,), |a, (b,)| a + b).err()), || {
        "a table in place of a row".into()
    })?;
    let axis = x.map(&stream, |x| x + devarray::function::Expression::position(2).cast()).err();
    ensure(matches!(axis, Some(Error::Layout(LayoutError::AxisOutOfRange { .. }, ..))), || {
        format!("the position along a third axis of two: {axis:?}")
    })?;
    for error in [
        math::add_into(&stream, &foreign, 1.0, &mut out.view_mut()).err(),
        math::add_into(&elsewhere, &x, 1.0, &mut out.view_mut()).err(),
    ] {
        ensure(matches!(error, Some(Error::DeviceMismatch { .. })), || format!("two contexts: {error:?}"))?;
    }
    same(&out.to_vec(&stream)?, &[9.0; 6], "a result after refused functions")?;
    same(&small.to_vec(&stream)?, &[0.0; 3], "another one")?;
    math::add_into(&stream, &x, 1.0, &mut out.view_mut())?;
    same(&out.to_vec(&stream)?, &[2.0, 3.0, 4.0, 5.0, 6.0, 7.0], "the twin that fits")
}

/// A failed call has changed nothing, and succeeds when it is made again.
pub fn failed<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((context, _)) = computing(harness)? else { return Ok(()) };
    drop(context);
    let (device, log) = Instrumented::new(harness.open()?);
    let context = Context::new(device)?;
    let stream = context.stream()?;
    let x = Array::from_slice(&stream, &[4], &[1_i32, -2, 3, -4])?;
    let mut y = Array::full(&stream, &[4], 9_i32)?;
    let mut small = Array::full(&stream, &[4], Bool::TRUE)?;
    y.view().to_vec(&stream)?;
    log.fail_after(0);
    let error = (&x,).map_into(&stream, &mut y.view_mut(), |(x,)| x * 2).err();
    ensure(error.as_ref().is_some_and(is_injected), || format!("a function that was to fail: {error:?}"))?;
    log.fail_after(0);
    let error = (&x,).map_into(&stream, &mut small.view_mut(), |(x,)| x.less(0)).err();
    ensure(error.as_ref().is_some_and(is_injected), || format!("another: {error:?}"))?;
    same(&y.to_vec(&stream)?, &[9; 4], "a result after a call that failed")?;
    (&x,).map_into(&stream, &mut y.view_mut(), |(x,)| x * 2)?;
    (&x,).map_into(&stream, &mut small.view_mut(), |(x,)| x.less(0))?;
    same(&y.to_vec(&stream)?, &[2, -4, 6, -8], "the same call again")?;
    let truths = [false, true, false, true].map(Bool::from);
    same(&small.to_vec(&stream)?, &truths, "the other one again")?;
    no_background_errors(&context)
}

//! Recorded work gives, at each launch, the values of the recorded calls.

use devarray::{
    Array, ArrayView, ArrayViewMut, Error, Order, Result, StreamHandle,
    backend::{Capability, Compute},
    gather::OutOfRange,
    math,
    prelude::*,
    recorded::RecordingError,
};

use crate::{
    Harness, Outcome, Rng,
    computing::computing,
    harness::no_background_errors,
    violation::{ensure, same},
};

/// The calls that a step of the laws may make, according to the declared capabilities.
#[derive(Debug, Clone, Copy)]
struct Abilities {
    reductions: bool,
    gathers: bool,
    orders: bool,
    products: bool,
}

impl Abilities {
    fn of<D: Compute>(on: &StreamHandle<D>) -> Self {
        let has = |capability| on.device().info().capabilities.extras.has(capability);
        Self {
            reductions: has(Capability::Reductions),
            gathers: has(Capability::Gathers),
            orders: has(Capability::Orders),
            products: has(Capability::Products),
        }
    }
}

/// Calls of every kind that can be recorded, with results in `y`; a scalar is given as an array without axes.
fn step<D: Compute>(
    on: &StreamHandle<D>,
    x: &ArrayView<'_, f32, D>,
    y: &mut ArrayViewMut<'_, f32, D>,
    rate: &ArrayView<'_, f32, D>,
) -> Result<()> {
    let can = Abilities::of(on);
    let [rows, columns] = [x.shape()[0], x.shape()[1]];
    let mut now = (x, rate).map(on, |(x, rate)| x * rate + 0.25)?;
    if can.reductions {
        let mean = now.mean(on, 1)?.view().expand_dims(1)?.to_contiguous(on, Order::C)?;
        now = (&now, &mean).map(on, |(now, mean)| now - mean)?;
        now = now.cumsum(on, 0)?;
        now = math::softmax(on, &now, 1)?;
    }
    if can.gathers {
        let places = Array::<i32, D>::full(on, &[columns], -1)?;
        let last = now.take(on, &places, 1, OutOfRange::Wrap)?;
        now = (&now, &last).map(on, |(now, last)| now + last * 0.5)?;
    }
    if can.orders {
        now = now.sort(on, -1)?;
        let largest = now.topk(on, 1, 1)?.0;
        now = (&now, &largest).map(on, |(now, largest)| now - largest)?;
    }
    if can.products {
        let square = now.matmul(on, &now.transpose())?;
        let mut sums = Array::<f32, D>::zeros(on, &[rows, columns])?;
        square.matmul_map_into(on, &now, rate, &mut sums, |y, rate| (y - rate) * 0.25)?;
        now = sums;
    }
    let turned = now.transpose().to_contiguous(on, Order::C)?;
    let both = Array::concatenate(on, &[now.view(), turned.transpose()], 1)?;
    let right = both.slice_axis(1, columns..)?;
    let mut all = y.reborrow();
    all.fill(on, 0.0)?;
    let mut inner = all.slice_axis(0, 1..)?;
    (&right.slice_axis(0, 1..)?, rate).map_into(on, &mut inner, |(a, rate)| a - rate)
}

fn random<D: Compute>(on: &StreamHandle<D>, rng: &mut Rng, shape: &[usize]) -> Result<Array<f32, D>> {
    let numbers: Vec<f32> =
        (0..shape.iter().product()).map(|_| rng.below(2000) as f32 / 64.0 - 15.0).collect();
    Array::from_slice(on, shape, &numbers)
}

fn bits<D: Compute>(on: &StreamHandle<D>, of: &ArrayView<'_, f32, D>) -> Result<Vec<u32>> {
    Ok(of.to_vec(on)?.into_iter().map(f32::to_bits).collect())
}

/// The result of the same calls, made directly.
fn due<D: Compute>(on: &StreamHandle<D>, x: &ArrayView<'_, f32, D>, rate: f32) -> Result<Vec<u32>> {
    let mut y = Array::zeros(on, x.shape())?;
    let rate = Array::full(on, &[], rate)?;
    step(on, x, &mut y.view_mut(), &rate.view())?;
    bits(on, &y.view())
}

/// A launch gives the same values as the recorded calls, with the arrays and numbers of the launch.
pub fn launches<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((context, stream)) = computing(harness)? else { return Ok(()) };
    for mut rng in harness.rngs() {
        let shape = [2 + rng.below(20), 1 + rng.below(40)];
        let x = random(&stream, &mut rng, &shape)?;
        let mut y = Array::zeros(&stream, &shape)?;
        let recorded =
            stream.record_work((&x, &mut y, 1.0_f32), |on, (x, mut y, rate)| step(on, &x, &mut y, &rate))?;
        same(&y.to_vec(&stream)?, &vec![0.0; shape[0] * shape[1]], "a result while work is recorded")?;
        for round in 0..4 {
            // Alternately the arrays of the recording, and others.
            let other = random(&stream, &mut rng, &shape)?;
            let x = if round % 2 == 0 { &x } else { &other };
            let rate = rng.below(9) as f32 - 4.0;
            recorded.launch(&stream, (x, &mut y, rate))?;
            same(&bits(&stream, &y.view())?, &due(&stream, &x.view(), rate)?, "a launch")?;
        }
    }
    no_background_errors(&context)
}

/// The arrays of launches may be swapped, and have another offset each time, in any number of launches.
pub fn moved<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((context, stream)) = computing(harness)? else { return Ok(()) };
    let s = &stream;
    let mut rng = Rng::new(51);
    let shape = [5, 7];
    let (mut a, mut b) = (random(s, &mut rng, &shape)?, random(s, &mut rng, &shape)?);
    let recorded =
        s.record_work((&a, &mut b, 0.5_f32), |on, (x, mut y, rate)| step(on, &x, &mut y, &rate))?;
    for round in 0..6 {
        let expected = due(s, &a.view(), 0.5)?;
        recorded.launch(s, (&a, &mut b, 0.5))?;
        same(&bits(s, &b.view())?, &expected, &format!("launch {round} of two arrays that swap"))?;
        (a, b) = (b, a);
    }
    let many = random(s, &mut rng, &[8 * 5, 7])?;
    let mut all = Array::<f32, D>::zeros(s, &[8 * 5, 7])?;
    for rate in [0.5, -2.0] {
        for at in 0..8 {
            let rows = 5 * at..5 * at + 5;
            let mut to = all.view_mut().slice_axis(0, rows.clone())?;
            recorded.launch(s, (&many.slice_axis(0, rows)?, &mut to, rate))?;
        }
        let expected: Result<Vec<_>> =
            (0..8).map(|at| due(s, &many.slice_axis(0, 5 * at..5 * at + 5)?, rate)).collect();
        let expected = expected?;
        ensure(expected.windows(2).all(|two| two[0] != two[1]), || "parts that give one result".into())?;
        same(&bits(s, &all.view())?, &expected.concat(), "launches on parts of arrays")?;
    }
    no_background_errors(&context)
}

/// Launches wait for work that conflicts with their arguments, on any stream, and for each other; a strict
/// stream refuses a launch as a whole.
pub fn ordered<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((context, one)) = computing(harness)? else { return Ok(()) };
    let two = context.stream()?;
    let len = 40_000;
    let mut x = Array::<i32, D>::zeros(&one, &[len])?;
    let (mut y, mut z) = (Array::<i32, D>::zeros(&one, &[len])?, Array::<i32, D>::zeros(&two, &[len])?);
    let recorded = one.record_work((&x, &mut y, 1_i32), |on, (x, mut y, by)| {
        let once = (&x, &by).map(on, |(x, by)| x + by)?;
        let twice = (&once, &x).map(on, |(once, x)| once * 2 + x)?;
        // Both are still needed, so they must not share memory.
        (&twice, &once).map_into(on, &mut y, |(twice, once)| twice + once + 7)
    })?;
    for round in 0..8_i32 {
        x.view_mut().fill(&two, round)?;
        recorded.launch(&one, (&x, &mut y, round))?;
        recorded.launch(&two, (&y, &mut z, -round))?;
        x.view_mut().fill(&one, -1)?;
        let first = 3 * (round + round) + round + 7;
        let second = 3 * (first - round) + first + 7;
        same(&z.to_vec(&one)?, &vec![second; len], "a launch behind a launch")?;
        same(&y.to_vec(&two)?, &vec![first; len], "a launch between fills")?;
    }
    let strict = context.strict_stream()?;
    recorded.launch(&one, (&x, &mut y, 5))?;
    let refused = recorded.launch(&strict, (&x, &mut z, 6));
    ensure(matches!(refused, Err(Error::Hazard { operation: "launch", .. })), || {
        format!("a launch that is not ordered behind another: {refused:?}")
    })?;
    for stream in [&one, &two] {
        strict.wait(&stream.record()?)?;
    }
    recorded.launch(&strict, (&x, &mut z, 6))?;
    same(&z.to_vec(&strict)?, &vec![3 * 5 - 1 + 7; len], "a launch on a strict stream")?;
    no_background_errors(&context)
}

/// A recording may be dropped while it runs; its memory is given back when the run is over.
pub fn outlived<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((context, stream)) = computing(harness)? else { return Ok(()) };
    let len = 100_000;
    let weights = Array::from_slice(&stream, &[len], &vec![3_i64; len])?.into_shared();
    let mut results = Vec::new();
    for round in 0..5_i64 {
        let mut y = Array::<i64, D>::zeros(&stream, &[len])?;
        let shared = weights.clone();
        let recorded = stream.record_work((&mut y, round), |on, (mut y, by)| {
            let sum = (&shared, &by).map(on, |(w, by)| w + by)?;
            (&sum, &by).map_into(on, &mut y, |(sum, by)| sum * by)
        })?;
        drop(shared);
        let on = context.stream()?;
        recorded.launch(&on, (&mut y, round))?;
        recorded.launch(&on, (&mut y, round + 1))?;
        drop(recorded);
        drop(on);
        results.push(y);
    }
    drop(weights);
    for (round, y) in (0..).zip(&results) {
        same(&y.to_vec(&stream)?, &vec![(round + 4) * (round + 1); len], "a launch of a dropped recording")?;
    }
    drop(results);
    stream.synchronize()?;
    same(&[context.memory_statistics().live_bytes()], &[0], "bytes that are live at the end")?;
    no_background_errors(&context)
}

/// A closure that is recorded.
type Work<'w, D> = dyn FnMut(&StreamHandle<D>, ArrayView<'_, i32, D>) -> Result<()> + 'w;

/// Calls and launches that do not fit are refused with the right error, and change nothing.
pub fn refused<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((context, stream)) = computing(harness)? else { return Ok(()) };
    let s = &stream;
    let x = Array::from_slice(s, &[2, 3], &[1, 2, 3, 4, 5, 6])?;
    let y = Array::<i32, D>::full(s, &[2, 3], 9)?;
    let is = |found: Result<()>, operation: &str, due: RecordingError| {
        let is_due = matches!(&found, Err(Error::Recording { operation: of, error, .. })
            if *of == operation && *error == due);
        ensure(is_due, || format!("{operation}: {found:?}, due is {due:?}"))
    };
    let not = RecordingError::NotRecorded;
    let record = |work: &mut Work<'_, D>| s.record_work((&x,), |on, (x,)| work(on, x)).map(drop);
    is(record(&mut |on, _| on.synchronize()), "synchronize", not)?;
    is(record(&mut |on, _| on.record().map(drop)), "record", not)?;
    is(record(&mut |on, x| x.to_vec(on).map(drop)), "download", not)?;
    is(record(&mut |on, _| Array::from_slice(on, &[1], &[1_u8]).map(drop)), "upload", not)?;
    is(record(&mut |on, x| (x, &y).map(on, |(x, y)| x + y).map(drop)), "map", RecordingError::NoArgument)?;
    is(record(&mut |_, x| x.map(s, |x| x + 1).map(drop)), "map", RecordingError::Outside)?;
    let mut kept = None;
    let escaped = record(&mut |on, x| {
        kept = Some(x.map(on, |x| x + 1)?);
        Ok(())
    });
    is(escaped, "record_work", RecordingError::Escaped)?;
    is(kept.map_or(Ok(()), |kept| kept.to_vec(s).map(drop)), "download", RecordingError::Outside)?;

    let mut z = Array::<i32, D>::zeros(s, &[2, 3])?;
    let recorded = s.record_work((&x, &mut z), |on, (x, mut z)| {
        z.copy_from(on, &x)?;
        z.update(on, &x, |z, x| z + x)
    })?;
    let wide = Array::<i32, D>::zeros(s, &[3, 2])?;
    let argument = RecordingError::Argument(0);
    is(recorded.launch(s, (&wide, &mut z)), "launch", argument)?;
    is(recorded.launch(s, (&wide.transpose(), &mut z)), "launch", argument)?;
    let elsewhere = harness.context()?.stream()?;
    let mixed = recorded.launch(&elsewhere, (&x, &mut z));
    ensure(matches!(mixed, Err(Error::DeviceMismatch { .. })), || format!("another context: {mixed:?}"))?;
    same(&z.to_vec(s)?, &[0; 6], "a result after refusals")?;
    recorded.launch(s, (&x, &mut z))?;
    same(&z.to_vec(s)?, &[2, 4, 6, 8, 10, 12], "a launch after refusals")?;
    no_background_errors(&context)
}

/// The next wait after each launch reports an index that is out of range. Waits after several launches report the
/// indices of each launch, by the lines of its calls.
pub fn told<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((context, stream)) = computing(harness)? else { return Ok(()) };
    if !Abilities::of(&stream).gathers {
        harness.leave_out("the device does not pick elements by index");
        return Ok(());
    }
    let x = Array::<i32, D>::arange(&stream, 0, 4, 1)?;
    let mut y = Array::<i32, D>::zeros(&stream, &[2])?;
    let [right, wrong] = [[3_i32, 0], [0, 4]].map(|by| Array::from_slice(&stream, &[2], &by));
    let (right, wrong) = (right?, wrong?);
    let recorded = stream.record_work((&x, &right, &mut y), |on, (x, by, mut y)| {
        let taken = x.take(on, &by, 0, OutOfRange::Error)?;
        taken.view().map_into(on, &mut y, |x| x * 10)
    })?;
    for _ in 0..3 {
        recorded.launch(&stream, (&x, &right, &mut y))?;
        same(&y.to_vec(&stream)?, &[30, 0], "a launch with right indices")?;
        recorded.launch(&stream, (&x, &wrong, &mut y))?;
        let told = stream.synchronize();
        let is_due = matches!(&told, Err(Error::Index { error, .. }) if error.value == 4);
        ensure(is_due, || format!("a wait behind a launch told {told:?}"))?;
    }
    let mut by = Array::<i32, D>::zeros(&stream, &[2])?;
    let mut lines = [0; 2];
    let recorded = stream.record_work((&x, &by, &mut y), |on, (x, by, mut y)| {
        lines[0] = line!() + 1;
        let taken = x.take(on, &by, 0, OutOfRange::Error)?;
        let further = by.map(on, |index| index * 2)?;
        lines[1] = line!() + 1;
        let last = x.take(on, &further, 0, OutOfRange::Error)?;
        (&taken, &last).map_into(on, &mut y, |(x, last)| x + last)
    })?;
    for index in [1, 3, 0, 9, 1] {
        by.view_mut().fill(&stream, index)?;
        recorded.launch(&stream, (&x, &by, &mut y))?;
    }
    // Only then is anything waited for.
    for (value, line) in [(6, lines[1]), (9, lines[0]), (18, lines[1])] {
        let told = stream.synchronize();
        let is_due = matches!(&told, Err(Error::Index { error, call, .. })
            if error.value == value && call.location().is_some_and(|at| at.line() == line));
        ensure(is_due, || {
            format!("a wait behind five launches told {told:?}, due is {value} of line {line}")
        })?;
    }
    same(&y.to_vec(&stream)?, &[3, 3], "the last of five launches")?;
    no_background_errors(&context)
}

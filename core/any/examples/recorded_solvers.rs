//! Two solvers of many small calls, call by call and recorded: the heat equation, and conjugate gradients for
//! a Laplacian, with a fixed number of steps per launch. Both ways give the same bits; the example prints how
//! long each takes.
//!
//! `DEVARRAY_DEVICE=host|mock|cuda` chooses a device; without it, all available devices solve.

use std::time::{Duration, Instant};

use devarray::{
    Array, ArrayView, ArrayViewMut, Compute, Context, Result, StreamHandle, function::Operands as _, math,
};
use devarray_any::AnyDevice;

/// Without optimization the problem is smaller, and times mean nothing.
const IS_DEBUG: bool = cfg!(debug_assertions);
const PLATE: usize = if IS_DEBUG { 20 } else { 256 };
const HEAT_STEPS: usize = if IS_DEBUG { 40 } else { 2000 };
const GRID: usize = if IS_DEBUG { 24 } else { 512 };
const CG_STEPS: usize = if IS_DEBUG { 40 } else { 400 };
/// The number of steps in a launch.
const AT_ONCE: usize = 20;

/// The elements without the margin of one, moved by some rows and columns.
fn inside<'a, D: Compute>(
    u: &ArrayView<'a, f32, D>,
    [rows, columns]: [usize; 2],
) -> Result<ArrayView<'a, f32, D>> {
    let [height, width] = [u.shape()[0] - 2, u.shape()[1] - 2];
    u.slice_axis(0, rows..rows + height)?.slice_axis(1, columns..columns + width)
}

/// The elements and their four neighbours, as five views for a function.
fn with_neighbours<'a, D: Compute>(u: &ArrayView<'a, f32, D>) -> Result<[ArrayView<'a, f32, D>; 5]> {
    Ok([inside(u, [1, 1])?, inside(u, [0, 1])?, inside(u, [2, 1])?, inside(u, [1, 0])?, inside(u, [1, 2])?])
}

/// One step of the heat equation; the margin keeps its temperature.
fn heat<D: Compute>(
    on: &StreamHandle<D>,
    u: &ArrayView<'_, f32, D>,
    v: &mut ArrayViewMut<'_, f32, D>,
) -> Result<()> {
    let [here, north, south, west, east] = with_neighbours(u)?;
    let [height, width] = [u.shape()[0] - 1, u.shape()[1] - 1];
    let mut to = v.reborrow().slice_axis(0, 1..height)?.slice_axis(1, 1..width)?;
    (here, north, south, west, east)
        .map_into(on, &mut to, |(u, n, s, w, e)| u + (n + s + w + e - u * 4.0) * 0.2)
}

/// The state of conjugate gradients.
struct Solver<D: Compute> {
    x: Array<f32, D>,
    residual: Array<f32, D>,
    /// The direction, with a margin of zeros.
    direction: Array<f32, D>,
    /// The square of the residual, without axes.
    square: Array<f32, D>,
}

impl<D: Compute> Solver<D> {
    fn new(on: &StreamHandle<D>) -> Result<Self> {
        let residual = Array::<f32, D>::full(on, &[GRID, GRID], 1.0)?;
        let mut direction = Array::zeros(on, &[GRID + 2, GRID + 2])?;
        inside_mut(&mut direction.view_mut())?.copy_from(on, &residual)?;
        let square = math::dot(on, &residual, &residual)?;
        Ok(Self { x: Array::zeros(on, &[GRID, GRID])?, residual, direction, square })
    }
}

fn inside_mut<'v, D: Compute>(of: &'v mut ArrayViewMut<'_, f32, D>) -> Result<ArrayViewMut<'v, f32, D>> {
    let [height, width] = [of.shape()[0] - 1, of.shape()[1] - 1];
    of.reborrow().slice_axis(0, 1..height)?.slice_axis(1, 1..width)
}

/// One step of conjugate gradients.
fn descend<D: Compute>(
    on: &StreamHandle<D>,
    x: &mut ArrayViewMut<'_, f32, D>,
    residual: &mut ArrayViewMut<'_, f32, D>,
    direction: &mut ArrayViewMut<'_, f32, D>,
    square: &mut ArrayViewMut<'_, f32, D>,
) -> Result<()> {
    let [here, north, south, west, east] = with_neighbours(&direction.as_view())?;
    let applied = (&here, north, south, west, east).map(on, |(p, n, s, w, e)| p * 4.0 - (n + s + w + e))?;
    let along = math::dot(on, &here, &applied)?;
    x.update(on, (&here, &*square, &along), |x, (p, square, along)| x + p * (square / along))?;
    residual.update(on, (&applied, &*square, &along), |r, (applied, square, along)| {
        r - applied * (square / along)
    })?;
    let next = math::dot(on, &*residual, &*residual)?;
    inside_mut(direction)?
        .update(on, (&*residual, &next, &*square), |p, (r, next, square)| r + p * (next / square))?;
    square.copy_from(on, &next)
}

/// Measures the second call: the time of the call and of the work that it enqueued.
fn time<D: Compute>(on: &StreamHandle<D>, mut call: impl FnMut() -> Result<()>) -> Result<Duration> {
    call()?;
    on.synchronize()?;
    let begun = Instant::now();
    call()?;
    on.synchronize()?;
    Ok(begun.elapsed())
}

fn heat_both_ways<D: Compute>(on: &StreamHandle<D>) -> Result<[Duration; 2]> {
    let start: Vec<f32> = (0..PLATE * PLATE).map(|at| (at * 37 % 101) as f32).collect();
    let plate = || Array::from_slice(on, &[PLATE, PLATE], &start);
    let (mut u, mut v) = (plate()?, plate()?);
    let plain = time(on, || {
        for _ in 0..HEAT_STEPS / 2 {
            heat(on, &u.view(), &mut v.view_mut())?;
            heat(on, &v.view(), &mut u.view_mut())?;
        }
        Ok(())
    })?;
    let due = u.to_vec(on)?;
    let (mut u, mut v) = (plate()?, plate()?);
    let steps = on.record_work((&mut u, &mut v), |on, (mut u, mut v)| {
        for _ in 0..AT_ONCE / 2 {
            heat(on, &u.as_view(), &mut v)?;
            heat(on, &v.as_view(), &mut u)?;
        }
        Ok(())
    })?;
    let recorded =
        time(on, || (0..HEAT_STEPS / AT_ONCE).try_for_each(|_| steps.launch(on, (&mut u, &mut v))))?;
    assert_eq!(u.to_vec(on)?, due, "the heat of a plate");
    Ok([plain, recorded])
}

fn gradients_both_ways<D: Compute>(on: &StreamHandle<D>) -> Result<[Duration; 2]> {
    let mut of = Solver::new(on)?;
    let descend_once = |of: &mut Solver<D>| {
        let Solver { x, residual, direction, square } = of;
        descend(
            on,
            &mut x.view_mut(),
            &mut residual.view_mut(),
            &mut direction.view_mut(),
            &mut square.view_mut(),
        )
    };
    let plain = time(on, || {
        of = Solver::new(on)?;
        (0..CG_STEPS).try_for_each(|_| descend_once(&mut of))
    })?;
    let due = of.x.to_vec(on)?;
    let Solver { x, residual, direction, square } = &mut of;
    let steps = on.record_work(
        (x, residual, direction, square),
        |on, (mut x, mut residual, mut direction, mut square)| {
            (0..AT_ONCE).try_for_each(|_| descend(on, &mut x, &mut residual, &mut direction, &mut square))
        },
    )?;
    let recorded = time(on, || {
        of = Solver::new(on)?;
        let Solver { x, residual, direction, square } = &mut of;
        (0..CG_STEPS / AT_ONCE)
            .try_for_each(|_| steps.launch(on, (&mut *x, &mut *residual, &mut *direction, &mut *square)))
    })?;
    let is_same = |(found, due): (&f32, &f32)| found.to_bits() == due.to_bits();
    assert!(of.x.to_vec(on)?.iter().zip(&due).all(is_same), "a solution");
    Ok([plain, recorded])
}

fn solve(name: &str, device: AnyDevice) -> Result<()> {
    let context = Context::new(device)?;
    let on = context.stream()?;
    let [plain, recorded] = heat_both_ways(&on)?;
    println!("{name}: heat, {HEAT_STEPS} steps: {plain:.2?}, recorded {recorded:.2?}");
    let [plain, recorded] = gradients_both_ways(&on)?;
    println!("{name}: gradients, {CG_STEPS} steps: {plain:.2?}, recorded {recorded:.2?}");
    Ok(())
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let chosen = std::env::var("DEVARRAY_DEVICE");
    for name in chosen.as_ref().map_or(vec!["host", "mock", "cuda"], |name| vec![name]) {
        match AnyDevice::named(name) {
            Ok(device) => solve(name, device)?,
            Err(error) if chosen.is_err() => println!("{error}"),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

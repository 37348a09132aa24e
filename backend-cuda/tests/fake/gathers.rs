//! Gathers on the fake: the kernels emulated element by element, the laws of gathers on them, and
//! what is launched.
#![allow(unsafe_code)] // reads parameters, and moves the bytes that a kernel would

use std::{
    collections::{HashMap, HashSet},
    ffi::c_void,
    num::NonZeroI32,
};

use devarray::{
    Array, Bool, Context, Order, StreamHandle,
    gather::{OutOfRange, Repeats},
};
use devarray_cuda::{
    CudaDevice,
    driver::{
        Fault, Function,
        sys::{CUfunction, CUstream},
    },
    gather::{
        image,
        params::{Axis, BLOCK_ELEMENTS, Params, SendParams, Slot, State as KnownSlot, THREADS},
        select_elements,
    },
};

use super::{
    graphs, reports,
    state::{Fake, INVALID, State},
};

/// The kernels of gathers that were loaded.
#[derive(Debug, Default)]
pub(crate) struct Gathers {
    modules: HashSet<usize>,
    /// By handle: the module, and the name.
    functions: HashMap<usize, (usize, String)>,
    launched: Vec<String>,
    /// Axes of each of them.
    axes: Vec<u32>,
}

/// Takes an image for the kernels, if it is theirs.
pub(crate) fn load(state: &mut State, loaded: *const c_void) -> Option<usize> {
    let major = u32::try_from(state.generation.0).ok()?;
    if loaded != image(major).ok()?.as_ptr().cast() {
        return None;
    }
    let module = state.create("module");
    state.gathers.modules.insert(module);
    Some(module)
}

/// A kernel of theirs; `None` if the module is another.
pub(crate) fn function(state: &mut State, module: usize, name: &str) -> Option<Result<usize, i32>> {
    state.gathers.modules.get(&module)?;
    let text = String::from_utf8_lossy(image(7).ok()?);
    if !text.contains(&format!(".entry {name}(")) {
        return Some(Err(500));
    }
    state.next += 0x10;
    state.gathers.functions.insert(state.next, (module, name.to_owned()));
    Some(Ok(state.next))
}

pub(crate) fn forget(state: &mut State, module: usize) {
    state.gathers.modules.remove(&module);
    state.gathers.functions.retain(|_, (of, _)| *of != module);
}

/// Whether a kernel is theirs.
pub(crate) fn has(state: &State, function: CUfunction) -> bool {
    state.gathers.functions.contains_key(&function.addr())
}

/// Enqueues a launch of such a kernel; `None` if it is none.
pub(crate) fn launch(
    state: &mut State,
    (stream, function): (CUstream, CUfunction),
    grid: u32,
    threads: u32,
    parameter: *const u8,
) -> Option<i32> {
    let (_, name) = state.gathers.functions.get(&function.addr())?.clone();
    let by = Function::LaunchKernel;
    if name == "send_reports" {
        // SAFETY: what this kernel is launched with.
        let params = unsafe { parameter.cast::<SendParams>().read() };
        if (grid, threads) != (1, 64) {
            return Some(INVALID);
        }
        return Some(graphs::enqueue_in(state, stream, by, move |state| done(reports::send(state, &params))));
    }
    // SAFETY: what these kernels are launched with.
    let params = unsafe { parameter.cast::<Params>().read() };
    let width = name.rsplit_once('_').and_then(|(_, width)| width.parse::<u32>().ok());
    let selects = width.filter(|_| name.starts_with("select_"));
    let of_tile = |width| select_elements(width, name.contains("line"));
    let block_elements = selects.map_or(BLOCK_ELEMENTS, of_tile);
    if threads != THREADS || u64::from(grid) * u64::from(block_elements) < u64::from(params.total) {
        return Some(INVALID);
    }
    if name.contains("near") && !params.is_near() {
        state.misuse.push(format!("{name} for more than two axes, or longer steps"));
    }
    state.gathers.launched.push(name.clone());
    state.gathers.axes.push(params.axes);
    if name.contains("line") && (params.axes > 1 || params.pieces != 1) {
        state.misuse.push(format!("{name} for more than one axis or piece"));
    }
    Some(graphs::enqueue_in(state, stream, by, move |state| {
        let moved = match selects {
            Some(width) => select(state, &params, width, grid),
            None => (0..params.total).try_for_each(|item| run(state, &name, &params, item)),
        };
        if moved.is_none() {
            state.misuse.push(format!("{name} touches what it must not"));
        }
        done(moved)
    }))
}

/// The answer of the driver.
fn done(all: Option<()>) -> i32 {
    if all.is_some() { 0 } else { INVALID }
}

/// A number that a side has at an element.
fn walk(params: &Params, item: u32, step: impl Fn(&Axis) -> i64) -> Option<i64> {
    let (mut at, mut left) = (0, item);
    for axis in &params.at[..params.axes as usize] {
        let next = axis.by.divide(left);
        at += i64::from(left - next * axis.by.divisor) * step(axis);
        left = next;
    }
    (left == 0).then_some(at)
}

/// One element, as its thread does it.
fn run(state: &mut State, name: &str, p: &Params, item: u32) -> Option<()> {
    let at = |address: u64, step: fn(&Axis) -> i64| Some(address.wrapping_add_signed(walk(p, item, step)?));
    if p.mask != 0 && read(state, at(p.mask, |axis| axis.mask)?, 1)?[0] == 0 {
        return Some(());
    }
    let index_bytes = if p.index_type == 2 { 8 } else { 4 };
    let bytes = read(state, at(p.indices, |axis| axis.indices)?, index_bytes)?;
    let index = match p.index_type {
        0 => i64::from(i32::from_le_bytes(bytes[..4].try_into().ok()?)),
        1 => i64::from(u32::from_le_bytes(bytes[..4].try_into().ok()?)),
        _ => i64::from_le_bytes(bytes[..8].try_into().ok()?),
    };
    let meant = match p.mode {
        0 if index < 0 => index + p.bound,
        0 => index,
        1 => index.rem_euclid(p.bound),
        _ => index.clamp(0, p.bound - 1),
    };
    let meant = Some(meant).filter(|meant| (0..p.bound).contains(meant));
    let position = at(p.position, |axis| axis.position)?;
    let winner = meant.map(|meant| {
        p.winners.wrapping_add_signed((walk(p, item, |axis| axis.winner).unwrap_or(0) + meant) * 8)
    });
    if name == "last_of_each" {
        if let Some(winner) = winner {
            let held = u64::from_le_bytes(read(state, winner, 8)?.try_into().ok()?);
            write(state, winner, &held.max(position + 1).to_le_bytes())?;
        }
        return Some(());
    }
    let (is_put, width) = (name.starts_with("put_"), name.rsplit_once('_')?.1.parse().ok()?);
    let element = at(p.elements, |axis| axis.elements)?;
    let Some(meant) = meant else {
        tell(state, p, position, index)?;
        return if is_put { Some(()) } else { write(state, element, &vec![0; width]) };
    };
    if is_put && p.winners != 0 {
        let held = u64::from_le_bytes(read(state, winner?, 8)?.try_into().ok()?);
        if held != position + 1 {
            return Some(());
        }
    }
    let (mut distance, mut left) = (0, meant.cast_unsigned());
    for axis in &p.indexed_axis[..p.indexed_axes as usize] {
        distance += (left % axis.extent).cast_signed() * axis.stride;
        left /= axis.extent;
    }
    let named = at(p.indexed, |axis| axis.indexed)?.wrapping_add_signed(distance);
    let (from, to) = if is_put { (element, named) } else { (named, element) };
    let bytes = read(state, from, width)?;
    write(state, to, &bytes)
}

/// A selection, whose blocks take `tiles` that have published nothing yet.
fn select(state: &mut State, p: &Params, width: u32, tiles: u32) -> Option<()> {
    if (0..=u64::from(tiles)).any(|word| read(state, p.winners + 8 * word, 8) != Some(vec![0; 8])) {
        return None;
    }
    let mut selected = 0;
    if p.position != 0 {
        selected = i64::from_le_bytes(read(state, p.indices, 8)?.try_into().ok()?);
    }
    for item in 0..p.total {
        let at =
            |address: u64, step: fn(&Axis) -> i64| Some(address.wrapping_add_signed(walk(p, item, step)?));
        if read(state, at(p.mask, |axis| axis.mask)?, 1)?[0] == 0 {
            continue;
        }
        if selected < p.bound {
            let from = at(p.elements, |axis| axis.elements)?;
            let to = p.indexed.wrapping_add_signed(selected * p.indexed_axis[0].stride);
            for piece in (0..p.pieces).map(|piece| u64::from(piece * width)) {
                let bytes = read(state, from + piece, width as usize)?;
                write(state, to + piece, &bytes)?;
            }
        } else {
            tell(state, p, at(p.position, |axis| axis.position)?, selected)?;
        }
        selected += 1;
    }
    write(state, p.indices, &selected.to_le_bytes())
}

pub(super) fn read(state: &mut State, at: u64, len_bytes: usize) -> Option<Vec<u8>> {
    let start = state.device(at, len_bytes, len_bytes)?;
    let mut bytes = vec![0; len_bytes];
    // SAFETY: allocated, and that long.
    unsafe { start.copy_to_nonoverlapping(bytes.as_mut_ptr(), len_bytes) };
    Some(bytes)
}

pub(super) fn write(state: &mut State, at: u64, bytes: &[u8]) -> Option<()> {
    let start = state.device(at, bytes.len(), bytes.len())?;
    // SAFETY: allocated, and that long.
    unsafe { start.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    Some(())
}

/// A thread that meets an index out of range.
fn tell(state: &mut State, p: &Params, position: u64, value: i64) -> Option<()> {
    let at = usize::try_from(p.told).ok()?;
    if at + size_of::<Slot>() > state.allocation(at)?.end {
        return None;
    }
    let known = read(state, p.state, size_of::<KnownSlot>())?;
    let (key, first) = known.split_at(8);
    if key == p.key.to_le_bytes() && u64::from_le_bytes(first.try_into().ok()?) <= position {
        return Some(());
    }
    let known = [p.key, position].map(u64::to_le_bytes);
    write(state, p.state, known.as_flattened())?;
    let slot: *mut Slot = std::ptr::with_exposed_provenance_mut(at);
    // SAFETY: inside memory of the host that is allocated, which the library reads by itself.
    unsafe { slot.write_volatile(Slot { key: p.key, position, value, second: 0 }) };
    Some(())
}

#[test]
fn the_laws_of_gathers_hold() {
    super::laws_hold(&devarray_conformance::gathers());
}

#[test]
fn random_programs_are_the_simulators() {
    let fake = Fake::new();
    let (context, stream) = open(&fake);
    for which in 0..48 {
        super::gathers_of::compare(&stream, which, &[1, 4, 12]);
    }
    assert_eq!(context.device().take_errors(), []);
    fake.assert_proper();
}

#[test]
fn an_array_of_very_many_axes() {
    let fake = Fake::new();
    super::gathers_of::picks_from_very_many_axes(&open(&fake).1);
    fake.assert_proper();
}

fn open(fake: &Fake) -> (Context<CudaDevice>, StreamHandle<CudaDevice>) {
    let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    let stream = context.stream().unwrap();
    (context, stream)
}

/// The kernels that some work launches.
fn launched_by(fake: &Fake, work: impl FnOnce()) -> Vec<String> {
    work();
    fake.state(|state| std::mem::take(&mut state.gathers.launched))
}

/// Rows are moved in the widest pieces that they allow, and only what may come twice takes a pass
/// more.
#[test]
fn what_is_launched() {
    let fake = Fake::new();
    let (context, stream) = open(&fake);
    let launched = |work: &dyn Fn()| launched_by(&fake, work);
    let rows = Array::from_slice(&stream, &[3], &[2, 0, 1]).unwrap();
    for (row_len, width) in [(256, 16), (250, 8), (251, 4), (1, 4)] {
        let table = Array::<f32, _>::zeros(&stream, &[3, row_len]).unwrap();
        let taken = launched(&|| drop(table.take(&stream, &rows, 0, OutOfRange::Error).unwrap()));
        assert_eq!(taken, [format!("take_near_{width}")], "rows of {row_len}");
    }
    // A kernel divides once an axis: those that lie side by side are one.
    fake.state(|state| state.gathers.axes.clear());
    for (shape, is_turned) in [([3, 5, 7, 2], false), ([2, 7, 5, 3], true)] {
        let table = Array::<u8, _>::zeros(&stream, &shape).unwrap();
        let view = if is_turned { table.transpose() } else { table.view() };
        let view = view.slice_axis(3, ..1).unwrap();
        let kernel = if is_turned { "take_1" } else { "take_near_1" };
        assert_eq!(launched(&|| drop(view.take(&stream, &rows, 0, OutOfRange::Error).unwrap())), [kernel]);
    }
    assert_eq!(fake.state(|state| std::mem::take(&mut state.gathers.axes)), [2, 3]);
    let table = Array::<u8, _>::zeros(&stream, &[3, 17]).unwrap();
    assert_eq!(launched(&|| drop(table.take(&stream, &rows, 1, OutOfRange::Wrap).unwrap())), ["take_near_1"]);
    // Three axes, and indices over two.
    let cube = Array::<u8, _>::zeros(&stream, &[3, 4, 5]).unwrap();
    let turned = cube.permute(&[2, 1, 0]).unwrap();
    assert_eq!(launched(&|| drop(turned.take(&stream, &rows, 1, OutOfRange::Error).unwrap())), ["take_1"]);
    let few = turned.slice_axis(0, ..2).unwrap();
    assert_eq!(launched(&|| drop(few.take_flat(&stream, &rows, OutOfRange::Error).unwrap())), ["take_1"]);

    let put = |repeats| {
        let mut to = Array::<u8, _>::zeros(&stream, &[3, 17]).unwrap();
        to.view_mut().put(&stream, &rows, &table, 0, OutOfRange::Error, repeats).unwrap();
    };
    assert_eq!(launched(&|| put(Repeats::None)), ["put_near_1"]);
    assert_eq!(launched(&|| put(Repeats::Last)), ["last_of_each", "put_1"]);
    // One index has no other that could come last.
    let (one, row) = (rows.slice_axis(0, ..1).unwrap(), table.slice_axis(0, ..1).unwrap());
    let put_one = || {
        let mut to = Array::<u8, _>::zeros(&stream, &[3, 17]).unwrap();
        to.view_mut().put(&stream, &one, &row, 0, OutOfRange::Error, Repeats::Last).unwrap();
    };
    assert_eq!(launched(&put_one), ["put_near_1"]);

    // A selection is one pass, of any layouts.
    let (mut room, mut count) =
        (Array::<u8, _>::zeros(&stream, &[60]).unwrap(), Array::zeros(&stream, &[]).unwrap());
    let line = Array::full(&stream, &[60], Bool::TRUE).unwrap();
    let mask = line.reshape(&[5, 4, 3], Order::C).unwrap();
    for (view, kernel) in
        [(cube.reshape(&[5, 4, 3], Order::C).unwrap(), "select_line_1"), (turned, "select_1")]
    {
        let (mut room, mut count) = (room.view_mut(), count.view_mut());
        let select = || view.extract_into(&stream, &mask, &mut room, &mut count).unwrap();
        assert_eq!(launched_by(&fake, select), [kernel]);
    }
    drop((stream, rows, table, cube, room, count, line, context));
    fake.assert_proper();
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
}

/// The host counts the elements of a tile as the kernels do.
#[test]
fn tiles_of_selections_are_those_of_the_kernels() {
    let source = include_str!("../../kernels/gathers/select.cuh");
    for width in [1, 2, 4, 8, 16] {
        let start = format!("\nSELECTS({width}, ");
        let (_, rest) = source.split_once(&start).unwrap();
        let elements: u32 = rest.split_once(')').unwrap().0.parse().unwrap();
        assert_eq!(select_elements(width, true), THREADS * elements, "width {width}");
    }
}

/// A device that does not reach memory of the host cannot tell, and says so.
#[test]
fn devices_without_mapped_memory_have_no_gathers() {
    let fake = Fake::new();
    fake.state(|state| state.host_kinds = 0);
    let (context, stream) = open(&fake);
    let rows = Array::from_slice(&stream, &[1], &[0]).unwrap();
    let refused = rows.take(&stream, &rows, 0, OutOfRange::Error).unwrap_err();
    assert_eq!(refused.to_string(), "cuda: gather: not supported: elements by index");
    assert_eq!(context.device().driver().calls(Function::MemHostAlloc), 1, "staging alone");
}

/// Memory that cannot be freed is told of apart from the operation, which was done.
#[test]
fn what_was_put_is_put_although_a_free_fails() {
    let fake = Fake::new();
    let (context, stream) = open(&fake);
    let mut to = Array::<i32, _>::zeros(&stream, &[4]).unwrap();
    let (places, values) = ([1, 2], [7, 8]);
    let places = Array::from_slice(&stream, &[2], &places).unwrap();
    let values = Array::from_slice(&stream, &[2], &values).unwrap();
    let driver = context.device().driver();
    driver.fail(Fault::new(0, NonZeroI32::new(700).unwrap()).of(Function::MemFreeAsync));
    to.view_mut().put(&stream, &places, &values, 0, OutOfRange::Error, Repeats::Last).unwrap();
    assert!(driver.heal());
    assert_eq!(driver.take_errors().len(), 1);
    assert_eq!(to.to_vec(&stream).unwrap(), [0, 7, 8, 0]);
}

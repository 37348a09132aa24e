//! A cuBLASLt in host memory: it multiplies at once or at the launch of a graph, and checks what the real one trusts.
#![allow(unsafe_code)] // stands for the library behind its C interface

use std::{
    collections::HashMap,
    ffi::{c_int, c_void},
    ptr, slice,
    sync::Arc,
};

use devarray_cuda::{
    cublaslt::{Algorithm, Found, Opaque, Table, compute, data_type, description, layout, preference},
    driver::{Driver, Function, sys::CUstream},
};
use half::{bf16, f16};

use super::{
    driver::put,
    graphs::enqueue_in,
    state::{CURRENT, Fake, State},
};

const INVALID_VALUE: i32 = 7;
const NOT_SUPPORTED: i32 = 15;

/// The state of the library.
#[derive(Debug, Default)]
pub(crate) struct Library {
    /// Attributes of what is alive, by handle; for a layout its type, rows, columns and stride before.
    attributes: HashMap<usize, HashMap<c_int, Vec<u8>>>,
    layouts: HashMap<usize, (c_int, u64, u64, i64)>,
    computes: HashMap<usize, c_int>,
    /// Bytes that algorithms need.
    pub(crate) needs_bytes: usize,
    /// Whether it has no algorithm.
    pub(crate) lacks_algorithms: bool,
    /// The call that fails, from 0, and how.
    pub(crate) fails: Option<(usize, i32)>,
    /// The calls so far.
    pub(crate) log: Vec<&'static str>,
    /// Memory and stream of each product.
    pub(crate) products: Vec<(u64, usize)>,
}

impl Library {
    pub(crate) fn count(&self, name: &str) -> usize {
        self.log.iter().filter(|call| **call == name).count()
    }

    fn number<const N: usize>(&self, of: usize, attribute: c_int) -> Option<[u8; N]> {
        self.attributes.get(&of)?.get(&attribute)?.as_slice().try_into().ok()
    }
}

/// The driver of a fake with this library.
pub(crate) fn driver() -> Arc<Driver> {
    // SAFETY: the functions do what the driver's and the library's do, at once.
    unsafe { Driver::with_cublaslt(super::driver::table(), table()) }
}

/// Runs a call of the library.
fn call(name: &'static str, run: impl FnOnce(&mut State) -> i32) -> i32 {
    Fake::installed().state(|state| {
        let at = state.cublaslt.log.len();
        state.cublaslt.log.push(name);
        match state.cublaslt.fails {
            Some((nth, status)) if nth == at => status,
            _ => run(state),
        }
    })
}

fn make(
    name: &'static str,
    kind: &'static str,
    to: *mut Opaque,
    also: impl FnOnce(&mut State, usize),
) -> i32 {
    call(name, |state| {
        let handle = state.create(kind);
        also(state, handle);
        put(to, ptr::without_provenance_mut(handle))
    })
}

fn unmake(name: &'static str, kind: &'static str, handle: Opaque) -> i32 {
    call(name, |state| state.destroy(handle.addr(), kind))
}

fn set(
    name: &'static str,
    kind: &'static str,
    handle: Opaque,
    attribute: c_int,
    (value, len): (*const c_void, usize),
) -> i32 {
    call(name, |state| {
        if !state.alive(handle.addr(), kind) {
            return INVALID_VALUE;
        }
        // SAFETY: the backend passes a value of that length.
        let value = unsafe { slice::from_raw_parts(value.cast::<u8>(), len) }.to_vec();
        state.cublaslt.attributes.entry(handle.addr()).or_default().insert(attribute, value);
        0
    })
}

const HANDLE: &str = "library";
const DESCRIPTION: &str = "description";
const LAYOUT: &str = "layout";
const PREFERENCE: &str = "preference";

unsafe extern "C" fn create(to: *mut Opaque) -> i32 {
    make("create", HANDLE, to, |state, _| bound(state))
}

unsafe extern "C" fn destroy(handle: Opaque) -> i32 {
    unmake("destroy", HANDLE, handle)
}

unsafe extern "C" fn description_create(to: *mut Opaque, compute: c_int, scale: c_int) -> i32 {
    make("description_create", DESCRIPTION, to, |state, handle| {
        if scale != data_type::F32 {
            state.misuse.push("factors of another type".to_owned());
        }
        state.cublaslt.computes.insert(handle, compute);
    })
}

unsafe extern "C" fn description_destroy(handle: Opaque) -> i32 {
    unmake("description_destroy", DESCRIPTION, handle)
}

unsafe extern "C" fn description_set(handle: Opaque, at: c_int, value: *const c_void, len: usize) -> i32 {
    set("description_set", DESCRIPTION, handle, at, (value, len))
}

unsafe extern "C" fn layout_create(to: *mut Opaque, of: c_int, rows: u64, columns: u64, stride: i64) -> i32 {
    make("layout_create", LAYOUT, to, |state, handle| {
        if stride < rows.cast_signed() || rows == 0 || columns == 0 {
            state.misuse.push(format!("columns of {rows} elements, {stride} apart"));
        }
        state.cublaslt.layouts.insert(handle, (of, rows, columns, stride));
    })
}

unsafe extern "C" fn layout_destroy(handle: Opaque) -> i32 {
    unmake("layout_destroy", LAYOUT, handle)
}

unsafe extern "C" fn layout_set(handle: Opaque, at: c_int, value: *const c_void, len: usize) -> i32 {
    set("layout_set", LAYOUT, handle, at, (value, len))
}

unsafe extern "C" fn preference_create(to: *mut Opaque) -> i32 {
    make("preference_create", PREFERENCE, to, |_, _| ())
}

unsafe extern "C" fn preference_destroy(handle: Opaque) -> i32 {
    unmake("preference_destroy", PREFERENCE, handle)
}

unsafe extern "C" fn preference_set(handle: Opaque, at: c_int, value: *const c_void, len: usize) -> i32 {
    set("preference_set", PREFERENCE, handle, at, (value, len))
}

/// A call needs the context of a device to be current.
fn bound(state: &mut State) {
    let device = c_int::try_from(CURRENT.get()).unwrap() - 1;
    if state.contexts.get(&device).is_none_or(|&count| count == 0) {
        state.misuse.push("the library without a context".to_owned());
    }
}

/// The algorithm says of itself what it was chosen for.
unsafe extern "C" fn find(
    handle: Opaque,
    described: Opaque,
    a: Opaque,
    b: Opaque,
    _c: Opaque,
    d: Opaque,
    preferred: Opaque,
    most: c_int,
    found: *mut Found,
    count: *mut c_int,
) -> i32 {
    call("find", |state| {
        bound(state);
        let kinds = [
            (handle, HANDLE),
            (described, DESCRIPTION),
            (a, LAYOUT),
            (b, LAYOUT),
            (d, LAYOUT),
            (preferred, PREFERENCE),
        ];
        if !kinds.iter().all(|(handle, kind)| state.alive(handle.addr(), kind)) || most != 1 {
            return INVALID_VALUE;
        }
        if state.cublaslt.lacks_algorithms {
            return NOT_SUPPORTED;
        }
        let library = &state.cublaslt;
        let number = |attribute| library.number::<4>(preferred.addr(), attribute).map(u32::from_ne_bytes);
        let aligned = preference::ALIGNMENTS.map(|attribute| u64::from(number(attribute).unwrap()));
        let most = u64::from_ne_bytes(library.number(preferred.addr(), preference::WORKSPACE_BYTES).unwrap());
        let unrounded = number(preference::REDUCTIONS) == Some(preference::UNROUNDED);
        let workspace_bytes = library.needs_bytes;
        if !unrounded || most != 32 << 20 || workspace_bytes > 32 << 20 {
            state.misuse.push("an algorithm without bounds".to_owned());
        }
        let [of_a, of_b, _, of_d] = aligned;
        let layouts = [a, b, d].map(|layout| layout.addr() as u64);
        let algorithm =
            Algorithm([of_a, of_b, of_d, described.addr() as u64, layouts[0], layouts[1], layouts[2], 0]);
        put(found, Found { algorithm, workspace_bytes, ..Found::default() });
        put(count, 1)
    })
}

unsafe extern "C" fn multiply(
    handle: Opaque,
    described: Opaque,
    alpha: *const c_void,
    a: u64,
    of_a: Opaque,
    b: u64,
    of_b: Opaque,
    beta: *const c_void,
    c: u64,
    of_c: Opaque,
    d: u64,
    of_d: Opaque,
    algorithm: *const Algorithm,
    workspace: u64,
    workspace_bytes: usize,
    stream: *mut c_void,
) -> i32 {
    // SAFETY: the backend passes floats.
    let factors = [alpha, beta].map(|factor| unsafe { factor.cast::<f32>().read() });
    // SAFETY: and an algorithm that `find` gave out.
    let Algorithm(chosen) = unsafe { algorithm.read() };
    call("multiply", |state| {
        bound(state);
        let stream: CUstream = stream.cast();
        let alive = state.alive(stream.addr(), "stream") && state.alive(handle.addr(), HANDLE);
        let due = [described, of_a, of_b, of_d].map(|handle| handle.addr() as u64);
        let aligned = [a, b, d].iter().zip(&chosen).all(|(at, by)| at % by == 0 && by.is_power_of_two());
        if !alive || factors != [1.0, 0.0] || c != d || of_c != of_d || chosen[3..7] != due || !aligned {
            state.misuse.push(format!("a product of {a:#x} and {b:#x} to {d:#x} by {chosen:?}"));
            return INVALID_VALUE;
        }
        if workspace_bytes > 0 {
            if state.device(workspace, workspace_bytes, 256).is_none() {
                return INVALID_VALUE;
            }
            state.cublaslt.products.push((workspace, stream.addr()));
        }
        let sides = [(of_a, a), (of_b, b), (of_d, d)].map(|(layout, at)| (layout.addr(), at));
        let described = described.addr();
        enqueue_in(state, stream, Function::LaunchKernel, move |state| match run(state, described, sides) {
            Some(()) => 0,
            None => INVALID_VALUE,
        })
    })
}

/// Multiplies, element by element.
fn run(state: &mut State, described: usize, sides: [(usize, u64); 3]) -> Option<()> {
    let library = &state.cublaslt;
    let flag = |attribute| library.number::<4>(described, attribute).is_some_and(|value| value != [0; 4]);
    let transposed = [flag(description::TRANSPOSES_A), flag(description::TRANSPOSES_B)];
    let computed = *library.computes.get(&described)?;
    let layouts = sides.map(|(layout, _)| library.layouts.get(&layout).copied());
    let [a, b, d] = [layouts[0]?, layouts[1]?, layouts[2]?];
    let batches = sides.map(|(of, _)| {
        let count = library.number(of, layout::BATCH_COUNT).map_or(1, i32::from_ne_bytes);
        (count, library.number(of, layout::BATCH_STRIDE).map_or(0, i64::from_ne_bytes))
    });
    let item = if a.0 == data_type::F32 { 4 } else { 2 };
    let as_due = if item == 4 { compute::F32_OF_TF32 } else { compute::F32 };
    let turned = |(_, rows, columns, _): (c_int, u64, u64, i64), turn| {
        if turn { (columns, rows) } else { (rows, columns) }
    };
    let ((m, k), (depth, n)) = (turned(a, transposed[0]), turned(b, transposed[1]));
    let is_due = computed == as_due && (m, n, k) == (d.1, d.2, depth) && (a.0, a.0) == (b.0, d.0);
    if !is_due || batches.iter().any(|(count, _)| *count != batches[0].0) {
        state.misuse.push(format!("a product of {a:?} and {b:?} to {d:?}"));
        return None;
    }
    let at = |side: usize, batch: i32, row: u64, column: u64, stride: i64| {
        let step = i64::from(batch) * batches[side].1 + row.cast_signed() + column.cast_signed() * stride;
        sides[side].1.wrapping_add_signed(step * item)
    };
    for batch in 0..batches[0].0 {
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
            let mut sum = 0.0;
            for step in 0..k {
                let (of_a, of_b) = (swap((row, step), transposed[0]), swap((step, column), transposed[1]));
                let left = read(state, a.0, at(0, batch, of_a.0, of_a.1, a.3))?;
                sum += left * read(state, a.0, at(1, batch, of_b.0, of_b.1, b.3))?;
            }
            write(state, a.0, at(2, batch, row, column, d.3), sum)?;
        }
    }
    Some(())
}

fn swap((row, column): (u64, u64), swapped: bool) -> (u64, u64) {
    if swapped { (column, row) } else { (row, column) }
}

/// An operand, which is made of 11 bits if it is an `f32`.
fn read(state: &mut State, of: c_int, at: u64) -> Option<f64> {
    if of == data_type::F32 {
        let from = state.device(at, 4, 4)?.cast::<u32>();
        // SAFETY: inside an allocation, and aligned.
        return Some(f32::from_bits(unsafe { from.read() } & !0x1fff).into());
    }
    let from = state.device(at, 2, 2)?.cast::<u16>();
    // SAFETY: likewise.
    let bits = unsafe { from.read() };
    Some(if of == data_type::F16 { f16::from_bits(bits).into() } else { bf16::from_bits(bits).into() })
}

#[expect(clippy::cast_possible_truncation, reason = "rounds")]
fn write(state: &mut State, of: c_int, at: u64, value: f64) -> Option<()> {
    let value = value as f32;
    if of == data_type::F32 {
        let to = state.device(at, 4, 4)?.cast::<f32>();
        // SAFETY: inside an allocation, and aligned.
        unsafe { to.write(value) };
        return Some(());
    }
    let to = state.device(at, 2, 2)?.cast::<u16>();
    let bits =
        if of == data_type::F16 { f16::from_f32(value).to_bits() } else { bf16::from_f32(value).to_bits() };
    // SAFETY: likewise.
    unsafe { to.write(bits) };
    Some(())
}

fn table() -> Table {
    Table {
        create,
        destroy,
        description_create,
        description_destroy,
        description_set,
        layout_create,
        layout_destroy,
        layout_set,
        preference_create,
        preference_destroy,
        preference_set,
        find,
        multiply,
    }
}

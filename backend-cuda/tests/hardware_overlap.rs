//! Proves on a real device that copies of one stream see each other's results although their launches overlap,
//! and that they would not see them if the kernels did not wait.
//!
//! Launches overlap on generation 9; on others the chains are right with and without waits. Needs a CUDA
//! device, so each test is ignored by default:
//! `cargo test -p devarray-cuda --test card -- --ignored hardware_overlap:: --test-threads=1`. Without one they fail;
//! none is skipped.
#![allow(unsafe_code)] // takes the wait out of the kernels; opens unchecked streams for the twin that must fail
#![expect(clippy::unwrap_used, reason = "tests")]

use std::{
    ffi::c_void,
    sync::{Arc, OnceLock},
};

use devarray::{Array, Context, StreamHandle, backend::Device as _, layout::Slice};
use devarray_cuda::{
    CudaDevice,
    driver::{Driver, Function, Table, sys::CUmodule},
};

/// The driver's own functions.
static REAL: OnceLock<Table> = OnceLock::new();

/// `ACQBULK`, the machine code of `griddepcontrol.wait` in generation 9, and `NOP`, without their
/// scheduling bits.
const WAIT: u64 = 0x782e;
const NOTHING: u64 = 0x7918;

/// Loads machine code from which every wait is removed.
unsafe extern "C" fn load_without_waits(module: *mut CUmodule, image: *const c_void) -> i32 {
    let load = REAL.get().unwrap().module_load_data.unwrap();
    let word = |at: usize| {
        // SAFETY: an image is a text or has a header, of 64 bytes at least; the parts that the header names
        // are there.
        unsafe { image.cast::<u64>().wrapping_add(at).read_unaligned() }
    };
    if word(0).to_le_bytes()[..4] != *b"\x7fELF" {
        // SAFETY: the arguments are passed on unchanged.
        return unsafe { load(module, image) };
    }
    // A table of segments and a table of sections end the file. The header has their offsets, and the length
    // and number of their entries.
    let number = |at: usize| {
        usize::from(u16::from_le_bytes([0, 1].map(|k| word((at + k) / 8).to_le_bytes()[(at + k) % 8])))
    };
    let end = |offset: usize, len: usize, count: usize| {
        usize::try_from(word(offset)).unwrap() + number(len) * number(count)
    };
    let len_bytes = end(4, 54, 56).max(end(5, 58, 60));
    let mut words: Vec<u64> = (0..len_bytes.div_ceil(8)).map(word).collect();
    for word in words.iter_mut().filter(|word| **word == WAIT) {
        *word = NOTHING;
    }
    // SAFETY: the image has the same length; the driver copies it before it returns.
    unsafe { load(module, words.as_ptr().cast()) }
}

fn device(waiting: bool) -> CudaDevice {
    let driver = Driver::load().unwrap();
    if waiting {
        return CudaDevice::open(0).expect("a CUDA device is needed");
    }
    REAL.get_or_init(|| *driver.table());
    let mut table = *driver.table();
    table.module_load_data = Some(load_without_waits);
    // SAFETY: these are the driver's own functions, except that copies are not ordered; every access stays
    // inside live arrays.
    let driver: Arc<Driver> = unsafe { Driver::new(table) };
    CudaDevice::open_with(&driver, 0).expect("a CUDA device is needed")
}

/// Whether launches overlap on this device.
fn overlap(device: &CudaDevice) -> bool {
    device.info().generation.starts_with("9.")
}

type Stream = StreamHandle<CudaDevice>;
type Square = Array<u32, CudaDevice>;

/// A copy of a square to another square, on the device and on the host's vector: element `(i, j)` of the
/// copy equals one element of the source.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A copy by tiles.
    Turn,
    /// A copy by rows.
    Flip,
    /// A copy by the driver.
    Plain,
    /// A copy by single elements or few: every second column of both sides, and then the other columns.
    Columns,
}

/// The steps of a round, which the next round follows. Each kind of step comes behind each kind once.
const STEPS: [Step; 16] = {
    use Step::{Columns, Flip, Plain, Turn};
    [
        Turn, Turn, Flip, Turn, Plain, Turn, Columns, Flip, Flip, Plain, Flip, Columns, Plain, Plain,
        Columns, Columns,
    ]
};

impl Step {
    fn enqueue(self, stream: &Stream, to: &mut Square, from: &Square) {
        match self {
            Self::Turn => {
                to.view_mut().copy_from(stream, &from.view().transpose().flip(&[0]).unwrap()).unwrap();
            }
            Self::Flip => to.view_mut().copy_from(stream, &from.view().flip(&[0]).unwrap()).unwrap(),
            Self::Plain => to.view_mut().copy_from(stream, &from.view()).unwrap(),
            Self::Columns => {
                for first in [0, 1] {
                    let half = Slice::from(first..).step_by(2);
                    let from = from.view().slice_axis(1, half).unwrap();
                    to.view_mut().slice_axis(1, half).unwrap().copy_from(stream, &from).unwrap();
                }
            }
        }
    }

    fn on_host(self, n: usize, from: &[u32]) -> Vec<u32> {
        let element = |k: usize| match self {
            Self::Turn => from[k % n * n + n - 1 - k / n],
            Self::Flip => from[(n - 1 - k / n) * n + k % n],
            Self::Plain | Self::Columns => from[k],
        };
        (0..n * n).map(element).collect()
    }
}

/// Copies a square back and forth between two arrays. Each copy reads the result of the copy before it and
/// overwrites the source of that copy. Returns whether the result is right.
fn a_chain_is_right(device: CudaDevice, n: usize, rounds: usize) -> bool {
    let context = Context::new(device).unwrap();
    let stream = context.stream().unwrap();
    let mut host: Vec<u32> =
        (0..n * n).map(|k| u32::try_from(k).unwrap().wrapping_mul(0x9e37_79b1)).collect();
    let mut from = Array::from_slice(&stream, &[n, n], &host).unwrap();
    let mut to = Square::zeros(&stream, &[n, n]).unwrap();
    // The kernels are loaded before the chain begins.
    for step in STEPS {
        step.enqueue(&stream, &mut to, &from);
    }
    stream.synchronize().unwrap();
    // Copies of large arrays delay the stream, so that the launches then follow each other closely.
    let [mut there, here] = [0_u8, 1].map(|k| Array::full(&stream, &[256 << 20], k).unwrap());
    stream.synchronize().unwrap();
    for _ in 0..60 {
        there.view_mut().copy_from(&stream, &here.view()).unwrap();
    }
    let launches = || context.device().driver().calls(Function::LaunchKernelEx);
    let before = launches();
    for _ in 0..rounds {
        for step in STEPS {
            step.enqueue(&stream, &mut to, &from);
            std::mem::swap(&mut from, &mut to);
        }
    }
    let expected = if overlap(context.device()) { 16 * rounds as u64 } else { 0 };
    assert_eq!(launches() - before, expected, "launches that may overlap");
    // The position of the element that a round puts at each place.
    let places: Vec<u32> = (0..).take(n * n).collect();
    let round = STEPS.iter().fold(places, |places, step| step.on_host(n, &places));
    for _ in 0..rounds {
        host = round.iter().map(|&k| host[k as usize]).collect();
    }
    from.to_vec(&stream).unwrap() == host
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn copies_of_one_stream_see_each_other() {
    for (n, rounds) in [(64, 200), (300, 200), (1024, 50), (3000, 10), (4608, 4)] {
        assert!((0..3).all(|_| a_chain_is_right(device(true), n, rounds)), "{n}");
    }
}

/// The twin: without the waits, the chains are wrong.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn copies_that_do_not_wait_do_not_see_each_other() {
    let loses = overlap(&device(true));
    for (n, rounds) in [(300, 200), (1024, 50)] {
        let lost = (0..5).any(|_| !a_chain_is_right(device(false), n, rounds));
        assert_eq!(lost, loses, "{n}: whether the chain has a race to lose");
    }
}

/// Enqueues a copy, a wait for late work of another stream, and a copy of that work's result. Returns whether the
/// second copy saw the result.
fn an_edge_between_launches_is_kept(tracked: bool) -> bool {
    let context = Context::new(device(true)).unwrap();
    let n = 256;
    let setup = context.stream().unwrap();
    let [late, stream] = [(); 2].map(|()| {
        if tracked {
            return context.stream().unwrap();
        }
        // SAFETY: deliberately unordered; every access stays inside live arrays, so only the bytes
        // come out wrong.
        unsafe { context.unchecked_stream().unwrap() }
    });
    let large = [0, 1].map(|k| Array::full(&setup, &[128 << 20], k).unwrap());
    let [mut there, here]: [Array<u8, _>; 2] = large;
    let mut source = Square::zeros(&setup, &[n, n]).unwrap();
    let ones = Array::full(&setup, &[n, n], 1_u32).unwrap();
    let mut other = Square::zeros(&setup, &[n, n]).unwrap();
    let mut result = Square::zeros(&setup, &[n, n]).unwrap();
    Step::Turn.enqueue(&setup, &mut result, &source);
    setup.synchronize().unwrap();
    for _ in 0..50 {
        there.view_mut().copy_from(&late, &here.view()).unwrap();
    }
    Step::Turn.enqueue(&late, &mut source, &ones);
    Step::Turn.enqueue(&stream, &mut other, &ones);
    Step::Turn.enqueue(&stream, &mut result, &source);
    let right = result.to_vec(&stream).unwrap() == vec![1; n * n];
    late.synchronize().unwrap();
    right
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn a_launch_waits_for_events_before_it() {
    assert!((0..20).all(|_| an_edge_between_launches_is_kept(true)));
    assert!((0..5).any(|_| !an_edge_between_launches_is_kept(false)), "the program has no race to lose");
}

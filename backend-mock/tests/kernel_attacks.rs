//! Host functions try to break the simulator: they call the device, panic, write bytes that equal the pattern of
//! the guards, and have arguments without elements. Also tests the words of findings about
//! arguments.
#![allow(unsafe_code)] // host functions that are wrong on purpose; unchecked streams
#![allow(clippy::unwrap_used)] // tests

use std::{
    cell::RefCell,
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    sync::{Mutex, PoisonError},
};

use devarray::{
    Array, Context, Order, Result, StreamHandle,
    kernel::{Grid, Image, In, Out, Strided, has_len},
};
use devarray_mock::{Code, Finding, MockDevice, Schedule};

fn open(schedule: Schedule) -> (MockDevice, StreamHandle<MockDevice>) {
    let device = MockDevice::builder().schedule(schedule).check_kernels(true).lints(true).build();
    let stream = Context::new(device.clone()).unwrap().stream().unwrap();
    (device, stream)
}

/// Returns the code and the text of the only finding of a device.
fn only(device: &MockDevice) -> (Code, String) {
    let findings: Vec<Finding> = device.report().findings;
    assert_eq!(findings.len(), 1, "{findings:#?}");
    (findings[0].code, findings[0].to_string())
}

/// A stream that a host function can reach, though it is not an argument.
static WITHIN_REACH: Mutex<Option<StreamHandle<MockDevice>>> = Mutex::new(None);

devarray::kernel! {
    /// Calls the device that runs it, or another one, if `what` says so.
    struct Calls(to: Out<u32>, what: u32);
    image = Image::none();
    launch { Grid::elements(to.len(), 32) }
    host {
        to.fill(1);
        let stream = WITHIN_REACH.lock().unwrap_or_else(PoisonError::into_inner);
        match (what, stream.as_ref()) {
            (1, Some(stream)) => drop(Array::<u8, _>::zeros(stream, &[4])),
            (2, Some(stream)) => stream.synchronize().unwrap(),
            (3, Some(stream)) => drop(stream.context().device().report()),
            (4, _) => drop(Context::new(MockDevice::new())),
            _ => {}
        }
    }
}

/// One test makes all these calls, because the program has only one reachable stream.
#[test]
fn a_host_function_that_calls_a_device_is_found_and_nothing_waits_for_ever() {
    for (schedule, what) in
        [Schedule::Eager, Schedule::Lazy].into_iter().flat_map(|s| (0..5).map(move |w| (s.clone(), w)))
    {
        let (device, stream) = open(schedule);
        *WITHIN_REACH.lock().unwrap_or_else(PoisonError::into_inner) = Some(stream.clone());
        let mut to = Array::full(&stream, &[3], 7).unwrap();
        Calls::launch(&stream, &mut to, what).unwrap();
        // The program continues.
        let mut more = Array::full(&stream, &[3], 7).unwrap();
        Calls::launch(&stream, &mut more, 0).unwrap();
        assert_eq!(more.to_vec(&stream).unwrap(), [1; 3]);
        assert_eq!(to.to_vec(&stream).unwrap(), [1; 3], "what it wrote before");
        if what == 0 {
            assert_eq!(device.report().findings, [], "the twin");
            continue;
        }
        let (code, text) = only(&device);
        assert_eq!(code, Code::HostPanicked);
        assert!(text.contains("the host function of `Calls` called a device, which waits for it"), "{text}");
    }
    *WITHIN_REACH.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

thread_local! {
    /// A stream that a block `launch` can reach.
    static IN_LAUNCH: RefCell<Option<StreamHandle<MockDevice>>> = const { RefCell::new(None) };
}

devarray::kernel! {
    /// Its block `launch` waits for a stream, if it can reach one.
    struct Waits(to: Out<u32>);
    image = Image::none();
    launch {
        IN_LAUNCH.with_borrow(|stream| stream.as_ref().map(StreamHandle::synchronize));
        Grid::elements(to.len(), 32)
    }
    host { to.fill(2) }
}

/// A recording runs the block with its lock held, so a call of the device would wait for ever.
#[test]
fn a_launch_block_that_calls_a_device_panics() {
    let (device, stream) = open(Schedule::Lazy);
    let mut to = Array::full(&stream, &[3], 7).unwrap();
    let step = stream.record_work((&mut to,), |on, (mut to,)| Waits::launch(on, &mut to)).unwrap();
    IN_LAUNCH.set(Some(stream.clone()));
    let called = catch_unwind(AssertUnwindSafe(|| Waits::launch(&stream, &mut to)));
    let launched = catch_unwind(AssertUnwindSafe(|| step.launch(&stream, (&mut to,))));
    for panicked in [called, launched] {
        let payload = panicked.unwrap_err();
        let text = payload.downcast_ref::<String>().unwrap();
        assert!(text.contains("`Waits` called a device") && text.contains("the block `launch`"), "{text}");
    }
    assert_eq!(to.to_vec(&stream).unwrap(), [7; 3]);
    // The twin, and the recording can still be launched.
    IN_LAUNCH.set(None);
    step.launch(&stream, (&mut to,)).unwrap();
    assert_eq!(to.to_vec(&stream).unwrap(), [2; 3]);
    assert_eq!(device.report().findings, []);
}

devarray::kernel! {
    /// Panics with a payload that is not text.
    struct PanicsOddly(to: Out<u32>, panics: u32);
    image = Image::none();
    launch { Grid::elements(to.len(), 32) }
    host {
        if panics == 1 {
            panic_any(vec![1, 2, 3]);
        }
        to.fill(panics);
    }
}

#[test]
fn a_panic_stops_its_own_launch_alone() {
    let (device, stream) = open(Schedule::Lazy);
    let other = stream.context().stream().unwrap();
    let (mut one, mut two) = (Array::full(&stream, &[2], 9).unwrap(), Array::full(&other, &[2], 9).unwrap());
    PanicsOddly::launch(&stream, &mut one, 1).unwrap();
    PanicsOddly::launch(&other, &mut two, 3).unwrap();
    PanicsOddly::launch(&other, &mut one, 5).unwrap(); // waits for the kernel that panics
    assert_eq!((one.to_vec(&stream).unwrap(), two.to_vec(&stream).unwrap()), (vec![5; 2], vec![3; 2]));
    assert_eq!(only(&device).0, Code::HostPanicked);
}

devarray::kernel! {
    /// Writes one byte after its elements.
    struct WritesByte(to: Out<u8>, byte: u8, behind: u8);
    image = Image::none();
    launch { Grid::elements(to.len(), 32) }
    host {
        to.fill(3);
        if behind == 1 {
            // SAFETY: inside the guard of the simulator; that is the mistake to be found.
            unsafe { to.as_mut_ptr().wrapping_add(to.len()).write(byte) };
        }
    }
}

/// The guards hold a pattern, and another pattern in a second run, so a write of any byte shows in one
/// of the two runs.
#[test]
fn a_write_outside_of_what_lies_there_anyway_is_found() {
    for byte in [0, 0x3F, 0x5A, 0xFF] {
        for behind in [0, 1] {
            let (device, stream) = open(Schedule::Lazy);
            let mut to = Array::full(&stream, &[5], 1_u8).unwrap();
            WritesByte::launch(&stream, &mut to, byte, behind).unwrap();
            assert_eq!(to.to_vec(&stream).unwrap(), [3; 5]);
            if behind == 0 {
                assert_eq!(device.report().findings, [], "the twin");
            } else {
                let (code, text) = only(&device);
                assert_eq!(code, Code::OutsideArgument, "{byte:#x}: {text}");
                assert!(text.contains("argument `to` of kernel `WritesByte`"), "{text}");
            }
        }
    }
}

devarray::kernel! {
    /// Computes to = one + two, for any strides.
    struct Add(one: In<f32, Strided<1>>, two: In<f32, Strided<1>>, to: Out<f32>);
    image = Image::none();
    launch { has_len(one, to.len())?; has_len(two, to.len())?; Grid::elements(to.len(), 32) }
    host {
        for (to, (one, two)) in to.iter_mut().zip(one.iter().zip(two.iter())) {
            *to = one + two;
        }
    }
}

#[test]
fn one_memory_may_be_read_by_several_arguments_and_one_kernel_run_on_several_devices() -> Result<()> {
    for _ in 0..2 {
        let (device, stream) = open(Schedule::Lazy);
        let x = Array::from_slice(&stream, &[4], &[1.0_f32, 2.0, 3.0, 4.0])?;
        let mut to = Array::uninit(&stream, &[4])?;
        Add::launch(&stream, &x.view(), &x.view().flip(&[0])?, &mut to)?;
        assert_eq!(to.to_vec(&stream)?, [5.0; 4]);
        let one = x.slice_axis(0, ..1)?.broadcast_to(&[4])?;
        Add::launch(&stream, &one, &x, &mut to)?;
        assert_eq!(to.to_vec(&stream)?, [2.0, 3.0, 4.0, 5.0]);
        assert_eq!(device.report().findings, []);
    }
    Ok(())
}

devarray::kernel! {
    /// Adds two opposite corners.
    struct Corners(from: In<u32, Strided<2>>, to: Out<u32>);
    image = Image::none();
    launch { has_len(to, 1)?; Grid::elements(1, 1) }
    host { to[0] = from[[0, 0]] + from[[from.shape()[0] - 1, from.shape()[1] - 1]] }
}

/// More indices may reach the elements of an argument than any memory holds, if the elements are only read: one
/// element is repeated, or steps overlap. The twin reaches each element once.
#[test]
fn an_argument_costs_by_its_bytes_not_by_its_indices() -> Result<()> {
    let (device, stream) = open(Schedule::Lazy);
    let values: Vec<u32> = (0..5 << 10).collect();
    let x = Array::from_slice(&stream, &[values.len()], &values)?;
    let mut to = Array::uninit(&stream, &[1])?;
    let few = x.view().restride(&[3, 4], &[4, 1], 5)?;
    Corners::launch(&stream, &few, &mut to)?;
    assert_eq!(to.to_vec(&stream)?, [5 + 16]);
    let last = x.slice_axis(0, 5119..)?.broadcast_to(&[1 << 30, 1 << 31])?;
    Corners::launch(&stream, &last, &mut to)?;
    assert_eq!(to.to_vec(&stream)?, [2 * 5119]);
    let windows = x.view().restride(&[1 << 10, 1 << 10], &[3, 2], 0)?;
    let many = windows.slice_axis(1, ..1023)?;
    Corners::launch(&stream, &many, &mut to)?;
    assert_eq!(to.to_vec(&stream)?, [3 * 1023 + 2 * 1022]);
    assert_eq!(device.report().findings, []);
    Ok(())
}

/// A payload that panics when it is dropped.
struct Payload;

impl Drop for Payload {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

devarray::kernel! {
    /// Panics with a payload that panics when it is dropped.
    struct PanicsTwice(to: Out<u32>, panics: u32);
    image = Image::none();
    launch { Grid::elements(to.len(), 32) }
    host {
        to.fill(4);
        if panics == 1 {
            panic_any(Payload);
        }
    }
}

/// The panic of the payload is treated like a panic of the host function.
#[test]
fn what_a_host_function_panics_with_is_not_dropped_among_the_locks_of_the_simulator() -> Result<()> {
    for panics in [1, 0] {
        let (device, stream) = open(Schedule::Lazy);
        let mut to = Array::full(&stream, &[2], 9)?;
        PanicsTwice::launch(&stream, &mut to, panics)?;
        stream.synchronize()?;
        assert_eq!(to.to_vec(&stream)?, [4; 2]);
        if panics == 1 {
            assert_eq!(only(&device).0, Code::HostPanicked);
        } else {
            assert_eq!(device.report().findings, [], "the twin");
        }
    }
    Ok(())
}

/// Enqueues a kernel on one stream, then a fill of its input on another, or both in reverse order.
fn unordered(kernel_first: bool) -> String {
    let (device, stream) = open(Schedule::Lazy);
    let context = stream.context();
    // SAFETY: deliberately not ordered; the simulator defines the effect.
    let one = unsafe { context.unchecked_stream() }.unwrap();
    // SAFETY: as above.
    let two = unsafe { context.unchecked_stream() }.unwrap();
    let (x, mut y) = (Array::full(&one, &[16], 1.0_f32).unwrap(), Array::full(&one, &[16], 2.0_f32).unwrap());
    let mut z = Array::full(&one, &[16], 0.0_f32).unwrap();
    one.synchronize().unwrap();
    if kernel_first {
        Add::launch(&two, &x, &y, &mut z).unwrap();
        y.view_mut().fill(&one, 3.0).unwrap();
    } else {
        y.view_mut().fill(&one, 3.0).unwrap();
        Add::launch(&two, &x, &y, &mut z).unwrap();
    }
    let (code, text) = only(&device);
    assert_eq!(code, Code::Race);
    one.wait(&two.record().unwrap()).unwrap();
    text
}

#[test]
fn a_missing_wait_names_kernel_and_argument_whichever_came_first() {
    let text = unordered(true);
    assert!(text.contains("reaches it as argument `two` of kernel `Add`"), "{text}");
    let text = unordered(false);
    assert!(text.contains("it is argument `two` of kernel `Add`"), "{text}");
}

/// Fills an array on one stream, and reads it by a kernel on another stream. The other
/// stream waits for nothing, for the allocation, or for the last write; `record_at` selects this.
fn made_elsewhere(record_at: usize) -> Vec<Finding> {
    let (device, stream) = open(Schedule::Lazy);
    let context = stream.context();
    // SAFETY: deliberately not ordered; the simulator defines the effect.
    let one = unsafe { context.unchecked_stream() }.unwrap();
    // SAFETY: as above.
    let two = unsafe { context.unchecked_stream() }.unwrap();
    let mut z = Array::full(&two, &[16], 0.0_f32).unwrap();
    let mut x = Array::<f32, _>::uninit(&one, &[16]).unwrap();
    let allocated = one.record().unwrap();
    x.view_mut().fill(&one, 1.0).unwrap();
    let doubled = x.view().to_contiguous(&one, Order::C).unwrap();
    x.view_mut().copy_from(&one, &doubled).unwrap();
    let written = one.record().unwrap();
    match record_at {
        0 => {}
        1 => two.wait(&allocated).unwrap(),
        _ => two.wait(&written).unwrap(),
    }
    Add::launch(&two, &x, &x, &mut z).unwrap();
    let findings = device.report().findings;
    one.wait(&two.record().unwrap()).unwrap();
    stream.synchronize().unwrap();
    findings
}

#[test]
fn the_help_names_the_edge_that_is_enough() {
    let [finding] = &made_elsewhere(0)[..] else { panic!("one finding") };
    assert_eq!(finding.code, Code::UseBeforeAlloc);
    let last_write = finding.notes.iter().find_map(|note| {
        let (_, rest) = note.split_once("help: record an event on stream ")?;
        rest.split_once(" after #")?.1.split_once(',')?.0.parse::<u64>().ok()
    });
    // The operations after the allocation are a record, the fill, an allocation and two copies. The last write is
    // the second copy.
    let allocation = finding.with[0].0.number;
    assert_eq!(last_write, Some(allocation + 5), "{finding}");
    // A wait for the last write is sufficient; a wait for the allocation is not.
    assert_eq!(made_elsewhere(2), []);
    let [race] = &made_elsewhere(1)[..] else { panic!("one finding") };
    assert_eq!(race.code, Code::Race);
    assert!(race.to_string().contains(&format!("after #{}", allocation + 5)), "{race}");
}

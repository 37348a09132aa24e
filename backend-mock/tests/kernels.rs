//! Tests kernels on the simulator: their results, their order, their failures, and mistakes of their host
//! functions.
#![allow(unsafe_code)] // host functions that are wrong on purpose; unchecked streams
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{
    Array, Context, Error, Result, StreamHandle,
    kernel::{Dense, Grid, Image, In, InOut, Out, Strided, has_len, same_shape},
};
use devarray_mock::{Code, Explore, Finding, MockDevice, Site, Wrong};

devarray::kernel! {
    /// Computes to = k · from.
    pub struct Scale(from: In<f32>, to: Out<f32>, k: f32);
    image = Image::none();
    launch { has_len(from, to.len())?; Grid::elements(to.len(), 256) }
    host { for (to, from) in to.iter_mut().zip(from) { *to = k * from } }
}

devarray::kernel! {
    /// Adds the elements of one matrix to the elements of another, with any strides.
    struct AddTo(from: In<i32, Strided<2>>, to: InOut<i32, Strided<2>>);
    image = Image::none();
    launch { same_shape(from, to)?; Grid::elements(to.len(), 256) }
    host { for (to, from) in to.iter_mut().zip(from.iter()) { *to += from } }
}

fn open() -> (MockDevice, StreamHandle<MockDevice>) {
    let device = MockDevice::builder().check_kernels(true).lints(true).build();
    let stream = Context::new(device.clone()).unwrap().stream().unwrap();
    (device, stream)
}

#[test]
fn a_kernel_computes_and_is_counted_and_named() -> Result<()> {
    let (device, stream) = open();
    let x = Array::from_slice(&stream, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let mut y = Array::uninit(&stream, &[6])?;
    Scale::launch(&stream, &x, &mut y, 10.0)?;
    Scale::launch(&stream, &x.view().slice_axis(0, 1..)?, &mut y.view_mut().slice_axis(0, ..3)?, 0.5)?;
    assert_eq!(y.to_vec(&stream)?, [2.0, 2.5, 3.0, 40.0, 50.0, 60.0]);
    assert_eq!(stream.context().statistics().launches, 2);
    assert_eq!(stream.context().statistics().launched_bytes, 36);
    assert_eq!(device.statistics().executed.launches.count, 2);
    assert_eq!((device.report().findings, device.report().lints), (vec![], vec![]));
    Ok(())
}

#[test]
fn strided_arguments_are_read_and_written_where_they_are() -> Result<()> {
    let (device, stream) = open();
    let from = Array::from_slice(&stream, &[3, 2], &[1, 2, 3, 4, 5, 6])?;
    let mut to = Array::from_slice(&stream, &[4, 3], &[0; 12])?;
    let turned = from.view().transpose().flip(&[1])?;
    AddTo::launch(&stream, &turned, &mut to.view_mut().index(&devarray::ix![1..; 2, ..])?)?;
    assert_eq!(to.to_vec(&stream)?, [0, 0, 0, 5, 3, 1, 0, 0, 0, 6, 4, 2]);
    assert_eq!(device.report().findings, []);
    Ok(())
}

#[test]
fn nothing_to_write_launches_nothing() -> Result<()> {
    let (device, stream) = open();
    let x = Array::<f32, _>::zeros(&stream, &[0])?;
    let mut y = Array::zeros(&stream, &[3, 0])?;
    Scale::launch(&stream, &x, &mut y, 10.0)?;
    assert_eq!(device.statistics().enqueued.launches.count, 0);
    Ok(())
}

/// Runs a program under a schedule that runs all work at the end. Returns its findings and lints.
fn findings(program: impl Fn(&StreamHandle<MockDevice>) -> Result<()>) -> (Vec<Finding>, Vec<Finding>) {
    let (device, stream) = open();
    program(&stream).unwrap();
    let report = device.report();
    (report.findings, report.lints)
}

/// The code and the text of the only finding.
fn only(found: &[Finding]) -> (Code, String) {
    assert_eq!(found.len(), 1, "{found:#?}");
    (found[0].code, found[0].to_string())
}

devarray::kernel! {
    struct WritesBehind(to: Out<u32>);
    image = Image::none();
    launch { Grid::elements(to.len(), 32) }
    host {
        let (start, len) = (to.as_mut_ptr(), to.len());
        for at in 0..=len {
            // SAFETY: all writes except the last are inside the memory; the last one is the mistake
            // to be found, inside the simulator's guard.
            unsafe { start.wrapping_add(at).write(7) };
        }
    }
}

#[test]
fn a_host_function_that_writes_outside_is_found() {
    for checked in [false, true] {
        let device = MockDevice::builder().check_kernels(checked).build();
        let stream = Context::new(device.clone()).unwrap().stream().unwrap();
        let mut to = Array::<u32, _>::zeros(&stream, &[9]).unwrap();
        WritesBehind::launch(&stream, &mut to.view_mut().slice_axis(0, 2..6).unwrap()).unwrap();
        assert_eq!(to.to_vec(&stream).unwrap(), [0, 0, 7, 7, 7, 7, 0, 0, 0], "nothing else was touched");
        let (code, text) = only(&device.report().findings);
        assert_eq!(code, Code::OutsideArgument);
        assert!(text.contains("the host function of `WritesBehind` wrote outside its arguments: buffer 0.0, bytes 0x18..0x1c"), "{text}");
        assert!(text.contains("it is argument `to` of kernel `WritesBehind`"), "{text}");
        assert!(text.contains("0 bytes behind its last element"), "{text}");
    }
}

devarray::kernel! {
    struct WritesGaps(from: In<u16>, to: Out<u16, Strided<1>>, amid: i32);
    image = Image::none();
    launch { Grid::elements(to.len(), 32) }
    host {
        to.fill(1);
        let start = if amid == 0 { from.as_ptr().cast_mut() } else { to.as_mut_ptr().wrapping_offset(amid as isize) };
        // SAFETY: inside the simulator's copies and guards; that is the mistake to be found.
        unsafe { start.write(7) };
    }
}

#[test]
fn writes_between_and_before_elements_and_to_inputs_are_found() {
    for (amid, told) in [
        (0, "argument `from` of kernel `WritesGaps`|inside it, and it is declared `In`"),
        (1, "argument `to` of kernel `WritesGaps`|between its elements"),
        (-3, "argument `to` of kernel `WritesGaps`|6 bytes before its first element"),
    ] {
        let (found, _) = findings(|stream| {
            let from = Array::from_slice(stream, &[3], &[1_u16, 2, 3])?;
            let mut to = Array::zeros(stream, &[9])?;
            WritesGaps::launch(stream, &from, &mut to.view_mut().index(&devarray::ix![1..8; 3])?, amid)?;
            assert_eq!(to.to_vec(stream)?, [0, 1, 0, 0, 1, 0, 0, 1, 0]);
            assert_eq!(from.to_vec(stream)?, [1, 2, 3]);
            Ok(())
        });
        let (code, text) = only(&found);
        assert_eq!(code, Code::OutsideArgument);
        assert!(told.split('|').all(|told| text.contains(told)), "{text}");
    }
}

devarray::kernel! {
    struct IndexesOutside(to: Out<u8, Dense<2>>);
    image = Image::none();
    launch { Grid::elements(to.len(), 32) }
    host { for row in 0..=to.shape()[0] { to[[row, 0]] = 1 } }
}

#[test]
fn a_host_function_that_indexes_outside_is_found_and_the_program_goes_on() {
    let (found, _) = findings(|stream| {
        let mut to = Array::zeros(stream, &[3, 1])?;
        IndexesOutside::launch(stream, &mut to)?;
        assert_eq!(to.to_vec(stream)?, [1, 1, 1]);
        Ok(())
    });
    let (code, text) = only(&found);
    assert_eq!(code, Code::HostPanicked);
    assert!(text.contains("index [3, 0] is out of range for shape [3, 1]"), "{text}");
    assert!(text.contains("it was given: to [3, 1]"), "{text}");
}

devarray::kernel! {
    struct Sums(from: In<f32>, more: In<f32>, to: Out<f32>, mistake: u32);
    image = Image::none();
    launch { Grid::elements(to.len(), 32) }
    host {
        let last = to.len() - 1;
        for (at, to) in to.iter_mut().enumerate() {
            match mistake {
                1 if at == last => {}
                2 => *to += from[at] + more[at],
                3 => *to = from[at],
                // SAFETY: inside the simulator's guard; that is the mistake to be found.
                4 => *to = from[at] + unsafe { more.as_ptr().wrapping_add(at + 1).read() },
                _ => *to = from[at] + more[at],
            }
        }
    }
}

#[test]
fn what_is_read_or_not_written_against_the_declaration_is_found() {
    for (mistake, code, told) in [
        (1, Code::Unwritten, "argument `to` of kernel `Sums`|1 of 4 elements were left as they were"),
        (
            2,
            Code::UndeclaredRead,
            "argument `to` of kernel `Sums`|its old elements were read, and it is declared `Out`",
        ),
        (
            4,
            Code::UndeclaredRead,
            "argument `more` of kernel `Sums`|bytes around or between its elements were read|an element of `to`",
        ),
    ] {
        let run = |stream: &StreamHandle<MockDevice>| {
            let from = Array::from_slice(stream, &[4], &[1.0_f32, 2.0, 3.0, 4.0])?;
            let more = Array::from_slice(stream, &[4], &[10.0_f32, 20.0, 30.0, 40.0])?;
            let mut to = Array::zeros(stream, &[4])?;
            Sums::launch(stream, &from, &more, &mut to, mistake)?;
            to.to_vec(stream).map(drop)
        };
        let (found, _) = findings(run);
        let (found_code, text) = only(&found);
        assert_eq!(found_code, code, "{text}");
        assert!(told.split('|').all(|told| text.contains(told)), "{text}");
        // In an exploration, kernels are always checked.
        let failure =
            Explore::new().run(|device| run(&Context::new(device).unwrap().stream().unwrap())).unwrap_err();
        let Wrong::Found(finding) = &failure.wrong else { panic!("{failure}") };
        assert_eq!(finding.code, code, "{failure}");
    }
}

#[test]
fn an_input_that_is_missed_is_a_lint() {
    for (mistake, missed) in [(0, false), (3, true)] {
        let (found, lints) = findings(|stream| {
            let from = Array::from_slice(stream, &[3], &[1.0_f32, 2.0, 3.0])?;
            let more = Array::from_slice(stream, &[3], &[10.0_f32, 20.0, 30.0])?;
            Sums::launch(stream, &from, &more, &mut Array::zeros(stream, &[3])?, mistake)
        });
        assert_eq!(found, []);
        if missed {
            let (code, text) = only(&lints);
            assert_eq!(code, Code::UnusedInput);
            assert!(text.starts_with("lint[DA29]: nothing that `Sums` writes depends on buffer"), "{text}");
            assert!(text.contains("it is argument `more` of kernel `Sums`"), "{text}");
        } else {
            assert_eq!(lints, []);
        }
    }
}

#[test]
fn a_read_of_what_nobody_wrote_is_found_by_argument() {
    let (found, _) = findings(|stream| {
        let x = Array::<f32, _>::uninit(stream, &[4])?;
        Scale::launch(stream, &x, &mut Array::uninit(stream, &[4])?, 1.0)
    });
    let (code, text) = only(&found);
    assert_eq!(code, Code::Uninitialized);
    assert!(text.contains("it is argument `from` of kernel `Scale`"), "{text}");
    // Memory that is written completely has a value afterwards; memory that is written in part had
    // a value before.
    for (written, due) in [(true, 0), (false, 1)] {
        let (found, _) = findings(|stream| {
            let from = Array::full(stream, &[2, 2], 1)?;
            let mut to = Array::uninit(stream, &[2, 2])?;
            if written {
                to.view_mut().fill(stream, 1)?;
            }
            AddTo::launch(stream, &from, &mut to)?;
            to.to_vec(stream).map(drop)
        });
        assert_eq!(found.len(), due, "{found:?}");
    }
}

/// Enqueues a fill on one stream and a kernel on another, in either order.
fn relay(device: MockDevice, waits: bool, kernel_first: bool) {
    let context = Context::new(device).unwrap();
    // SAFETY: deliberately not ordered if `waits` is false; the simulator defines the effect.
    let one = unsafe { context.unchecked_stream() }.unwrap();
    // SAFETY: as above.
    let two = unsafe { context.unchecked_stream() }.unwrap();
    let mut x = Array::full(&one, &[16], 1.0_f32).unwrap();
    let mut y = Array::full(&one, &[16], 2.0_f32).unwrap();
    one.synchronize().unwrap();
    if kernel_first {
        Scale::launch(&two, &x, &mut y, 5.0).unwrap();
    }
    if waits && kernel_first {
        one.wait(&two.record().unwrap()).unwrap();
    }
    x.view_mut().fill(&one, 3.0).unwrap();
    if !kernel_first {
        if waits {
            two.wait(&one.record().unwrap()).unwrap();
        }
        Scale::launch(&two, &x, &mut y, 5.0).unwrap();
    }
    one.wait(&two.record().unwrap()).unwrap();
    let due = if kernel_first { 5.0 } else { 15.0 };
    assert!(!waits || y.to_vec(&one).unwrap() == [due; 16]);
}

#[test]
fn a_missing_wait_is_found_and_the_wait_ends_it() {
    for kernel_first in [false, true] {
        let failure = Explore::new().run(|device| relay(device, false, kernel_first)).unwrap_err();
        let Wrong::Found(finding) = &failure.wrong else { panic!("{failure}") };
        assert_eq!(finding.code, Code::Race, "{failure}");
        let text = failure.to_string();
        assert!(text.contains("Scale") && text.contains("fill"), "both are named: {text}");
        if !kernel_first {
            assert!(text.contains("it is argument `from` of kernel `Scale`"), "{text}");
        }
        assert!(Explore::new().run(|device| relay(device, true, kernel_first)).is_ok());
    }
}

#[test]
fn a_launch_that_fails_changes_nothing_and_succeeds_when_made_again() {
    let (device, stream) = open();
    let x = Array::full(&stream, &[4], 2.0_f32).unwrap();
    let mut y = Array::full(&stream, &[4], 1.0_f32).unwrap();
    stream.synchronize().unwrap();
    let refused = Error::Driver { backend: "mock", operation: "Scale", code: 1, name: "planned".to_owned() };
    device.fail_next(Site::Launch, refused.clone());
    assert_eq!(Scale::launch(&stream, &x, &mut y, 3.0), Err(refused));
    assert_eq!(y.to_vec(&stream).unwrap(), [1.0; 4]);
    Scale::launch(&stream, &x, &mut y, 3.0).unwrap();
    assert_eq!(y.to_vec(&stream).unwrap(), [6.0; 4]);
}

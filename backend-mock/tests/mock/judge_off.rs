//! Without the judge, the simulator does not look for mistakes, whatever other options are set. With the judge,
//! it finds each of these mistakes. It refuses impossible calls in both cases.
#![allow(unsafe_code)] // opens unchecked streams, adopts memory twice, plays other code
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{
    Array, Context, Layout, Order, Result, StreamHandle,
    backend::HostFlags,
    function::Operands as _,
    gather::{OutOfRange, Repeats},
    kernel::{Grid, Image, In, Out},
};
use devarray_mock::{Access, Code, MockDevice};

use crate::{
    declared::{buffer, set},
    support::{Host, PLAIN, Queue},
};

devarray::kernel! {
    /// Makes the mistake that `how` names.
    struct Wrong(from: In<u32>, to: Out<u32>, how: u32);
    image = Image::none();
    launch { Grid::elements(to.len(), 32) }
    host {
        let (start, len) = (to.as_mut_ptr(), to.len());
        for (at, to) in to.iter_mut().enumerate().skip(usize::from(how == 1)) {
            *to = if how == 2 { to.wrapping_add(1) } else if how == 3 { 7 } else { from[at] };
        }
        if how == 4 {
            // SAFETY: after the last element; that is the mistake to be found, inside the
            // simulator's guard.
            unsafe { start.wrapping_add(len).write(7) }
        }
        assert!(how != 5, "told to");
    }
}

type Program = fn(&MockDevice, &StreamHandle<MockDevice>) -> Result<()>;

fn put(stream: &StreamHandle<MockDevice>, by: [i64; 3], repeats: Repeats) -> Result<()> {
    let mut x = Array::<u16, _>::zeros(stream, &[3])?;
    let (by, values) = (Array::from_slice(stream, &[3], &by)?, Array::ones(stream, &[3])?);
    x.view_mut().put(stream, &by, &values, 0, OutOfRange::Wrap, repeats)
}

fn launch(stream: &StreamHandle<MockDevice>, how: u32) -> Result<()> {
    let from = Array::from_slice(stream, &[3], &[1_u32, 2, 3])?;
    Wrong::launch(stream, &from, &mut Array::<u32, _>::zeros(stream, &[3])?, how)
}

/// Each program makes one mistake, or does something slow.
const MISTAKES: [(Code, Program); 17] = [
    (Code::RepeatedIndex, |_, stream| put(stream, [1, 0, 1], Repeats::None)),
    (Code::RepeatedIndex, |_, stream| put(stream, [1, 0, -3], Repeats::None)),
    (Code::RepeatedIndex, |_, stream| {
        let mut x = Array::<u64, _>::zeros(stream, &[2, 2])?;
        let by = Array::from_slice(stream, &[2, 2], &[0, 1, 1, 1])?;
        let values = Array::ones(stream, &[2, 2])?;
        x.view_mut().put_along_axis(stream, &by, &values, 1, OutOfRange::Error, Repeats::None)
    }),
    (Code::Uninitialized, |_, stream| Array::<u8, _>::uninit(stream, &[4])?.to_vec(stream).map(drop)),
    (Code::Uninitialized, |_, stream| Array::<u8, _>::uninit(stream, &[4])?.map(stream, |x| x + 1).map(drop)),
    (Code::Uninitialized, |_, stream| {
        let by = Array::from_slice(stream, &[2], &[1, 0])?;
        Array::<u8, _>::uninit(stream, &[4])?.take(stream, &by, 0, OutOfRange::Clamp).map(drop)
    }),
    (Code::Uninitialized, |_, stream| {
        // The mistake is known only at run time: the put left out an element.
        let mut x = Array::<u16, _>::uninit(stream, &[2])?;
        let by = Array::from_slice(stream, &[1], &[1])?;
        x.view_mut().put(stream, &by, &Array::ones(stream, &[1])?, 0, OutOfRange::Error, Repeats::None)?;
        x.sum(stream, ..).map(drop)
    }),
    (Code::Race, |_, stream| {
        // SAFETY: deliberately not ordered; the simulator defines the effect.
        let other = unsafe { stream.context().unchecked_stream() }?;
        let mut x = Array::<u8, _>::zeros(stream, &[4])?;
        stream.synchronize()?;
        x.view_mut().fill(&other, 1)?;
        // SAFETY: as above.
        let third = unsafe { stream.context().unchecked_stream() }?;
        x.view_mut().fill(&third, 2)?;
        other.synchronize()?;
        third.synchronize()
    }),
    (Code::Overlap, |_, stream| {
        // SAFETY: all work is on this one stream.
        let stream = unsafe { stream.context().unchecked_stream() }?;
        let released = Array::<u8, _>::zeros(&stream, &[8])?.release(&stream)?;
        let adopted = |start: usize| {
            let layout = Layout::new(&[4], &[1], start)?;
            // SAFETY: inside the memory, which is never freed.
            unsafe { Array::<u8, _>::adopt(&stream, released.address(), &layout, ()) }
        };
        let (from, mut to) = (adopted(0)?, adopted(2)?);
        (&from,).map_into(&stream, &mut to.view_mut(), |(x,)| x + 1)
    }),
    (Code::HostRead, |device, _| {
        let queue = Queue::open(device);
        let (buffer, host) = (queue.alloc(8), Host::new(device, &[0; 8]));
        queue.fill(&buffer, 0, 8, 1)?;
        queue.download(&buffer, 0, &host)?;
        device.host_access(&host.0, 0..8, Access::Read);
        queue.synchronize();
        queue.free(buffer)
    }),
    (Code::UseAfterFree, |device, _| {
        let (one, two) = (Queue::open(device), Queue::open(device));
        let buffer = one.alloc(8);
        one.synchronize();
        two.fill(&buffer, 0, 8, 1)?;
        one.free(buffer)
    }),
    (Code::Undeclared, |_, stream| {
        let array = Array::<u8, _>::zeros(stream, &[4])?;
        let (memory, all) = (buffer(&array), Layout::contiguous(&[4], Order::C)?);
        stream.foreign_work().enqueue(|raw| set(raw, &memory, &all))
    }),
    (Code::OutsideArgument, |_, stream| launch(stream, 4)),
    (Code::Unwritten, |_, stream| launch(stream, 1)),
    (Code::UndeclaredRead, |_, stream| launch(stream, 2)),
    (Code::UnusedInput, |_, stream| launch(stream, 3)),
    (Code::NeedlessSync, |_, stream| {
        stream.synchronize()?;
        stream.synchronize()
    }),
];

/// Programs that are refused.
const REFUSED: [(Code, Program); 2] = [
    (Code::OutOfBounds, |device, _| {
        let queue = Queue::open(device);
        let buffer = queue.alloc(8);
        assert!(queue.fill(&buffer, 4, 8, 1).is_err());
        queue.free(buffer)
    }),
    (Code::HostPanicked, |_, stream| launch(stream, 5)),
];

/// Runs a program, and returns each code of its findings and lints once.
fn found(judge: bool, program: Program) -> Vec<Code> {
    let device = MockDevice::builder().judge(judge).check_kernels(true).lints(true).build();
    let stream = Context::new(device.clone()).unwrap().stream().unwrap();
    program(&device, &stream).expect(PLAIN);
    let report = device.report();
    let mut codes = Vec::new();
    for finding in report.findings.iter().chain(&report.lints) {
        if !codes.contains(&finding.code) {
            codes.push(finding.code);
        }
    }
    codes
}

#[test]
fn without_the_judge_no_mistake_is_found_and_with_it_each() {
    for (at, (code, program)) in MISTAKES.into_iter().enumerate() {
        let judged = found(true, program);
        assert!(judged.contains(&code), "{at}: {code} is not among {judged:?}");
        assert_eq!(found(false, program), [], "{at}: {code}");
    }
}

#[test]
fn what_cannot_be_done_is_found_either_way() {
    for (code, program) in REFUSED {
        assert!(found(true, program).contains(&code));
        assert_eq!(found(false, program), [code]);
    }
}

/// Only the judge reports that the host reads slow memory.
#[test]
fn a_slow_read_is_no_lint_without_the_judge() {
    for (judge, due) in [(true, vec![Code::SlowRead]), (false, vec![])] {
        let device = MockDevice::builder().judge(judge).lints(true).build();
        let context = Context::new(device.clone()).unwrap();
        let pinned = context.pinned_with::<u8>(8, HostFlags::new().write_combined()).unwrap();
        let _ = pinned[0];
        let codes: Vec<Code> = device.report().lints.iter().map(|lint| lint.code).collect();
        assert_eq!(codes, due);
    }
}

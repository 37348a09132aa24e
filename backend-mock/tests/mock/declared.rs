//! Compares work of other code with the accesses that it declared.
#![allow(unsafe_code, clippy::unwrap_used)] // stands for other code; helpers of tests

use devarray::{
    Array, Context, Layout, StreamHandle,
    backend::{Buffer, Capabilities, CopyOp, Device, FillOp, Stream},
    copy::Plan,
    ix,
};
use devarray_mock::{Access, Code, Explore, Finding, MockBuffer, MockDevice, MockStream};

type Bytes = Array<u8, MockDevice>;

/// Sets the bytes of a layout, like a kernel of other code.
pub(crate) fn set(stream: &MockStream, to: &MockBuffer, layout: &Layout) -> devarray::Result<()> {
    let plan = Plan::new(layout, layout, 1, &Capabilities::default())?;
    // SAFETY: inside the buffer; the test examines whether it is declared.
    stream.fill(&unsafe { FillOp::new_unchecked(to, &plan, &[7]) })
}

/// Copies the bytes of a layout, like a kernel of other code.
fn copy(
    stream: &MockStream,
    to: (&MockBuffer, &Layout),
    from: (&MockBuffer, &Layout),
) -> devarray::Result<()> {
    let plan = Plan::new(to.1, from.1, 1, &Capabilities::default())?;
    // SAFETY: inside both buffers; the test examines whether it is declared.
    stream.copy(&unsafe { CopyOp::new_unchecked(to.0, from.0, &plan) })
}

fn line(len: usize, offset: usize) -> Layout {
    Layout::new(&[len], &[1], offset).unwrap()
}

/// Runs a program on two streams, and returns the findings.
fn found(program: impl Fn(&StreamHandle<MockDevice>, &mut Bytes, &mut Bytes)) -> Vec<Finding> {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
    let mut arrays = [8, 100].map(|len| Array::zeros(&one, &[len]).unwrap());
    let [first, second] = &mut arrays;
    program(&two, first, second);
    drop((arrays, one, two, context));
    device.report().findings
}

pub(crate) fn buffer(array: &Bytes) -> MockBuffer {
    array.view().buffer().unwrap().twin()
}

#[test]
fn one_element_declared_and_all_filled_is_found_under_every_schedule() {
    for whole in [false, true] {
        let runs = Explore::new().run(|device| {
            let context = Context::new(device).unwrap();
            let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
            let mut array = Array::<u8, _>::zeros(&one, &[100]).unwrap();
            let target = buffer(&array);
            let mut declared = array.view_mut().slice_axis(0, if whole { 0..100 } else { 40..41 }).unwrap();
            two.foreign_work().writes(&mut declared).enqueue(|raw| set(raw, &target, &line(100, 0))).unwrap();
        });
        if whole {
            runs.unwrap();
        } else {
            let text = runs.unwrap_err().to_string();
            let due = "error[DA13]: written by work of other code that did not declare it: buffer 0.0, bytes 0x0..0x28 of 0x64";
            assert!(text.contains(due), "{text}");
            assert!(text.contains("touched: bytes 0x0..0x64 of buffer 0.0"), "{text}");
            assert!(text.contains("declared: writes bytes 0x28..0x29 of buffer 0.0"), "{text}");
            assert!(text.contains("tests/mock/declared.rs"), "{text}");
        }
    }
}

/// Declarations are exact to the byte, for layouts with gaps. Each case has its twin.
#[test]
fn what_lies_between_declared_elements_is_not_declared() {
    let grid = Layout::new(&[10, 3], &[10, 1], 2).unwrap();
    for (touched, missing) in [
        (grid.clone(), None),
        (grid.flip(&[0, 1]).unwrap(), None),
        (grid.index(&ix![..;3, 1]).unwrap(), None),
        (Layout::new(&[10, 4], &[10, 1], 2).unwrap(), Some(5..6)),
        (Layout::new(&[10, 3], &[10, 1], 1).unwrap(), Some(1..2)),
        (line(3, 42), None),
        (line(4, 42), Some(45..46)),
        (line(100, 0), Some(0..2)),
    ] {
        let findings = found(|stream, _, array| {
            let target = buffer(array);
            let mut view = array.view_mut().reshape(&[10, 10], devarray::Order::C).unwrap();
            let mut declared = view.reborrow().index(&ix![.., 2..5]).unwrap();
            stream.foreign_work().writes(&mut declared).enqueue(|raw| set(raw, &target, &touched)).unwrap();
        });
        let bytes = findings.first().map(|finding| finding.bytes.clone());
        assert_eq!((bytes, findings.len()), (missing.clone(), usize::from(missing.is_some())), "{touched:?}");
        assert!(
            findings
                .iter()
                .all(|finding| (finding.code, finding.access) == (Code::Undeclared, Access::Write))
        );
    }
}

#[test]
fn reading_is_declared_by_either_and_writing_by_writing() {
    for (declares, due) in [
        ("nothing", &[Access::Read, Access::Write][..]),
        ("read", &[Access::Write]),
        ("written", &[Access::Read]),
        ("both, the target written", &[]),
        ("both, read", &[Access::Write]),
    ] {
        let findings = found(|stream, small, large| {
            let (from, to) = (buffer(large), buffer(small));
            let kernel = |raw: &MockStream| copy(raw, (&to, &line(8, 0)), (&from, &line(8, 50)));
            let source = large.view().slice_axis(0, 50..58).unwrap();
            let done = if declares == "both, read" {
                let target = small.view();
                stream.foreign_work().reads(&source).reads(&target).enqueue(kernel)
            } else {
                let mut target = small.view_mut();
                let work = stream.foreign_work();
                match declares {
                    "nothing" => work.enqueue(kernel),
                    "read" => work.reads(&source).enqueue(kernel),
                    "written" => work.writes(&mut target).enqueue(kernel),
                    _ => work.reads(&source).writes(&mut target).enqueue(kernel),
                }
            };
            done.unwrap();
        });
        let undeclared = findings.iter().filter(|finding| finding.code == Code::Undeclared);
        let accesses: Vec<Access> = undeclared.map(|finding| finding.access).collect();
        assert_eq!(accesses, due, "{declares}");
    }
}

/// The simulator knows memory as an array's only after an operation of the library has used it, so the mistake
/// is found at that operation.
#[test]
fn an_array_that_was_just_made_is_found_when_it_is_used() {
    type Use = fn(&StreamHandle<MockDevice>, &Bytes);
    let uses: [Use; 3] = [
        |stream, array| drop(array.to_vec(stream).unwrap()),
        |stream, array| drop(array.try_clone(stream).unwrap()),
        |stream, array| stream.foreign_work().reads(&array.view()).enqueue(|_| Ok(())).unwrap(),
    ];
    for (used, declares) in uses.into_iter().flat_map(|used| [(used, false), (used, true)]) {
        let findings = found(|stream, small, _| {
            let mut made = Array::<u8, _>::uninit(stream, &[16]).unwrap();
            let target = buffer(&made);
            let work = |raw: &MockStream| set(raw, &target, &line(16, 0));
            if declares {
                stream.foreign_work().writes(&mut made.view_mut()).enqueue(work).unwrap();
            } else {
                stream.foreign_work().writes(&mut small.view_mut()).enqueue(work).unwrap();
            }
            used(stream, &made);
        });
        let codes: Vec<Code> = findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, if declares { vec![] } else { vec![Code::Undeclared] });
        assert!(
            declares || findings[0].to_string().contains("declared: writes bytes 0x0..0x8 of buffer 0.0")
        );
    }
}

/// Work on other code's own memory needs no declaration, and neither does work of the library on the stream at
/// that time.
#[test]
fn only_work_of_other_code_on_arrays_is_compared() {
    let findings = found(|stream, small, large| {
        let own = stream.raw().alloc(16.try_into().unwrap()).unwrap();
        let (target, mut view) = (buffer(small), small.view_mut());
        let work = stream.foreign_work().writes(&mut view);
        work.enqueue(|raw| {
            set(raw, &own, &line(16, 0))?;
            copy(raw, (&target, &line(8, 0)), (&own, &line(8, 8)))?;
            large.view_mut().fill(stream, 3)?; // work of the library, which orders itself
            let event = raw.record()?;
            raw.wait(&event)
        })
        .unwrap();
        // After the work of other code, the stream behaves as before.
        large.view_mut().fill(stream, 4).unwrap();
        assert_eq!(large.to_vec(stream).unwrap(), [4; 100]);
        // SAFETY: its last use is in the order of the stream.
        stream.raw().free(unsafe { devarray::backend::FreeOp::new_unchecked(own) }).unwrap();
    });
    assert_eq!(findings, []);
}

/// A view that repeats its elements declares them once; an empty view declares nothing.
#[test]
fn repeated_and_empty_views_declare_what_they_reach() {
    for (from, due) in [(0, 0), (1, 1)] {
        let findings = found(|stream, small, large| {
            let (source, target) = (buffer(large), buffer(small));
            let one = large.view().slice_axis(0, 0..4).unwrap();
            let many = one.broadcast_to(&[1 << 40, 1 << 20, 4]).unwrap();
            let nothing = large.view().slice_axis(0, 7..7).unwrap();
            let work = stream.foreign_work().reads(&many).reads(&nothing);
            let mut all = small.view_mut();
            let work = work.writes(&mut all);
            work.enqueue(|raw| copy(raw, (&target, &line(4, 0)), (&source, &line(4, from)))).unwrap();
        });
        assert_eq!(findings.len(), due, "{findings:?}");
    }
}

/// Without the judge nothing is found, and the stream keeps its device.
#[test]
fn without_a_judge_nothing_is_compared() {
    let device = MockDevice::builder().judge(false).build();
    let stream = Context::new(device.clone()).unwrap().stream().unwrap();
    let array = Array::<u8, _>::zeros(&stream, &[4]).unwrap();
    let target = buffer(&array);
    stream.foreign_work().enqueue(|raw| set(raw, &target, &line(4, 0))).unwrap();
    assert_eq!((device.report().findings.len(), device.info().ordinal), (0, 0));
}

/// The array is part of other code's memory. If other code declares a part of this memory, it may touch this part
/// alone; if it declares nothing, it may touch all of the memory.
#[test]
fn memory_of_which_a_part_is_declared_is_declared_by_that_part_alone() {
    for (declares, touched, due) in [
        (true, 20..30, None),
        (true, 20..31, Some(30..31)),
        (true, 0..100, Some(0..20)),
        (false, 0..100, None),
    ] {
        let device = MockDevice::new();
        let context = Context::new(device.clone()).unwrap();
        let stream = context.stream().unwrap();
        let memory = stream.raw().alloc(100.try_into().unwrap()).unwrap();
        // SAFETY: inside the memory, which is freed after all uses.
        let mut array =
            unsafe { Array::<u8, _>::adopt(&stream, memory.address() + 20, &line(40, 0), ()) }.unwrap();
        let mut part = array.view_mut().slice_axis(0, 0..10).unwrap();
        let work = stream.foreign_work();
        let work = if declares { work.writes(&mut part) } else { work };
        work.enqueue(|raw| set(raw, &memory, &line(touched.len(), touched.start))).unwrap();
        drop(array);
        // SAFETY: its last use is in the order of the stream.
        stream.raw().free(unsafe { devarray::backend::FreeOp::new_unchecked(memory) }).unwrap();
        drop((stream, context));
        let findings = device.report().findings;
        let found: Vec<_> = findings.iter().map(|found| (found.code, found.bytes.clone())).collect();
        let due: Vec<_> = due.map(|bytes| (Code::Undeclared, bytes)).into_iter().collect();
        assert_eq!(found, due, "{touched:?}");
    }
}

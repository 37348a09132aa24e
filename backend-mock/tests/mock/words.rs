//! The words of a finding fit the kind of its operation.
#![allow(unsafe_code)] // adopts one memory twice, on a stream whose program sees to order

use devarray::{
    Array, Context, Layout, Result, StreamHandle,
    function::Operands as _,
    gather::{OutOfRange, Repeats},
    kernel::{Grid, Image, In, InOut, Out},
};
use devarray_mock::{Code, MockDevice};

use crate::support::{PLAIN, Queue, linear};

/// The name of an operation of the library, which a kernel may also have.
mod named {
    use super::{Grid, Image, In, Out};

    devarray::kernel! {
        #[allow(non_camel_case_types)]
        pub(super) struct download(from: In<u8>, to: Out<u8>);
        image = Image::none();
        launch { Grid::elements(to.len(), 32) }
        host { to.copy_from_slice(from) }
    }
}

devarray::kernel! {
    struct AddTo(from: In<u8>, to: InOut<u8>);
    image = Image::none();
    launch { Grid::elements(to.len(), 32) }
    host { for (to, from) in to.iter_mut().zip(from) { *to = to.wrapping_add(*from) } }
}

type Stream = StreamHandle<MockDevice>;
type Reader = fn(&Stream, &Array<u8, MockDevice>) -> Result<()>;

/// Each operation that reads memory and needs its value, and the words for it.
const READERS: [(&str, Reader); 12] = [
    ("and brought to the host", |stream, x| x.to_vec(stream).map(drop)),
    ("and read by `map`", |stream, x| x.map(stream, |x| x + 1).map(drop)),
    ("and read by `map`", |stream, x| {
        (x, &Array::ones(stream, &[4])?)
            .map(stream, |(x, y): (_, devarray::function::Expression<u8>)| x + y)
            .map(drop)
    }),
    ("and read by `reduce`", |stream, x| x.sum(stream, ..).map(drop)),
    ("and read by `reduce`", |stream, x| x.argmax(stream, ..).map(drop)),
    ("and read by `take`", |stream, x| {
        x.take(stream, &Array::from_slice(stream, &[4], &[3, 2, 1, 0])?, 0, OutOfRange::Error).map(drop)
    }),
    ("and read by `take_along_axis`", |stream, x| {
        let by = Array::from_slice(stream, &[4], &[3_u32, 2, 1, 0])?;
        x.take_along_axis(stream, &by, 0, OutOfRange::Wrap).map(drop)
    }),
    ("and read by `put`", |stream, x| {
        let by = Array::from_slice(stream, &[4], &[3_i64, 2, 1, 0])?;
        let mut to = Array::<u8, _>::zeros(stream, &[4])?;
        to.view_mut().put(stream, &by, x, 0, OutOfRange::Error, Repeats::None)
    }),
    ("and read by `extract`", |stream, x| {
        let mask = Array::<u8, _>::ones(stream, &[4])?.map(stream, |x| x.equal(1))?;
        let (mut room, mut count) = (Array::uninit(stream, &[4])?, Array::uninit(stream, &[])?);
        x.view().extract_into(stream, &mask, &mut room.view_mut(), &mut count.view_mut())
    }),
    ("and read by `download`", |stream, x| {
        named::download::launch(stream, x, &mut Array::zeros(stream, &[4])?)
    }),
    ("and read by `AddTo`", |stream, x| AddTo::launch(stream, x, &mut Array::zeros(stream, &[4])?)),
    ("and brought to the host", |stream, x| {
        // The words do not depend on the number of copies in between.
        x.view().flip(&[0])?.to_contiguous(stream, devarray::Order::C)?.to_vec(stream).map(drop)
    }),
];

/// The headlines of the findings when four elements are read, after a put at the indices `put`. Without
/// `put`, no element was written.
fn headlines(put: Option<&[u32]>, read: Reader) -> Result<Vec<String>> {
    let device = MockDevice::new();
    let stream = Context::new(device.clone())?.stream()?;
    let mut x = Array::<u8, _>::uninit(&stream, &[4])?;
    if let Some(put) = put {
        let values = Array::ones(&stream, &[put.len()])?;
        let by = Array::from_slice(&stream, &[put.len()], put)?;
        x.view_mut().put(&stream, &by, &values, 0, OutOfRange::Error, Repeats::None)?;
    }
    read(&stream, &x)?;
    stream.synchronize()?;
    drop(x);
    Ok(device.report().findings.iter().map(ToString::to_string).collect())
}

#[test]
fn what_was_never_written_is_told_with_the_operation_that_read_it() -> Result<()> {
    for (words, read) in READERS {
        // The mistake is found when the read is enqueued, or only when it runs.
        for put in [None, Some(&[0, 3][..])] {
            let found = headlines(put, read)?;
            let start = format!("error[DA10]: never given a value, {words}: buffer ");
            assert!(!found.is_empty() && found[0].starts_with(&start), "{words}: {found:#?}");
        }
        assert_eq!(headlines(Some(&[0, 1, 2, 3]), read)?, [""; 0], "{words}");
    }
    Ok(())
}

/// A finding about a kernel names the argument, even if the mistake is found only at run time.
#[test]
fn a_kernel_is_told_with_its_argument() -> Result<()> {
    for put in [None, Some(&[0, 3][..])] {
        let read: Reader = |stream, x| AddTo::launch(stream, x, &mut Array::zeros(stream, &[4])?);
        let found = headlines(put, read)?;
        assert!(found[0].contains("it is argument `from` of kernel `AddTo`"), "{found:#?}");
    }
    Ok(())
}

type Bytes = Array<u8, MockDevice>;

type Move = fn(&Stream, &Bytes, &mut Bytes) -> Result<()>;

/// Operations on two arrays in one memory.
const OVERLAPS: [(&str, Move); 5] = [
    ("source and destination share bytes of buffer ", |stream, from, to| {
        to.view_mut().copy_from(stream, &from.view())
    }),
    ("`map` writes bytes that it also reaches another way: buffer ", |stream, from, to| {
        (from,).map_into(stream, &mut to.view_mut(), |(x,)| x + 1)
    }),
    ("`take` writes bytes that it also reaches another way: buffer ", |stream, from, to| {
        let by = Array::from_slice(stream, &[4], &[3, 2, 1, 0])?;
        from.view().take_into(stream, &by, 0, OutOfRange::Error, &mut to.view_mut())
    }),
    ("`put` writes bytes that it also reaches another way: buffer ", |stream, from, to| {
        let by = Array::from_slice(stream, &[4], &[3, 2, 1, 0])?;
        to.view_mut().put(stream, &by, from, 0, OutOfRange::Error, Repeats::Last)
    }),
    ("`reduce` writes bytes that it also reaches another way: buffer ", |stream, from, to| {
        use devarray::function::{DeviceFunction, ElementType, Function, Scan, ScanOperation};
        let identity = Function::parse("x0", &[ElementType::U8], &[])?;
        let running = Scan::new(ScanOperation::Maximum, 0);
        let mut to = to.view_mut().into_erased();
        identity.scan_into(stream, &[from.view().as_erased().clone()], &[], running, &mut to)
    }),
];

#[test]
fn what_reads_what_it_writes_is_told_by_its_own_words() -> Result<()> {
    for (words, run) in OVERLAPS {
        for (start, is_wrong) in [(2, true), (4, false)] {
            let device = MockDevice::new();
            // SAFETY: all work is on this one stream.
            let stream = unsafe { Context::new(device.clone())?.unchecked_stream() }?;
            let released = Array::<u8, _>::zeros(&stream, &[8])?.release(&stream)?;
            let adopted = |start: usize| {
                let layout = Layout::new(&[4], &[1], start)?;
                // SAFETY: inside the memory, which is never freed.
                unsafe { Array::<u8, _>::adopt(&stream, released.address(), &layout, ()) }
            };
            run(&stream, &adopted(0)?, &mut adopted(start)?)?;
            stream.synchronize()?;
            let found: Vec<String> = device.report().findings.iter().map(|f| f.headline()).collect();
            assert_eq!(found.len(), usize::from(is_wrong), "{words}: {found:?}");
            assert!(found.iter().all(|found| found.starts_with(words)), "{words}: {found:?}");
        }
    }
    Ok(())
}

/// The finding about a free that comes too early speaks of a free, and not of a use.
#[test]
fn a_free_is_told_as_one() {
    let device = MockDevice::new();
    let (one, two) = (Queue::open(&device), Queue::open(&device));
    let [free, copy] = [one.alloc(8), one.alloc(8)];
    let target = two.alloc(8);
    two.free(free).expect(PLAIN);
    two.copy_plan(&target, &copy, &linear(0, 0, 8)).expect(PLAIN);
    let found: Vec<(Code, String)> =
        device.report().findings.iter().map(|finding| (finding.code, finding.headline())).collect();
    let told = |words: &str, buffer| {
        (
            Code::UseBeforeAlloc,
            format!("{words} before its allocation takes effect: buffer {buffer}, bytes 0x0..0x8 of 0x8"),
        )
    };
    assert_eq!(found, [told("freed", "0.0"), told("used", "1.0")]);
}

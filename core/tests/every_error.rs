//! Every variant of the errors is reached through the public API and has its text word for word;
//! none of these failures costs anything: the stream and its arrays work as before.
#![allow(unsafe_code, clippy::unwrap_used)] // helpers of tests; asks for what is refused

#[path = "every_error/layouts.rs"]
mod layouts;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use devarray::{
    Array, Context, Error, StreamHandle,
    backend::Quiesced,
    collective::{Communicator, CommunicatorId},
    function::Expression,
    gather::OutOfRange,
    kernel::{Grid, Image, In, Out},
    memory::{AllocationRecord, MemoryHook},
};
use devarray_any::AnyDevice;
use devarray_mock::{MockDevice, Site};
use layouts::OF_LAYOUTS;

/// A record whose first field does not divide it.
#[derive(Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Triple {
    wide: [u32; 2],
    narrow: u32,
}

devarray::kernel! {
    struct Negate(from: In<u32>, to: Out<u32>);
    image = Image::none();
    launch { Grid::elements(to.len(), 64) }
    host { for (to, from) in to.iter_mut().zip(from) { *to = from.wrapping_neg() } }
}

/// The things that a failure may need: a device, a stream, an array of shape [2, 3] and one of
/// shape [6].
struct Setting {
    device: MockDevice,
    stream: StreamHandle<MockDevice>,
    grid: Array<u32, MockDevice>,
    line: Array<u32, MockDevice>,
}

impl Setting {
    fn new() -> Self {
        let device = MockDevice::builder().memory_limit_bytes(1 << 16).build();
        let stream = Context::new(device.clone()).unwrap().stream().unwrap();
        let grid = Array::from_slice(&stream, &[2, 3], &[0, 1, 2, 3, 4, 5]).unwrap();
        let line = Array::from_slice(&stream, &[6], &[0, 1, 2, 3, 4, 5]).unwrap();
        Self { device, stream, grid, line }
    }

    /// Checks that the stream works, the arrays hold what they held, and no error is left.
    fn assert_intact(&self, after: &str) {
        let Self { stream, grid, line, .. } = self;
        assert_eq!(grid.to_vec(stream).unwrap(), [0, 1, 2, 3, 4, 5], "{after}");
        assert_eq!(line.to_vec(stream).unwrap(), [0, 1, 2, 3, 4, 5], "{after}");
        assert_eq!(Array::<u8, _>::zeros(stream, &[7]).unwrap().to_vec(stream).unwrap(), [0; 7], "{after}");
        assert_eq!(stream.context().take_errors(), [], "{after}");
    }
}

/// Makes one call fail.
type Failure = fn(&mut Setting) -> Option<Error>;

/// A variant, a call that fails with it, and the expected message.
type Case = (&'static str, Failure, &'static str);

fn planned(setting: &Setting, error: Error) {
    setting.device.fail_next(Site::Alloc, error);
}

fn driver() -> Error {
    Error::Driver { backend: "mock", operation: "alloc", code: 999, name: "UNKNOWN".into() }
}

/// The failures that name a backend and an operation.
const OF_BACKENDS: &[Case] = &[
    (
        "Unavailable",
        |s| {
            let reason = "no device".to_owned();
            s.device.fail_next(Site::OpenStream, Error::Unavailable { backend: "mock", reason });
            s.stream.context().stream().err()
        },
        "mock: open: not available: no device",
    ),
    (
        "OutOfMemory",
        |s| Array::<u64, _>::zeros(&s.stream, &[1 << 20]).err(),
        "mock: alloc: out of memory: 8388608 bytes requested, 65488 free of 65536; live: 48 bytes in 2 untagged",
    ),
    (
        "Function",
        |s| s.grid.map(&s.stream, |x| x + Expression::position(300).cast::<u32>()).err(),
        "no result has an axis 300",
    ),
    ("Order", |s| s.grid.topk(&s.stream, 4, 1).err(), "the first 4 of 3 elements"),
    (
        "Product",
        |s| s.grid.matmul(&s.stream, &s.grid).err(),
        "[2, 3] @ [2, 3]: the sum is over 3 elements on the left, and 2 on the right",
    ),
    (
        "Recording",
        |s| s.stream.record_work((&s.line,), |on, _| on.synchronize()).err(),
        "synchronize: this cannot be recorded",
    ),
    (
        "Collective",
        |s| Communicator::join(&s.stream.context(), &CommunicatorId::new(), 2, 2).err(),
        "mock: join: there is no rank 2 of 2",
    ),
    (
        "HookPanicked",
        |s| {
            struct Panics;
            impl MemoryHook for Panics {
                fn allocated(&self, _: &AllocationRecord) {
                    panic!("on purpose");
                }
            }
            let context = s.stream.context();
            context.set_memory_hook(Some(Arc::new(Panics)));
            drop(Array::<u8, _>::zeros(&s.stream, &[4]).unwrap());
            context.set_memory_hook(None);
            context.take_errors().pop()
        },
        "mock: allocated: a memory hook panicked: on purpose",
    ),
    (
        "OwnerPanicked",
        |s| {
            struct Panics;
            impl Drop for Panics {
                fn drop(&mut self) {
                    panic!("on purpose");
                }
            }
            let layout = devarray::Layout::contiguous(&[6], devarray::Order::C).unwrap();
            // SAFETY: the memory of `line`, which nobody else uses meanwhile.
            let lent = unsafe { Array::<u32, _>::adopt(&s.stream, s.line.view().address(), &layout, Panics) };
            drop(lent.unwrap());
            s.stream.context().take_errors().pop()
        },
        "mock: drop: the owner of adopted memory panicked: on purpose",
    ),
    (
        "Layout",
        |s| Array::<u64, _>::zeros(&s.stream, &[usize::MAX, 2]).err(),
        "extents, strides or offset overflow",
    ),
    (
        "Kernel",
        |s| Negate::launch(&s.stream, &s.grid.transpose(), &mut s.line).err(),
        "mock: Negate: argument `from` must be C-contiguous: `to_contiguous(&stream, Order::C)` makes it so",
    ),
    (
        "Index",
        |s| {
            let wrong = Array::from_slice(&s.stream, &[2], &[0, -3]).unwrap();
            drop(s.grid.take(&s.stream, &wrong, 0, OutOfRange::Error).unwrap());
            s.stream.synchronize().err()
        },
        "mock: take: index -3 at position 1 is out of range for axis 0 of extent 2",
    ),
    (
        "DeviceMismatch",
        |s| {
            let stranger = Context::new(MockDevice::new()).unwrap().stream().unwrap();
            s.grid.to_vec(&stranger).err()
        },
        "mock: download: an array, stream or event of another context was given",
    ),
    (
        "Hazard",
        |s| {
            let strict = s.stream.context().strict_stream().unwrap();
            s.line.view_mut().fill(&s.stream, 0).unwrap();
            let refused = s.line.to_vec(&strict).err();
            s.line.view_mut().copy_from_slice(&s.stream, &[0, 1, 2, 3, 4, 5]).unwrap();
            refused
        },
        "mock: download: conflicts with an earlier write of bytes 0..24 on stream 1: wait for an event of that stream first",
    ),
    (
        "Unsupported",
        |_| {
            let plain =
                MockDevice::builder().capabilities(devarray::backend::Capabilities::default()).build();
            Context::new(plain).unwrap().stream().unwrap().record_timed().err()
        },
        "mock: record_timed: not supported: event timing",
    ),
    (
        "Library",
        |s| {
            let (backend, operation, library) = ("mock", "alloc", "cuBLASLt");
            let reason = "no libcublasLt.so.12".to_owned();
            planned(s, Error::Library { backend, operation, library, reason });
            Array::<u8, _>::zeros(&s.stream, &[4]).err()
        },
        "mock: alloc: cuBLASLt is not available: no libcublasLt.so.12",
    ),
    (
        "OutOfReach",
        |_| {
            let device = AnyDevice::from(MockDevice::new());
            let stream = Context::new(device).unwrap().stream().unwrap();
            Array::<u8, _>::zeros(&stream, &[4]).unwrap().host().err()
        },
        "mock: host: the host does not reach this memory in place; `to_vec` and `to_host` copy its elements, and \
         `copy_from_slice` copies them back",
    ),
    (
        "Handle",
        |s| {
            let array = Array::<u8, _>::zeros_exportable(&s.stream, &[4]).unwrap();
            let exported = array.export(&s.stream).unwrap();
            // SAFETY: this process made it itself, so it is refused, and nothing is opened.
            unsafe { Array::<u8, _>::open(&s.stream, exported.array()) }.err()
        },
        "mock: open: the handle cannot be opened: it was made by this process, which has the thing itself",
    ),
    (
        "Driver",
        |s| {
            planned(s, driver());
            Array::<u8, _>::zeros(&s.stream, &[4]).err()
        },
        "mock: alloc: driver error UNKNOWN (999)",
    ),
    (
        "DeviceLost",
        |_| {
            let mut other = Setting::new();
            let name = "ECC_UNCORRECTABLE".to_owned();
            planned(&other, Error::DeviceLost { backend: "mock", operation: "alloc", code: 214, name });
            let lost = Array::<u8, _>::zeros(&other.stream, &[4]).err();
            assert_eq!(other.line.view_mut().fill(&other.stream, 1).err(), lost, "the device stays lost");
            lost
        },
        "mock: alloc: device lost: ECC_UNCORRECTABLE (214)",
    ),
];

/// The name of a variant: the word with which `Debug` begins.
fn variant(error: &impl std::fmt::Debug) -> String {
    let text = format!("{error:?}");
    text.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default().to_owned()
}

/// The variants of the enum in a source file.
fn variants(source: &str, name: &str) -> BTreeSet<String> {
    let start = source.find(&format!("pub enum {name} {{")).unwrap();
    let body = &source[start..start + source[start..].find("\n}").unwrap()];
    let is_name =
        |line: &&str| line.starts_with("    ") && line[4..].starts_with(|c: char| c.is_ascii_uppercase());
    let head = |line: &str| line.trim().split(['(', ' ', ',']).next().unwrap().to_owned();
    body.lines().filter(is_name).map(head).collect()
}

fn reached(failures: &[Case]) -> BTreeMap<String, Error> {
    let mut reached = BTreeMap::new();
    for (name, failure, text) in failures {
        let mut setting = Setting::new();
        let error = failure(&mut setting).unwrap_or_else(|| panic!("{name}: the call succeeded"));
        setting.assert_intact(name);
        let found = match &error {
            Error::Layout(inner, ..) if *name != "Layout" => variant(inner),
            other => variant(other),
        };
        assert_eq!(found, *name, "{error}");
        // Errors of shapes and indices end with the line of the call, which is one of this test's.
        let at = error.location().map_or(String::new(), |at| format!(", at {at}"));
        assert_eq!(error.to_string(), format!("{text}{at}"), "{name}");
        assert_eq!(
            error.location().is_some(),
            matches!(
                error,
                Error::Layout(..)
                    | Error::Order(..)
                    | Error::Product(..)
                    | Error::Recording { .. }
                    | Error::Collective { .. }
                    | Error::Index { .. }
            ),
            "{name}"
        );
        assert!(error.location().is_none_or(|at| at.file().contains("every_error")), "{name}: {error}");
        reached.insert(found, error);
    }
    reached
}

#[test]
fn every_layout_error_is_reached_and_says_what_was_wrong() {
    let reached = reached(OF_LAYOUTS);
    let all = variants(include_str!("../layout/src/error.rs"), "LayoutError");
    assert_eq!(reached.keys().cloned().collect::<BTreeSet<_>>(), all);
    assert!(all.len() > 20);
}

#[test]
fn every_error_of_a_backend_is_reached_and_names_it_and_the_operation() {
    let reached = reached(OF_BACKENDS);
    assert_eq!(
        reached.keys().cloned().collect::<BTreeSet<_>>(),
        variants(include_str!("../src/error.rs"), "Error")
    );
    let of_backends = |(name, _): &(&String, &Error)| {
        !["Layout", "Function", "Order", "Product", "Recording"].contains(&name.as_str())
    };
    for (name, error) in reached.iter().filter(of_backends) {
        let text = error.to_string();
        let words: Vec<_> = text.split(": ").collect();
        assert_eq!(words[0], "mock", "{name}: {text}");
        assert!(
            [
                "open",
                "alloc",
                "allocated",
                "take",
                "download",
                "record_timed",
                "Negate",
                "drop",
                "host",
                "join"
            ]
            .contains(&words[1]),
            "{name}: {text}"
        );
        assert!(words.len() > 2, "{name}: {text}");
    }
}

#[test]
fn out_of_memory_says_what_is_known_of_the_room() {
    for (free_bytes, total_bytes, limited, room) in [
        (None, None, false, ""),
        (None, Some(90), false, ""),
        (Some(7), None, false, ", 7 free"),
        (Some(7), Some(90), false, ", 7 free of 90"),
        (Some(7), Some(90), true, ", 7 left of a limit of 90"),
    ] {
        let (backend, operation, live) = ("mock", "pinned", Vec::new());
        let error = Error::OutOfMemory {
            backend,
            operation,
            requested_bytes: 8,
            free_bytes,
            total_bytes,
            limited,
            live,
        };
        assert_eq!(error.to_string(), format!("mock: pinned: out of memory: 8 bytes requested{room}"));
    }
}

#[test]
fn a_transfer_says_what_failed_and_whether_the_buffer_is_lost() {
    let Setting { device, stream, mut line, .. } = Setting::new();
    let context = stream.context();
    let refused = line.view_mut().upload(&stream, context.pinned(5).unwrap()).unwrap_err();
    let at = refused.error().location().unwrap();
    assert_eq!(refused.to_string(), format!("length mismatch: expected 6 elements, found 5, at {at}"));
    let transfer = line.view().download(&stream, context.pinned(6).unwrap()).unwrap();
    device.fail_next(Site::Synchronize, Quiesced::Unknown(driver()));
    let lost = transfer.wait().unwrap_err();
    assert_eq!(lost.to_string(), "mock: alloc: driver error UNKNOWN (999); the pinned buffer was leaked");
}

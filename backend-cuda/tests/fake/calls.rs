//! The driver calls of each operation.

use std::num::NonZeroI32;

use devarray::{
    Array, Context, Layout, ManagedArray, StreamHandle,
    backend::{Device, ForeignStream, Location},
};
use devarray_cuda::{
    CudaDevice,
    driver::{Fault, Function},
};

use super::{
    cases::{Pair, Rng},
    state::Fake,
};

fn pair(shape: &[usize], dst: &[isize], src: &[isize], src_offset: usize, item_bytes: usize) -> Pair {
    Pair {
        dst: Layout::new(shape, dst, 0).unwrap(),
        src: Layout::new(shape, src, src_offset).unwrap(),
        item_bytes,
    }
}

/// Copies a pair, and returns which functions the copy itself called.
fn called(pair: &Pair) -> Vec<Function> {
    let fake = Fake::new();
    let device = CudaDevice::open_with(&fake.driver(), 0).unwrap();
    let stream = device.open_stream().unwrap();
    pair.check(&device, &stream, &mut Rng::new(7));
    fake.assert_proper();
    let log = fake.state(|state| state.log.clone());
    let start = log.iter().rposition(|&function| function == Function::MemcpyHtoDAsync).unwrap();
    let end = log.iter().rposition(|&function| function == Function::MemcpyDtoHAsync).unwrap();
    // Between them: the wait for the upload and the binding of the download.
    log[start + 3..end - 1].to_vec()
}

#[test]
fn linear_is_one_copy() {
    let pair = pair(&[4, 8], &[8, 1], &[8, 1], 3, 4);
    assert_eq!(called(&pair), [Function::CtxGetCurrent, Function::MemcpyDtoDAsync]);
}

/// And the first loads its kernel.
#[test]
fn everything_else_is_one_launch() {
    let rows = pair(&[5, 16], &[16, 1], &[20, 1], 1, 4);
    let slices = pair(&[3, 5, 16], &[200, 20, 1], &[160, 32, 1], 1, 4);
    let transposed = pair(&[4, 6], &[6, 1], &[1, 4], 0, 4);
    let repeated = pair(&[4, 6], &[6, 1], &[0, 1], 0, 4);
    let reversed = pair(&[6], &[1], &[-1], 5, 4);
    let batched = pair(&[2, 3, 4, 20], &[240, 80, 20, 1], &[20, 40, 120, 1], 0, 4);
    for pair in [rows, slices, transposed, repeated, reversed, batched] {
        let first = [
            Function::CtxGetCurrent,
            Function::ModuleLoadData,
            Function::ModuleGetFunction,
            Function::LaunchKernelEx,
        ];
        assert_eq!(called(&pair), first, "{pair:?}");
    }
}

/// A matrix and what it is transposed to.
struct Transposed {
    fake: Fake,
    context: Context<CudaDevice>,
    stream: StreamHandle<CudaDevice>,
    source: Array<u32, CudaDevice>,
    target: Array<u32, CudaDevice>,
}

impl Transposed {
    fn new(generation: (i32, i32)) -> Self {
        let fake = Fake::new();
        fake.state(|state| state.generation = generation);
        let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
        let stream = context.stream().unwrap();
        let source = Array::zeros(&stream, &[64, 32]).unwrap();
        let target = Array::zeros(&stream, &[32, 64]).unwrap();
        Self { fake, context, stream, source, target }
    }

    fn copy(&mut self) -> devarray::Result<()> {
        self.target.view_mut().copy_from(&self.stream, &self.source.view().transpose())
    }

    fn calls(&self, function: Function) -> u64 {
        self.context.device().driver().calls(function)
    }

    /// Launches of a copy that may overlap, and those that may not.
    fn launches(&mut self) -> [u64; 2] {
        const KINDS: [Function; 2] = [Function::LaunchKernelEx, Function::LaunchKernel];
        let before = KINDS.map(|kind| self.calls(kind));
        self.copy().unwrap();
        [0, 1].map(|at| self.calls(KINDS[at]) - before[at])
    }
}

/// A strided copy may begin while the one before it works, if its kernel waits for that by itself,
/// and if no kernel of other code can be in between.
#[test]
fn launches_overlap_where_kernels_wait_by_themselves() {
    for (generation, expected) in [((8, 0), [0, 1]), ((9, 0), [1, 0]), ((10, 0), [0, 1])] {
        let mut turned = Transposed::new(generation);
        assert_eq!([turned.launches(), turned.launches()], [expected; 2], "{generation:?}");
        // Work that this crate itself asks of the stream puts no kernel there.
        let managed = ManagedArray::<u8, _>::zeros(&turned.context, &[64]).unwrap();
        managed.prefetch(&turned.stream, Location::Device).unwrap();
        turned.stream.wait(&turned.context.stream().unwrap().record().unwrap()).unwrap();
        turned.stream.wait_for_foreign(ForeignStream::LEGACY).unwrap();
        turned.stream.foreign_waits(ForeignStream::LEGACY).unwrap();
        assert_eq!(turned.launches(), expected, "{generation:?}");
        // The twin: whoever has the handle may have launched something.
        assert!(!turned.stream.raw().raw().is_null());
        assert_eq!(turned.launches(), [0, 1], "{generation:?}");
        turned.fake.assert_proper();
    }
}

/// Lines of large sources are kept in the cache, unless the device says that its memory is fast.
#[test]
fn kernels_are_chosen_by_what_the_device_says_of_its_memory() {
    for (memory_bus_bits, expected) in [(10, "tile_packed_evict_last"), (8_000, "tile_packed")] {
        let fake = Fake::new();
        fake.state(|state| {
            (state.idle, state.total_bytes) = (true, 1 << 28);
            state.memory_bus_bits = memory_bus_bits;
        });
        let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
        let stream = context.stream().unwrap();
        let shape = [4_096, 4_224];
        let source = Array::<u32, _>::uninit(&stream, &shape).unwrap();
        let mut target = Array::<u32, _>::uninit(&stream, &[shape[1], shape[0]]).unwrap();
        target.view_mut().copy_from(&stream, &source.view().transpose()).unwrap();
        assert_eq!(fake.state(|state| state.asked.last().cloned()).as_deref(), Some(expected));
    }
}

/// A launch that the driver refuses is an error as any other, and the next one goes through.
#[test]
fn an_overlapping_launch_may_fail() {
    let mut turned = Transposed::new((9, 0));
    turned.copy().unwrap();
    let (launches, waits) =
        (turned.calls(Function::LaunchKernelEx), turned.calls(Function::StreamSynchronize));
    // The call that asks for the context comes before it.
    turned.context.device().driver().fail(Fault::new(1, NonZeroI32::new(719).unwrap()));
    let error = turned.copy().unwrap_err();
    assert!(turned.context.device().driver().heal() && error.to_string().contains("719"), "{error}");
    assert_eq!(turned.calls(Function::LaunchKernelEx) - launches, 1);
    let waited = turned.calls(Function::StreamSynchronize) - waits;
    assert_eq!(waited, 1, "what may have begun is waited for");
    turned.copy().unwrap();
    turned.fake.assert_proper();
}

/// Hazard tracking costs no driver call while one stream does the work.
#[test]
fn tracked_work_of_one_stream_is_its_copies_alone() {
    let fake = Fake::new();
    let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    let stream = context.stream().unwrap();
    let source = Array::from_slice(&stream, &[64], &[1_u32; 64]).unwrap();
    let mut target = Array::<u32, _>::zeros(&stream, &[64]).unwrap();
    // A second stream exists, so that tracking has something to track.
    let other = context.stream().unwrap();
    let driver = context.device().driver();
    let before = driver.total_calls();
    for _ in 0..100 {
        target.view_mut().copy_from(&stream, &source.view()).unwrap();
    }
    // Each copy asks which context is current, and copies.
    assert_eq!(driver.total_calls() - before, 200);
    assert_eq!(driver.calls(Function::MemcpyDtoDAsync), 100);
    assert_eq!(driver.calls(Function::StreamWaitEvent), 0);

    // The twin: work of another stream does need an edge.
    target.view_mut().copy_from(&other, &source.view()).unwrap();
    assert_eq!(driver.calls(Function::StreamWaitEvent), 1);
    fake.assert_proper();
}

#[test]
fn fills_of_short_periods_are_one_memset() {
    for (item, expected) in [
        (&[7_u8][..], Function::MemsetD8Async),
        (&[1, 2], Function::MemsetD16Async),
        (&[1, 2, 3, 4], Function::MemsetD32Async),
        (&[0; 16], Function::MemsetD8Async),
        (&[1, 2, 3, 4, 1, 2, 3, 4], Function::MemsetD32Async),
        (&[1, 2, 3, 4, 5, 6, 7, 8], Function::LaunchKernel),
    ] {
        let fake = Fake::new();
        let device = CudaDevice::open_with(&fake.driver(), 0).unwrap();
        let stream = device.open_stream().unwrap();
        let line = Layout::new(&[9], &[1], 0).unwrap();
        let plan = devarray::copy::Plan::new(&line, &line, item.len(), &device.info().capabilities).unwrap();
        let buffer = super::cases::alloc(&stream, 9 * item.len());
        super::cases::fill(&stream, &buffer, &plan, item);
        assert_eq!(fake.state(|state| state.log.last().copied()), Some(expected), "{item:?}");
        let repeated: Vec<u8> = item.iter().copied().cycle().take(9 * item.len()).collect();
        assert_eq!(super::cases::download(&stream, &buffer), repeated);
        super::cases::free(&stream, buffer);
        fake.assert_proper();
    }
}

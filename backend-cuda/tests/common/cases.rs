//! Copies to try, and what they must give, worked out index by index.
#![allow(unsafe_code)] // hands operations to a stream below core, and waits before any memory goes away

use std::num::NonZeroUsize;

use devarray::{
    Layout,
    backend::{
        Buffer, Capabilities, CopyOp, Device, DownloadOp, FillOp, FreeOp, HostBuffer, Quiesced, Stream,
        UploadOp,
    },
    copy::Plan,
};
pub(crate) use devarray_conformance::Rng;
use devarray_cuda::{CudaBuffer, CudaDevice, CudaHostBuffer, CudaStream};

/// Two layouts of one shape, and memory that holds them.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) dst: Layout,
    pub(crate) src: Layout,
    pub(crate) item_bytes: usize,
}

impl Pair {
    /// Any rank up to 6, gaps, negative strides, offsets; axes of the source may be repeated.
    pub(crate) fn random(rng: &mut Rng) -> Self {
        let shape: Vec<usize> = (0..rng.below(7)).map(|_| 1 + rng.below(5)).collect();
        let item_bytes = [1, 2, 4, 8, 16, 3, 12][rng.below(7)];
        Self { dst: side(rng, &shape, false), src: side(rng, &shape, true), item_bytes }
    }

    pub(crate) fn plan(&self, limits: &Capabilities) -> Plan {
        Plan::new(&self.dst, &self.src, self.item_bytes, limits).unwrap()
    }

    /// Bytes of the destination's memory, one element to spare.
    pub(crate) fn dst_len_bytes(&self) -> usize {
        (self.dst.span().end + 1) * self.item_bytes
    }

    /// Bytes of the source's memory, one element to spare.
    pub(crate) fn src_len_bytes(&self) -> usize {
        (self.src.span().end + 1) * self.item_bytes
    }

    /// The bytes of the destination after the copy, if it held `dst` before.
    pub(crate) fn expected(&self, mut dst: Vec<u8>, src: &[u8]) -> Vec<u8> {
        for (to, from) in positions(&self.dst).into_iter().zip(positions(&self.src)) {
            let (to, from) = (to * self.item_bytes, from * self.item_bytes);
            dst[to..to + self.item_bytes].copy_from_slice(&src[from..from + self.item_bytes]);
        }
        dst
    }

    /// Copies on the stream, and compares every byte of the destination.
    pub(crate) fn check(&self, device: &CudaDevice, stream: &CudaStream, rng: &mut Rng) {
        let plan = self.plan(&device.info().capabilities);
        let (before, from) = (noise(rng, self.dst_len_bytes()), noise(rng, self.src_len_bytes()));
        let (dst, src) = (upload(stream, &before), upload(stream, &from));
        copy(stream, &dst, &src, &plan);
        let found = download(stream, &dst);
        free(stream, dst);
        free(stream, src);
        let expected = self.expected(before, &from);
        let wrong = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert_eq!(wrong, None, "byte of {self:?} as {plan:?}");
    }
}

fn side(rng: &mut Rng, shape: &[usize], may_repeat: bool) -> Layout {
    let mut strides = vec![0_isize; shape.len()];
    let mut offset = rng.below(5);
    let mut step = 1 + rng.below(2);
    let mut axes: Vec<usize> = (0..shape.len()).collect();
    while !axes.is_empty() {
        let axis = axes.swap_remove(rng.below(axes.len()));
        if may_repeat && rng.below(6) == 0 {
            continue;
        }
        strides[axis] = step.cast_signed();
        if rng.below(4) == 0 {
            strides[axis] = -strides[axis];
            offset += (shape[axis] - 1) * step;
        }
        step *= shape[axis] + rng.below(3);
    }
    Layout::new(shape, &strides, offset).unwrap()
}

/// The position of every element, in C order, worked out one by one.
pub(crate) fn positions(layout: &Layout) -> Vec<usize> {
    let mut all = vec![layout.offset().cast_signed()];
    for (&extent, &stride) in layout.shape().iter().zip(layout.strides()) {
        all = all
            .into_iter()
            .flat_map(|start| (0..extent.cast_signed()).map(move |i| start + i * stride))
            .collect();
    }
    all.into_iter().map(isize::cast_unsigned).collect()
}

pub(crate) fn noise(rng: &mut Rng, len_bytes: usize) -> Vec<u8> {
    (0..len_bytes).map(|_| rng.bits().to_le_bytes()[3]).collect()
}

pub(crate) fn alloc(stream: &CudaStream, len_bytes: usize) -> CudaBuffer {
    stream.alloc(NonZeroUsize::new(len_bytes).unwrap()).unwrap()
}

pub(crate) fn upload(stream: &CudaStream, bytes: &[u8]) -> CudaBuffer {
    let buffer = alloc(stream, bytes.len());
    write(stream, &buffer, 0, bytes);
    buffer
}

/// Writes bytes into a buffer, and waits.
pub(crate) fn write(stream: &CudaStream, buffer: &CudaBuffer, at: usize, bytes: &[u8]) {
    assert!(at + bytes.len() <= buffer.len_bytes());
    // SAFETY: in bounds; the bytes are borrowed until the wait below; the stream orders all uses of
    // the buffer.
    let op = unsafe { UploadOp::new_unchecked(buffer, at, bytes.as_ptr(), bytes.len()) };
    stream.upload(&op).unwrap();
    assert_eq!(stream.synchronize(), Quiesced::Done);
}

/// Writes pinned memory into a buffer of its length, and waits.
pub(crate) fn upload_from(stream: &CudaStream, buffer: &CudaBuffer, host: &CudaHostBuffer) {
    assert_eq!(host.len_bytes(), buffer.len_bytes());
    // SAFETY: in bounds; the host memory is borrowed until the wait below; the stream orders all
    // uses of the buffer.
    let op = unsafe { UploadOp::new_unchecked(buffer, 0, host.as_ptr(), host.len_bytes()) };
    stream.upload(&op).unwrap();
    assert_eq!(stream.synchronize(), Quiesced::Done);
}

/// Reads bytes of a buffer, and waits.
pub(crate) fn read(stream: &CudaStream, buffer: &CudaBuffer, at: usize, len_bytes: usize) -> Vec<u8> {
    assert!(at + len_bytes <= buffer.len_bytes());
    let mut bytes = vec![0; len_bytes];
    // SAFETY: in bounds; the bytes are owned here until the wait below; the stream orders all uses
    // of the buffer.
    let op = unsafe { DownloadOp::new_unchecked(buffer, at, bytes.as_mut_ptr(), len_bytes) };
    stream.download(&op).unwrap();
    assert_eq!(stream.synchronize(), Quiesced::Done);
    bytes
}

pub(crate) fn download(stream: &CudaStream, buffer: &CudaBuffer) -> Vec<u8> {
    read(stream, buffer, 0, buffer.len_bytes())
}

pub(crate) fn copy(stream: &CudaStream, dst: &CudaBuffer, src: &CudaBuffer, plan: &Plan) {
    assert!(plan.dst_span().end <= dst.len_bytes() && plan.src_span().end <= src.len_bytes());
    // SAFETY: in bounds; the buffers differ; the stream orders all uses of them.
    let op = unsafe { CopyOp::new_unchecked(dst, src, plan) };
    stream.copy(&op).unwrap();
}

pub(crate) fn fill(stream: &CudaStream, dst: &CudaBuffer, plan: &Plan, pattern: &[u8]) {
    assert!(plan.dst_span().end <= dst.len_bytes());
    // SAFETY: in bounds; the plan was made for elements of the pattern's size; the stream orders
    // all uses.
    let op = unsafe { FillOp::new_unchecked(dst, plan, pattern) };
    stream.fill(&op).unwrap();
}

pub(crate) fn free(stream: &CudaStream, buffer: CudaBuffer) {
    try_free(stream, buffer).unwrap();
}

pub(crate) fn try_free(stream: &CudaStream, buffer: CudaBuffer) -> devarray::Result<()> {
    // SAFETY: allocated from this device, and used by this stream alone.
    let op = unsafe { FreeOp::new_unchecked(buffer) };
    stream.free(op)
}

/// Fills the destination of a random layout, and compares every byte of its memory.
pub(crate) fn check_fill(device: &CudaDevice, stream: &CudaStream, rng: &mut Rng) {
    let item_bytes = 1 << rng.below(5);
    let Pair { dst, .. } = Pair::random(rng);
    let pair = Pair { src: dst.clone(), dst, item_bytes };
    let pattern = noise(rng, item_bytes);
    let before = noise(rng, pair.dst_len_bytes());
    let buffer = upload(stream, &before);
    fill(stream, &buffer, &pair.plan(&device.info().capabilities), &pattern);
    let found = download(stream, &buffer);
    free(stream, buffer);
    let repeated: Vec<u8> = pattern.iter().copied().cycle().take(before.len()).collect();
    assert!(found == pair.expected(before, &repeated), "{pair:?} with {pattern:?}");
}

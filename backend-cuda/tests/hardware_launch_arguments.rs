//! Tests kernels with many arguments, and with arguments without elements, on a card. Run with `--ignored`;
//! without a device it fails.
#![allow(unsafe_code)] // declares a kernel
#![allow(clippy::unwrap_used)] // tests

use devarray::{
    Array, Context, StreamHandle,
    backend::Launch,
    kernel::{Dense, Grid, Image, In, Out, Strided, has_len},
};
use devarray_cuda::CudaDevice;
use devarray_mock::MockDevice;

/// Writes to `to[0]` the sum of the values, each times its position from 1 on; to `to[1]` the last element of
/// `bytes`, or 77 if there is none; to `to[2]` the extents of `dense` as digits; to `to[3]` the strides of
/// `strided` as digits.
const MANY: &str = "
.version 7.0
.target sm_52
.address_size 64
.visible .entry many(
    .param .u64 bytes, .param .u64 bytes_len,
    .param .u8 a, .param .u16 b, .param .u32 c, .param .u64 d, .param .u64 e, .param .u64 f, .param .u64 g,
    .param .u64 h, .param .u64 i, .param .u64 j, .param .u64 k, .param .u64 l,
    .param .u64 dense, .param .u64 rows, .param .u64 columns,
    .param .u64 strided, .param .u64 s_rows, .param .u64 s_columns, .param .u64 row, .param .u64 column,
    .param .u64 to, .param .u64 to_len
)
{
    .reg .u64 %sum, %x, %at, %to;
    .reg .u32 %byte;
    .reg .pred %none;
    ld.param.u8 %sum, [a];
    ld.param.u16 %x, [b]; mad.lo.u64 %sum, %x, 2, %sum;
    ld.param.u32 %x, [c]; mad.lo.u64 %sum, %x, 3, %sum;
    ld.param.u64 %x, [d]; mad.lo.u64 %sum, %x, 4, %sum;
    ld.param.u64 %x, [e]; mad.lo.u64 %sum, %x, 5, %sum;
    ld.param.u64 %x, [f]; mad.lo.u64 %sum, %x, 6, %sum;
    ld.param.u64 %x, [g]; mad.lo.u64 %sum, %x, 7, %sum;
    ld.param.u64 %x, [h]; mad.lo.u64 %sum, %x, 8, %sum;
    ld.param.u64 %x, [i]; mad.lo.u64 %sum, %x, 9, %sum;
    ld.param.u64 %x, [j]; mad.lo.u64 %sum, %x, 10, %sum;
    ld.param.u64 %x, [k]; mad.lo.u64 %sum, %x, 11, %sum;
    ld.param.u64 %x, [l]; mad.lo.u64 %sum, %x, 12, %sum;
    ld.param.u64 %to, [to];
    cvta.to.global.u64 %to, %to;
    st.global.u64 [%to], %sum;
    mov.u64 %sum, 77;
    ld.param.u64 %x, [bytes_len];
    setp.eq.u64 %none, %x, 0;
    @%none bra told;
    ld.param.u64 %at, [bytes];
    cvta.to.global.u64 %at, %at;
    add.u64 %at, %at, %x;
    ld.global.u8 %byte, [%at + -1];
    cvt.u64.u32 %sum, %byte;
told:
    st.global.u64 [%to + 8], %sum;
    ld.param.u64 %sum, [rows];
    ld.param.u64 %x, [columns]; mad.lo.u64 %sum, %sum, 10, %x;
    st.global.u64 [%to + 16], %sum;
    ld.param.u64 %sum, [row];
    ld.param.u64 %x, [column]; mad.lo.u64 %sum, %sum, 10, %x;
    st.global.u64 [%to + 24], %sum;
    ret;
}
";

devarray::kernel! {
    struct Many(
        bytes: In<u8>,
        a: u8, b: u16, c: u32, d: u64, e: u64, f: u64, g: u64, h: u64, i: u64, j: u64, k: u64, l: u64,
        dense: In<f32, Dense<2>>, strided: In<u16, Strided<2>>, to: Out<u64>,
    );
    // SAFETY: one thread writes the four elements that `to` has, and reads the last of `bytes` if
    // there is one.
    image = unsafe { Image::ptx(MANY, "many") };
    launch { has_len(to, 4)?; Grid::new([1, 1, 1], [1, 1, 1]) }
    host {
        let values = [u64::from(a), b.into(), c.into(), d, e, f, g, h, i, j, k, l];
        to[0] = (1..).zip(values).map(|(place, value)| place * value).sum();
        to[1] = bytes.last().map_or(77, |byte| u64::from(*byte));
        to[2] = dense.shape().iter().fold(0, |before, &extent| before * 10 + extent as u64);
        let strides = devarray::NdLayout::strides(strided.layout()).iter();
        to[3] = strides.fold(0, |before, &stride| before * 10 + stride.unsigned_abs() as u64);
    }
}

fn told<D: Launch>(stream: &StreamHandle<D>, bytes: &[u8], rows: usize) -> Vec<u64> {
    let bytes = Array::from_slice(stream, &[bytes.len()], bytes).unwrap();
    let dense = Array::full(stream, &[rows, 7], 1.0).unwrap();
    let strided = Array::full(stream, &[6, 5], 1).unwrap();
    let (strided, mut to) = (strided.transpose(), Array::uninit(stream, &[2, 2]).unwrap());
    Many::launch(stream, &bytes, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1 << 50, &dense, &strided, &mut to)
        .unwrap();
    to.to_vec(stream).unwrap()
}

/// Checks the results on the simulator, which runs the host function and finds no mistake in it.
#[test]
fn many_arguments_and_none_of_some_on_the_simulator() {
    let device = MockDevice::builder().check_kernels(true).build();
    let stream = Context::new(device.clone()).unwrap().stream().unwrap();
    assert_eq!(told(&stream, &[3, 4, 5], 2), [506 + 12 * (1 << 50), 5, 27, 15]);
    assert_eq!(told(&stream, &[], 0), [506 + 12 * (1 << 50), 77, 7, 15]);
    assert_eq!(device.report().findings, []);
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn many_arguments_and_none_of_some_on_a_card() {
    let simulated = Context::new(MockDevice::new()).unwrap().stream().unwrap();
    let stream = Context::new(CudaDevice::open(0).unwrap()).unwrap().stream().unwrap();
    for (bytes, rows) in [(&[3_u8, 4, 5][..], 2), (&[], 0), (&[9; 300], 1)] {
        assert_eq!(told(&stream, bytes, rows), told(&simulated, bytes, rows));
    }
}

//! Kernels in code that forbids `unsafe`: names that the macro uses too, many arguments, and
//! arguments without elements.
#![forbid(unsafe_code)]
#![deny(warnings)]
#![allow(clippy::unwrap_used)] // tests

use devarray::{
    Array, Context, Order, StreamHandle,
    kernel::{Dense, Grid, Image, In, InOut, Out, Strided, has_len},
};
use devarray_mock::MockDevice;

/// A type with the name that generic code gives to devices.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
struct D(u16);

/// A name that the macro might give to `grid`.
fn grid(len: usize) -> Grid {
    Grid::elements(len, 32)
}

/// A name that the macro might give to the host function.
fn host(number: D) -> u32 {
    u32::from(number.0) + 1
}

const DECLARATION: Image = Image::none();

devarray::kernel! {
    /// Arguments with names that the macro uses itself.
    struct Names(stream: In<D>, arguments: Out<u32>, argument: InOut<u32>, running: u32);
    image = DECLARATION;
    launch { has_len(stream, arguments.len())?; grid(arguments.len()) }
    host {
        for (to, from) in arguments.iter_mut().zip(stream) {
            *to = host(*from) + running;
        }
        argument[0] += 1;
    }
}

devarray::kernel! {
    /// Takes more arguments than anybody needs.
    struct Many(
        a: In<u8>, b: In<u16>, c: In<u32>, d: In<u64>, e: In<i8>, f: In<i16>, g: In<i32>, h: In<i64>,
        i: In<f32>, j: In<f64>, k: u8, l: u16, m: u32, n: u64, o: [f32; 3], p: In<u8, Dense<3>>,
        q: InOut<u64, Dense<0>>, r: Out<u64>, s: i64, t: f64,
    );
    image = Image::none();
    launch { Grid::elements(r.len(), 32) }
    host {
        let read = [u64::from(a[0]), b[0].into(), c[0].into(), d[0], p.len() as u64];
        let signed = [i64::from(e[0]), f[0].into(), g[0].into(), h[0], s];
        let real = f64::from(i[0]) + j[0] + t + f64::from(o[2]);
        let values = u64::from(k) + u64::from(l) + u64::from(m) + n;
        r[0] = read.iter().sum::<u64>() + values;
        r[1] = signed.iter().sum::<i64>().cast_unsigned();
        r[2] = real.to_bits();
        for to in q.iter_mut() {
            *to += 1;
        }
    }
}

/// Elements with a large alignment.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(1024))]
struct Wide([u8; 1024]);

devarray::kernel! {
    /// Takes elements of all forms; there may be none.
    struct Counts(flat: In<Wide>, dense: In<u16, Dense<3>>, strided: InOut<i64, Strided<2>>, to: Out<u64>);
    image = Image::none();
    launch { has_len(to, 4)?; Grid::elements(1, 1) }
    host {
        to.copy_from_slice(&[
            flat.len() as u64,
            dense.iter().count() as u64,
            strided.iter_mut().count() as u64,
            flat.as_ptr().addr() as u64 % 1024,
        ]);
    }
}

#[test]
fn arguments_without_elements_are_empty_and_aligned() {
    for (flat, dense, strided) in
        [([0, 7], [2, 0, 3], [0, 0]), ([2, 1], [2, 1, 3], [4, 2]), ([5, 0], [0; 3], [1, 1])]
    {
        let (device, stream) = open();
        let (x, y) =
            (Array::<Wide, _>::zeros(&stream, &flat).unwrap(), Array::zeros(&stream, &dense).unwrap());
        let (mut z, mut to) =
            (Array::zeros(&stream, &strided).unwrap(), Array::uninit(&stream, &[4]).unwrap());
        Counts::launch(&stream, &x, &y, &mut z.view_mut().transpose(), &mut to).unwrap();
        let len = |shape: &[u64]| shape.iter().product::<u64>();
        let due = [
            len(&flat.map(|extent| extent as u64)),
            len(&dense.map(|extent| extent as u64)),
            len(&strided.map(|extent| extent as u64)),
            0,
        ];
        assert_eq!(to.to_vec(&stream).unwrap(), due);
        assert_eq!(device.report().findings, []);
    }
}

devarray::kernel! {
    /// Takes no argument at all.
    struct Nothing();
    image = Image::none();
    launch { Grid::elements(1, 1) }
    host {}
}

fn open() -> (MockDevice, StreamHandle<MockDevice>) {
    let device = MockDevice::builder().check_kernels(true).build();
    (device.clone(), Context::new(device).unwrap().stream().unwrap())
}

#[test]
fn names_are_the_authors_own() {
    let (device, on) = open();
    let from = Array::from_slice(&on, &[3], &[D(1), D(2), D(3)]).unwrap();
    let (mut to, mut count) = (Array::uninit(&on, &[3]).unwrap(), Array::full(&on, &[], 4).unwrap());
    Names::launch(&on, &from, &mut to, &mut count, 10).unwrap();
    assert_eq!((to.to_vec(&on).unwrap(), count.to_vec(&on).unwrap()), (vec![12, 13, 14], vec![5]));
    assert_eq!(device.report().findings, []);
}

#[test]
fn a_kernel_may_take_twenty_arguments_or_none() {
    let (device, on) = open();
    let mut counts = Array::full(&on, &[], 41_u64).unwrap();
    let mut to = Array::uninit(&on, &[3]).unwrap();
    let bytes = Array::full(&on, &[4], 1_u8).unwrap();
    let one = |number| Array::full(&on, &[1], number).unwrap();
    Many::launch(
        &on,
        &bytes,
        &Array::full(&on, &[1], 2_u16).unwrap(),
        &Array::full(&on, &[1], 3_u32).unwrap(),
        &Array::full(&on, &[1], 4_u64).unwrap(),
        &Array::full(&on, &[1], -1_i8).unwrap(),
        &Array::full(&on, &[1], -2_i16).unwrap(),
        &Array::full(&on, &[1], -3_i32).unwrap(),
        &Array::full(&on, &[1], -4_i64).unwrap(),
        &one(0.5_f32),
        &Array::full(&on, &[1], 0.25_f64).unwrap(),
        5,
        6,
        7,
        8,
        [0.0, 0.0, 1.0],
        &bytes.reshape(&[2, 1, 2], Order::C).unwrap(),
        &mut counts,
        &mut to,
        -5,
        2.0,
    )
    .unwrap();
    assert_eq!(to.to_vec(&on).unwrap(), [40, (-15_i64).cast_unsigned(), 3.75_f64.to_bits()]);
    assert_eq!(counts.to_vec(&on).unwrap(), [42]);
    Nothing::launch(&on).unwrap();
    on.synchronize().unwrap();
    assert_eq!(device.statistics().executed.launches.count, 2);
    assert_eq!(device.report().findings, []);
}

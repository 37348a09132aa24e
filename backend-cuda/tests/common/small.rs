//! Many calls of a function of little: what each takes altogether, and to enqueue.
#![allow(unsafe_code)] // hands operations to a stream below core, and waits before any memory goes away

use std::{
    ffi::{CStr, c_void},
    ptr,
    time::Instant,
};

use devarray::{
    Array, Context, Layout, StreamHandle,
    backend::{MapOp, Maps, Operand, Quiesced, Stream},
    function::{ElementType::F32, Operands},
    math,
};
use devarray_cuda::{CudaBuffer, CudaDevice, CudaStream};

use super::cases::{alloc, free};

/// Computes the same through arrays, by a ready-made function and by closures.
pub(crate) fn of_arrays() {
    let stream = Context::new(CudaDevice::open(0).unwrap()).unwrap().stream().unwrap();
    let zeros = || Array::<f32, _>::zeros(&stream, &[100_000]).unwrap();
    let (x, y, mut sum) = (zeros(), zeros(), zeros());
    timed("add_into", &stream, || math::add_into(&stream, &x, &y, &mut sum.view_mut()).unwrap());
    timed("a closure of two arrays", &stream, || {
        (&x, &y).map_into(&stream, &mut sum.view_mut(), |(x, y)| x + y).unwrap();
    });
    timed("an array and a scalar in place", &stream, || {
        sum.view_mut().update(&stream, (&x, 2.0), |sum, (x, k)| sum + x * k).unwrap();
    });
    timed("into a new array", &stream, || drop(math::add(&stream, &x, &y).unwrap()));
}

fn timed(name: &str, stream: &StreamHandle<CudaDevice>, mut call: impl FnMut()) {
    let began = Instant::now();
    call();
    stream.synchronize().unwrap();
    let first = began.elapsed().as_secs_f64() * 1e3;
    for calls in [400, 10_000, 10_000] {
        let began = Instant::now();
        (0..calls).for_each(|_| call());
        let enqueued = began.elapsed().as_secs_f64() * 1e6 / f64::from(calls);
        stream.synchronize().unwrap();
        let whole = began.elapsed().as_secs_f64() * 1e6 / f64::from(calls);
        println!(
            "{name}, {calls} calls: {whole:.2} us a call, {enqueued:.2} us to enqueue; first call {first:.2} ms"
        );
    }
}

/// Many calls of a small function: how long each takes altogether, and to enqueue.
pub(crate) fn of_operations(device: &CudaDevice, stream: &CudaStream) {
    let add = super::program("x0 + x1", &[F32, F32]);
    let layout = Layout::new(&[100_000], &[1], 0).unwrap();
    let buffers: Vec<CudaBuffer> = (0..3).map(|_| alloc(stream, 400_000)).collect();
    buffers.iter().for_each(|buffer| super::fill(device, stream, buffer, 100_000));
    let inputs = [1, 2].map(|at| Operand::new(&buffers[at], &layout));
    let result = Operand::new(&buffers[0], &layout);
    // SAFETY: as above.
    let op = unsafe { MapOp::new_unchecked(&add, &inputs, &[], result) };
    for calls in [100, 400, 10_000, 10_000] {
        let began = Instant::now();
        for _ in 0..calls {
            device.map(stream, &op).unwrap();
        }
        let enqueued = began.elapsed().as_secs_f64() * 1e6 / f64::from(calls);
        assert_eq!(stream.synchronize(), Quiesced::Done);
        let whole = began.elapsed().as_secs_f64() * 1e6 / f64::from(calls);
        println!("small add, {calls} calls: {whole:.2} us a call, {enqueued:.2} us to enqueue");
    }
    own_launches(device, stream);
    buffers.into_iter().for_each(|buffer| free(stream, buffer));
    assert_eq!(stream.synchronize(), Quiesced::Done);
}

/// The driver's own time to enqueue a kernel with a parameter as long, and a grid as large.
fn own_launches(device: &CudaDevice, stream: &CudaStream) {
    const TEXT: &CStr = c".version 6.0\n.target sm_70\n.address_size 64\n\
        .visible .entry own(.param .align 8 .b8 p[112])\n.maxntid 256, 1, 1\n{\n    ret;\n}\n";
    let driver = device.driver();
    let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the text ends with a zero; the pointer is to a local; the context is current since
    // the last call.
    unsafe { driver.module_load_data(&raw mut module, TEXT.as_ptr().cast()) }.unwrap();
    // SAFETY: the module was loaded a moment ago.
    unsafe { driver.module_get_function(&raw mut function, module, c"own".as_ptr()) }.unwrap();
    let mut parameter = [0_u64; 14];
    for calls in [400, 10_000] {
        let began = Instant::now();
        for _ in 0..calls {
            let mut arguments = [parameter.as_mut_ptr().cast::<c_void>()];
            // SAFETY: the kernel has one parameter of that size, and does nothing.
            unsafe {
                driver.launch_kernel(
                    function,
                    98,
                    1,
                    1,
                    256,
                    1,
                    1,
                    0,
                    stream.raw(),
                    arguments.as_mut_ptr(),
                    ptr::null_mut(),
                )
            }
            .unwrap();
        }
        let enqueued = began.elapsed().as_secs_f64() * 1e6 / f64::from(calls);
        assert_eq!(stream.synchronize(), Quiesced::Done);
        println!("the driver's own launch, {calls} calls: {enqueued:.2} us to enqueue");
    }
    // SAFETY: nothing of it runs any more.
    unsafe { driver.module_unload(module) }.unwrap();
}

//! Tests kernels of a program on a card: errors of the driver, objects that are left behind, and the
//! cost of a launch beside the driver's own call. Run with `--ignored --nocapture`; without a device it
//! fails.
#![allow(unsafe_code)] // declares kernels, and calls the driver directly
#![allow(clippy::unwrap_used)] // helpers of tests

use std::{
    ffi::{CString, c_void},
    ptr,
    time::Instant,
};

use devarray::{
    Array, Context, Error,
    kernel::{Dense, Grid, Image, In, InOut, KernelError, Out, has_len},
};
use devarray_cuda::{CudaDevice, driver::Driver};

const LAWS: &str = include_str!("../../conformance/kernels/laws.ptx");

devarray::kernel! {
    struct Scale(from: In<u32>, to: Out<u32>, k: u32);
    // SAFETY: a thread below the length of both arrays reads one element and writes one.
    image = unsafe { Image::ptx(LAWS, "scale") };
    launch { has_len(from, to.len())?; Grid::elements(to.len(), 128) }
    host { for (at, (to, from)) in (0..).zip(to.iter_mut().zip(from)) { *to = k * from + at } }
}

devarray::kernel! {
    struct OtherParameters(from: In<u32>, to: Out<u32>, k: u64);
    // SAFETY: it is never launched, because the entry takes 4 bytes for `k`.
    image = unsafe { Image::ptx(LAWS, "scale") };
    launch { Grid::elements(to.len(), 128) }
    host { to.fill(from[0] + u32::try_from(k).unwrap_or(0)) }
}

devarray::kernel! {
    struct FewerParameters(from: In<u32>, to: Out<u32>);
    // SAFETY: it is never launched, because the entry takes one more parameter.
    image = unsafe { Image::ptx(LAWS, "scale") };
    launch { Grid::elements(to.len(), 128) }
    host { to.copy_from_slice(from) }
}

devarray::kernel! {
    struct NoSuchEntry(to: Out<u32>);
    // SAFETY: it is never launched.
    image = unsafe { Image::ptx(LAWS, "scales") };
    launch { Grid::elements(to.len(), 128) }
    host { to.fill(0) }
}

devarray::kernel! {
    struct NoPtx(to: Out<u32>);
    // SAFETY: it is never launched.
    image = unsafe { Image::ptx(".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry wrong() { bra nowhere; }\n", "wrong") };
    launch { Grid::elements(to.len(), 128) }
    host { to.fill(0) }
}

/// A constant whose length differs from the length of the image's table.
static NOTHING: [u32; 3] = [0; 3];

devarray::kernel! {
    struct OtherTable(from: In<u8>, to: Out<u32>, values: [u32; 8]);
    // SAFETY: it is never launched, because the table of the image has 256 elements.
    image = unsafe { Image::ptx(LAWS, "look_up") };
    constants { "squares" => &NOTHING }
    launch { Grid::elements(to.len(), 128) }
    host { to.fill(u32::from(from[0]) + values[0]) }
}

devarray::kernel! {
    struct Histogram(bytes: In<u8>, counts: InOut<u32>, blocks: u32, way: u32);
    // SAFETY: it is never launched, because the entry takes two parameters fewer.
    image = unsafe { Image::ptx(include_str!("../examples/kernels/histogram.ptx"), "histogram") };
    launch { Grid::new([blocks as usize, 1, 1], [256, 1, 1]) }
    host { for byte in bytes { counts[usize::from(*byte)] += blocks + way } }
}

devarray::kernel! {
    struct Cooperative(from: In<u32>, to: Out<u32>, k: u32);
    // SAFETY: a thread below the length of both arrays reads one element and writes one.
    image = unsafe { Image::ptx(LAWS, "scale") };
    launch { Grid::elements(to.len(), 128).cooperative() }
    host { for (at, (to, from)) in (0..).zip(to.iter_mut().zip(from)) { *to = k * from + at } }
}

devarray::kernel! {
    struct Clustered(from: In<u32>, to: Out<u32>, k: u32);
    // SAFETY: a thread below the length of both arrays reads one element and writes one.
    image = unsafe { Image::ptx(LAWS, "scale") };
    launch { Grid::elements(to.len(), 128).cluster([2, 1, 1]) }
    host { for (at, (to, from)) in (0..).zip(to.iter_mut().zip(from)) { *to = k * from + at } }
}

devarray::kernel! {
    struct Greedy(from: In<u8, Dense<2>>, to: Out<u8, Dense<2>>);
    // SAFETY: it is never launched, because its shared memory is refused.
    image = unsafe { Image::ptx(LAWS, "reverse") };
    launch { Grid::elements(1, 64).shared_bytes(to.len() + from.len()) }
    host { to.fill(from[[0, 0]]) }
}

devarray::kernel! {
    struct ReverseOne(from: In<u8, Dense<2>>, to: Out<u8, Dense<2>>);
    // SAFETY: one block reverses one line through shared memory of its length.
    image = unsafe { Image::ptx(LAWS, "reverse") };
    launch { has_len(from, to.len())?; Grid::new([1, 1, 1], [256, 1, 1]).shared_bytes(to.len()) }
    host { for (to, from) in to.iter_mut().zip(from.to_vec().into_iter().rev()) { *to = from } }
}

devarray::kernel! {
    struct ReverseAlso(from: In<u8, Dense<2>>, to: Out<u8, Dense<2>>);
    // SAFETY: like `ReverseOne`, whose function it shares.
    image = unsafe { Image::ptx(LAWS, "reverse") };
    launch { has_len(from, to.len())?; Grid::new([1, 1, 1], [256, 1, 1]).shared_bytes(to.len()) }
    host { for (to, from) in to.iter_mut().zip(from.to_vec().into_iter().rev()) { *to = from } }
}

fn error(launched: devarray::Result<()>) -> KernelError {
    match launched {
        Err(Error::Kernel { error, .. }) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn what_an_image_or_a_card_does_not_have_is_told() {
    let stream = Context::new(CudaDevice::open(0).unwrap()).unwrap().stream().unwrap();
    let x = Array::full(&stream, &[1024], 5_u32).unwrap();
    let mut y = Array::full(&stream, &[1024], 6_u32).unwrap();
    let told = [
        error(OtherParameters::launch(&stream, &x, &mut y, 1)),
        error(FewerParameters::launch(&stream, &x, &mut y)),
        error(NoSuchEntry::launch(&stream, &mut y)),
        error(NoPtx::launch(&stream, &mut y)),
        error(OtherTable::launch(&stream, &Array::full(&stream, &[1], 1_u8).unwrap(), &mut y, [0; 8])),
        error(Histogram::launch(&stream, &Array::full(&stream, &[1], 1_u8).unwrap(), &mut y, 1, 1)),
    ];
    for told in &told {
        println!("{told}");
    }
    let size = KernelError::ParameterSize { index: 4, argument: "k", declared_bytes: 8, found_bytes: 4 };
    assert_eq!(told[0], size);
    assert_eq!(told[1], KernelError::ParameterCount { declared: 4, found: 5 });
    assert_eq!(told[2], KernelError::NoEntry { entry: "scales" });
    assert!(matches!(&told[3], KernelError::Image { log } if log.contains("nowhere")), "{:?}", told[3]);
    let (declared_bytes, found_bytes) = (12, Some(1024));
    assert_eq!(told[4], KernelError::Constant { name: "squares", declared_bytes, found_bytes });
    assert_eq!(told[5], KernelError::ParameterCount { declared: 6, found: 4 });
    let most =
        stream.context().device().driver().devices().unwrap()[0].properties.max_block_shared_memory_bytes;
    let bytes = Array::full(&stream, &[1, most], 1_u8).unwrap();
    let greedy = Greedy::launch(&stream, &bytes, &mut Array::full(&stream, &[1, 1], 0_u8).unwrap());
    assert_eq!(
        error(greedy),
        KernelError::Limit {
            what: "bytes of shared memory of a block",
            requested: most as u64 + 1,
            most: most as u64
        }
    );
    assert_eq!(y.to_vec(&stream).unwrap(), vec![6; 1024]);
    // A kernel must ask for the maximum, and can use all of it.
    let line: Vec<u8> = (0..most).map(|at| at.to_le_bytes()[0]).collect();
    let from = Array::from_slice(&stream, &[1, most], &line).unwrap();
    let mut to = Array::uninit(&stream, &[1, most]).unwrap();
    ReverseOne::launch(&stream, &from, &mut to).unwrap();
    assert!(to.to_vec(&stream).unwrap().into_iter().rev().eq(line));
}

/// Two declarations share a function of an image. A launch of one that asks for less shared memory takes nothing from
/// the other.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn declarations_of_one_function_share_its_memory() {
    let stream = Context::new(CudaDevice::open(0).unwrap()).unwrap().stream().unwrap();
    for (nth, len) in [1_000, 1_000, 90_000, 60_000, 90_000, 70_000].into_iter().enumerate() {
        let line: Vec<u8> = (0..len).map(|at: usize| at.to_le_bytes()[0]).collect();
        let from = Array::from_slice(&stream, &[1, len], &line).unwrap();
        let mut to = Array::uninit(&stream, &[1, len]).unwrap();
        match nth % 2 {
            0 => ReverseOne::launch(&stream, &from, &mut to).unwrap(),
            _ => ReverseAlso::launch(&stream, &from, &mut to).unwrap(),
        }
        assert!(to.to_vec(&stream).unwrap().into_iter().rev().eq(line), "launch {nth}");
    }
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn cooperative_and_clustered_launches() {
    let stream = Context::new(CudaDevice::open(0).unwrap()).unwrap().stream().unwrap();
    let x = Array::full(&stream, &[1024], 5_u32).unwrap();
    let due: Vec<u32> = (0..1024).map(|at| 15 + at).collect();
    let mut y = Array::full(&stream, &[1024], 6_u32).unwrap();
    Cooperative::launch(&stream, &x, &mut y, 3).unwrap();
    assert_eq!(y.to_vec(&stream).unwrap(), due);
    let mut z = Array::full(&stream, &[1024], 6_u32).unwrap();
    Clustered::launch(&stream, &x, &mut z, 3).unwrap();
    assert_eq!(z.to_vec(&stream).unwrap(), due);
    let many = Array::full(&stream, &[1 << 24], 5_u32).unwrap();
    let refused = error(Cooperative::launch(
        &stream,
        &many,
        &mut many.view().to_contiguous(&stream, devarray::Order::C).unwrap(),
        3,
    ));
    println!("{refused}");
    assert!(matches!(
        refused,
        KernelError::Limit { what: "blocks that run at once", requested: 131_072, .. }
    ));
}

/// A hundred kernels with constants. Each kernel has its own constants, so its image is a module of its own.
mod many {
    use super::*;

    static SQUARES: [u32; 256] = [1; 256];

    macro_rules! kernels {
        ($($name:ident)*) => {
            $(devarray::kernel! {
                struct $name(from: In<u8>, to: Out<u32>, values: [u32; 8]);
                // SAFETY: a thread below the length of both arrays reads one element and writes one.
                image = unsafe { Image::ptx(LAWS, "look_up") };
                constants { "squares" => &SQUARES }
                launch { has_len(from, to.len())?; Grid::elements(to.len(), 128) }
                host { for (to, from) in to.iter_mut().zip(from) { *to = 1 + values[usize::from(*from) % 8] } }
            })*

            pub(super) fn launch_all(
                stream: &devarray::StreamHandle<CudaDevice>,
                from: &Array<u8, CudaDevice>,
                to: &mut Array<u32, CudaDevice>,
            ) -> devarray::Result<usize> {
                let mut count = 0;
                $($name::launch(stream, from, &mut *to, [7; 8])?; count += 1;)*
                Ok(count)
            }
        };
    }

    kernels! {
        A0 A1 A2 A3 A4 A5 A6 A7 A8 A9 B0 B1 B2 B3 B4 B5 B6 B7 B8 B9 C0 C1 C2 C3 C4 C5 C6 C7 C8 C9 D0 D1 D2 D3 D4 D5 D6 D7 D8 D9
        E0 E1 E2 E3 E4 E5 E6 E7 E8 E9 F0 F1 F2 F3 F4 F5 F6 F7 F8 F9 G0 G1 G2 G3 G4 G5 G6 G7 G8 G9 H0 H1 H2 H3 H4 H5 H6 H7 H8 H9
        I0 I1 I2 I3 I4 I5 I6 I7 I8 I9 J0 J1 J2 J3 J4 J5 J6 J7 J8 J9
    }
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn ten_thousand_launches_of_a_hundred_kernels_leave_nothing_behind() {
    let free = || CudaDevice::open(0).unwrap();
    let mut left = Vec::new();
    for _ in 0..3 {
        let device = free();
        let context = Context::new(device.clone()).unwrap();
        let stream = context.stream().unwrap();
        let from = Array::from_slice(&stream, &[500], &[3_u8; 500]).unwrap();
        let mut to = Array::uninit(&stream, &[500]).unwrap();
        let before = Instant::now();
        let mut launches = many::launch_all(&stream, &from, &mut to).unwrap();
        let loaded = before.elapsed();
        let (modules, held) = (device.loaded_images(), devarray::Device::memory(&device).unwrap().free_bytes);
        while launches < 10_000 {
            launches += many::launch_all(&stream, &from, &mut to).unwrap();
        }
        assert_eq!(to.to_vec(&stream).unwrap(), [8; 500]);
        assert_eq!((launches, modules, device.loaded_images()), (10_000, 100, 100));
        assert_eq!(devarray::Device::memory(&device).unwrap().free_bytes, held, "launches take no memory");
        println!("100 kernels loaded in {loaded:?}, 10,000 launches in {:?}", before.elapsed());
        assert_eq!(device.take_errors(), []);
        drop((from, to, stream, context, device));
        // The device is opened again: memory that the last round leaked would be missing.
        left.push(devarray::Device::memory(&free()).unwrap().free_bytes);
    }
    println!("free bytes after each round: {left:?}");
    assert!(left[2] >= left[1], "each round leaves as much as the one before");
}

/// The median time of a call in microseconds, over batches of calls.
fn microseconds(mut call: impl FnMut(), mut wait: impl FnMut()) -> f64 {
    let mut batches: Vec<f64> = (0..31)
        .map(|_| {
            let start = Instant::now();
            (0..200).for_each(|_| call());
            let took = start.elapsed().as_secs_f64() * 1e6 / 200.0;
            wait();
            took
        })
        .collect();
    batches.sort_by(f64::total_cmp);
    batches[15]
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn a_launch_costs_little_more_than_the_drivers() {
    let device = CudaDevice::open(0).unwrap();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    let x = Array::full(&stream, &[1024], 5_u32).unwrap();
    let mut y = Array::full(&stream, &[1024], 6_u32).unwrap();
    Scale::launch(&stream, &x, &mut y, 3).unwrap();
    stream.synchronize().unwrap();

    let driver: &Driver = device.driver();
    let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
    let text = CString::new(LAWS).unwrap();
    // SAFETY: the text ends with a zero; the pointer is to a local; the context is bound by the
    // launch above.
    unsafe { driver.module_load_data(&raw mut module, text.as_ptr().cast()) }.unwrap();
    // SAFETY: as above.
    unsafe { driver.module_get_function(&raw mut function, module, c"scale".as_ptr()) }.unwrap();
    let (from, to, len, k) = (x.view().address(), y.view().address(), 1024_u64, 3_u32);
    let raw_stream = stream.raw().raw();
    let raw = || {
        let mut parameters: [*mut c_void; 5] = [
            ptr::from_ref(&from).cast_mut().cast(),
            ptr::from_ref(&len).cast_mut().cast(),
            ptr::from_ref(&to).cast_mut().cast(),
            ptr::from_ref(&len).cast_mut().cast(),
            ptr::from_ref(&k).cast_mut().cast(),
        ];
        // SAFETY: the parameters fit the entry; the arrays live until the stream has been waited for.
        unsafe {
            driver.launch_kernel(
                function,
                8,
                1,
                1,
                128,
                1,
                1,
                0,
                raw_stream,
                parameters.as_mut_ptr(),
                ptr::null_mut(),
            )
        }
        .unwrap();
    };
    let wait = || stream.synchronize().unwrap();
    for round in 0..3 {
        let own = microseconds(raw, wait);
        let ours = microseconds(|| Scale::launch(&stream, &x, &mut y, 3).unwrap(), wait);
        println!("round {round}: launch {ours:.3} us, cuLaunchKernel {own:.3} us, {:.3} times", ours / own);
    }
    // SAFETY: no work is left that uses it.
    unsafe { driver.module_unload(module) }.unwrap();
}

#[cfg(feature = "cudarc")]
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn a_function_that_cudarc_loaded_stands_in_for_the_image() {
    use cudarc::{driver::CudaContext, nvrtc::Ptx};

    let device = CudaDevice::open(0).unwrap();
    let stream = Context::new(device.clone()).unwrap().stream().unwrap();
    let x = Array::full(&stream, &[1024], 5_u32).unwrap();
    let mut y = Array::full(&stream, &[1024], 6_u32).unwrap();
    let load = |entry| {
        let module = CudaContext::new(0).unwrap().load_module(Ptx::from_src(LAWS)).unwrap();
        module.load_function(entry).unwrap()
    };
    // SAFETY: it is refused, because the function takes other parameters.
    let refused = unsafe { device.launch_with::<Scale>(load("reverse")) };
    // The function also takes one more parameter; the error names the first argument that differs.
    let size = KernelError::ParameterSize { index: 4, argument: "k", declared_bytes: 4, found_bytes: 8 };
    assert_eq!(error(refused), size);
    // SAFETY: the function is the entry of the image.
    unsafe { device.launch_with::<Scale>(load("scale")) }.unwrap();
    Scale::launch(&stream, &x, &mut y, 3).unwrap();
    assert!(y.to_vec(&stream).unwrap().into_iter().eq((0..1024).map(|at| 15 + at)));
    assert_eq!(device.loaded_images(), 0, "the image was not needed");
    // Another function takes its place while launches of the first are in flight.
    for k in 0..100 {
        Scale::launch(&stream, &x, &mut y, k).unwrap();
        // SAFETY: as above.
        unsafe { device.launch_with::<Scale>(load("scale")) }.unwrap();
    }
    Scale::launch(&stream, &x, &mut y, 7).unwrap();
    assert!(y.to_vec(&stream).unwrap().into_iter().eq((0..1024).map(|at| 35 + at)));
}

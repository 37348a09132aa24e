//! Times launches of recorded work on a card, and tests that it is launched as one graph.
//!
//! Needs a CUDA device, so each test is ignored by default:
//! `cargo test --release -p devarray-cuda --test card -- --ignored hardware_recorded:: --nocapture
//! --test-threads 1`. The laws `W01` to `W06`, and `K11` for kernels, show that its values are right.
#![allow(unsafe_code)] // declares a kernel
#![expect(clippy::unwrap_used, reason = "tests")]

use std::{ptr, sync::Arc, time::Instant};

use devarray::{
    Array, Context, Order, StreamHandle,
    kernel::{Grid, Image, In, Out, has_len},
};
use devarray_cuda::CudaDevice;

devarray::kernel! {
    struct Scale(from: In<u32>, to: Out<u32>, k: u32);
    // SAFETY: a thread below the length of both arrays reads one element and writes one.
    image = unsafe { Image::ptx(include_str!("../../conformance/kernels/laws.ptx"), "scale") };
    launch { has_len(from, to.len())?; Grid::elements(to.len(), 128) }
    host { for (at, (to, from)) in (0..).zip(to.iter_mut().zip(from)) { *to = k * from + at } }
}

fn stream() -> StreamHandle<CudaDevice> {
    Context::new(CudaDevice::open(0).unwrap()).unwrap().stream().unwrap()
}

/// The least time of a call in microseconds, where many are made in a row: on the host alone, and with the device.
fn microseconds(s: &StreamHandle<CudaDevice>, times: u32, mut call: impl FnMut()) -> (f64, f64) {
    let mut least = (f64::INFINITY, f64::INFINITY);
    for _ in 0..12 {
        s.synchronize().unwrap();
        let begun = Instant::now();
        (0..times).for_each(|_| call());
        let host = begun.elapsed();
        s.synchronize().unwrap();
        let of_each = |time: std::time::Duration| time.as_secs_f64() * 1e6 / f64::from(times);
        least = (least.0.min(of_each(host)), least.1.min(of_each(begun.elapsed())));
    }
    least
}

/// Kernels of the program are part of the graph. Their image is loaded while the graph is made.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn kernels_are_captured() {
    let s = stream();
    let mut due: Vec<u32> = (0..100).collect();
    let mut x = Array::from_slice(&s, &[100], &due).unwrap();
    let mut y = Array::<u32, _>::zeros(&s, &[100]).unwrap();
    let chain = s
        .record_work((&x, &mut y), |on, (x, mut y)| {
            let once = x.to_contiguous(on, Order::C)?;
            let mut twice = Array::uninit(on, &[100])?;
            Scale::launch(on, &once, &mut twice, 3)?;
            Scale::launch(on, &twice, &mut y, 2)
        })
        .unwrap();
    for _ in 0..5 {
        chain.launch(&s, (&x, &mut y)).unwrap();
        assert!(chain.is_captured(), "launched as one");
        due = (0..).zip(due).map(|(at, x)| 6 * x + 3 * at).collect();
        assert_eq!(y.to_vec(&s).unwrap(), due);
        (x, y) = (y, x);
    }
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn chains_of_additions() {
    let s = stream();
    // The first round of each length warms up.
    for (round, len) in [(0, 1 << 10), (0, 1 << 18), (1, 1 << 10), (1, 1 << 18)] {
        for count in [10, 50] {
            let y = Array::full(&s, &[len], 1.0_f32).unwrap();
            let mut v = Array::<f32, _>::zeros(&s, &[len]).unwrap();
            v.update(&s, &y, |v, y| v + y).unwrap();
            s.synchronize().unwrap();
            let (_, plain) = microseconds(&s, 20, || {
                for _ in 0..count {
                    v.update(&s, &y, |v, y| v + y).unwrap();
                }
            });
            let begun = Instant::now();
            let chain = s
                .record_work((&y, &mut v), |on, (y, mut v)| {
                    (0..count).try_for_each(|_| v.update(on, &y, |v, y| v + y))
                })
                .unwrap();
            let recorded = begun.elapsed();
            chain.launch(&s, (&y, &mut v)).unwrap();
            let built = begun.elapsed();
            s.synchronize().unwrap();
            assert!(chain.is_captured(), "launched as one");
            v.view_mut().fill(&s, 0.0).unwrap();
            for _ in 0..3 {
                chain.launch(&s, (&y, &mut v)).unwrap();
            }
            assert_eq!(v.to_vec(&s).unwrap(), vec![3.0 * count as f32; len]);
            // These few launches start with an empty queue and do not fill it.
            let (host, _) = microseconds(&s, 8, || chain.launch(&s, (&y, &mut v)).unwrap());
            let (_, whole) = microseconds(&s, 100, || chain.launch(&s, (&y, &mut v)).unwrap());
            if round == 0 {
                continue;
            }
            println!(
                "{count} additions of {} KiB: {:.3} us each, one by one {:.3}; a launch {host:.2} us of the host; \
                 recorded in {:.0} us, built in {:.0}",
                len / 256,
                whole / count as f64,
                plain / count as f64,
                recorded.as_secs_f64() * 1e6,
                (built - recorded).as_secs_f64() * 1e6,
            );
        }
    }
}

/// Launches fifty additions in a graph by the driver's own calls: a recording cannot be faster than this.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn fifty_nodes_by_the_driver_alone() {
    let s = stream();
    let driver = Arc::clone(s.context().device().driver());
    let y = Array::full(&s, &[1 << 10], 1.0_f32).unwrap();
    let mut v = Array::<f32, _>::zeros(&s, &[1 << 10]).unwrap();
    v.update(&s, &y, |v, y| v + y).unwrap();
    s.synchronize().unwrap();
    let raw = s.raw().raw();
    let us = |begun: Instant| begun.elapsed().as_secs_f64() * 1e6;
    for _ in 0..3 {
        let (mut graph, mut executable) = (ptr::null_mut(), ptr::null_mut());
        let begun = Instant::now();
        // SAFETY: the stream is alive and its context bound. 2: relaxed.
        unsafe { driver.stream_begin_capture(raw, 2) }.unwrap();
        (0..50).for_each(|_| v.update(&s, &y, |v, y| v + y).unwrap());
        // SAFETY: the stream captures; the pointer is to a local.
        unsafe { driver.stream_end_capture(raw, &raw mut graph) }.unwrap();
        let captured = us(begun);
        // SAFETY: the graph is alive; the pointer is to a local.
        unsafe { driver.graph_instantiate(&raw mut executable, graph, 0) }.unwrap();
        let instantiated = us(begun);
        // SAFETY: the executable is alive, and so are the arrays.
        let launch = || unsafe { driver.graph_launch(executable, raw) }.unwrap();
        launch();
        let built = us(begun);
        s.synchronize().unwrap();
        let (host, _) = microseconds(&s, 8, launch);
        let (_, whole) = microseconds(&s, 100, launch);
        println!(
            "50 nodes by the driver: captured in {captured:.0} us, instantiated {:.0}, first launch {:.0}; a launch \
             {host:.2} us of the host, {:.3} us an addition",
            instantiated - captured,
            built - instantiated,
            whole / 50.0,
        );
        // SAFETY: no launch of it runs; destroyed once.
        unsafe { driver.graph_exec_destroy(executable) }.unwrap();
        // SAFETY: destroyed once.
        unsafe { driver.graph_destroy(graph) }.unwrap();
    }
}

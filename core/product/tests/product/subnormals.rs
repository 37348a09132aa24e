//! Tests a mode that other code may have set in the calling thread: subnormals count as 0.
#![cfg(target_arch = "x86_64")]
#![allow(unsafe_code)] // sets the control register of the thread

use std::arch::asm;

use devarray_function::{Alone, ElementType, Workers};

use crate::{
    array::{Array, product},
    workers::Threads,
};

const FLUSH: u32 = 1 << 15 | 1 << 6;

/// Runs it in a thread where subnormal results and operands count as 0.
fn flushed<R>(run: impl FnOnce() -> R) -> R {
    let mut before = 0_u32;
    // SAFETY: stores the register's 4 bytes into the variable
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut before, options(nostack)) };
    let set = |value: u32| {
        // SAFETY: the value was read from the register, except for bits that every processor has
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack)) };
    };
    set(before | FLUSH);
    let result = run();
    set(before);
    result
}

#[test]
fn subnormals_are_kept_whatever_the_thread_had() {
    // The twin: without a product, subnormals are lost.
    let lost = flushed(|| std::hint::black_box(1e-40_f32) + std::hint::black_box(1e-40));
    assert_eq!(lost, 0.0);
    // These are one chain in a tile, in few rows and in lanes; two chains of an element, and
    // several.
    for (a, b) in [
        (vec![9, 5], vec![5, 40]),
        (vec![9, 5], vec![5]),
        (vec![20, 1, 5], vec![20, 5, 1]),
        (vec![8192], vec![8192]),
        (vec![2, 8192], vec![8192, 3]),
    ] {
        let array = |shape: &[usize], element: f32| {
            let elements = vec![element.to_le_bytes(); shape.iter().product()].concat();
            Array::new(ElementType::F32, shape, &elements)
        };
        let (a, b) = (array(&a, 1.0), array(&b, 1e-44));
        for workers in [&Alone as &dyn Workers, &Threads(2)] {
            let expected = product(&a, &b, workers).expect("shapes that fit").bits();
            assert!(expected.iter().all(|&bits| bits != 0));
            assert_eq!(flushed(|| product(&a, &b, workers)).expect("shapes that fit").bits(), expected);
        }
    }
}

//! Sums and running sums equal the results of `conformance/golden/sum_order.py`, which follows the manual in
//! Python.
#![allow(clippy::unwrap_used)] // helpers of tests

use std::{fs, path::Path};

use devarray::{
    Array, ArrayView, Context, StreamHandle,
    function::{DeviceFunction, ElementType, Function, ReduceOperation, Reduction, Scan, ScanOperation},
    ix,
};
use devarray_mock::MockDevice;

/// The numbers of the script: of either sign, from 2^-15 to 2^17.
fn numbers(count: usize, mut seed: u64) -> Vec<f32> {
    let next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (high, exponent) = ((seed >> 32) as u32 & 0x807f_ffff, 112 + (seed >> 55 & 31) as u32);
        f32::from_bits(high + (exponent << 23))
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn identity() -> Function {
    Function::parse("x0", &[ElementType::F32], &[]).unwrap()
}

fn sum(stream: &StreamHandle<MockDevice>, x: &ArrayView<'_, f32, MockDevice>) -> u32 {
    let reduction = Reduction::new(ReduceOperation::Sum);
    let sum = identity().reduce(stream, &[x.as_erased().clone()], &[], &reduction).unwrap();
    Array::<f32, _>::from_erased(sum).unwrap().to_vec(stream).unwrap()[0].to_bits()
}

fn digest_of_running_sums(stream: &StreamHandle<MockDevice>, x: &ArrayView<'_, f32, MockDevice>) -> u32 {
    let scan = Scan::new(ScanOperation::Sum, 0);
    let sums = identity().scan(stream, &[x.as_erased().clone()], &[], scan).unwrap();
    let sums = Array::<f32, _>::from_erased(sums).unwrap().to_vec(stream).unwrap();
    sums.iter().fold(0, |digest: u32, sum| digest.wrapping_mul(31).wrapping_add(sum.to_bits()))
}

#[test]
fn sums_are_those_of_the_script_whatever_the_layout() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/golden/sum_order.txt");
    let stream = Context::new(MockDevice::new()).unwrap().stream().unwrap();
    let (mut cases, mut unlike_in_order) = (0, 0);
    for line in fs::read_to_string(path).unwrap().lines() {
        let [count, seed, total, digest] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let (total, digest) =
            (u32::from_str_radix(total, 16).unwrap(), u32::from_str_radix(digest, 16).unwrap());
        let data = numbers(count.parse().unwrap(), seed.parse().unwrap());
        let flat = Array::from_slice(&stream, &[data.len()], &data).unwrap();
        assert_eq!(sum(&stream, &flat.view()), total, "{line}");
        assert_eq!(digest_of_running_sums(&stream, &flat.view()), digest, "{line}");

        // The numbers from back to front, in every second place of another array.
        let turned: Vec<f32> = data.iter().rev().flat_map(|&x| [x, f32::NAN]).collect();
        let turned = Array::from_slice(&stream, &[data.len(), 2], &turned).unwrap();
        let turned = turned.view().index(&ix![..; -1, 0]).unwrap();
        assert_eq!(sum(&stream, &turned), total, "{line}");
        assert_eq!(digest_of_running_sums(&stream, &turned), digest, "{line}");

        cases += 1;
        unlike_in_order += u32::from(data.iter().fold(0.0_f32, |sum, x| sum + x).to_bits() != total);
    }
    assert!(cases >= 15 && unlike_in_order > 5, "these sums tell one order from another");
}

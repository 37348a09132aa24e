//! Proves on a real device that reductions and scans give the bits that core's interpreter
//! and the CPU give, and times them.
//!
//! Needs a CUDA device, so each test is ignored by default: `cargo test --release -p devarray-cuda
//! --test card -- --ignored hardware_reductions:: --nocapture --test-threads 1`. `CASES` sets the
//! number of random reductions, and `FIRST` the number of the first one. `LAYOUTS` sets the number of
//! other layouts of the same elements for each; `SPEED` selects the timed cases whose names contain
//! it.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "common/speeds.rs"]
mod speeds;

use super::{cases, compositions, reductions_of as reductions, shards};
use std::time::Instant;

use devarray::{
    Array, ArrayView, Context, StreamHandle,
    backend::{Device, ReduceForm},
    function::{
        Combine,
        ElementType::{F16, F32, F64, I64, U8},
        Expression, Operands,
    },
    math,
};
use devarray_conformance::Rng;
use devarray_cuda::CudaDevice;
use devarray_function::executor::execute_reduction;
use half::f16;
use reductions::Reduced;
use shards::{every_case, number};

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn random_reductions_of_random_layouts() {
    let others = number("LAYOUTS", 3);
    every_case("hardware_reductions::random_reductions_of_random_layouts", 2_000, |device, stream, which| {
        let most = if which % 8 == 0 { 1_000_000 } else { 100_000 };
        let rng = &mut Rng::new(which);
        let case = Reduced::random(rng, most);
        let expected = case.expected();
        case.compare(&case.run(device, stream), &expected, which);
        assert!(case.on_host(execute_reduction) == expected, "case {which} on the CPU: {case}");
        for _ in 0..others {
            let (other, expected) = case.in_other_layouts(rng, &expected);
            other.compare(&other.run(device, stream), &expected, which);
        }
        1 + others
    });
}

/// Reduces rows so long that their parts have parts again, or that very many tiles wait for each other.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn long_rows() {
    use Combine::{ArgMaximum, ArgMinimum, Product, Sum};
    use ReduceForm::{Exclusive, Inclusive, Total};
    let device = CudaDevice::open(0).expect("a CUDA device is needed");
    let stream = device.open_stream().unwrap();
    let mut rng = Rng::new(1);
    let cases = [
        ((Sum, Total), F32, (1, (1 << 28) + 16_385)),
        ((Sum, Total), F32, (7, 20_000_003)),
        ((Sum, Total), F64, (2, 16_777_216)),
        ((Sum, Total), F32, (300, 70_001)),
        ((ArgMaximum, Total), U8, (1, 300_000_001)),
        ((ArgMinimum, Total), F32, (2, 20_000_001)),
        ((Sum, Inclusive), F32, (1, 50_000_001)),
        ((Product, Exclusive), F32, (1_000, 40_001)),
        ((Product, Exclusive), F64, (3, 5_000_001)),
        ((Sum, Inclusive), I64, (1, 17_000_001)),
    ];
    for (which, (how, element_type, rows)) in cases.into_iter().enumerate() {
        let began = Instant::now();
        let case = Reduced::of_rows(&mut rng, how, element_type, rows);
        case.compare(&case.run(&device, &stream), &case.expected(), which as u64);
        println!("{how:?} of {rows:?} {element_type}: {:.1} s", began.elapsed().as_secs_f64());
    }
    assert_eq!(device.take_errors(), []);
}

/// Computes deviations from means in one launch, and scans whose tiles form several groups. Repeats them
/// often, so that blocks run in different orders.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn rows_that_stay_in_registers_and_tiles_that_wait() {
    let device = CudaDevice::open(0).expect("a CUDA device is needed");
    let stream = device.open_stream().unwrap();
    let mut rng = Rng::new(2);
    for (element_type, rows) in [
        (F32, (999, 16_384)),
        (F32, (5_001, 1_000)),
        (F32, (70_001, 12)),
        (F32, (20, 20_000)),
        (F64, (301, 8_192)),
        (F16, (501, 16_380)),
    ] {
        let both = Reduced::of_deviations(&mut rng, element_type, rows);
        let expected = both[1].expected();
        for which in 0..3 {
            both[1].compare(&Reduced::run_twice(&both, &device, &stream), &expected, which);
        }
    }
    for (combine, rows) in [(Combine::Sum, (1, 6_000_001)), (Combine::Maximum, (5, 1_200_001))] {
        let case = Reduced::of_rows(&mut rng, (combine, ReduceForm::Inclusive), F32, rows);
        let expected = case.expected();
        for which in 0..5 {
            case.compare(&case.run(&device, &stream), &expected, which);
        }
    }
    assert_eq!(device.take_errors(), []);
}

/// Computes softmax, norms, products and distances for every float type. One launch is enough for some of
/// the rows; the others take several steps.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn functions_of_several_steps() {
    let context = Context::new(CudaDevice::open(0).expect("a CUDA device is needed")).unwrap();
    let shapes = [[3, 4], [70, 12], [5, 1_028], [7, 8_192], [3, 16_384], [2, 20_001], [300, 77]];
    compositions::compare(&context.stream().unwrap(), &shapes);
    assert_eq!(context.device().take_errors(), []);
}

/// Reduces more rows twice than 31 and 32 bits can count: softmax, and variances. Each row has the bits that a few rows
/// around it have alone.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn rows_beyond_32_bits() {
    type On = StreamHandle<CudaDevice>;
    type View<'a> = ArrayView<'a, f16, CudaDevice>;
    let context = Context::new(CudaDevice::open(0).expect("a CUDA device is needed")).unwrap();
    let stream = context.stream().unwrap();
    let softmax = |on: &On, x: &View<'_>| math::softmax(on, x, 1).unwrap();
    let variance = |on: &On, x: &View<'_>| x.var(on, 1).unwrap();
    for count in [(1_usize << 31) + 77, (1 << 32) + 5] {
        let mut x = Array::<f16, _>::uninit(&stream, &[count, 4]).unwrap();
        let hashed = || {
            ((Expression::position(0) * 2_654_435_761_i64 + Expression::position(1) * 40_503) >> 7) & 1_023
        };
        ().map_into(&stream, &mut x.view_mut(), |()| hashed().cast::<f16>()).unwrap();
        let rows =
            |of: &View<'_>, from: usize| of.slice_axis(0, from..from + 64).unwrap().to_vec(&stream).unwrap();
        let some = [0, (1 << 31) - 64, (1 << 31) - 9, 1 << 31, count - (count % (1 << 31)) - 5, count - 64];
        for (name, compute) in
            [("softmax", &softmax as &dyn Fn(&On, &View<'_>) -> Array<f16, _>), ("var", &variance)]
        {
            let all = compute(&stream, &x.view());
            for from in some.into_iter().filter(|from| from + 64 <= count) {
                let alone = compute(&stream, &x.slice_axis(0, from..from + 64).unwrap());
                let (found, due) = (rows(&all.view(), from), alone.to_vec(&stream).unwrap());
                assert!(
                    found.iter().map(|x| x.to_bits()).eq(due.iter().map(|x| x.to_bits())),
                    "{name} of {count} from {from}"
                );
            }
            drop(all);
            stream.synchronize().unwrap();
        }
    }
    assert_eq!(context.device().take_errors(), []);
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn speed() {
    let device = CudaDevice::open(0).expect("a CUDA device is needed");
    let stream = device.open_stream().unwrap();
    let wanted = std::env::var("SPEED").unwrap_or_default();
    for speed in speeds::speeds().into_iter().filter(|speed| speed.name.contains(&wanted)) {
        speed.time(&device, &stream);
    }
    assert_eq!(device.take_errors(), []);
}

//! Proves on a real device that reductions and running forms give the bits that core's interpreter gives, and shows how
//! fast.
//!
//! Needs a CUDA device, so each test is ignored by default:
//! `cargo test --release -p devarray-cuda --test hardware_reductions -- --ignored --nocapture --test-threads 1`.
//! `CASES` and `FIRST` set how many random reductions are computed, and the first one's number; `SPEED` selects the timed
//! cases whose names contain it.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "common/cases.rs"]
#[expect(dead_code, reason = "shared with tests of copies")]
mod cases;
#[path = "common/evaluate.rs"]
mod evaluate;
#[path = "common/maps.rs"]
#[expect(dead_code, reason = "shared with tests of functions")]
mod maps;
#[path = "common/programs.rs"]
mod programs;
#[path = "common/reductions.rs"]
mod reductions;
#[path = "common/speeds.rs"]
mod speeds;

use std::time::Instant;

use devarray::{
    Layout,
    backend::{Device, ReduceForm},
    function::{
        Combine,
        ElementType::{self, F32, F64, I64, U8},
    },
};
use devarray_cuda::CudaDevice;
use programs::Dice;
use reductions::{Reduced, canonical, same};

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |number| number.parse().unwrap())
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn random_reductions_of_random_layouts() {
    let device = CudaDevice::open(0).expect("a CUDA device is needed");
    let (first, cases) = (number("FIRST", 0), number("CASES", 2_000));
    let began = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for thread in 0..threads as u64 {
            let device = &device;
            scope.spawn(move || {
                let stream = device.open_stream().unwrap();
                for which in (first + thread..first + cases).step_by(threads) {
                    let most = if which % 8 == 0 { 1_000_000 } else { 100_000 };
                    let case = Reduced::random(&mut Dice(which), most);
                    case.compare(&case.run(device, &stream), &case.expected(), which);
                }
            });
        }
    });
    println!(
        "{cases} random reductions in {:.1} s: {:?}",
        began.elapsed().as_secs_f64(),
        device.function_statistics()
    );
    assert_eq!(device.take_errors(), []);
}

/// How, of what, and the shape and strides of the input.
type Long = (Combine, ReduceForm, ElementType, Vec<usize>, Vec<isize>);

/// Rows so long that parts have parts of parts.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn long_rows() {
    let device = CudaDevice::open(0).expect("a CUDA device is needed");
    let stream = device.open_stream().unwrap();
    let mut dice = Dice(1);
    let cases: [Long; 8] = [
        (Combine::Sum, ReduceForm::Total, F32, vec![(1 << 28) + 16_385], vec![0]),
        (Combine::Sum, ReduceForm::Total, F32, vec![7, 40_000_003], vec![1, 1]),
        (Combine::Sum, ReduceForm::Total, F64, vec![90_000_000, 2], vec![1, 1]),
        (Combine::ArgMaximum, ReduceForm::Total, U8, vec![300_000_001], vec![1]),
        (Combine::ArgMinimum, ReduceForm::Total, F32, vec![2, 20_000_001], vec![1, 1]),
        (Combine::Sum, ReduceForm::Inclusive, F32, vec![20_000_001], vec![1]),
        (Combine::Product, ReduceForm::Exclusive, F64, vec![3, 5_000_001], vec![1, 1]),
        (Combine::Sum, ReduceForm::Inclusive, I64, vec![17_000_001], vec![0]),
    ];
    for (which, (combine, form, element_type, shape, strides)) in cases.into_iter().enumerate() {
        let layout = Layout::new(&shape, &strides, 0).unwrap();
        let bytes = maps::contents(&mut dice, &layout, element_type);
        // Finite, near 1.
        let bytes: Vec<u8> = match element_type {
            F32 => {
                bytes.chunks(4).flat_map(|x| (0x3f00_0000 | u32::from(x[1]) << 13).to_le_bytes()).collect()
            }
            F64 => bytes
                .chunks(8)
                .flat_map(|x| (0x3fe0_0000_0000_0000 | u64::from(x[1]) << 44 | u64::from(x[2])).to_le_bytes())
                .collect(),
            _ => bytes,
        };
        let of_result = match form {
            ReduceForm::Total if shape.len() == 2 && shape[0] < 10 => shape[..1].to_vec(),
            ReduceForm::Total => Vec::new(),
            _ => shape.clone(),
        };
        let combined = combine.result_type(element_type);
        let mut steps = vec![1_isize; of_result.len()];
        for axis in (1..of_result.len()).rev() {
            steps[axis - 1] = steps[axis] * of_result[axis].cast_signed();
        }
        let result = Layout::new(&of_result, &steps, 0).unwrap();
        let before = vec![0xab; of_result.iter().product::<usize>() * combined.len_bytes()];
        let case = Reduced {
            program: same(element_type),
            scalars: Vec::new(),
            combine,
            form,
            finish: canonical(combined),
            finish_scalars: Vec::new(),
            shape,
            inputs: vec![(layout, bytes)],
            result: (result, before),
        };
        let began = Instant::now();
        case.compare(&case.run(&device, &stream), &case.expected(), which as u64);
        println!("long row {which}: {:.1} s", began.elapsed().as_secs_f64());
    }
    assert_eq!(device.take_errors(), []);
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

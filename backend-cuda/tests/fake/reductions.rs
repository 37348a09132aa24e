//! Reductions on the fake: the text is run thread by thread, and every byte compared.

use devarray::{
    backend::{Device, ReduceForm},
    function::{
        Combine,
        ElementType::{F32, F64, I64, U8},
    },
};
use devarray_cuda::CudaDevice;

use super::{programs::Dice, reductions_of::Reduced, state::Fake};

#[test]
fn random_reductions_of_random_layouts() {
    let fake = Fake::new();
    let device = CudaDevice::open_with(&fake.driver(), 0).unwrap();
    let stream = device.open_stream().unwrap();
    let number =
        |name: &str, otherwise| std::env::var(name).map_or(otherwise, |value| value.parse().unwrap());
    let first = number("FIRST", 0);
    for which in first..first + number("CASES", 150) {
        // A few have parts of parts.
        let most = if which % 16 == 0 { 40_000 } else { 5_000 };
        let case = Reduced::random(&mut Dice(which), most);
        case.compare(&case.run(&device, &stream), &case.expected(), which);
    }
    assert_eq!(device.take_errors(), []);
    drop((stream, device));
    fake.assert_proper();
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
}

/// Rows whose ends lie around the ends of lanes, segments and tiles, twice on one stream: what an operation leaves there
/// does not change the next.
#[test]
fn rows_of_every_kind_of_length() {
    let fake = Fake::new();
    let device = CudaDevice::open_with(&fake.driver(), 0).unwrap();
    let stream = device.open_stream().unwrap();
    let mut dice = Dice(7);
    let mut which = 0;
    let mut check = |how, element_type, rows| {
        let case = Reduced::of_rows(&mut dice, how, element_type, rows);
        let expected = case.expected();
        for _ in 0..2 {
            case.compare(&case.run(&device, &stream), &expected, which);
        }
        which += 1;
    };
    for row_len in [1, 4, 31, 128, 129, 1_023, 1_025, 16_383, 16_384, 16_385, 32_769, 100_003] {
        check((Combine::Sum, ReduceForm::Total), F32, (1, row_len));
        check((Combine::Product, ReduceForm::Total), F64, (2, row_len));
        check((Combine::Minimum, ReduceForm::Total), U8, (3, row_len));
        check((Combine::ArgMaximum, ReduceForm::Total), I64, (1, row_len));
    }
    for row_len in [1, 5, 64, 127, 1_024, 1_025, 4_095, 4_096, 4_097, 12_288, 16_385, 40_961] {
        check((Combine::Sum, ReduceForm::Inclusive), F32, (2, row_len));
        check((Combine::Sum, ReduceForm::Exclusive), F64, (1, row_len));
        check((Combine::Maximum, ReduceForm::Inclusive), U8, (1, row_len));
    }
    assert_eq!(device.take_errors(), []);
    drop((stream, device));
    fake.assert_proper();
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
}

/// The texts of many reductions pass NVIDIA's own assembler: `PTXAS` is its path.
#[test]
#[ignore = "needs ptxas: PTXAS=... cargo test -p devarray-cuda --test fake reductions_assemble -- --ignored"]
fn reductions_assemble() {
    let ptxas = std::env::var_os("PTXAS").expect("PTXAS is the path of ptxas");
    let fake = Fake::new();
    let device = CudaDevice::open_with(&fake.driver(), 0).unwrap();
    let stream = device.open_stream().unwrap();
    for which in 0..150 {
        Reduced::random(&mut Dice(which), 2_000).run(&device, &stream);
    }
    let texts = fake.state(|state| std::mem::take(&mut state.written));
    let folder = tempfile::tempdir().unwrap();
    for (nth, text) in texts.iter().enumerate() {
        let (from, to) = (folder.path().join("a.ptx"), folder.path().join("a.cubin"));
        std::fs::write(&from, text).unwrap();
        let target = ["sm_70", "sm_80", "sm_90"][nth % 3];
        let mut command = std::process::Command::new(&ptxas);
        let output = command.arg(format!("-arch={target}")).arg(&from).arg("-o").arg(&to).output().unwrap();
        assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
    }
    println!("{} texts", texts.len());
}

//! Reductions on the fake: the text is run thread by thread, and every byte compared.

use devarray_cuda::CudaDevice;

use super::{programs::Dice, reductions_of::Reduced, state::Fake};

#[test]
fn random_reductions_of_random_layouts() {
    let fake = Fake::new();
    let device = CudaDevice::open_with(&fake.driver(), 0).unwrap();
    let stream = devarray::backend::Device::open_stream(&device).unwrap();
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

/// The texts of many reductions pass NVIDIA's own assembler: `PTXAS` is its path.
#[test]
#[ignore = "needs ptxas: PTXAS=... cargo test -p devarray-cuda --test fake reductions_assemble -- --ignored"]
fn reductions_assemble() {
    let ptxas = std::env::var_os("PTXAS").expect("PTXAS is the path of ptxas");
    let fake = Fake::new();
    let device = CudaDevice::open_with(&fake.driver(), 0).unwrap();
    let stream = devarray::backend::Device::open_stream(&device).unwrap();
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

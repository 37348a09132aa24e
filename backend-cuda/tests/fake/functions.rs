//! Functions on the fake: the text is run thread by thread, and every byte compared.

use devarray::backend::Device;
use devarray_cuda::CudaDevice;

use super::{maps::Case, programs::Dice, state::Fake};

#[test]
fn random_functions_on_random_layouts() {
    let fake = Fake::new();
    let device = CudaDevice::open_with(&fake.driver(), 0).unwrap();
    let stream = device.open_stream().unwrap();
    let cases = std::env::var("CASES").map_or(300, |cases| cases.parse().unwrap());
    let first = std::env::var("FIRST").map_or(0, |cases| cases.parse().unwrap());
    for which in first..first + cases {
        let mut dice = Dice(which);
        Case::random(&mut dice, 1500).check(&device, &stream, which);
    }
    drop((stream, device));
    fake.assert_proper();
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    if let Ok(folder) = std::env::var("TEXTS") {
        let texts = fake.state(|state| std::mem::take(&mut state.written));
        for (nth, text) in texts.into_iter().enumerate() {
            std::fs::write(format!("{folder}/{nth}.ptx"), text).unwrap();
        }
    }
}

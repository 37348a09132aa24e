//! Random copies and fills give what an index-by-index copy gives, gaps included.

use devarray_cuda::{CudaDevice, driver::Function};

use super::{
    cases::{Pair, Rng, check_fill},
    state::Fake,
};
use devarray::backend::Device;

#[test]
fn copies_of_any_layout() {
    let fake = Fake::new();
    let device = CudaDevice::open_with(&fake.driver(), 0).unwrap();
    let stream = device.open_stream().unwrap();
    let mut rng = Rng::new(1);
    for _ in 0..600 {
        Pair::random(&mut rng).check(&device, &stream, &mut rng);
    }
    assert!(device.driver().calls(Function::LaunchKernel) > 300, "the kernel has its share");
    drop((stream, device));
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    fake.assert_proper();
}

#[test]
fn fills_of_any_layout() {
    let fake = Fake::new();
    let device = CudaDevice::open_with(&fake.driver(), 0).unwrap();
    let stream = device.open_stream().unwrap();
    let mut rng = Rng::new(2);
    for _ in 0..400 {
        check_fill(&device, &stream, &mut rng);
    }
    fake.assert_proper();
}

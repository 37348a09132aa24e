//! Random copies and fills give what an index-by-index copy gives, gaps included.

use devarray_cuda::{CudaDevice, driver::Function};

use super::{
    cases::{Pair, Rng, check_fill},
    state::Fake,
};
use devarray::backend::Device;

#[test]
fn copies_of_any_layout() {
    for (seed, generation) in [(1, (7, 0)), (2, (8, 6)), (3, (9, 0)), (4, (12, 0))] {
        let fake = Fake::new();
        fake.state(|state| state.generation = generation);
        let device = CudaDevice::open_with(&fake.driver(), 0).unwrap();
        let stream = device.open_stream().unwrap();
        let mut rng = Rng::new(seed);
        for _ in 0..300 {
            Pair::random(&mut rng).check(&device, &stream, &mut rng);
        }
        let kinds = [Function::LaunchKernel, Function::LaunchKernelEx];
        let launches: u64 = kinds.iter().map(|&kind| device.driver().calls(kind)).sum();
        assert!(launches > 150, "kernels have their share");
        for family in ["rows_", "tile_", "gather_"] {
            let asked = fake.state(|state| state.asked.iter().any(|name| name.starts_with(family)));
            assert!(asked, "{family} on {generation:?}");
        }
        drop((stream, device));
        assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
        fake.assert_proper();
    }
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

//! Joins and paddings on the fake: every byte compared, and what is launched.

use devarray::{Array, Context, Pad, StreamHandle};
use devarray_conformance::Rng;
use devarray_cuda::{CudaDevice, driver::Function};

use super::{
    joins_of::{Case, stacks},
    state::Fake,
};

fn open(fake: &Fake) -> (Context<CudaDevice>, StreamHandle<CudaDevice>) {
    let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    let stream = context.stream().unwrap();
    (context, stream)
}

#[test]
fn random_joins_of_random_layouts() {
    for (first, generation) in [(0, (7, 0)), (1000, (9, 0))] {
        let fake = Fake::new();
        fake.state(|state| state.generation = generation);
        let (context, stream) = open(&fake);
        for which in first..first + 120 {
            Case::random(&mut Rng::new(which), 1500).check(&stream, which);
        }
        stacks(&context);
        assert_eq!(context.device().take_errors(), []);
        drop((stream, context));
        fake.assert_proper();
        assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    }
}

/// Kernels launched and contiguous copies made by `work`, without those that are made anyway.
fn launched(context: &Context<CudaDevice>, work: impl Fn()) -> (u64, u64) {
    let kernels = [Function::LaunchKernel, Function::LaunchKernelEx];
    let count = |functions: &[Function]| -> u64 {
        functions.iter().map(|&function| context.device().driver().calls(function)).sum()
    };
    let (launches, copies) = (count(&kernels), count(&[Function::MemcpyDtoDAsync]));
    work();
    (count(&kernels) - launches, count(&[Function::MemcpyDtoDAsync]) - copies)
}

#[test]
fn joins_and_paddings_are_one_launch_each() {
    let fake = Fake::new();
    let (context, stream) = open(&fake);
    let arrays: Vec<_> = (0..16).map(|_| Array::<f32, _>::zeros(&stream, &[40, 50]).unwrap()).collect();
    let views: Vec<_> = arrays.iter().map(Array::view).collect();
    let of = |work: &dyn Fn()| launched(&context, work);
    assert_eq!(of(&|| drop(Array::concatenate(&stream, &views, 1).unwrap())), (1, 0));
    assert_eq!(of(&|| drop(Array::concatenate(&stream, &views, 0).unwrap())), (1, 0));
    for (count, axis) in [(2, 2), (3, 2), (16, 2), (16, 1), (5, 0)] {
        assert_eq!(of(&|| drop(Array::stack(&stream, &views[..count], axis).unwrap())), (1, 0), "{count}");
    }
    let asked = |name: &str| fake.state(|state| state.asked.iter().any(|asked| asked == name));
    assert!(asked("join_zip_4") && asked("join_interleave_4") && asked("join_pieces_4"));
    for mode in [Pad::Edge, Pad::Reflect, Pad::Wrap] {
        assert_eq!(
            of(&|| drop(arrays[0].pad(&stream, &[(2, 3), (1, 2)], mode).unwrap())),
            (1, 0),
            "{mode:?}"
        );
    }
    // One part is one copy, and long contiguous ones are the driver's.
    assert_eq!(of(&|| drop(Array::concatenate(&stream, &views[..1], 1).unwrap())), (0, 1));
    let long = Array::<u8, _>::zeros(&stream, &[(4 << 20) + 1]).unwrap();
    assert_eq!(of(&|| drop(Array::concatenate(&stream, &[long.view(), long.view()], 0).unwrap())), (0, 2));
}

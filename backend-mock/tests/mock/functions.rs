//! What a function or a reduction reads without anybody having written it is found when it is enqueued.

use devarray::{
    Array, Context,
    function::{ElementType, Function, ReduceOperation, Reduction},
};
use devarray_mock::{Code, MockDevice};

/// Computes of an array whose first element nobody wrote, or was; the code and the bytes of what was found.
fn found(written: usize, reduces: bool) -> Option<(Code, usize)> {
    let device = MockDevice::new();
    let stream = Context::new(device.clone()).unwrap().stream().unwrap();
    let mut x = Array::<f32, _>::uninit(&stream, &[4]).unwrap();
    x.view_mut().slice_axis(0, 4 - written as isize..).unwrap().fill(&stream, 1.0).unwrap();
    if reduces {
        let square = Function::parse("x0 * x0", &[ElementType::F32], &[]).unwrap();
        let sum = Reduction::new(ReduceOperation::Sum);
        square.reduce(&stream, &[x.view().as_erased().clone()], &[], &sum).unwrap();
    } else {
        x.map(&stream, |x| x + 1.0).unwrap();
    }
    device.first_finding().map(|finding| (finding.code, finding.bytes.len()))
}

#[test]
fn functions_and_reductions_of_what_nobody_wrote_are_findings() {
    for reduces in [false, true] {
        assert_eq!(found(3, reduces), Some((Code::Uninitialized, 4)));
        assert_eq!(found(4, reduces), None);
    }
}

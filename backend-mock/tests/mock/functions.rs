//! If a function or a reduction reads elements that were never written, the simulator finds this when the call
//! is enqueued.

use devarray::{
    Array, Context, Result,
    function::{DeviceFunction, ElementType, Function, ReduceOperation, Reduction},
};
use devarray_mock::{Code, MockDevice};

/// Computes on four elements, which are written only from `from` on. Returns the code,
/// and the number of bytes in the finding.
fn found(from: isize, reduces: bool) -> Result<Option<(Code, usize)>> {
    let device = MockDevice::new();
    let stream = Context::new(device.clone())?.stream()?;
    let mut x = Array::<f32, _>::uninit(&stream, &[4])?;
    x.view_mut().slice_axis(0, from..)?.fill(&stream, 1.0)?;
    if reduces {
        let square = Function::parse("x0 * x0", &[ElementType::F32], &[])?;
        let sum = Reduction::new(ReduceOperation::Sum);
        square.reduce(&stream, &[x.view().as_erased().clone()], &[], &sum)?;
    } else {
        let _ = x.map(&stream, |x| x + 1.0)?;
    }
    Ok(device.first_finding().map(|finding| (finding.code, finding.bytes.len())))
}

#[test]
fn functions_and_reductions_of_what_nobody_wrote_are_findings() -> Result<()> {
    for reduces in [false, true] {
        assert_eq!(found(1, reduces)?, Some((Code::Uninitialized, 4)));
        assert_eq!(found(0, reduces)?, None);
    }
    Ok(())
}

//! Memory that the host reaches by itself.

use devarray::{
    Array, Context, ManagedArray, Result, StreamHandle,
    backend::Location,
    gather::{OutOfRange, Repeats},
};
use devarray_mock::{Code, Finding, MockDevice};

type Stream = StreamHandle<MockDevice>;

/// The findings of a program.
fn found(program: impl FnOnce(&Context<MockDevice>, &Stream) -> Result<()>) -> Result<Vec<Finding>> {
    let device = MockDevice::new();
    let context = Context::new(device.clone())?;
    program(&context, &context.stream()?)?;
    Ok(device.report().findings)
}

fn codes(findings: &[Finding]) -> Vec<Code> {
    findings.iter().map(|finding| finding.code).collect()
}

/// Managed memory of ten elements without a value, but for those at three indices.
fn put(context: &Context<MockDevice>, stream: &Stream) -> Result<ManagedArray<u32, MockDevice>> {
    let mut managed = ManagedArray::zeros(context, &[10])?;
    managed.view_mut().copy_from(stream, &Array::uninit(stream, &[10])?)?;
    let by = Array::from_slice(stream, &[3], &[0, 1, 2])?;
    let values = Array::from_slice(stream, &[3], &[5_u32, 6, 7])?;
    managed.view_mut().put(stream, &by, &values, 0, OutOfRange::Error, Repeats::None)?;
    Ok(managed)
}

/// A prefetch moves memory, and reads no values.
#[test]
fn elements_without_a_value_may_move() -> Result<()> {
    let moved = |reads_all: bool| {
        found(|context, stream| {
            let managed = put(context, stream)?;
            managed.prefetch(stream, Location::Device)?;
            assert_eq!(managed.view().slice_axis(0, ..3)?.to_vec(stream)?, [5, 6, 7]);
            if reads_all {
                managed.view().to_vec(stream)?;
            }
            Ok(())
        })
    };
    assert_eq!(moved(false)?, []);
    let findings = moved(true)?;
    assert_eq!((codes(&findings), findings[0].operation.kind), (vec![Code::Uninitialized], "download"));
    Ok(())
}

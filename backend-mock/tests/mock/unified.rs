//! Mapped and managed memory. The host may read only elements that have a value. Elements that the host may write
//! count as having one.

use devarray::{
    Array, Context, ManagedArray, MappedArray, Result, StreamHandle,
    backend::Location,
    gather::{OutOfRange, Repeats},
};
use devarray_mock::{Access, Code, Finding, MockDevice};

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

#[test]
fn the_host_does_not_read_what_has_no_value() -> Result<()> {
    let line = line!() + 4;
    let findings = found(|context, stream| {
        let mut mapped = MappedArray::zeros(context, &[4])?;
        mapped.view_mut().copy_from(stream, &Array::<u32, _>::uninit(stream, &[4])?)?;
        mapped.host().map(drop)
    })?;
    assert_eq!(codes(&findings), [Code::Uninitialized]);
    let Finding { operation, access, bytes, .. } = &findings[0];
    assert_eq!(
        (operation.kind, *access, bytes.clone(), operation.location.line()),
        ("host", Access::Read, 0..16, line)
    );
    let findings = found(|context, stream| put(context, stream)?.host().map(drop))?;
    assert_eq!((codes(&findings), findings[0].bytes.clone()), (vec![Code::Uninitialized], 12..40));
    Ok(())
}

/// The twin: what the host may have written has a value.
#[test]
fn what_the_host_writes_has_a_value() -> Result<()> {
    let findings = found(|context, stream| {
        let mut mapped = MappedArray::zeros(context, &[4])?;
        assert_eq!(mapped.host()?, [0; 4]);
        mapped.view_mut().copy_from(stream, &Array::<u32, _>::uninit(stream, &[4])?)?;
        mapped.host_mut()?.fill(5);
        assert_eq!(mapped.view().to_vec(stream)?, [5; 4]);
        mapped.view_mut().copy_from(stream, &Array::<u32, _>::uninit(stream, &[4])?)?;
        drop(mapped);
        stream.synchronize()?;
        // This memory is used again, zeroed by the host.
        let mapped = MappedArray::<u32, _>::zeros(context, &[4])?;
        assert_eq!(mapped.host()?, [0; 4]);
        let mut managed = put(context, stream)?;
        managed.host_mut()?[3..].fill(8);
        assert_eq!(managed.host()?, [5, 6, 7, 8, 8, 8, 8, 8, 8, 8]);
        assert_eq!(managed.view().to_vec(stream)?[2..5], [7, 8, 8]);
        Ok(())
    })?;
    assert_eq!(findings, []);
    Ok(())
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

//! Contexts keep their arrays apart, on all devices.

use devarray::{
    Array, Context, Crossing, Error, Layout, Order, Result, StreamHandle,
    backend::{
        AllocHost, ChecksForeign as _, DeclaredAccess, Device, Event as _, HostFlags, ManagedMemory, MapHost,
        PeerAccess, Quiesced, Stream as _, Timing,
    },
};
use devarray_any::AnyDevice;
use devarray_mock::Code;

fn device(name: &str) -> AnyDevice {
    AnyDevice::named(name).expect(name)
}

fn stream(name: &str) -> Result<StreamHandle<AnyDevice>> {
    Context::new(device(name))?.stream()
}

#[track_caller]
fn assert_mixed<T>(result: Result<T>, backend: &str, operation: &str) {
    match result.err() {
        Some(Error::DeviceMismatch { backend: of, operation: refused }) => {
            assert_eq!((of, refused), (backend, operation));
        }
        other => panic!("{operation}: {other:?}"),
    }
}

#[test]
fn an_array_of_one_context_is_refused_by_another() -> Result<()> {
    for (one, other) in [("mock", "mock"), ("mock", "host"), ("host", "mock")] {
        let (here, there) = (stream(one)?, stream(other)?);
        let mut array = Array::from_slice(&here, &[2], &[1, 2])?;
        let refused = array.to_vec(&there).expect_err("another context");
        assert!(matches!(refused, Error::DeviceMismatch { .. }), "{refused}");
        assert_eq!(refused.to_string().split(':').next(), Some(other));
        assert_mixed(array.copy_from(&here, &Array::zeros(&there, &[2])?), one, "copy");
        assert_mixed(there.wait(&here.record()?), other, "wait");
        assert_eq!(array.to_vec(&here)?, [1, 2]);
    }
    Ok(())
}

#[test]
fn elements_go_from_one_backend_to_another_through_host_memory() -> Result<()> {
    let (here, there) = (stream("host")?, stream("mock")?);
    let source = Array::from_slice(&there, &[2, 2], &[1, 2, 3, 4])?;
    let mut target = Array::zeros(&here, &[2, 2])?;
    let way = target.view_mut().copy_from_peer(&here, &there, &source.view().transpose())?;
    assert_eq!((way, target.to_vec(&here)?), (Crossing::Staged, vec![1, 3, 2, 4]));

    let (host, mock) = (here.context(), there.context());
    assert!(!host.can_access_peer(&mock)? && !mock.can_access_peer(&host)?);
    assert!(matches!(host.enable_peer_access(&mock), Err(Error::Unsupported { backend: "host", .. })));
    assert!(!host.device().reaches_peer(mock.device()));
    Ok(())
}

/// These calls go below core, where only the device itself can refuse.
#[test]
fn parts_of_two_backends_are_refused() -> Result<()> {
    for (one, other) in [("mock", "host"), ("host", "mock")] {
        let (here, there) = (device(one), device(other));
        let (stream, foreign) = (here.open_stream()?, there.open_stream()?);
        let (event, strange) = (here.record_timed(&stream)?, there.record_timed(&foreign)?);
        assert_mixed(stream.wait(&strange), one, "wait");
        assert_mixed(here.record_timed(&foreign), other, "record_timed");
        assert_mixed(here.elapsed(&event, &strange), one, "elapsed");
        assert_mixed(here.wait_for_peer(&stream, &strange), one, "wait_for_peer");
        let len = std::num::NonZeroUsize::MIN;
        let memory = there.alloc_host_as(len, HostFlags::new().mapped())?;
        assert_mixed(here.map_host(&memory), one, "map_host");
        assert_mixed(here.managed_buffer(&there.alloc_managed(len)?), one, "managed_buffer");

        // The refused calls did nothing: the parts still work with their own devices.
        stream.wait(&event)?;
        foreign.wait(&strange)?;
        assert!(matches!((stream.synchronize(), strange.synchronize()), (Quiesced::Done, Quiesced::Done)));
    }
    Ok(())
}

/// Accesses are declared without `unsafe`, so a device believes no buffer of another backend.
#[test]
fn declared_accesses_to_another_backend_are_ignored() -> Result<()> {
    let (host, mock) = (stream("host")?, stream("mock")?);
    let (here, there) = (Array::<f32, _>::zeros(&host, &[4])?, Array::<f32, _>::zeros(&mock, &[4])?);
    let layout = Layout::contiguous(&[4], Order::C)?;
    let access = |array: &Array<f32, AnyDevice>| {
        let view = array.view();
        let buffer = view.buffer().expect("it has elements");
        let of = |device: &StreamHandle<AnyDevice>| {
            let access = DeclaredAccess::new(buffer, &layout, 4, true);
            device.context().device().note_host_access(&access);
            device.raw().for_foreign_work(&[access]).is_some()
        };
        (of(&host), of(&mock))
    };
    // The CPU checks no declared access.
    assert_eq!(access(&here), (false, false));
    assert_eq!(access(&there), (false, true));
    let context = mock.context();
    let simulator = context.device().as_mock().expect("the simulator");
    let found: Vec<_> = simulator.report().findings.iter().map(|found| found.code).collect();
    assert_eq!(found, [Code::HostWrite], "nobody waited for the zeros");
    Ok(())
}

#[test]
fn only_memory_of_the_host_is_looked_at_in_place() -> Result<()> {
    let (here, there) = (stream("host")?, stream("mock")?);
    assert_eq!(Array::from_slice(&here, &[2], &[1, 2])?.host()?, [1, 2]);
    let mut elsewhere = Array::from_slice(&there, &[2], &[1, 2])?;
    assert_eq!(elsewhere.host(), Err(Error::OutOfReach { backend: "mock", operation: "host" }));
    assert_eq!(elsewhere.host_mut(), Err(Error::OutOfReach { backend: "mock", operation: "host_mut" }));

    // The advice in the message.
    let text = elsewhere.host().unwrap_err().to_string();
    assert!(["`to_vec`", "`to_host`", "`copy_from_slice`"].iter().all(|way| text.contains(way)), "{text}");
    let mut copy = elsewhere.to_vec(&there)?;
    copy[1] = 7;
    elsewhere.view_mut().copy_from_slice(&there, &copy)?;
    assert_eq!(elsewhere.to_host(&there)?.as_slice(), [1, 7]);
    Ok(())
}

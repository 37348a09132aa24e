//! Copies between devices of one simulated machine: the way that they take, failures of calls, and
//! the twins without an edge, which must be detected.
#![allow(unsafe_code, clippy::unwrap_used)] // helpers of tests; the twins go below the library

use std::num::NonZeroUsize;

use devarray::{
    Array, Context, Crossing, Error, Layout, Order, StreamHandle,
    backend::{
        Capabilities, Capability, CopyOp, Device, FillOp, FreeOp, PciAddress, PeerAccess, Quiesced, Stream,
    },
    copy::Plan,
    memory::AllocationState,
};
use devarray_mock::{Code, MockDevice, Schedule, Site};

struct Pair {
    device: MockDevice,
    here: Context<MockDevice>,
    there: Context<MockDevice>,
    s: StreamHandle<MockDevice>,
    t: StreamHandle<MockDevice>,
}

impl Pair {
    fn of(device: MockDevice) -> Self {
        let (here, there) = (Context::new(device.clone()).unwrap(), Context::new(device.sibling()).unwrap());
        here.enable_peer_access(&there).unwrap();
        let (s, t) = (here.stream().unwrap(), there.stream().unwrap());
        Self { device, here, there, s, t }
    }

    fn lazy() -> Self {
        Self::of(MockDevice::builder().schedule(Schedule::Lazy).build())
    }

    fn close(self) -> devarray_mock::Report {
        let device = self.device.clone();
        assert_eq!((self.here.take_errors(), self.there.take_errors()), (vec![], vec![]));
        drop(self);
        device.report()
    }
}

fn failed() -> Error {
    Error::Driver { backend: "mock", operation: "planned", code: 999, name: "PLANNED".into() }
}

#[test]
fn a_copy_goes_in_place_where_it_may_and_is_staged_where_not() {
    let device = MockDevice::new();
    let (here, there) = (Context::new(device.clone()).unwrap(), Context::new(device.sibling()).unwrap());
    let (s, t) = (here.stream().unwrap(), there.stream().unwrap());
    let src = Array::from_slice(&t, &[1000], &[7_u32; 1000]).unwrap();
    let mut dst = Array::<u32, _>::zeros(&s, &[1000]).unwrap();
    let mut went = || {
        let before = here.statistics();
        let way = dst.view_mut().copy_from_peer(&s, &t, &src.view()).unwrap();
        let after = here.statistics();
        (way, after.copies - before.copies, after.uploads - before.uploads)
    };
    assert_eq!(went(), (Crossing::Staged, 0, 1));
    // Access is allowed in one direction only.
    there.enable_peer_access(&here).unwrap();
    assert_eq!(went(), (Crossing::Staged, 0, 1));
    here.enable_peer_access(&there).unwrap();
    assert_eq!(went(), (Crossing::InPlace, 1, 0));
    // Two contexts of one device need no access.
    let again = Context::new(device.clone()).unwrap();
    let u = again.stream().unwrap();
    let mut third = Array::<u32, _>::zeros(&u, &[1000]).unwrap();
    assert_eq!(third.view_mut().copy_from_peer(&u, &s, &dst.view()).unwrap(), Crossing::InPlace);
    assert_eq!(third.to_vec(&u).unwrap(), [7; 1000]);
}

#[test]
fn who_cannot_says_so() {
    let strangers = [MockDevice::new(), MockDevice::builder().ordinal(1).build()];
    let plain = MockDevice::builder().capabilities(Capabilities::default()).build();
    for (one, two) in [(&strangers[0], &strangers[1]), (&plain, &plain.sibling())] {
        let (here, there) = (Context::new(one.clone()).unwrap(), Context::new(two.clone()).unwrap());
        assert!(!here.can_access_peer(&there).unwrap());
        let refused = here.enable_peer_access(&there).unwrap_err();
        assert!(matches!(refused, Error::Unsupported { capability: Capability::PeerAccess, .. }));
        let (s, t) = (here.stream().unwrap(), there.stream().unwrap());
        let src = Array::from_slice(&t, &[2], &[1_u8, 2]).unwrap();
        let mut dst = Array::<u8, _>::zeros(&s, &[2]).unwrap();
        assert_eq!(dst.view_mut().copy_from_peer(&s, &t, &src.view()).unwrap(), Crossing::Staged);
        assert_eq!(dst.to_vec(&s).unwrap(), [1, 2]);
    }
}

#[test]
fn devices_of_a_machine_are_told_apart() {
    let device = MockDevice::builder().memory_limit_bytes(1 << 20).build();
    let sibling = device.sibling();
    let (one, two) = (&device.info().properties, &sibling.info().properties);
    assert_eq!((device.info().ordinal, sibling.info().ordinal), (0, 1));
    assert_eq!((one.total_memory_bytes, two.pci), (1 << 20, Some(PciAddress::new(0, 1, 0))));
    assert!(one.uuid != two.uuid && one.uuid.unwrap().to_string().starts_with("GPU-64657661-7272-6179-"));
    assert_eq!(device.sibling().info().ordinal, 2);
}

/// Below the library: a copy to this device of memory that another device's stream filled, with and
/// without its two edges.
#[test]
fn a_copy_without_an_edge_is_found() {
    for (before, after, due) in [
        (true, true, vec![]),
        (false, true, vec![Code::UseBeforeAlloc]),
        (true, false, vec![Code::UseAfterFree]),
    ] {
        let device = MockDevice::builder().schedule(Schedule::Lazy).build();
        let sibling = device.sibling();
        device.enable_peer_access(&sibling).unwrap();
        let (s, t) = (device.open_stream().unwrap(), sibling.open_stream().unwrap());
        let len = NonZeroUsize::new(64).unwrap();
        let (dst, src) = (s.alloc(len).unwrap(), t.alloc(len).unwrap());
        let line = Layout::new(&[64], &[1], 0).unwrap();
        let plan = Plan::new(&line, &line, 1, &Capabilities::default()).unwrap();
        // SAFETY: inside the buffer; that an edge may be missing is the mistake to be found.
        t.fill(&unsafe { FillOp::new_unchecked(&src, &plan, &[7]) }).unwrap();
        if before {
            device.wait_for_peer(&s, &t.record().unwrap()).unwrap();
        }
        // SAFETY: as above.
        device.copy_from_peer(&s, &unsafe { CopyOp::new_unchecked(&dst, &src, &plan) }).unwrap();
        if after {
            sibling.wait_for_peer(&t, &s.record().unwrap()).unwrap();
        }
        // SAFETY: freed once; that the copy may still read it is the mistake to be found.
        t.free(unsafe { FreeOp::new_unchecked(src) }).unwrap();
        // SAFETY: freed once, on the stream that used it.
        s.free(unsafe { FreeOp::new_unchecked(dst) }).unwrap();
        let codes: Vec<Code> = device.report().findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, due, "{}", device.report());
    }
}

/// Every call that a copy in place makes fails once: the error is returned, and the same call then
/// succeeds.
#[test]
fn every_call_fails_once() {
    for (site, calls) in [(Site::Record, 3), (Site::Wait, 2), (Site::WaitForPeer, 2), (Site::CopyFromPeer, 1)]
    {
        for nth in 0..calls {
            let pair = Pair::lazy();
            let Pair { device, here, there, s, t } = &pair;
            let (writer, reader) = (there.stream().unwrap(), here.stream().unwrap());
            let mut src = Array::<u32, _>::zeros(t, &[100]).unwrap();
            src.view_mut().fill(&writer, 5).unwrap();
            let mut dst = Array::full(s, &[100], 1_u32).unwrap();
            let _ = dst.view().to_contiguous(&reader, Order::C).unwrap();
            let harmless = || devarray_mock::Fault::Quiesced(Quiesced::Done);
            (0..nth).for_each(|_| device.fail_next(site, harmless()));
            device.fail_next(site, failed());
            let refused = dst.view_mut().copy_from_peer(s, t, &src.view());
            assert_eq!(refused, Err(failed()), "{site} {nth}");
            // The source may be written and dropped: nothing reads it any more.
            src.view_mut().fill(&writer, 6).unwrap();
            let half = dst.to_vec(&reader).unwrap();
            assert!(half == [1; 100] || half == [5; 100], "{site} {nth}: {half:?}");
            dst.view_mut().copy_from_peer(s, t, &src.view()).unwrap();
            assert_eq!(dst.to_vec(&reader).unwrap(), [6; 100]);
            drop((src, dst, writer, reader));
            let report = pair.close();
            assert!(report.is_clean(), "{site} {nth}: {report}");
        }
    }
    let pair = Pair::lazy();
    pair.device.fail_next(Site::PeerAccess, failed());
    assert_eq!(pair.there.enable_peer_access(&pair.here), Err(failed()));
    pair.there.enable_peer_access(&pair.here).unwrap();
}

/// If no call can say when the copy is over, its source is leaked rather than freed under it.
#[test]
fn an_unknown_end_leaks_the_source() {
    let pair = Pair::lazy();
    let Pair { device, here, s, t, .. } = &pair;
    let src = Array::full(t, &[100], 5_u32).unwrap();
    let mut dst = Array::<u32, _>::zeros(s, &[100]).unwrap();
    device.fail_next(Site::WaitForPeer, devarray_mock::Fault::Quiesced(Quiesced::Done));
    device.fail_next(Site::WaitForPeer, failed());
    device.fail_next(Site::Synchronize, Quiesced::Unknown(failed()));
    assert_eq!(dst.view_mut().copy_from_peer(s, t, &src.view()), Err(failed()));
    assert_eq!(here.take_errors(), [failed()], "that the wait failed too is told of");
    let refused = src.release(t).unwrap_err();
    assert!(matches!(refused.error(), Error::Unsupported { .. }), "nor is it given away");
    drop((refused, dst));
    let states: Vec<_> = pair.there.live_allocations().iter().map(|record| record.state).collect();
    assert_eq!(states, [AllocationState::Lost], "and the ledger says that it does not come back");
    let report = pair.close();
    assert_eq!((report.buffers.len(), report.findings.len()), (1, 0), "{report}");
}

/// A ring of copies over three devices under many schedules: the elements are right, and there is
/// no finding.
#[test]
fn a_ring_of_three() {
    for seed in 0..100 {
        let device = MockDevice::builder().schedule(Schedule::Random).seed(seed).build();
        let devices = [device.clone(), device.sibling(), device.sibling()];
        let contexts = devices.map(|device| Context::new(device).unwrap());
        let streams: Vec<_> = contexts.iter().map(|context| context.stream().unwrap()).collect();
        let mut arrays: Vec<_> =
            (0..3_u32).map(|k| Array::full(&streams[k as usize], &[4, 5], k).unwrap()).collect();
        for (k, context) in contexts.iter().enumerate() {
            context.enable_peer_access(&contexts[(k + 2) % 3]).unwrap();
        }
        for round in 0..6 {
            let (to, from) = (round % 3, (round + 2) % 3);
            let [target, source] = arrays.get_disjoint_mut([to, from]).unwrap();
            let way = target.view_mut().copy_from_peer(&streams[to], &streams[from], &source.view()).unwrap();
            assert_eq!(way, Crossing::InPlace);
        }
        for (array, stream) in arrays.iter().zip(&streams) {
            assert_eq!(array.to_vec(stream).unwrap(), [2; 20]);
        }
        drop((arrays, streams, contexts));
        assert!(device.report().is_clean(), "{}", device.report());
    }
}

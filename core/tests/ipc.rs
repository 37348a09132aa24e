//! Memory shared between two simulated processes: the bytes that each sees, failures of calls, and
//! the twins without an event or without the exporter, which must be detected. Any bytes that are
//! no valid name give an error and nothing worse.
#![allow(unsafe_code, clippy::unwrap_used)] // helpers of tests; the twins break the contract on purpose

use devarray::{
    Array, Context, Error, Layout, Order, StreamHandle,
    backend::{Capability, Device},
    ipc::{RemoteArray, RemoteEvent},
    memory::MemoryKind,
};
use devarray_mock::{Code, MockDevice, Schedule, Site};
use proptest::prelude::*;

/// One device, in two processes.
struct Processes {
    device: MockDevice,
    one: Context<MockDevice>,
    two: Context<MockDevice>,
    s: StreamHandle<MockDevice>,
    t: StreamHandle<MockDevice>,
}

impl Processes {
    fn of(device: MockDevice) -> Self {
        let (one, two) =
            (Context::new(device.clone()).unwrap(), Context::new(device.other_process()).unwrap());
        let (s, t) = (one.stream().unwrap(), two.stream().unwrap());
        Self { device, one, two, s, t }
    }

    fn lazy() -> Self {
        Self::of(MockDevice::builder().schedule(Schedule::Lazy).build())
    }

    fn close(self) -> devarray_mock::Report {
        let device = self.device.clone();
        assert_eq!((self.one.take_errors(), self.two.take_errors()), (vec![], vec![]));
        drop(self);
        device.report()
    }
}

fn failed() -> Error {
    Error::Driver { backend: "mock", operation: "planned", code: 999, name: "PLANNED".into() }
}

/// The processes write in turns, with an event each time.
#[test]
fn two_processes_take_turns() {
    for seed in 0..60 {
        let both = Processes::of(MockDevice::builder().schedule(Schedule::Random).seed(seed).build());
        let mut ours = Array::<u32, _>::zeros_exportable(&both.s, &[4, 3]).unwrap();
        let exported = ours.export(&both.s).unwrap();
        // SAFETY: exported until the end; events order the processes.
        let mut theirs = unsafe { Array::<u32, _>::open(&both.t, exported.array()) }.unwrap();
        for round in 0..4 {
            theirs.view_mut().slice_axis(0, round..=round).unwrap().fill(&both.t, 10).unwrap();
            let event = both.t.record_exported().unwrap();
            // SAFETY: the event is kept until the wait is enqueued.
            unsafe { both.s.wait_exported(event.event()) }.unwrap();
            let column =
                ours.view_mut().slice_axis(1, 0..1).unwrap().fill(&both.s, u32::try_from(round).unwrap());
            column.unwrap();
            let event = both.s.record_exported().unwrap();
            // SAFETY: as above.
            unsafe { both.t.wait_exported(event.event()) }.unwrap();
        }
        assert_eq!(theirs.to_vec(&both.t).unwrap(), [3, 10, 10, 3, 10, 10, 3, 10, 10, 3, 10, 10]);
        drop(theirs);
        both.t.synchronize().unwrap();
        drop((ours, exported));
        let report = both.close();
        assert!(report.is_clean(), "{report}");
    }
}

#[test]
fn what_another_process_does_without_an_event_is_found() {
    for event in [true, false] {
        let both = Processes::lazy();
        let ours = Array::<u8, _>::zeros_exportable(&both.s, &[64]).unwrap();
        let exported = ours.export(&both.s).unwrap();
        // SAFETY: exported until the end; that an event may be missing is the mistake to be found.
        let mut theirs = unsafe { Array::<u8, _>::open(&both.t, exported.array()) }.unwrap();
        theirs.view_mut().fill(&both.t, 1).unwrap();
        if event {
            let written = both.t.record_exported().unwrap();
            // SAFETY: kept until the wait is enqueued.
            unsafe { both.s.wait_exported(written.event()) }.unwrap();
        }
        let _ = ours.view().to_contiguous(&both.s, Order::C).unwrap();
        drop(theirs);
        both.t.synchronize().unwrap();
        drop((ours, exported));
        let report = both.close();
        let codes: Vec<Code> = report.findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, if event { vec![] } else { vec![Code::Race] }, "{report}");
    }
}

#[test]
fn memory_freed_by_its_process_while_it_is_open_is_found() {
    for keeps in [true, false] {
        let both = Processes::lazy();
        let ours = Array::<u8, _>::zeros_exportable(&both.s, &[64]).unwrap();
        let exported = ours.export(&both.s).unwrap();
        drop(ours); // the memory stays: it is exported
        // SAFETY: that the exported memory may be gone is the mistake to be found; the simulator
        // reaches nothing then.
        let mut theirs = unsafe { Array::<u8, _>::open(&both.t, exported.array()) }.unwrap();
        both.s.synchronize().unwrap();
        let kept = keeps.then_some(exported);
        theirs.view_mut().fill(&both.t, 1).unwrap();
        drop(theirs);
        both.t.synchronize().unwrap();
        drop(kept);
        let report = both.close();
        assert_eq!(report.is_clean(), keeps, "{report}");
        assert!(keeps || report.findings[0].code == Code::UseAfterFree, "{report}");
    }
}

#[test]
fn every_call_fails_once() {
    let both = Processes::lazy();
    let Processes { device, s, t, .. } = &both;
    device.fail_next(Site::AllocExportable, failed());
    assert_eq!(Array::<u8, _>::zeros_exportable(s, &[64]).unwrap_err(), failed());
    device.fail_next(Site::Fill, failed());
    assert_eq!(Array::<u8, _>::zeros_exportable(s, &[64]).unwrap_err(), failed());
    let ours = Array::<u8, _>::zeros_exportable(s, &[64]).unwrap();
    for site in [Site::Export, Site::Record] {
        device.fail_next(site, failed());
        assert_eq!(ours.export(s).unwrap_err(), failed(), "{site}");
    }
    let exported = ours.export(s).unwrap();
    for site in [Site::Open, Site::WaitExported] {
        device.fail_next(site, failed());
        // SAFETY: exported until the end.
        assert_eq!(unsafe { Array::<u8, _>::open(t, exported.array()) }.unwrap_err(), failed(), "{site}");
        assert_eq!(device.report().opened, 0, "{site}");
    }
    device.fail_next(Site::Record, failed());
    assert_eq!(s.record_exported().unwrap_err(), failed());
    let event = s.record_exported().unwrap();
    device.fail_next(Site::WaitExported, failed());
    // SAFETY: the event is kept.
    assert_eq!(unsafe { t.wait_exported(event.event()) }, Err(failed()));
    // SAFETY: the event is kept.
    unsafe { t.wait_exported(event.event()) }.unwrap();
    // SAFETY: exported until the end.
    let theirs = unsafe { Array::<u8, _>::open(t, exported.array()) }.unwrap();
    assert_eq!(theirs.to_vec(t).unwrap(), [0; 64]);
    drop(theirs);
    assert_eq!(device.report().opened, 0);
    drop((ours, exported, event));
    let report = both.close();
    assert!(report.is_clean(), "{report}");
}

#[test]
fn names_of_other_devices_are_refused() {
    let both = Processes::lazy();
    let ours = Array::<u8, _>::zeros_exportable(&both.s, &[64]).unwrap();
    let exported = ours.export(&both.s).unwrap();
    let sibling = Context::new(both.device.sibling()).unwrap();
    let u = sibling.stream().unwrap();
    // SAFETY: nothing is opened.
    let refused = unsafe { Array::<u8, _>::open(&u, exported.array()) }.unwrap_err();
    assert_eq!(refused, Error::DeviceMismatch { backend: "mock", operation: "open" });
    let event = both.s.record_exported().unwrap();
    // SAFETY: nothing is opened.
    let refused = unsafe { u.wait_exported(event.event()) }.unwrap_err();
    assert_eq!(refused, Error::DeviceMismatch { backend: "mock", operation: "wait_exported" });
    // Exported memory cannot be released.
    let refused = ours.release(&both.s).unwrap_err();
    assert!(matches!(refused.error(), Error::Unsupported { capability: Capability::ForeignMemory, .. }));
}

/// Fixed: an opened array is the memory itself, never a snapshot, wherever it is opened; and it may
/// be opened twice.
#[test]
fn numba_39_opened_memory_is_never_a_snapshot() {
    let both = Processes::lazy();
    let mut ours = Array::<u8, _>::zeros_exportable(&both.s, &[8]).unwrap();
    let exported = ours.export(&both.s).unwrap();
    // SAFETY: exported until the end; events order the processes.
    let once = unsafe { Array::<u8, _>::open(&both.t, exported.array()) }.unwrap();
    // SAFETY: as above.
    let twice = unsafe { Array::<u8, _>::open(&both.t, exported.array()) }.unwrap();
    assert_eq!((once.view().address(), both.device.report().opened), (twice.view().address(), 2));
    ours.view_mut().fill(&both.s, 5).unwrap();
    let event = both.s.record_exported().unwrap();
    // SAFETY: the event is kept until the wait is enqueued.
    unsafe { both.t.wait_exported(event.event()) }.unwrap();
    assert_eq!(once.to_vec(&both.t).unwrap(), [5; 8], "written after it was opened");
    assert_eq!(twice.to_vec(&both.t).unwrap(), [5; 8]);
    // Where Numba would take a snapshot, on another device, a name is refused: the program has to
    // ask for a copy.
    let sibling = Context::new(both.device.other_process().sibling()).unwrap();
    // SAFETY: nothing is opened.
    let refused = unsafe { Array::<u8, _>::open(&sibling.stream().unwrap(), exported.array()) }.unwrap_err();
    assert_eq!(refused, Error::DeviceMismatch { backend: "mock", operation: "open" });
}

#[test]
fn exportable_memory_is_in_the_ledger() {
    let both = Processes::lazy();
    let bytes = || both.one.memory_statistics().of(MemoryKind::Exportable).live_bytes;
    let ours = Array::<u16, _>::zeros_exportable(&both.s, &[50]).unwrap();
    assert_eq!(bytes(), 100);
    let live = both.one.live_allocations();
    let ours_in_it = live.iter().find(|record| record.kind == MemoryKind::Exportable).unwrap();
    assert!(ours_in_it.location.file().ends_with("ipc.rs") && ours_in_it.len_bytes == 100);
    let exported = ours.export(&both.s).unwrap();
    both.s.synchronize().unwrap();
    drop(ours);
    assert_eq!(bytes(), 100, "it is exported");
    drop(exported);
    assert_eq!(bytes(), 0);
}

#[test]
fn no_elements_are_shared_without_memory() {
    let both = Processes::lazy();
    let used = both.device.memory().unwrap().free_bytes;
    let ours = Array::<u64, _>::zeros_exportable(&both.s, &[3, 0]).unwrap();
    let exported = ours.export(&both.s).unwrap();
    // SAFETY: there are no elements.
    let theirs = unsafe { Array::<u64, _>::open(&both.t, exported.array()) }.unwrap();
    assert_eq!((theirs.shape(), theirs.view().address()), (&[3, 0][..], 0));
    assert_eq!(both.device.memory().unwrap().free_bytes, used);
}

#[test]
fn a_name_reaches_no_further_than_the_memory() {
    let both = Processes::lazy();
    let ours = Array::<u32, _>::zeros_exportable(&both.s, &[10]).unwrap();
    let exported = ours.export(&both.s).unwrap();
    let name = exported.array();
    assert!(name.clone().with_layout(Layout::new(&[11], &[1], 0).unwrap()).is_err());
    assert!(name.clone().with_layout(Layout::new(&[2], &[9], 1).unwrap()).is_err());
    let ends = name.clone().with_layout(Layout::new(&[2], &[9], 0).unwrap()).unwrap();
    assert_eq!(RemoteArray::from_bytes(&ends.to_bytes()), Ok(ends));
}

/// Any one byte of a name is changed: the result is an error, or a name that is the same when it is
/// written again.
#[test]
fn every_byte_of_a_name_matters() {
    let both = Processes::lazy();
    let ours = Array::<u32, _>::zeros_exportable(&both.s, &[2, 3, 4]).unwrap();
    let message = ours.export(&both.s).unwrap().array().to_bytes();
    for (at, byte) in (0..message.len()).flat_map(|at| (0..=255).map(move |byte| (at, byte))) {
        let mut changed = message.clone();
        changed[at] = byte;
        if let Ok(name) = RemoteArray::from_bytes(&changed) {
            assert_eq!(name.to_bytes(), changed, "byte {at} is {byte}");
        }
    }
}

proptest! {
    /// Any one byte of a name is changed, or all bytes are random: the result is an error, or a
    /// name that is the same when it is written again.
    #[test]
    fn any_bytes_are_read_or_refused(at in 0_usize..400, byte: u8, noise in prop::collection::vec(any::<u8>(), 0..400)) {
        let both = Processes::lazy();
        let ours = Array::<u32, _>::zeros_exportable(&both.s, &[2, 3, 4]).unwrap();
        let exported = ours.export(&both.s).unwrap();
        let mut message = exported.array().to_bytes();
        let at = at % message.len();
        message[at] = byte;
        for bytes in [&message, &noise] {
            if let Ok(name) = RemoteArray::from_bytes(bytes) {
                prop_assert_eq!(&name.to_bytes(), bytes);
            }
            if let Ok(name) = RemoteEvent::from_bytes(bytes) {
                prop_assert_eq!(&name.to_bytes(), bytes);
            }
        }
    }
}

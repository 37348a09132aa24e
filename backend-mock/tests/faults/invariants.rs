//! Tests the twelve promises about failures, by number.

use devarray::{
    Array, Context, Error, Order, Result, StreamHandle,
    backend::{Device as _, MemoryInfo},
    ix,
};
use devarray_mock::{Explore, FaultKind, FaultPlan, MockDevice, Site};

/// A device in the middle of its work.
struct Scene {
    device: MockDevice,
    context: Context<MockDevice>,
    stream: StreamHandle<MockDevice>,
    array: Array<u8, MockDevice>,
    other: Array<u8, MockDevice>,
}

/// The visible state of a program.
#[derive(Debug, PartialEq)]
struct Seen {
    memory: MemoryInfo,
    array: Vec<u8>,
    other: Vec<u8>,
    buffers: usize,
}

const LEN: u8 = 12;

impl Scene {
    fn new() -> Self {
        let device = MockDevice::new();
        let context = Context::new(device.clone()).unwrap();
        let stream = context.stream().unwrap();
        let array = Array::from_slice(&stream, &[3, 4], &(0..LEN).collect::<Vec<_>>()).unwrap();
        let other = Array::full(&stream, &[3, 4], 7).unwrap();
        // From here on, staging memory exists.
        other.to_vec(&stream).unwrap();
        Self { device, context, stream, array, other }
    }

    fn seen(&self) -> Seen {
        Seen {
            array: self.array.to_vec(&self.stream).unwrap(),
            other: self.other.to_vec(&self.stream).unwrap(),
            buffers: self.device.report().buffers.len(),
            memory: self.device.memory().unwrap(),
        }
    }

    fn act(&mut self, operation: Operation) -> Result<()> {
        let Self { context, stream, array, other, .. } = self;
        match operation {
            Operation::Alloc => Array::<u8, _>::uninit(stream, &[9]).map(drop),
            Operation::Copy => other.view_mut().copy_from(stream, &array.view()),
            Operation::Fill => other.view_mut().index(&ix![.., 1])?.fill(stream, 1),
            Operation::Upload => other.view_mut().copy_from_slice(stream, &[5; LEN as usize]),
            Operation::Download => array.to_vec(stream).map(drop),
            Operation::Contiguous => array.view().permute(&[1, 0])?.to_contiguous(stream, Order::C).map(drop),
            Operation::Pinned => context.pinned::<u8>(3000).map(drop),
            Operation::Stream => context.stream().map(drop),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Operation {
    Alloc,
    Copy,
    Fill,
    Upload,
    Download,
    Contiguous,
    Pinned,
    Stream,
}

/// Each operation, with the site of a failure that comes before any effect.
const OPERATIONS: [(Operation, Site); 9] = [
    (Operation::Alloc, Site::Alloc),
    (Operation::Copy, Site::Copy),
    (Operation::Fill, Site::Fill),
    (Operation::Upload, Site::Upload),
    (Operation::Download, Site::Download),
    (Operation::Contiguous, Site::Alloc),
    (Operation::Contiguous, Site::Copy),
    (Operation::Pinned, Site::AllocHost),
    (Operation::Stream, Site::OpenStream),
];

fn refused(site: Site) -> Error {
    let name = "planned".to_owned();
    Error::Driver { backend: "mock", operation: site.name(), code: 1, name }
}

fn lost(site: Site) -> Error {
    let name = "planned".to_owned();
    Error::DeviceLost { backend: "mock", operation: site.name(), code: 719, name }
}

#[test]
fn f1_the_error_says_backend_operation_and_whether_it_is_for_good() {
    for (operation, site) in OPERATIONS {
        for error in [refused(site), lost(site)] {
            let mut scene = Scene::new();
            scene.device.fail_next(site, error.clone());
            let told = scene.act(operation).unwrap_err();
            assert_eq!(told, error, "{operation:?}");
            assert!(told.to_string().starts_with(&format!("mock: {}: ", site.name())), "{told}");
            assert_eq!(told.is_sticky(), matches!(error, Error::DeviceLost { .. }));
        }
    }
}

#[test]
fn f2_a_call_that_is_refused_changes_nothing_and_f3_succeeds_when_it_is_made_again() {
    for (operation, site) in OPERATIONS {
        let (mut scene, mut twin) = (Scene::new(), Scene::new());
        let before = scene.seen();
        scene.device.fail_next(site, refused(site));
        assert_eq!(scene.act(operation), Err(refused(site)), "{operation:?}");
        assert_eq!(scene.seen(), before, "{operation:?}");
        assert_eq!(scene.act(operation), Ok(()), "{operation:?} once more");
        // The state then equals the state without a failure. If the operation changes bytes, the state differs from
        // the state before, so `seen` observes it.
        assert_eq!(twin.act(operation), Ok(()));
        assert_eq!(scene.seen(), twin.seen(), "{operation:?}");
        if matches!(operation, Operation::Copy | Operation::Fill | Operation::Upload) {
            assert_ne!(scene.seen(), before, "{operation:?}");
        }
    }
}

#[test]
fn f4_memory_is_back_where_it_began_and_f5_freed_once() {
    for (operation, site) in OPERATIONS {
        let mut scene = Scene::new();
        scene.device.fail_next(site, refused(site));
        assert!(scene.act(operation).is_err());
        let device = scene.device.clone();
        drop(scene);
        let (report, statistics) = (device.report(), device.statistics());
        assert!(report.is_clean(), "{operation:?}: {report}");
        let MemoryInfo { free_bytes, total_bytes, .. } = device.memory().unwrap();
        assert_eq!(free_bytes, total_bytes, "{operation:?}");
        assert_eq!(statistics.executed.frees, statistics.executed.allocs, "{operation:?}");
    }
}

#[test]
fn f6_drops_neither_panic_nor_hang_when_everything_fails() {
    for kind in [FaultKind::Refused, FaultKind::Cancelled, FaultKind::Lost, FaultKind::Torn, FaultKind::Late]
    {
        // Every call fails from some call on.
        for first in 0..40 {
            let plan = FaultPlan::new().window(None, first..u64::MAX, kind);
            let device = MockDevice::builder().faults(plan).build();
            let work = || -> Result<()> {
                let context = Context::new(device.clone())?;
                let (one, two) = (context.stream()?, context.stream()?);
                let array = Array::from_slice(&one, &[4], &[1_u8, 2, 3, 4])?;
                let copy = array.view().to_contiguous(&two, Order::C)?;
                let _download = copy.view().download(&one, context.pinned(4)?)?;
                let _upload =
                    Array::<u8, _>::zeros(&two, &[4])?.view_mut().upload(&two, context.pinned(4)?)?;
                Ok(())
            };
            // The test only needs an answer in time.
            let _ = work();
        }
    }
}

#[test]
fn f7_what_was_enqueued_runs_or_is_cancelled() {
    for kind in [FaultKind::Cancelled, FaultKind::Lost, FaultKind::Torn] {
        for site in [Site::Copy, Site::Download, Site::Synchronize, Site::Memory] {
            let plan = FaultPlan::new().nth(site, 1, kind);
            let device = MockDevice::builder().faults(plan).build();
            let context = Context::new(device.clone()).unwrap();
            let work = || -> Result<()> {
                let stream = context.stream()?;
                let mut array = Array::from_slice(&stream, &[4, 4], &[1_u16; 16])?;
                for _ in 0..3 {
                    let turned = array.view().permute(&[1, 0])?.to_contiguous(&stream, Order::C)?;
                    array.view_mut().copy_from(&stream, &turned.view())?;
                    device.memory()?;
                    array.to_vec(&stream)?;
                }
                Ok(())
            };
            // The context reports failures that no call returned.
            assert!(work().is_err() || !context.take_errors().is_empty(), "{site} {kind:?}");
            device.finish();
            let statistics = device.statistics();
            let ended = statistics.executed.operations() + statistics.cancelled.operations();
            assert_eq!(statistics.enqueued.operations(), ended, "{site} {kind:?}");
        }
    }
}

#[test]
fn f8_bytes_beside_the_destination_of_what_failed_keep_their_value() {
    for kind in [FaultKind::Cancelled, FaultKind::Lost, FaultKind::Torn] {
        let plan = FaultPlan::new().nth(Site::Download, 0, kind).nth(Site::Synchronize, 0, kind);
        let stream = Context::new(MockDevice::builder().faults(plan).build()).unwrap().stream().unwrap();
        let array = Array::full(&stream, &[8], 1_u8).unwrap();
        let mut host = [9; 24];
        assert!(stream.scope(|s| s.download(&array.view(), &mut host[8..16])).and_then(|done| done).is_err());
        assert_eq!((&host[..8], &host[16..]), ([9; 8].as_slice(), [9; 8].as_slice()), "{kind:?}");
    }
}

#[test]
fn f9_a_lost_device_answers_every_call_with_one_error_and_f12_no_other_device_does() {
    let mut other = Scene::new();
    for (operation, site) in OPERATIONS {
        let mut scene = Scene::new();
        scene.device.fail_next(site, lost(site));
        assert_eq!(scene.act(operation), Err(lost(site)));
        for (next, _) in OPERATIONS {
            assert_eq!(scene.act(next), Err(lost(site)), "{next:?} after {operation:?}");
        }
        assert_eq!(scene.stream.synchronize(), Err(lost(site)));
        assert_eq!(other.act(operation), Ok(()), "{operation:?} on a device that is well");
    }
}

#[test]
fn f10_a_device_that_is_not_lost_works() {
    for kind in [FaultKind::Refused, FaultKind::Cancelled, FaultKind::Late] {
        for call in 0..60 {
            let plan = FaultPlan::new().nth(None, call, kind);
            let device = MockDevice::builder().faults(plan).build();
            let work = |context: &Context<MockDevice>| {
                let (one, two) = (context.stream()?, context.stream()?);
                let array = Array::from_slice(&one, &[4], &[1_u8, 2, 3, 4])?;
                let copy = array.view().to_contiguous(&two, Order::C)?;
                copy.view()
                    .download(&one, context.pinned(4)?)?
                    .wait()
                    .map(|bytes| bytes.to_vec())
                    .map_err(Error::from)
            };
            let Ok(context) = Context::new(device.clone()) else { continue };
            let first = work(&context);
            assert!(first.is_err() || first == Ok(vec![1, 2, 3, 4]), "{first:?}");
            if device.faults_fired().is_empty() {
                break;
            }
            assert_eq!(work(&context), Ok(vec![1, 2, 3, 4]), "after call {call}, {kind:?}");
        }
    }
}

#[test]
fn f11_no_borrow_ends_while_the_device_may_use_the_memory() {
    for kind in [FaultKind::Cancelled, FaultKind::Lost, FaultKind::Torn] {
        for call in 0..30 {
            let plan = FaultPlan::new().nth(None, call, kind);
            let device = MockDevice::builder().faults(plan).build();
            let Ok(stream) = Context::new(device.clone()).and_then(|context| context.stream()) else {
                continue;
            };
            let Ok(array) = Array::full(&stream, &[8], 1_u8) else { continue };
            let mut host = [9; 8];
            let _ = stream.scope(|s| s.download(&array.view(), &mut host));
            // The borrow has ended. The device now does the rest of its work.
            let at_end = host;
            device.finish();
            assert_eq!(host, at_end, "call {call}, {kind:?}");
        }
    }
}

#[test]
fn f12_what_fails_later_is_told_by_the_next_wait_on_the_device() {
    for site in [Site::Copy, Site::Fill, Site::Upload] {
        let plan = FaultPlan::new().nth(site, 0, FaultKind::Torn);
        let device = MockDevice::builder().faults(plan).build();
        let context = Context::new(device.clone()).unwrap();
        let stream = context.stream().unwrap();
        let mut array = Array::<u8, _>::uninit(&stream, &[4, 4]).unwrap();
        let scratch = Array::<u8, _>::uninit(&stream, &[4, 4]).unwrap();
        let done = match site {
            Site::Copy => array.view_mut().copy_from(&stream, &scratch.view().permute(&[1, 0]).unwrap()),
            Site::Fill => array.view_mut().fill(&stream, 3),
            _ => array.view_mut().upload(&stream, context.pinned(16).unwrap()).map(drop).map_err(Error::from),
        };
        // A dropped transfer may have been reported by its own wait already, so its result
        // is not checked.
        assert!(done.is_ok() || site == Site::Upload, "the call itself knows nothing: {done:?}");
        let told = stream.synchronize().unwrap_err();
        assert!(matches!(&told, Error::DeviceLost { operation, .. } if *operation == site.name()), "{told}");
        assert_eq!(device.memory().unwrap_err(), told);
    }
}

/// The promises also depend on the program: the simulator notices a program that leaks memory after a
/// failure.
#[test]
fn a_program_that_keeps_what_failed_is_noticed() {
    let hoarder = |device: MockDevice| {
        let context = Context::new(device)?;
        let pinned = context.pinned::<u8>(64)?;
        let stream = context.stream().inspect_err(|_| std::mem::forget(pinned))?;
        stream.synchronize()
    };
    let failure = Explore::new().sweep(hoarder).unwrap_err();
    assert!(failure.to_string().contains("leaked pinned host memory: 64 bytes"), "{failure}");
}

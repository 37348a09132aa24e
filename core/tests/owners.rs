//! Values of the program that the library drops: a panic of one loses no other, comes out of no
//! unrelated call, and is reported.
#![allow(unsafe_code, clippy::unwrap_used)] // helpers of tests; stands for other code

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use devarray::{
    Array, Context, Error, Layout, Order, StreamHandle,
    memory::{MemoryHook, ReleaseLimits},
};
use devarray_mock::{MockDevice, Schedule};

/// An owner that counts its drops, and may panic when it is dropped.
struct Owner {
    number: usize,
    panics: bool,
    dropped: Arc<Mutex<Vec<usize>>>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.dropped.lock().unwrap().push(self.number);
        assert!(!self.panics, "owner {}", self.number);
    }
}

/// Memory of other code, which is never freed.
fn memory(stream: &StreamHandle<MockDevice>) -> u64 {
    Array::<u8, _>::zeros(stream, &[64]).unwrap().release(stream).unwrap().address()
}

struct Setting {
    device: MockDevice,
    context: Context<MockDevice>,
    stream: StreamHandle<MockDevice>,
    address: u64,
    dropped: Arc<Mutex<Vec<usize>>>,
}

impl Setting {
    fn new() -> Self {
        let device = MockDevice::builder().schedule(Schedule::Lazy).build();
        let context = Context::new(device.clone()).unwrap();
        let stream = context.stream().unwrap();
        let address = memory(&stream);
        stream.synchronize().unwrap();
        Self { device, context, stream, address, dropped: Arc::default() }
    }

    /// Adopts two bytes of the memory, with work on them if they are `busy`.
    fn adopt(&self, number: usize, panics: bool, busy: bool) -> Array<u8, MockDevice> {
        let owner = Owner { number, panics, dropped: Arc::clone(&self.dropped) };
        let layout = Layout::contiguous(&[2], Order::C).unwrap();
        let address = self.address + 2 * number as u64;
        // SAFETY: each owner has two bytes of the memory to itself.
        let mut array = unsafe { Array::adopt(&self.stream, address, &layout, owner) }.unwrap();
        if busy {
            array.view_mut().fill(&self.stream, 7).unwrap();
        }
        array
    }

    fn dropped(&self) -> Vec<usize> {
        let mut dropped = std::mem::take(&mut *self.dropped.lock().unwrap());
        dropped.sort_unstable();
        dropped
    }

    /// The panics of owners in the list of errors.
    fn told(&self) -> Vec<String> {
        let message = |error| match error {
            Error::OwnerPanicked { backend: "mock", message } => message,
            error => panic!("{error}"),
        };
        let mut told: Vec<_> = self.context.take_errors().into_iter().map(message).collect();
        told.sort_unstable();
        told
    }
}

fn owners(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(|number| format!("owner {number}")).collect()
}

/// Three of 19 owners, given up while their memory is in use, panic; the drop of another array
/// finds them all finished.
#[test]
fn a_panic_of_an_owner_loses_no_other() {
    let setting = Setting::new();
    // Each query of an event takes the simulator one step further.
    let mut before = Array::<u8, _>::zeros(&setting.stream, &[4]).unwrap();
    (0..2000).for_each(|_| before.view_mut().fill(&setting.stream, 1).unwrap());
    let arrays: Vec<_> = (0..19).map(|number| setting.adopt(number, number % 7 == 3, true)).collect();
    drop(arrays);
    assert!(setting.dropped().is_empty(), "in use");
    setting.stream.synchronize().unwrap();
    drop(setting.adopt(20, false, false));
    assert_eq!(setting.dropped(), (0..19).chain([20]).collect::<Vec<_>>());
    assert_eq!(setting.told(), owners([10, 17, 3]), "in the order of letters");
    assert_eq!(setting.told(), owners([]), "told once");
}

/// No owner is lost when an allocation makes room either, or when the context ends.
#[test]
fn a_panic_of_an_owner_stops_nothing_else() {
    let setting = Setting::new();
    for number in 0..4 {
        drop(setting.adopt(number, number == 1, true));
    }
    let total = usize::MAX >> 8;
    assert!(matches!(Array::<u8, _>::zeros(&setting.stream, &[total]), Err(Error::OutOfMemory { .. })));
    assert_eq!(setting.dropped(), [0, 1, 2, 3]);
    assert_eq!(setting.told(), owners([1]));

    for number in 0..4 {
        drop(setting.adopt(number, number % 2 == 0, true));
    }
    let Setting { device, context, stream, dropped, .. } = setting;
    drop((context, stream));
    let mut all = dropped.lock().unwrap().clone();
    all.sort_unstable();
    assert_eq!(all, [0, 1, 2, 3], "the end of a context drops all of them");
    assert_eq!(device.report().adopted, 0);
}

/// The drop of an array does not panic either: with memory that nothing used, with finished memory,
/// and while another panic unwinds.
#[test]
fn the_drop_of_an_array_does_not_panic() {
    let setting = Setting::new();
    drop(setting.adopt(0, true, false));
    let finished = setting.adopt(1, true, true);
    setting.stream.synchronize().unwrap();
    drop(finished);
    let held = setting.adopt(2, true, false);
    let unwound = catch_unwind(AssertUnwindSafe(move || {
        let _held = held;
        std::panic::resume_unwind(Box::new("on purpose"));
    }));
    assert_eq!(unwound.unwrap_err().downcast_ref(), Some(&"on purpose"));
    assert_eq!((setting.dropped(), setting.told()), (vec![0, 1, 2], owners([0, 1, 2])));
    // The twin: an owner that does not panic is not reported.
    drop(setting.adopt(3, false, true));
    setting.stream.synchronize().unwrap();
    drop(setting.adopt(4, false, false));
    assert_eq!((setting.dropped(), setting.told()), (vec![3, 4], owners([])));
}

/// A hook whose drop panics.
struct Hook(Arc<AtomicUsize>);

impl MemoryHook for Hook {}

impl Drop for Hook {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
        panic!("the hook");
    }
}

/// A hook is dropped by the call that replaces it, or with the context: neither panics.
#[test]
fn a_hook_that_panics_in_its_drop_is_told_of() {
    let count = Arc::default();
    let context = Context::new(MockDevice::new()).unwrap();
    context.set_memory_hook(Some(Arc::new(Hook(Arc::clone(&count)))));
    context.set_memory_hook(None);
    assert_eq!(count.load(Relaxed), 1);
    let told = context.take_errors();
    assert!(
        matches!(&told[..], [Error::HookPanicked { operation: "drop", message, .. }] if message == "the hook"),
        "{told:?}"
    );
    context.set_memory_hook(Some(Arc::new(Hook(Arc::clone(&count)))));
    drop(context);
    assert_eq!(count.load(Relaxed), 2);
}

/// Memory that waits to be given back is also given back one by one.
#[test]
fn memory_that_waits_is_given_back_after_a_panic() {
    let setting = Setting::new();
    setting.context.set_release_limits(ReleaseLimits::new(100, usize::MAX));
    drop(setting.adopt(0, true, true));
    drop(setting.context.pinned::<u8>(10).unwrap());
    drop(Array::<u8, _>::zeros(&setting.stream, &[4]).unwrap());
    setting.stream.synchronize().unwrap();
    setting.context.release_pending();
    drop(setting.adopt(1, false, false));
    assert_eq!(setting.context.pending_releases().count, 0);
    assert_eq!((setting.dropped(), setting.told()), (vec![0, 1], owners([0])));
}

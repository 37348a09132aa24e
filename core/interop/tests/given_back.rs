//! Memory that comes in is given back once: from another thread, while a panic unwinds, with work
//! in flight, whatever an Arrow structure says. The twins show that the count would notice a
//! mistake.
#![allow(unsafe_code, clippy::unwrap_used)] // stands for other code

use std::{
    any::Any,
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr::{self, NonNull},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

use devarray::{Array, Context, Order, StreamHandle};
use devarray_interop::{
    Consumer, DoorError, Tensor,
    arrow::{
        OwnedArray, OwnedSchema,
        abi::{ArrowArray, ArrowDeviceArray, ArrowSchema},
    },
    device::DeviceId,
    dlpack::{
        Owned,
        abi::{DataTypeAbi, ManagedTensorVersioned, TensorAbi, Version},
    },
};
use devarray_mock::{MockDevice, Schedule};
use proptest::prelude::*;

/// Memory that a producer keeps until it is given back.
struct Producer {
    memory: Box<[u32]>,
    extents: [i64; 2],
    buffers: [*const c_void; 2],
    count: Arc<AtomicUsize>,
}

impl Producer {
    fn new(count: &Arc<AtomicUsize>) -> Box<Self> {
        let memory: Box<[u32]> = (0..64).collect();
        let buffers = [ptr::null(), memory.as_ptr().cast()];
        Box::new(Self { memory, extents: [64, 1], buffers, count: Arc::clone(count) })
    }

    fn gone(context: *mut c_void) {
        // SAFETY: the producer that the structure was made with; it is given back once.
        let producer = unsafe { Box::from_raw(context.cast::<Self>()) };
        producer.count.fetch_add(1, SeqCst);
    }
}

unsafe extern "C" fn delete(structure: *mut ManagedTensorVersioned) {
    // SAFETY: made by `exported`, and deleted once.
    Producer::gone(unsafe { Box::from_raw(structure) }.manager_ctx);
}

unsafe extern "C" fn release(array: *mut ArrowArray) {
    // SAFETY: the structure is there while it is released.
    let array = unsafe { &mut *array };
    array.release = None;
    Producer::gone(array.private_data);
}

/// 64 numbers on a device of this kind, as a DLPack structure.
fn exported(count: &Arc<AtomicUsize>, kind: i32, number: i32) -> Owned<ManagedTensorVersioned> {
    let mut producer = Producer::new(count);
    let extents = producer.extents.as_mut_ptr();
    let dl_tensor = TensorAbi {
        data: producer.memory.as_mut_ptr().cast(),
        device: DeviceId::new(kind, number),
        ndim: 1,
        dtype: DataTypeAbi { code: 1, bits: 32, lanes: 1 },
        shape: extents,
        strides: extents.wrapping_add(1),
        byte_offset: 0,
    };
    let structure = Box::new(ManagedTensorVersioned {
        version: Version { major: 1, minor: 3 },
        manager_ctx: Box::into_raw(producer).cast(),
        deleter: Some(delete),
        flags: 0,
        dl_tensor,
    });
    // SAFETY: made above, and given away.
    unsafe { Owned::from_raw(NonNull::from(Box::leak(structure))) }
}

fn open() -> (MockDevice, StreamHandle<MockDevice>) {
    let device = MockDevice::builder().schedule(Schedule::Lazy).adopts_host_memory(true).build();
    let stream = Context::new(device.clone()).unwrap().stream().unwrap();
    (device, stream)
}

fn imported(count: &Arc<AtomicUsize>, stream: &StreamHandle<MockDevice>) -> Tensor<MockDevice> {
    // SAFETY: 64 numbers that nobody else uses until they are given back.
    unsafe { Tensor::from_dlpack(stream, exported(count, DeviceId::CPU, 0)) }.unwrap()
}

/// There is no work to wait for.
#[test]
fn what_was_not_used_is_given_back_at_once() {
    let ((device, stream), count) = (open(), Arc::default());
    drop(imported(&count, &stream));
    assert_eq!((count.load(SeqCst), device.report().adopted), (1, 0));
}

/// The twin: with work in flight the memory is kept, and the next import after the end of the work
/// gives it back.
#[test]
fn what_is_in_use_is_given_back_when_the_work_is_over() {
    let ((device, stream), count, next) = (open(), Arc::default(), Arc::default());
    let tensor = imported(&count, &stream);
    let copy = tensor.view::<u32>().unwrap().to_contiguous(&stream, Order::C).unwrap();
    drop(tensor);
    assert_eq!(count.load(SeqCst), 0, "the copy still reads it");
    drop(imported(&next, &stream));
    assert_eq!(count.load(SeqCst), 0, "nor does one who comes by give it back");
    assert!(copy.to_vec(&stream).unwrap().into_iter().eq(0..64));
    drop(imported(&next, &stream));
    assert_eq!((count.load(SeqCst), next.load(SeqCst)), (1, 2));
    assert_eq!((device.report().findings, device.report().adopted), (vec![], 0));
}

/// One stream takes the memory in, and another one uses it.
#[test]
fn work_of_another_stream_keeps_it() {
    let ((device, stream), count) = (open(), Arc::default());
    let other = stream.context().stream().unwrap();
    let tensor = imported(&count, &stream);
    let copy = tensor.view::<u32>().unwrap().to_contiguous(&other, Order::C).unwrap();
    drop(tensor);
    assert_eq!(count.load(SeqCst), 0);
    assert!(copy.to_vec(&other).unwrap().into_iter().eq(0..64));
    drop((copy, other, stream));
    assert_eq!((count.load(SeqCst), device.report().findings), (1, vec![]));
}

#[test]
fn the_last_of_many_threads_gives_it_back() {
    let ((device, stream), count) = (open(), Arc::<AtomicUsize>::default());
    let tensor = imported(&count, &stream);
    let shared: Vec<_> = (0..8).map(|_| tensor.clone()).collect();
    drop(tensor);
    let threads = shared.into_iter().map(|tensor| thread::spawn(move || drop(tensor)));
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!((count.load(SeqCst), device.report().adopted), (1, 0));
}

#[test]
fn a_panic_gives_it_back_once() {
    let ((device, stream), count) = (open(), Arc::<AtomicUsize>::default());
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let tensor = imported(&count, &stream);
        let _kept = tensor.clone();
        let _structure = exported(&count, DeviceId::CPU, 0);
        let _on = tensor.to_dlpack(&stream, Consumer::Host).unwrap();
        panic!("in between");
    }));
    assert!(unwound.is_err());
    assert_eq!((count.load(SeqCst), device.report().adopted), (2, 0));
}

/// Attached to memory; its destructor panics.
struct Panics(Arc<AtomicUsize>);

impl Drop for Panics {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
        panic!("a destructor");
    }
}

/// A way to export a tensor.
type Way = fn(&Tensor<MockDevice>, &StreamHandle<MockDevice>) -> Box<dyn Any>;

#[test]
fn no_panic_of_a_destructor_reaches_a_consumer() {
    let (count, (device, stream)) = (Arc::default(), open());
    let ways: [Way; 3] = [
        |tensor, stream| Box::new(tensor.to_dlpack(stream, Consumer::Host).unwrap()),
        |tensor, stream| Box::new(tensor.to_dlpack_legacy(stream, Consumer::Host).unwrap()),
        |tensor, stream| Box::new(tensor.to_arrow(stream).unwrap()),
    ];
    for (number, way) in ways.iter().enumerate() {
        let tensor = Tensor::from(Array::<u32, _>::zeros(&stream, &[3]).unwrap());
        tensor.attached(|| Panics(Arc::clone(&count)));
        let outside = way(&tensor, &stream);
        drop(tensor);
        drop(outside);
        assert_eq!(count.load(SeqCst), number + 1);
    }
    // The twin: without a consumer in between, the panic goes to whoever drops the tensor.
    let tensor = Tensor::from(Array::<u32, _>::zeros(&stream, &[3]).unwrap());
    tensor.attached(|| Panics(Arc::clone(&count)));
    assert!(catch_unwind(AssertUnwindSafe(|| drop(tensor))).is_err());
    stream.synchronize().unwrap();
    drop(stream);
    assert!(device.report().is_clean(), "{}", device.report());
}

#[test]
fn what_is_forgotten_is_not_given_back() {
    let ((device, stream), count) = (open(), Arc::<AtomicUsize>::default());
    std::mem::forget(imported(&count, &stream));
    drop(stream);
    assert_eq!((count.load(SeqCst), device.report().adopted), (0, 1));
}

/// Memory that belongs to no single device, whatever number the structure gives.
#[test]
fn memory_that_any_device_reaches_comes_in() {
    for (kind, number) in [(DeviceId::CUDA_HOST, 0), (DeviceId::CUDA_MANAGED, 7)] {
        let ((_, stream), count) = (open(), Arc::default());
        // SAFETY: as in `imported`.
        let tensor = unsafe { Tensor::from_dlpack(&stream, exported(&count, kind, number)) }.unwrap();
        assert!(tensor.view::<u32>().unwrap().to_vec(&stream).unwrap().into_iter().eq(0..64));
    }
}

/// The host cannot wait for an event of a device; memory of the CPU has no events, so there the
/// field is ignored.
#[test]
fn an_event_that_nobody_waits_for_is_refused() {
    for (device_type, is_refused) in [(DeviceId::CUDA_HOST, true), (DeviceId::CPU, false)] {
        let ((_, stream), count) = (open(), Arc::default());
        let column = column(&count, |column| {
            column.device_type = device_type;
            column.sync_event = ptr::dangling_mut();
        });
        // SAFETY: 64 numbers that nobody writes until they are released.
        let tensor = unsafe { Tensor::from_arrow(&stream, &schema(), column) };
        assert_eq!(tensor.is_err(), is_refused, "{device_type}");
        assert_eq!(count.load(SeqCst), usize::from(is_refused));
        drop(tensor);
        drop(stream);
        assert_eq!(count.load(SeqCst), 1);
    }
}

/// A column is read-only by its form, and is written when the caller promises that nobody else has
/// it.
#[test]
fn who_vouches_for_it_writes_a_column() {
    let ((device, stream), count) = (open(), Arc::default());
    let column = column(&count, |_| {});
    // SAFETY: 64 numbers that nobody else uses until they are released.
    let tensor = unsafe { Tensor::from_arrow(&stream, &schema(), column) }.unwrap();
    let mut clone = tensor.clone();
    assert_eq!(clone.view_mut::<u32>().unwrap_err(), DoorError::ReadOnly);
    // SAFETY: the producer is this test, and nobody else has the column.
    let mut tensor = unsafe { tensor.assume_writable() };
    assert_eq!(tensor.view_mut::<u32>().unwrap_err(), DoorError::Shared, "a clone has it");
    drop(clone);
    tensor.view_mut::<u32>().unwrap().fill(&stream, 5).unwrap();
    assert_eq!(tensor.view::<u32>().unwrap().to_vec(&stream).unwrap(), [5; 64]);
    drop((tensor, stream));
    assert_eq!((count.load(SeqCst), device.report().findings), (1, vec![]));
}

/// A schema of `uint32` whose release frees nothing.
fn schema() -> OwnedSchema {
    let schema = ArrowSchema {
        format: c"I".as_ptr(),
        name: ptr::null(),
        metadata: ptr::null(),
        flags: 0,
        n_children: 0,
        children: ptr::null_mut(),
        dictionary: ptr::null_mut(),
        release: Some(keep),
        private_data: ptr::null_mut(),
    };
    // SAFETY: made above, and given away.
    unsafe { OwnedSchema::from_raw(schema) }
}

unsafe extern "C" fn keep(schema: *mut ArrowSchema) {
    // SAFETY: the structure is there while it is released.
    unsafe { (*schema).release = None };
}

/// A column of 64 numbers, changed by `lie`.
fn column(count: &Arc<AtomicUsize>, lie: impl FnOnce(&mut ArrowDeviceArray)) -> OwnedArray {
    let producer = Box::leak(Producer::new(count));
    let array = ArrowArray {
        length: 64,
        null_count: 0,
        offset: 0,
        n_buffers: 2,
        n_children: 0,
        buffers: producer.buffers.as_mut_ptr(),
        children: ptr::null_mut(),
        dictionary: ptr::null_mut(),
        release: Some(release),
        private_data: ptr::from_mut(producer).cast(),
    };
    let (sync_event, reserved) = (ptr::null_mut(), [0; 3]);
    let mut column =
        ArrowDeviceArray { array, device_id: -1, device_type: DeviceId::CPU, sync_event, reserved };
    lie(&mut column);
    // SAFETY: pointers are null or lead to what their names say.
    unsafe { OwnedArray::from_raw(column) }
}

fn numbers() -> impl Strategy<Value = i64> {
    prop_oneof![4 => -2_i64..70, 1 => Just(i64::MIN), 1 => Just(i64::MAX), 1 => any::<i64>()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    /// Nothing is read here: an accepted column may lead outside the memory, and only its producer
    /// can know.
    #[test]
    fn whatever_a_column_says_it_is_released_once(
        length in numbers(), offset in numbers(), null_count in prop_oneof![6 => Just(0), 1 => numbers()],
        n_buffers in prop_oneof![6 => Just(2), 1 => numbers()], n_children in prop_oneof![6 => Just(0), 1 => numbers()],
        device in prop_oneof![6 => Just((1, -1)), 1 => any::<(i32, i64)>()],
        (has_buffers, has_data) in (prop::bool::weighted(0.9), prop::bool::weighted(0.9)), reserved in any::<i64>(),
    ) {
        let ((device_of, stream), count) = (open(), Arc::<AtomicUsize>::default());
        let told = column(&count, |column| {
            let array = &mut column.array;
            (array.length, array.offset, array.null_count) = (length, offset, null_count);
            (array.n_buffers, array.n_children) = (n_buffers, n_children);
            (column.device_type, column.device_id, column.reserved[0]) = (device.0, device.1, reserved);
            if !has_data {
                let data = array.buffers.wrapping_add(1);
                // SAFETY: the second of two pointers of the producer.
                unsafe { data.write(ptr::null()) };
            }
            if !has_buffers {
                array.buffers = ptr::null_mut();
            }
        });
        // SAFETY: the tensor is given no work.
        let answer = unsafe { Tensor::from_arrow(&stream, &schema(), told) };
        if let Ok(tensor) = &answer {
            prop_assert!(tensor.is_read_only());
            prop_assert_eq!(count.load(SeqCst), usize::from(tensor.layout().is_empty()));
        }
        drop(answer);
        prop_assert_eq!((count.load(SeqCst), device_of.report().adopted), (1, 0));
    }
}

/// An attached object may be asked for while it is being made, on this thread and on another one:
/// no lock is held meanwhile. The first that is finished stays, and the others are dropped.
#[test]
fn what_is_attached_may_ask_for_what_is_attached() {
    struct Counted(u8, Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.1.fetch_add(1, SeqCst);
        }
    }
    let ((_, stream), count) = (open(), Arc::<AtomicUsize>::default());
    let tensor = Tensor::from(Array::<u32, _>::zeros(&stream, &[3]).unwrap());
    let (of_one, of_two) = (Arc::clone(&count), Arc::clone(&count));
    let attached = tensor.attached(|| {
        assert_eq!(tensor.attached(|| Counted(1, of_one)).map(|counted| counted.0), Some(1));
        let other = tensor.clone();
        let elsewhere = move || other.attached(|| Counted(3, Arc::default())).map(|counted| counted.0);
        assert_eq!(thread::spawn(elsewhere).join().unwrap(), Some(1));
        Counted(2, of_two)
    });
    assert_eq!(attached.map(|counted| counted.0), Some(1));
    assert_eq!(count.load(SeqCst), 1, "the second was dropped");
    // This also holds if making one fails.
    let tensor = Tensor::from(Array::<u32, _>::zeros(&stream, &[3]).unwrap());
    let failed = catch_unwind(AssertUnwindSafe(|| tensor.attached(|| -> u8 { panic!("not made") }).copied()));
    assert!(failed.is_err());
    assert_eq!(tensor.attached(|| 7_u8), Some(&7));
}

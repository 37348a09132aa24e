//! Order and lifetime at the doors, on the simulator: exported memory has its elements, and memory
//! that comes back is freed once and not too early, from any thread. The twins leave a wait out,
//! and the simulator finds it.
#![allow(unsafe_code, clippy::unwrap_used)] // stands for other code

use std::{
    slice,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

use devarray::{Array, Context, Error, Layout, NdLayout, Order, StreamHandle};
use devarray_interop::{
    ArrayInterface, Consumer, DataType, DoorError, Tensor,
    arrow::{OwnedArray, OwnedSchema},
    device::DeviceId,
};
use devarray_mock::{Code, MockDevice, Schedule};
use half::{bf16, f16};

fn open() -> (MockDevice, Context<MockDevice>, StreamHandle<MockDevice>) {
    let device = MockDevice::builder().schedule(Schedule::Lazy).adopts_host_memory(true).build();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    (device, context, stream)
}

fn codes(device: &MockDevice) -> Vec<Code> {
    device.report().findings.iter().map(|finding| finding.code).collect()
}

/// The work of two streams is finished when the host has the memory; without the wait the simulator
/// finds a race.
#[test]
fn what_goes_out_is_there() {
    for (consumer, due) in [(Consumer::Host, vec![]), (Consumer::Unordered, vec![Code::HostWrite])] {
        let (device, context, stream) = open();
        let other = context.stream().unwrap();
        let mut array = Array::<u32, _>::zeros(&stream, &[4, 8]).unwrap();
        array.view_mut().slice_axis(0, 1..).unwrap().fill(&other, 7).unwrap();
        let tensor = Tensor::from(array);
        let exported = tensor.to_dlpack(&stream, consumer).unwrap();
        assert_eq!(codes(&device), due, "{consumer:?}");
        if consumer == Consumer::Host {
            let data = exported.tensor().unwrap().abi().data.cast_const().cast::<u32>();
            // SAFETY: 32 numbers that the export waited for and nobody writes.
            let seen = unsafe { slice::from_raw_parts(data, 32) };
            assert_eq!((seen[..8].to_vec(), seen[8..].to_vec()), (vec![0; 8], vec![7; 24]));
        }
    }
}

/// A reader needs to wait only for writes, and disjoint work is no mistake.
#[test]
fn what_is_read_only_waits_for_writes_alone() {
    let (device, context, stream) = open();
    let other = context.stream().unwrap();
    let array = Array::from_slice(&stream, &[100], &[1_u8; 100]).unwrap();
    stream.synchronize().unwrap();
    let tensor = Tensor::from(array).into_read_only();
    let copy = tensor.view::<u8>().unwrap().to_contiguous(&other, Order::C).unwrap();
    drop(tensor.to_dlpack(&stream, Consumer::Unordered).unwrap());
    assert_eq!(codes(&device), []);
    // The twin: a writer has to wait for the copy.
    let (device, context, stream) = open();
    let other = context.stream().unwrap();
    let tensor = Tensor::from(Array::from_slice(&stream, &[100], &[1_u8; 100]).unwrap());
    stream.synchronize().unwrap();
    let second = tensor.view::<u8>().unwrap().to_contiguous(&other, Order::C).unwrap();
    drop(tensor.to_dlpack(&stream, Consumer::Unordered).unwrap());
    assert_eq!(codes(&device), [Code::HostWrite]);
    drop((copy, second));
}

/// The array is dropped while other code still has the memory. When other code gives it up on
/// another thread, it is freed.
#[test]
fn freed_once_by_the_last_on_any_thread() {
    let (device, context, stream) = open();
    let tensor = Tensor::from(Array::<f32, _>::zeros(&stream, &[3, 5]).unwrap());
    let exports: Vec<_> = (0..8).map(|_| tensor.to_dlpack(&stream, Consumer::Host).unwrap()).collect();
    let legacy = tensor.to_dlpack_legacy(&stream, Consumer::Host).unwrap();
    drop(tensor);
    assert_eq!(context.live_allocations().len(), 1);
    exports
        .into_iter()
        .map(|export| thread::spawn(|| drop(export)))
        .for_each(|thread| thread.join().unwrap());
    assert_eq!(context.live_allocations().len(), 1, "one is left");
    drop(legacy);
    assert_eq!(context.live_allocations().len(), 0);
    device.finish();
    assert_eq!(codes(&device), []);
}

/// While somebody else has the memory, nobody writes it here.
#[test]
fn shared_memory_is_not_written() {
    let (_, _, stream) = open();
    let mut tensor = Tensor::from(Array::<u8, _>::zeros(&stream, &[4]).unwrap());
    let export = tensor.to_dlpack(&stream, Consumer::Host).unwrap();
    assert_eq!(tensor.view_mut::<u8>().unwrap_err(), DoorError::Shared);
    drop(export);
    tensor.view_mut::<u8>().unwrap().fill(&stream, 3).unwrap();
    assert_eq!(tensor.view::<u8>().unwrap().to_vec(&stream).unwrap(), [3; 4]);
    let expected = DoorError::OtherDataType {
        found: DataType::of_name("uint8").unwrap(),
        expected: DataType::of_name("int8").unwrap(),
    };
    assert_eq!(tensor.view::<i8>().unwrap_err(), expected);
}

/// Memory with a count of how often such an owner was dropped.
struct Counted(
    Arc<AtomicUsize>,
    #[expect(dead_code, reason = "kept, and reached by its address")] Box<[u16]>,
);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn interface_of(memory: &[u16]) -> ArrayInterface {
    ArrayInterface {
        shape: [2, 3][..].into(),
        typestr: "<u2".into(),
        data: memory.as_ptr().expose_provenance() as u64,
        read_only: false,
        strides: Some([-6, 2][..].into()),
        stream: None,
        version: 3,
        has_mask: false,
    }
}

/// Memory of the host comes in and goes out again by the array interface; its owner is dropped
/// once, after the work.
#[test]
fn array_interfaces_lead_to_memory() {
    let (device, context, stream) = open();
    let drops = Arc::<AtomicUsize>::default();
    let memory: Box<[u16]> = (10..16).collect();
    let mut interface = interface_of(&memory);
    interface.data += 6;
    // SAFETY: six numbers that the owner keeps and nobody else uses.
    let tensor =
        unsafe { Tensor::from_array_interface(&stream, &interface, Counted(Arc::clone(&drops), memory)) };
    let tensor = tensor.unwrap();
    let copy = tensor.view::<u16>().unwrap().to_contiguous(&stream, Order::C).unwrap();
    let told = tensor.to_array_interface(&stream).unwrap();
    assert_eq!(told, ArrayInterface { stream: None, ..interface });
    drop(tensor);
    assert_eq!(copy.to_vec(&stream).unwrap(), [13, 14, 15, 10, 11, 12]);
    drop((copy, stream, context));
    assert_eq!(drops.load(SeqCst), 1);
    assert_eq!((codes(&device), device.report().adopted), (vec![], 0));
}

/// Each wrong entry gives an error, and the owner is dropped.
#[test]
fn array_interfaces_that_lie_are_refused() {
    type Lie = fn(&mut ArrayInterface);
    let lies: [Lie; 12] = [
        |lie| lie.shape = [2, -3][..].into(),
        |lie| lie.shape = vec![2; 65].into(),
        |lie| lie.shape = [i64::MAX, 3][..].into(),
        |lie| lie.typestr = ">u2".into(),
        |lie| lie.typestr = "|V2".into(),
        |lie| lie.typestr = "".into(),
        |lie| lie.data = 0,
        |lie| lie.data = 3,
        |lie| lie.strides = Some([2][..].into()),
        |lie| lie.strides = Some([3, 2][..].into()),
        |lie| lie.strides = Some([i64::MIN, 2][..].into()),
        |lie| lie.has_mask = true,
    ];
    for (number, lie) in lies.iter().enumerate() {
        let (device, _, stream) = open();
        let drops = Arc::<AtomicUsize>::default();
        let memory: Box<[u16]> = (10..16).collect();
        let mut interface = interface_of(&memory);
        lie(&mut interface);
        // SAFETY: refused before any memory is used.
        let answer =
            unsafe { Tensor::from_array_interface(&stream, &interface, Counted(Arc::clone(&drops), memory)) };
        assert!(answer.is_err(), "{number}: {answer:?}");
        assert_eq!((drops.load(SeqCst), device.report().adopted), (1, 0), "{number}");
    }
}

/// A column goes out and comes in again; arrays that are no column are refused.
#[test]
fn arrow_has_columns() {
    let (device, context, stream) = open();
    let tensor = Tensor::from(Array::from_slice(&stream, &[5], &[1.5_f64, 2.5, 3.5, 4.5, 5.5]).unwrap());
    let (schema, array) = tensor.to_arrow(&stream).unwrap();
    assert_eq!((schema.format(), array.as_abi().array.length, array.as_abi().device_id), (Some("g"), 5, -1));
    let mut raw = array.into_raw();
    (raw.array.offset, raw.array.length) = (2, 3);
    // SAFETY: the structure is as the export made it; a part of it is used.
    let array = unsafe { OwnedArray::from_raw(raw) };
    // SAFETY: the memory stays until the array is released, and nobody writes it.
    let back = unsafe { Tensor::<MockDevice>::from_arrow(&stream, &schema, array) }.unwrap();
    assert_eq!(back.view::<f64>().unwrap().to_vec(&stream).unwrap(), [3.5, 4.5, 5.5]);
    assert!(back.is_read_only());
    drop((back, tensor));
    assert_eq!(context.live_allocations().len(), 0);
    assert_eq!(codes(&device), []);

    let matrix = Tensor::from(Array::<f32, _>::zeros(&stream, &[2, 2]).unwrap());
    assert!(matches!(matrix.to_arrow(&stream).unwrap_err(), DoorError::Layout { .. }));
    let gaps = matrix.with_layout(Layout::new(&[2], &[2], 0).unwrap()).unwrap();
    assert!(matches!(gaps.to_arrow(&stream).unwrap_err(), DoorError::Layout { .. }));
    let complex = Tensor::from(Array::<devarray::Bool, _>::zeros(&stream, &[2]).unwrap());
    assert!(matches!(complex.to_arrow(&stream).unwrap_err(), DoorError::DataType { .. }));
}

/// Each wrong field of an array gives an error; the array is released and its memory freed.
#[test]
fn arrow_arrays_that_lie_are_refused() {
    type Lie = fn(&mut devarray_interop::arrow::abi::ArrowDeviceArray);
    let lies: [Lie; 11] = [
        |lie| lie.array.length = -1,
        |lie| lie.array.length = i64::MAX,
        |lie| lie.array.offset = -1,
        |lie| lie.array.offset = i64::MAX,
        |lie| lie.array.null_count = 1,
        |lie| lie.array.n_buffers = 3,
        |lie| lie.array.n_children = 1,
        |lie| lie.array.buffers = std::ptr::null_mut(),
        |lie| lie.device_type = DeviceId::CUDA,
        |lie| lie.device_type = -1,
        |lie| lie.device_id = i64::MAX,
    ];
    for (number, lie) in lies.iter().enumerate() {
        let (_, context, stream) = open();
        let tensor = Tensor::from(Array::from_slice(&stream, &[5], &[1_i32; 5]).unwrap());
        let (schema, array) = tensor.to_arrow(&stream).unwrap();
        drop(tensor);
        let mut raw = array.into_raw();
        lie(&mut raw);
        // SAFETY: refused before any memory is used.
        let array = unsafe { OwnedArray::from_raw(raw) };
        // SAFETY: as above.
        let answer = unsafe { Tensor::<MockDevice>::from_arrow(&stream, &schema, array) };
        assert!(answer.is_err(), "{number}: {answer:?}");
        assert_eq!(context.live_allocations().len(), 0, "{number}");
    }
    let (_, _, stream) = open();
    let (schema, array) =
        Tensor::from(Array::<u8, _>::zeros(&stream, &[2]).unwrap()).to_arrow(&stream).unwrap();
    let mut raw = schema.into_raw();
    let format = std::mem::replace(&mut raw.format, c"+s".as_ptr());
    // SAFETY: a structure of another format.
    let schema = unsafe { OwnedSchema::from_raw(raw) };
    // SAFETY: refused before any memory is used.
    let answer = unsafe { Tensor::<MockDevice>::from_arrow(&stream, &schema, array) };
    assert!(matches!(answer.unwrap_err(), DoorError::Field { field: "format", .. }));
    assert!(!format.is_null());
}

/// The types of `half` and `num-complex` pass both ways.
#[test]
fn other_numbers_have_a_type() {
    let (_, _, stream) = open();
    let halves = Tensor::from(Array::from_slice(&stream, &[2], &[f16::ONE, f16::MAX]).unwrap());
    let brain = Tensor::from(Array::from_slice(&stream, &[1], &[bf16::ONE]).unwrap());
    let complex =
        Tensor::from(Array::from_slice(&stream, &[1], &[num_complex::Complex::new(1.0_f64, 2.0)]).unwrap());
    let names =
        [halves.data_type(), brain.data_type(), complex.data_type()].map(|data_type| data_type.name());
    assert_eq!(names, ["float16", "bfloat16", "complex128"]);
    let exported = brain.to_dlpack(&stream, Consumer::Host).unwrap();
    // SAFETY: the structure is as the export made it.
    let back = unsafe { Tensor::from_dlpack(&stream, exported) }.unwrap();
    assert_eq!(back.view::<bf16>().unwrap().to_vec(&stream).unwrap(), [bf16::ONE]);
    assert!(matches!(brain.to_array_interface(&stream).unwrap_err(), DoorError::DataType { .. }));
}

/// A simulator that does not take in memory of the host says so, and gives it back.
#[test]
fn unknown_memory_is_refused_unless_told_otherwise() {
    let stream = Context::new(MockDevice::new()).unwrap().stream().unwrap();
    let drops = Arc::<AtomicUsize>::default();
    let memory: Box<[u16]> = (0..6).collect();
    let interface = ArrayInterface { strides: None, ..interface_of(&memory) };
    // SAFETY: six numbers, kept by the owner.
    let answer =
        unsafe { Tensor::from_array_interface(&stream, &interface, Counted(Arc::clone(&drops), memory)) };
    assert!(matches!(answer.unwrap_err(), DoorError::Array(Error::Driver { operation: "adopt", .. })));
    assert_eq!(drops.load(SeqCst), 1);
}

/// Memory that came in twice, the second time in part, counts as one memory while one of the two is
/// there.
#[test]
fn memory_that_comes_in_twice_stays_for_both() {
    let (device, _, stream) = open();
    let memory: Box<[u16]> = (0..6).collect();
    let whole = ArrayInterface { strides: None, ..interface_of(&memory) };
    let part = ArrayInterface { shape: [3][..].into(), ..whole.clone() };
    // SAFETY: six numbers that outlive both arrays and that nobody writes.
    let first = unsafe { Tensor::from_array_interface(&stream, &whole, ()) }.unwrap();
    // SAFETY: as above.
    let second = unsafe { Tensor::from_array_interface(&stream, &part, ()) }.unwrap();
    assert_eq!(first.address().unwrap(), second.address().unwrap());
    assert_eq!(first.view::<u16>().unwrap().to_vec(&stream).unwrap(), [0, 1, 2, 3, 4, 5]);
    drop(first);
    assert_eq!(second.view::<u16>().unwrap().to_vec(&stream).unwrap(), [0, 1, 2]);
    assert_eq!(second.shape(), [3]);
    drop(second);
    drop(stream);
    assert_eq!((codes(&device), device.report().adopted), (vec![], 0));
}

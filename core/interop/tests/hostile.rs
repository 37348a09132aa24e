//! Structures of hostile producers: whatever they say, the answer is an error or a tensor inside
//! the memory, and the deleter is called once. The twin forgets the structure, and the count shows
//! it.
#![allow(unsafe_code, clippy::unwrap_used)] // stands for other code

use std::{
    ffi::c_void,
    ptr::{self, NonNull},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use devarray::{
    Array, Context, Layout, NdLayout, Order, StreamHandle, ix,
    layout::{Injectivity, Slice},
};
use devarray_interop::{
    Consumer, DoorError, Tensor,
    device::DeviceId,
    dlpack::{
        Owned,
        abi::{DataTypeAbi, ManagedTensor, ManagedTensorVersioned, TensorAbi, Version},
    },
};
use devarray_mock::MockDevice;
use proptest::prelude::*;

/// The size of the memory that structures describe, or claim to describe, in bytes.
const MEMORY_BYTES: usize = 4096;

/// Memory that a producer keeps until its deleter is called.
struct Producer {
    memory: Box<[u64]>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    deletes: Arc<AtomicUsize>,
}

/// The fields of a structure, which may lie.
#[derive(Debug, Clone)]
struct Claim {
    major: u32,
    minor: u32,
    flags: u64,
    device: (i32, i32),
    ndim: Option<i32>,
    dtype: (u8, u8, u16),
    shape: Vec<i64>,
    has_shape: bool,
    strides: Option<Vec<i64>>,
    byte_offset: u64,
    has_data: bool,
    has_deleter: bool,
}

impl Claim {
    /// A true claim: a matrix of f32 in the middle of the memory.
    fn right() -> Self {
        Self {
            major: 1,
            minor: 3,
            flags: 0,
            device: (DeviceId::CPU, 0),
            ndim: None,
            dtype: (2, 32, 1),
            shape: vec![3, 4],
            has_shape: true,
            strides: Some(vec![8, 2]),
            byte_offset: 1024,
            has_data: true,
            has_deleter: true,
        }
    }
}

fn tensor_of(claim: &Claim, producer: &mut Producer) -> TensorAbi {
    let numbers = |is_there: bool, numbers: &mut Vec<i64>| match is_there {
        true => numbers.as_mut_ptr(),
        false => ptr::null_mut(),
    };
    let rank = i32::try_from(claim.shape.len()).unwrap();
    TensorAbi {
        data: if claim.has_data { producer.memory.as_mut_ptr().cast() } else { ptr::null_mut() },
        device: DeviceId::new(claim.device.0, claim.device.1),
        ndim: claim.ndim.unwrap_or(rank),
        dtype: DataTypeAbi { code: claim.dtype.0, bits: claim.dtype.1, lanes: claim.dtype.2 },
        shape: numbers(claim.has_shape, &mut producer.shape),
        strides: numbers(claim.strides.is_some(), &mut producer.strides),
        byte_offset: claim.byte_offset,
    }
}

fn producer_of(claim: &Claim, deletes: &Arc<AtomicUsize>) -> Box<Producer> {
    let mut strides = claim.strides.clone().unwrap_or_default();
    strides.resize(claim.shape.len().max(64), 1);
    let mut shape = claim.shape.clone();
    shape.resize(claim.shape.len().max(64), 1);
    let memory = (0..MEMORY_BYTES as u64 / 8).collect();
    Box::new(Producer { memory, shape, strides, deletes: Arc::clone(deletes) })
}

fn gone(context: *mut c_void) {
    // SAFETY: the producer that the structure was made with; its deleter is called once.
    let producer = unsafe { Box::from_raw(context.cast::<Producer>()) };
    producer.deletes.fetch_add(1, SeqCst);
}

unsafe extern "C" fn delete_versioned(structure: *mut ManagedTensorVersioned) {
    // SAFETY: made by `versioned`, and deleted once.
    let structure = unsafe { Box::from_raw(structure) };
    gone(structure.manager_ctx);
}

unsafe extern "C" fn delete_legacy(structure: *mut ManagedTensor) {
    // SAFETY: made by `legacy`, and deleted once.
    let structure = unsafe { Box::from_raw(structure) };
    gone(structure.manager_ctx);
}

fn versioned(claim: &Claim, deletes: &Arc<AtomicUsize>) -> Owned<ManagedTensorVersioned> {
    let mut producer = producer_of(claim, deletes);
    let dl_tensor = tensor_of(claim, &mut producer);
    let structure = Box::new(ManagedTensorVersioned {
        version: Version { major: claim.major, minor: claim.minor },
        manager_ctx: Box::into_raw(producer).cast(),
        deleter: claim.has_deleter.then_some(delete_versioned as _),
        flags: claim.flags,
        dl_tensor,
    });
    // SAFETY: pointers are null or lead to at least 64 numbers.
    unsafe { Owned::from_raw(NonNull::from(Box::leak(structure))) }
}

fn legacy(claim: &Claim, deletes: &Arc<AtomicUsize>) -> Owned<ManagedTensor> {
    let mut producer = producer_of(claim, deletes);
    let dl_tensor = tensor_of(claim, &mut producer);
    let structure = Box::new(ManagedTensor {
        dl_tensor,
        manager_ctx: Box::into_raw(producer).cast(),
        deleter: Some(delete_legacy),
    });
    // SAFETY: pointers are null or lead to at least 64 numbers.
    unsafe { Owned::from_raw(NonNull::from(Box::leak(structure))) }
}

/// A simulator that takes in memory of the host.
fn stream() -> (MockDevice, StreamHandle<MockDevice>) {
    let device = MockDevice::builder().adopts_host_memory(true).build();
    let stream = Context::new(device.clone()).unwrap().stream().unwrap();
    (device, stream)
}

fn import(claim: &Claim) -> (Result<Vec<f32>, DoorError>, usize) {
    let (device, stream) = stream();
    let deletes = Arc::default();
    // SAFETY: the elements are read below only if they lie inside the memory, as they do for every
    // claim of these tests that is accepted; the memory stays until the deleter runs.
    let answer = unsafe { Tensor::from_dlpack(&stream, versioned(claim, &deletes)) };
    let values = answer.and_then(|tensor| Ok(tensor.view::<f32>()?.to_vec(&stream)?));
    drop(stream);
    assert_eq!(device.report().findings, []);
    assert_eq!(device.report().adopted, 0);
    (values, deletes.load(SeqCst))
}

/// Element `(i, j)` of a claim's memory, read as f32. The memory holds the numbers 0, 1, 2 … as
/// u64, so an f32 is the lower half of one.
fn naive(claim: &Claim) -> Vec<f32> {
    let strides = claim.strides.clone().unwrap();
    let at = |i: i64, j: i64| claim.byte_offset.cast_signed() / 4 + i * strides[0] + j * strides[1];
    let value = |at: i64| if at % 2 == 0 { f32::from_bits(u32::try_from(at / 2).unwrap()) } else { 0.0 };
    (0..claim.shape[0]).flat_map(|i| (0..claim.shape[1]).map(move |j| value(at(i, j)))).collect()
}

#[test]
fn what_is_right_is_read_where_it_lies() {
    for strides in [vec![8, 2], vec![2, 8], vec![-8, 2], vec![-8, -2], vec![0, 2], vec![0, 0]] {
        let claim = Claim { strides: Some(strides), ..Claim::right() };
        assert_eq!(import(&claim), (Ok(naive(&claim)), 1), "{claim:?}");
    }
    let dense = Claim { strides: None, ..Claim::right() };
    assert_eq!(import(&dense), (Ok(naive(&Claim { strides: Some(vec![4, 1]), ..dense })), 1));
    let legacy_claim = Claim::right();
    let ((_, stream), deletes) = (stream(), Arc::default());
    // SAFETY: as in `import`.
    let tensor = unsafe { Tensor::from_dlpack(&stream, legacy(&legacy_claim, &deletes)) }.unwrap();
    assert_eq!(tensor.view::<f32>().unwrap().to_vec(&stream).unwrap(), naive(&legacy_claim));
    drop(tensor);
    assert_eq!(deletes.load(SeqCst), 1);
}

/// Read-only memory is not written, nor is memory whose elements repeat.
#[test]
fn read_only_memory_is_not_written() {
    let repeated = Claim { strides: Some(vec![0, 1]), ..Claim::right() };
    for claim in [Claim { flags: 1, ..Claim::right() }, repeated] {
        let ((_, stream), deletes) = (stream(), Arc::default());
        // SAFETY: as in `import`.
        let mut tensor = unsafe { Tensor::from_dlpack(&stream, versioned(&claim, &deletes)) }.unwrap();
        assert!(tensor.is_read_only());
        assert_eq!(tensor.view_mut::<f32>().unwrap_err(), DoorError::ReadOnly);
        assert_eq!(tensor.to_dlpack_legacy(&stream, Consumer::Host).unwrap_err(), DoorError::ReadOnly);
    }
    // The twin: without the flag it is written.
    let ((_, stream), deletes) = (stream(), Arc::default());
    // SAFETY: as in `import`.
    let mut tensor = unsafe { Tensor::from_dlpack(&stream, versioned(&Claim::right(), &deletes)) }.unwrap();
    tensor.view_mut::<f32>().unwrap().fill(&stream, 5.0).unwrap();
    assert_eq!(tensor.view::<f32>().unwrap().to_vec(&stream).unwrap(), [5.0; 12]);
}

/// Each claim has one wrong field.
#[test]
fn every_lie_is_an_error_and_one_delete() {
    let right = Claim::right();
    let lies = [
        Claim { major: 0, ..right.clone() },
        Claim { major: 2, ..right.clone() },
        Claim { major: u32::MAX, ..right.clone() },
        Claim { device: (DeviceId::CUDA, 0), ..right.clone() },
        Claim { device: (0, 0), ..right.clone() },
        Claim { device: (i32::MIN, -1), ..right.clone() },
        Claim { ndim: Some(-1), ..right.clone() },
        Claim { ndim: Some(65), ..right.clone() },
        Claim { ndim: Some(i32::MAX), ..right.clone() },
        Claim { dtype: (2, 32, 2), ..right.clone() },
        Claim { dtype: (2, 32, 0), ..right.clone() },
        Claim { dtype: (3, 64, 1), ..right.clone() },
        Claim { dtype: (17, 4, 1), ..right.clone() },
        Claim { dtype: (255, 255, 1), ..right.clone() },
        Claim { shape: vec![3, -4], ..right.clone() },
        Claim { shape: vec![i64::MIN, 4], ..right.clone() },
        Claim { shape: vec![i64::MAX, i64::MAX], ..right.clone() },
        Claim { shape: vec![1 << 32, 1 << 32], ..right.clone() },
        Claim { has_shape: false, ..right.clone() },
        Claim { strides: Some(vec![i64::MAX, 1]), ..right.clone() },
        Claim { strides: Some(vec![i64::MIN, 1]), ..right.clone() },
        Claim { strides: Some(vec![i64::MAX / 2, i64::MAX / 2]), ..right.clone() },
        Claim { strides: Some(vec![-(1 << 60), 1]), ..right.clone() },
        Claim { strides: Some(vec![1, 1]), ..right.clone() },
        Claim { byte_offset: u64::MAX, ..right.clone() },
        Claim { byte_offset: 2, ..right.clone() },
        Claim { has_data: false, ..right.clone() },
    ];
    for lie in lies {
        let (answer, deletes) = import(&lie);
        assert!(answer.is_err(), "{lie:?}: {answer:?}");
        assert_eq!(deletes, 1, "{lie:?}");
    }
    // Without elements there is nothing to lie about.
    for empty in [vec![0, 4], vec![i64::MAX, 0]] {
        let claim = Claim { shape: empty, has_data: false, strides: None, ..right.clone() };
        assert_eq!(import(&claim), (Ok(vec![]), 1), "{claim:?}");
    }
    // An axis of extent 1 is never stepped along.
    let one = Claim { shape: vec![1, 4], strides: Some(vec![i64::MIN, 2]), ..right.clone() };
    assert_eq!(import(&one).0.unwrap().len(), 4);
    assert_eq!(import(&Claim { has_deleter: false, major: 2, ..right }).1, 0, "there is none to call");
}

/// The twin: a structure that is forgotten is not given back, and the count shows it.
#[test]
fn a_structure_that_is_forgotten_is_not_given_back() {
    let deletes = Arc::default();
    let structure = versioned(&Claim::right(), &deletes).into_raw();
    assert_eq!(deletes.load(SeqCst), 0);
    // SAFETY: it was given away, and comes back here.
    drop(unsafe { Owned::from_raw(structure) });
    assert_eq!(deletes.load(SeqCst), 1);
}

fn numbers() -> impl Strategy<Value = i64> {
    prop_oneof![
        6 => -3_i64..6,
        1 => Just(i64::MIN),
        1 => Just(i64::MAX),
        1 => any::<i64>(),
        1 => (0_u32..63).prop_map(|bit| 1 << bit),
    ]
}

prop_compose! {
    fn claims()(
        major in prop_oneof![9 => Just(1_u32), 1 => any::<u32>()],
        minor in any::<u32>(),
        flags in any::<u64>(),
        device in prop_oneof![9 => Just((1, 0)), 1 => any::<(i32, i32)>()],
        ndim in prop_oneof![9 => Just(None), 1 => any::<i32>().prop_filter("as many as are there", |n| !(5..65).contains(n)).prop_map(Some)],
        dtype in prop_oneof![9 => Just((2, 32, 1)), 1 => any::<(u8, u8, u16)>()],
        shape in prop::collection::vec(numbers(), 0..5),
        has_shape in prop::bool::weighted(0.95),
        strides in prop::collection::vec(numbers(), 5),
        has_strides in prop::bool::weighted(0.9),
        byte_offset in prop_oneof![5 => (0_u64..512).prop_map(|k| k * 4), 1 => any::<u64>()],
        has_data in prop::bool::weighted(0.95),
    ) -> Claim {
        let strides = has_strides.then(|| strides[..shape.len()].to_vec());
        Claim {
            major, minor, flags, device, ndim, dtype, shape, has_shape, strides, byte_offset, has_data, has_deleter: true,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Nothing is read here: an accepted claim may lead outside the memory, and only its producer
    /// can know.
    #[test]
    fn whatever_is_claimed_the_deleter_is_called_once(claim in claims()) {
        let ((device, stream), deletes) = (stream(), Arc::<AtomicUsize>::default());
        // SAFETY: the tensor is given no work.
        let answer = unsafe { Tensor::from_dlpack(&stream, versioned(&claim, &deletes)) };
        if let Ok(tensor) = &answer {
            let empty = tensor.layout().is_empty();
            prop_assert_eq!(deletes.load(SeqCst), usize::from(empty), "kept as long as the tensor");
            prop_assert!(tensor.shape().iter().map(|&n| n.cast_signed() as i64).eq(claim.shape.iter().copied().take(tensor.rank())));
        }
        drop(answer);
        // A tensor whose adoption nobody waited for is given back with the context at the latest.
        drop(stream);
        prop_assert_eq!(deletes.load(SeqCst), 1);
        prop_assert_eq!(device.report().adopted, 0);
    }
}

/// A layout that reaches elements several times is exported as read-only by every form that can say
/// so, and refused by the others.
#[test]
fn what_repeats_elements_goes_out_as_read_only() {
    let (_, stream) = stream();
    let line = Tensor::from(Array::from_slice(&stream, &[6], &[1_u32, 2, 3, 4, 5, 6]).unwrap());
    let whole = line.layout().clone();
    let repeating = [
        whole.broadcast_to(&[2, 6]).unwrap(),
        whole.broadcast_to(&[2, 6]).unwrap().transpose().flip(&[0]).unwrap(),
        whole.sliding_windows(0, 3).unwrap(),
        Layout::new(&[3, 4], &[1, 1], 0).unwrap(),
        Layout::new(&[2, 3], &[2, 1], 0).unwrap(),
        Layout::new(&[2], &[0], 3).unwrap(),
    ];
    let apart = [
        whole.reshape(&[2, 3], Order::C).unwrap().transpose(),
        whole.flip(&[0]).unwrap(),
        whole.sliding_windows(0, 3).unwrap().slice_axis(0, Slice::from(..).step_by(3)).unwrap(),
        whole.slice_axis(0, ..1).unwrap().broadcast_to(&[1, 1]).unwrap(),
        whole.slice_axis(0, ..0).unwrap().reshape(&[1, 0], Order::C).unwrap().broadcast_to(&[9, 0]).unwrap(),
    ];
    for (layouts, repeats) in [(&repeating[..], true), (&apart[..], false)] {
        for layout in layouts {
            let mut tensor = line.with_layout(layout.clone()).unwrap();
            assert_eq!(tensor.is_read_only(), repeats, "{layout:?}");
            let exported = tensor.to_dlpack(&stream, Consumer::Host).unwrap();
            assert_eq!(exported.tensor().unwrap().is_read_only(), repeats, "{layout:?}");
            assert_eq!(tensor.to_array_interface(&stream).unwrap().read_only, repeats, "{layout:?}");
            let legacy = tensor.to_dlpack_legacy(&stream, Consumer::Host);
            assert_eq!(legacy.err(), repeats.then_some(DoorError::Repeats), "{layout:?}");
            // A copy has each element once.
            let copied = tensor.to_dlpack_copied(&stream, Consumer::Host).unwrap();
            assert!(!copied.tensor().unwrap().is_read_only(), "{layout:?}");
            let refused = tensor.erased_mut().err();
            assert_eq!(refused, Some(if repeats { DoorError::Repeats } else { DoorError::Shared }));
            // A part in which no element repeats may be written again.
            let first = tensor.with_layout(layout.index(&ix![Ellipsis, ..1]).unwrap()).unwrap();
            let again = first.layout().injectivity() != Injectivity::Injective;
            assert_eq!(first.is_read_only(), again, "{layout:?}");
        }
    }
    assert!(DoorError::Repeats.to_string().contains("share memory"));
}

/// Shapes whose size other libraries could not compute are not exported, though an array here may
/// have them.
#[test]
fn vast_shapes_without_elements_do_not_go_out() {
    let (_, stream) = stream();
    let overflow: DoorError = devarray::LayoutError::Overflow.into();
    let none = Tensor::from(Array::<f32, _>::zeros(&stream, &[1 << 62, 0]).unwrap());
    assert_eq!(none.to_dlpack(&stream, Consumer::Host).unwrap_err(), overflow);
    assert_eq!(none.to_dlpack_legacy(&stream, Consumer::Host).unwrap_err(), overflow);
    assert_eq!(none.to_array_interface(&stream).unwrap_err(), overflow);
    // The twin: the same shape of one-byte elements is exported.
    let bytes = Tensor::from(Array::<u8, _>::zeros(&stream, &[1 << 62, 0]).unwrap());
    assert!(bytes.to_dlpack(&stream, Consumer::Host).is_ok() && bytes.to_array_interface(&stream).is_ok());
}

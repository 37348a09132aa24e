//! DLPack structures whose fields have any values: an error, or a tensor with the elements that
//! counting gives; and the deleter is called once.
#![allow(unsafe_code)] // stands for other code

use std::{
    cell::Cell,
    ffi::c_void,
    ptr::{self, NonNull},
    rc::Rc,
};

use arbitrary::{Result, Unstructured};
use devarray::Context;
use devarray_interop::{
    Tensor,
    device::DeviceId,
    dlpack::{
        Owned,
        abi::{DataTypeAbi, ManagedTensorVersioned, TensorAbi, Version},
    },
};
use devarray_mock::MockDevice;

/// The number of words of the memory that structures describe, or claim to describe.
const MEMORY_WORDS: usize = 512;
/// The number of extents and strides that exist, for any `ndim` up to this.
const MOST_AXES: usize = 64;

/// Memory that a producer keeps until its deleter is called.
struct Producer {
    memory: Box<[u64]>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    deletes: Rc<Cell<usize>>,
}

unsafe extern "C" fn delete(structure: *mut ManagedTensorVersioned) {
    // SAFETY: made by `structure`, and deleted once.
    let structure = unsafe { Box::from_raw(structure) };
    // SAFETY: the producer that the structure was made with.
    let producer = unsafe { Box::from_raw(structure.manager_ctx.cast::<Producer>()) };
    producer.deletes.set(producer.deletes.get() + 1);
}

/// The bytes choose the fields.
pub fn run(data: &[u8]) {
    let deletes = Rc::new(Cell::new(0));
    let Ok(structure) = structure(&mut Unstructured::new(data), &deletes) else { return };
    let device = MockDevice::builder().adopts_host_memory(true).build();
    let stream =
        Context::new(device.clone()).and_then(|context| context.stream()).expect("a simulator opens");
    let elements = elements(&structure);
    // SAFETY: pointers are null or lead to at least `MOST_AXES` numbers.
    let owned = unsafe { Owned::from_raw(NonNull::from(Box::leak(structure))) };
    // SAFETY: elements are read below only if they all lie inside the memory.
    let answer = unsafe { Tensor::from_dlpack(&stream, owned) };
    if let Ok(tensor) = &answer {
        assert_eq!(deletes.get(), usize::from(tensor.layout().is_empty()), "kept as long as the tensor");
        if let (Some(due), Ok(view)) = (elements, tensor.view::<f32>()) {
            let found = view.to_vec(&stream).expect("the simulator reads");
            assert!(found.iter().map(|value| value.to_bits()).eq(due), "{:?}", tensor.layout());
        }
    }
    drop(answer);
    // A tensor whose adoption nobody waited for is given back with the context at the latest.
    drop(stream);
    assert_eq!((deletes.get(), device.report().adopted), (1, 0));
}

fn structure(bytes: &mut Unstructured<'_>, deletes: &Rc<Cell<usize>>) -> Result<Box<ManagedTensorVersioned>> {
    let rank = bytes.int_in_range(0..=5)?;
    let mut shape = vec![1; MOST_AXES];
    let mut strides = vec![1; MOST_AXES];
    for axis in 0..rank {
        shape[axis] = number(bytes)?;
        strides[axis] = number(bytes)?;
    }
    let memory = (0..MEMORY_WORDS as u64).map(|word| word * 0x1_0001_0003).collect();
    let mut producer = Box::new(Producer { memory, shape, strides, deletes: Rc::clone(deletes) });
    let numbers = |is_there: bool, numbers: &mut Vec<i64>| match is_there {
        true => numbers.as_mut_ptr(),
        false => ptr::null_mut(),
    };
    let dtype = if bytes.ratio(1, 12)? { bytes.arbitrary()? } else { (2_u8, 32_u8, 1_u16) };
    let device = if bytes.ratio(1, 12)? { bytes.arbitrary()? } else { (DeviceId::CPU, 0) };
    // There are no numbers beyond `MOST_AXES`, and nobody may read any.
    let ndim = if bytes.ratio(1, 12)? { bytes.arbitrary()? } else { rank as i32 };
    let dl_tensor = TensorAbi {
        data: if bytes.ratio(1, 12)? { ptr::null_mut() } else { producer.memory.as_mut_ptr().cast() },
        device: DeviceId::new(device.0, device.1),
        ndim,
        dtype: DataTypeAbi { code: dtype.0, bits: dtype.1, lanes: dtype.2 },
        shape: numbers(!bytes.ratio(1, 16)?, &mut producer.shape),
        strides: numbers(!bytes.ratio(1, 6)?, &mut producer.strides),
        byte_offset: if bytes.ratio(1, 12)? { bytes.arbitrary()? } else { bytes.int_in_range(0..=512)? * 4 },
    };
    let (major, flags) = (if bytes.ratio(1, 12)? { bytes.arbitrary()? } else { 1 }, bytes.arbitrary()?);
    let version = Version { major, minor: bytes.arbitrary()? };
    let manager_ctx: *mut c_void = Box::into_raw(producer).cast();
    Ok(Box::new(ManagedTensorVersioned { version, manager_ctx, deleter: Some(delete), flags, dl_tensor }))
}

fn number(bytes: &mut Unstructured<'_>) -> Result<i64> {
    Ok(match bytes.int_in_range(0..=15)? {
        0 => bytes.arbitrary()?,
        1 => 1 << bytes.int_in_range(0..=62)?,
        _ => bytes.int_in_range(-3..=6)?,
    })
}

/// The bits of the elements, one by one, if the type is `f32` and all of them lie inside the
/// memory.
fn elements(structure: &ManagedTensorVersioned) -> Option<Vec<u32>> {
    let tensor = &structure.dl_tensor;
    let rank = usize::try_from(tensor.ndim).ok().filter(|&rank| rank <= 5)?;
    if tensor.data.is_null() || tensor.shape.is_null() || tensor.byte_offset % 4 != 0 {
        return None;
    }
    // SAFETY: the producer that the structure was made with; nobody writes it.
    let producer = unsafe { &*structure.manager_ctx.cast::<Producer>() };
    let shape = &producer.shape[..rank];
    let len =
        shape.iter().try_fold(1_i64, |len, &extent| len.checked_mul(extent)).filter(|len| *len < 4096)?;
    if shape.iter().any(|&extent| extent < 0) {
        return None;
    }
    if len == 0 {
        return Some(Vec::new());
    }
    let mut all = vec![i128::from(tensor.byte_offset / 4)];
    for axis in 0..rank {
        let dense: i128 = shape[axis + 1..].iter().map(|&extent| i128::from(extent)).product();
        let stride = if tensor.strides.is_null() { dense } else { i128::from(producer.strides[axis]) };
        let steps = 0..i128::from(shape[axis]);
        all = all.iter().flat_map(|at| steps.clone().map(move |k| at + k * stride)).collect();
    }
    let half = |at: i128| {
        let at = usize::try_from(at).ok()?;
        let word = producer.memory.get(at / 2)?;
        Some((word >> (at % 2 * 32)) as u32)
    };
    all.into_iter().map(half).collect()
}

//! Arrow device arrays whose fields have any values: an error, or a column with the elements that
//! counting gives; and each release is called once.
#![allow(unsafe_code)] // stands for other code

use std::{
    cell::Cell,
    ffi::{CString, c_void},
    ptr,
    rc::Rc,
};

use arbitrary::{Result, Unstructured};
use devarray::Context;
use devarray_interop::{
    Tensor,
    arrow::{
        OwnedArray, OwnedSchema,
        abi::{ArrowArray, ArrowDeviceArray, ArrowSchema},
    },
    device::DeviceId,
};
use devarray_mock::MockDevice;

/// The number of elements of the memory that structures describe, or claim to describe.
const MEMORY: usize = 64;
/// The formats of primitive types, of some other types, and texts that are no format.
const FORMATS: [&str; 14] = ["i", "i", "i", "i", "l", "c", "S", "f", "g", "e", "b", "u", "+l", "\u{ff}x"];

/// Memory that a producer keeps until its release is called.
struct Producer {
    /// The values to which the second buffer points.
    _memory: Box<[i32]>,
    buffers: [*const c_void; 2],
    format: CString,
    releases: Rc<Cell<usize>>,
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: made by `structures`; it belongs to the caller.
    let array = unsafe { &mut *array };
    array.release = None;
    released(array.private_data);
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: made by `structures`; it belongs to the caller.
    let schema = unsafe { &mut *schema };
    schema.release = None;
    released(schema.private_data);
}

fn released(private: *mut c_void) {
    // SAFETY: the producer that the structure was made with; it is released once.
    let producer = unsafe { Box::from_raw(private.cast::<Producer>()) };
    producer.releases.set(producer.releases.get() + 1);
}

/// The bytes choose the fields.
pub fn run(data: &[u8]) {
    let releases = Rc::new(Cell::new(0));
    let Ok((schema, array, due)) = structures(&mut Unstructured::new(data), &releases) else { return };
    let device = MockDevice::builder().adopts_host_memory(true).build();
    let stream =
        Context::new(device.clone()).and_then(|context| context.stream()).expect("a simulator opens");
    // SAFETY: elements are read below only if they all lie inside the memory.
    let answer = unsafe { Tensor::from_arrow(&stream, &schema, array) };
    if let Ok(tensor) = &answer {
        assert_eq!(releases.get(), usize::from(tensor.layout().is_empty()), "kept as long as the tensor");
        assert!(tensor.is_read_only() || tensor.layout().is_empty());
        if let (Some(due), Ok(view)) = (due, tensor.view::<i32>()) {
            assert_eq!(view.to_vec(&stream).expect("the simulator reads"), due);
        }
    }
    drop(answer);
    drop(stream);
    drop(schema);
    assert_eq!((releases.get(), device.report().adopted), (2, 0));
}

fn producer(format: &str, releases: &Rc<Cell<usize>>) -> *mut Producer {
    let memory: Box<[i32]> = (0..MEMORY as i32).map(|at| at * 7 - 3).collect();
    let buffers = [ptr::null(), memory.as_ptr().cast()];
    let format = CString::new(format).expect("no format has a zero in it");
    Box::into_raw(Box::new(Producer { _memory: memory, buffers, format, releases: Rc::clone(releases) }))
}

type Structures = (OwnedSchema, OwnedArray, Option<Vec<i32>>);

fn structures(bytes: &mut Unstructured<'_>, releases: &Rc<Cell<usize>>) -> Result<Structures> {
    let format = *bytes.choose(&FORMATS)?;
    let (length, offset): (i64, i64) = (number(bytes)?, number(bytes)?);
    let null_count = if bytes.ratio(1, 8)? { bytes.arbitrary()? } else { 0 };
    let n_buffers = if bytes.ratio(1, 8)? { bytes.arbitrary()? } else { 2 };
    let n_children = if bytes.ratio(1, 8)? { bytes.arbitrary()? } else { 0 };
    let [no_buffers, has_nulls, no_data, no_format] = [(); 4].map(|()| bytes.ratio(1, 12).unwrap_or(false));
    let device_type = if bytes.ratio(1, 12)? { bytes.arbitrary()? } else { DeviceId::CPU };
    let device_id = if bytes.ratio(1, 6)? { bytes.arbitrary()? } else { -1 };
    let inside = || {
        let (length, offset) = (usize::try_from(length).ok()?, usize::try_from(offset).ok()?);
        let end = offset.checked_add(length).filter(|&end| end <= MEMORY)?;
        Some((offset..end).map(|at| at as i32 * 7 - 3).collect())
    };
    let due = if no_data || format != "i" { None } else { inside() };
    let of_array = producer(format, releases);
    // SAFETY: it was made above, and nobody else has it.
    let buffers = unsafe { &mut (*of_array).buffers };
    if has_nulls {
        buffers[0] = buffers[1];
    }
    if no_data {
        buffers[1] = ptr::null();
    }
    let array = ArrowArray {
        length,
        null_count,
        offset,
        n_buffers,
        n_children,
        buffers: if no_buffers { ptr::null_mut() } else { buffers.as_mut_ptr() },
        children: ptr::null_mut(),
        dictionary: ptr::null_mut(),
        release: Some(release_array),
        private_data: of_array.cast(),
    };
    let array =
        ArrowDeviceArray { array, device_id, device_type, sync_event: ptr::null_mut(), reserved: [0; 3] };
    let of_schema = producer(format, releases);
    // SAFETY: it was made above, and nobody else has it.
    let text = unsafe { (*of_schema).format.as_ptr() };
    let schema = ArrowSchema {
        format: if no_format { ptr::null() } else { text },
        name: ptr::null(),
        metadata: ptr::null(),
        flags: 0,
        n_children: 0,
        children: ptr::null_mut(),
        dictionary: ptr::null_mut(),
        release: Some(release_schema),
        private_data: of_schema.cast(),
    };
    // SAFETY: the format is null or a C string, and the schema is given away.
    let schema = unsafe { OwnedSchema::from_raw(schema) };
    // SAFETY: `buffers` is null or leads to two pointers, and the array is given away.
    Ok((schema, unsafe { OwnedArray::from_raw(array) }, due))
}

fn number(bytes: &mut Unstructured<'_>) -> Result<i64> {
    if bytes.ratio(1, 8)? { bytes.arbitrary() } else { bytes.int_in_range(-1..=40) }
}

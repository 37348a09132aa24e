//! The tricky behaviours of Numba that concern the doors to other code, by their number in the list
//! of forty. Each is either kept or fixed; if it is fixed, the test is the case that used to fail.
//! They are generic over the device.
#![allow(unsafe_code)] // stands for other code

use devarray::{
    Array, Context, Error, Layout, NdLayout, Order,
    backend::{Capabilities, FillOp, ForeignMemory, Ipc, Stream},
    copy::Plan,
    ipc::RemoteArray,
};

/// Fixed: the strides that other code receives for repeated elements are 0, and do not claim that
/// the elements were contiguous.
pub(crate) fn numba_18_repeated_elements_tell_their_strides<D: ForeignMemory>(context: &Context<D>) {
    let stream = context.stream().unwrap();
    let core = Array::from_slice(&stream, &[3], &[7_u32, 8, 9]).unwrap();
    let many = core.view().broadcast_to(&[4, 3]).unwrap();
    assert_eq!((many.address(), many.strides()), (core.view().address(), &[0, 1][..]));
    assert!(!many.is_c_contiguous() && !many.is_f_contiguous());
    // Other code that uses the given address, shape and strides reads nothing beyond the three
    // elements that exist.
    let span = many.layout().span();
    let line = Layout::new(&[span.len()], &[1], 0).unwrap();
    // SAFETY: the elements of `core`, which is only read until the end.
    let seen = unsafe { Array::<u32, D>::adopt(&stream, many.address(), &line, ()) }.unwrap();
    assert_eq!(seen.to_vec(&stream).unwrap(), [7, 8, 9]);
}

/// Kept: memory of other code waits for its producer's stream, without blocking the host. Fixed:
/// all streams wait, not one.
pub(crate) fn numba_36_adopted_memory_waits_for_its_producer<D: ForeignMemory>(context: &Context<D>) {
    let (stream, other) = (context.stream().unwrap(), context.stream().unwrap());
    let released = Array::<u8, D>::zeros(&stream, &[5000]).unwrap().release(&stream).unwrap();
    let producer = context.device().open_stream().unwrap();
    producer.wait(&stream.raw().record().unwrap()).unwrap();
    let line = Layout::contiguous(&[5000], Order::C).unwrap();
    let plan = Plan::new(&line, &line, 1, &Capabilities::default()).unwrap();
    // SAFETY: inside the memory, which was given up to the producer.
    producer.fill(&unsafe { FillOp::new_unchecked(released.buffer().unwrap(), &plan, &[3]) }).unwrap();

    stream.raw().wait(&producer.record().unwrap()).unwrap();
    // SAFETY: the memory stays until it is reclaimed, and the producer's work is waited for.
    let adopted = unsafe { Array::<u8, D>::adopt(&stream, released.address(), &line, ()) }.unwrap();
    assert_eq!(adopted.to_vec(&other).unwrap(), [3; 5000]);
    drop(adopted);
    other.synchronize().unwrap();
    // SAFETY: it is the buffer that was released, and nobody uses it.
    let _ = unsafe { Array::<u8, D>::reclaim(&stream, released) }.unwrap();
}

/// Kept: the name of a slice says where it lies in the memory, and the process that made a name
/// cannot open it.
pub(crate) fn numba_38_the_name_of_a_slice_has_its_place<D: Ipc>(context: &Context<D>) {
    let stream = context.stream().unwrap();
    let array = Array::<f64, D>::zeros_exportable(&stream, &[10, 4]).unwrap();
    let exported = array.export(&stream).unwrap();
    let row = exported.array().layout().slice_axis(0, 7..8).unwrap();
    let name = exported.array().clone().with_layout(row).unwrap();
    let sent = RemoteArray::from_bytes(&name.to_bytes()).unwrap();
    assert_eq!((sent.layout().offset(), sent.layout().shape()), (28, &[1, 4][..]));
    // SAFETY: nothing is opened.
    let own = unsafe { Array::<f64, D>::open(&stream, &sent) }.unwrap_err();
    assert!(matches!(own, Error::Handle { operation: "open", .. }), "{own}");
}

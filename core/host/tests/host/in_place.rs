//! The host reads and writes arrays where they lie.
#![allow(unsafe_code)] // adopts memory that the test keeps

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
    time::Duration,
};

use devarray::{Array, Context, Error, Layout, LayoutError, Order, Result, StreamHandle, backend::Buffer};
use devarray_host::HostDevice;
use ndarray::{Array2, Axis, s};

use crate::gates::{self, Wait};

fn stream() -> Result<StreamHandle<HostDevice>> {
    Context::new(HostDevice::builder().capacity_bytes(64 << 20).threads(2).build())?.stream()
}

fn counted(stream: &StreamHandle<HostDevice>) -> Result<Array<i32, HostDevice>> {
    Array::from_slice(stream, &[4, 6], &(0..24).collect::<Vec<i32>>())
}

#[test]
fn slices_are_the_memory_itself() -> Result<()> {
    let stream = stream()?;
    let mut array = counted(&stream)?;
    assert_eq!(array.host()?, (0..24).collect::<Vec<i32>>());
    assert_eq!(array.host()?.as_ptr().addr() as u64, array.view().buffer().map_or(0, Buffer::address));
    array.host_mut()?[7] = 70;
    array.view_mut().slice_axis(0, 2..3)?.host_mut()?.fill(-1);
    assert_eq!(array.view().sum(&stream, ..)?.item(&stream)?, 276 + 63 - 87 - 6);
    assert_eq!(array.view().slice_axis(0, 1..3)?.host()?, [6, 70, 8, 9, 10, 11, -1, -1, -1, -1, -1, -1]);

    let turned = array.view().transpose().host().err();
    assert!(matches!(turned, Some(Error::Layout(LayoutError::NeedsCopy, ..))), "{turned:?}");
    let empty = array.view().slice_axis(1, 3..3)?;
    assert!(empty.host()?.is_empty());
    assert_eq!(empty.host_ndarray()?.shape(), [4, 0]);
    Ok(())
}

#[test]
fn arrays_of_ndarray_have_every_layout() -> Result<()> {
    let stream = stream()?;
    let mut array = counted(&stream)?;
    let host = Array2::from_shape_vec((4, 6), (0..24).collect()).unwrap();
    let view = array.view();
    assert_eq!(view.host_ndarray()?, host.view().into_dyn());
    assert_eq!(view.transpose().host_ndarray()?, host.t().into_dyn());
    assert_eq!(view.flip(&[0, 1])?.host_ndarray()?, host.slice(s![..;-1, ..;-1]).into_dyn());
    let part = view.slice_axis(1, 1..6)?.flip(&[1])?;
    assert_eq!(part.host_ndarray()?, host.slice(s![.., 1..6;-1]).into_dyn());
    let row = view.slice_axis(0, 2..3)?;
    assert_eq!(
        row.broadcast_to(&[5, 6])?.host_ndarray()?,
        host.slice(s![2..3, ..]).broadcast((5, 6)).unwrap().into_dyn()
    );

    array.view_mut().transpose().flip(&[0])?.host_ndarray_mut()?.index_axis_mut(Axis(0), 0).fill(9);
    let mut due = host;
    due.column_mut(5).fill(9);
    assert_eq!(array.to_vec(&stream)?, due.into_raw_vec_and_offset().0);
    Ok(())
}

/// A slice that is forgotten, or left by a panic, ends its borrow and nothing else.
#[test]
fn nothing_depends_on_a_destructor() -> Result<()> {
    let stream = stream()?;
    let mut array = counted(&stream)?;
    mem::forget(array.view().host_ndarray()?);
    mem::forget(array.view_mut().host_ndarray_mut()?);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let slice = array.host_mut().unwrap();
        slice[0] = 5;
        panic!("with the slice");
    }));
    assert!(panicked.is_err());
    array.view_mut().map_in_place(&stream, |x| x + 1)?;
    assert_eq!(array.host()?[..3], [6, 2, 3]);
    Ok(())
}

#[test]
fn reading_goes_on_beside_operations_that_read() -> Result<()> {
    let stream = stream()?;
    let array = counted(&stream)?;
    let slice = array.host()?;
    assert_eq!(array.view().sum(&stream, ..)?.item(&stream)?, i64::from(slice.iter().sum::<i32>()));
    let shared = array.try_clone(&stream)?.into_shared();
    assert_eq!(shared.view().host()?, slice);
    Ok(())
}

/// A slice waits for work in flight on another part of the memory.
#[test]
fn a_slice_is_there_when_operations_are_over() -> Result<()> {
    let (stream, gate) = (stream()?, gates::new());
    let mut array = Array::<u32, _>::zeros(&stream, &[2, 8])?;
    let mut rows = array.view_mut().split_at(0, &[1])?;
    let (mut first, mut second) = (rows.next().unwrap(), rows.next().unwrap());
    thread::scope(|scope| {
        let long = scope.spawn(|| Wait::launch(&stream, &mut first, gate));
        gates::await_arrival(gate);
        let looks = scope.spawn(|| second.host_mut().map(|slice| slice.fill(3)));
        thread::sleep(Duration::from_millis(20));
        assert!(!looks.is_finished());
        gates::open(gate);
        long.join().unwrap()?;
        looks.join().unwrap()
    })?;
    assert_eq!(array.host()?, [[1; 8], [3; 8]].as_flattened());
    Ok(())
}

/// Others may write such memory while the slice is borrowed.
#[test]
fn memory_of_others_is_refused() -> Result<()> {
    let stream = stream()?;
    let memory = vec![0_u8; 512].leak();
    let offset = memory.as_ptr().align_offset(256);
    let address = memory[offset..].as_mut_ptr().expose_provenance() as u64;
    // SAFETY: 64 elements that are never freed.
    let adopted =
        unsafe { Array::<u8, _>::adopt(&stream, address, &Layout::contiguous(&[64], Order::C)?, ()) }?;
    let mut arrays = vec![adopted];
    if cfg!(target_os = "linux") {
        arrays.push(Array::zeros_exportable(&stream, &[64])?);
    }
    for array in arrays {
        assert!(matches!(array.host(), Err(Error::OutOfReach { operation: "host", .. })));
        assert!(matches!(array.view().host_ndarray(), Err(Error::OutOfReach { .. })));
    }
    Ok(())
}

//! Reads and writes arrays on a device, in pieces.

use std::io::{Read, Write};

use super::{
    NpyElement, NpyError, NpyReader,
    element::words_of,
    host::header_of,
    reader::{PIECE_BYTES, piece_len},
};
use crate::{Array, array::AsArrayView, backend::Device, layout::Order, stream::StreamHandle};

/// Reads an array to a device, dense in the order of the file: header and elements, of either byte
/// order. The reader is left after the last element.
///
/// The elements pass through host memory, a few MiB at a time. Does not synchronize (see
/// [staging](crate::manual::_3_host_memory) for when it may wait).
///
/// # Errors
///
/// The errors of [`NpyError`] lists them: above all [`NpyError::OtherDtype`] if the file does not hold
/// elements of `T`. The header and the first elements are read before memory is taken on the
/// device.
#[doc(alias = "load")]
#[track_caller]
pub fn read_array<T: NpyElement, D: Device>(
    stream: &StreamHandle<D>,
    reader: &mut (impl Read + ?Sized),
) -> Result<Array<T, D>, NpyError> {
    read_array_from(stream, &mut NpyReader::new(reader)?)
}

#[track_caller]
pub(super) fn read_array_from<T: NpyElement, D: Device>(
    stream: &StreamHandle<D>,
    file: &mut NpyReader<impl Read>,
) -> Result<Array<T, D>, NpyError> {
    let words = words_of::<T>(file.header())?;
    let (shape, order) = (file.header().shape.clone(), file.header().order);
    let mut start = 0;
    // The first piece is read before memory is allocated on the device: most files that claim too
    // much fail here.
    let mut next = file.next_piece()?;
    let mut array = Array::uninit_in(stream, &shape, order)?;
    while let Some(piece) = next {
        words.settle(piece);
        let end = start + piece.len() / T::BYTES;
        // The array is dense, so in the order of memory it is one axis.
        let part = array.view_mut().ravel(Order::K)?.slice_axis(0, start..end)?;
        part.into_erased().copy_from_bytes(stream, piece)?;
        start = end;
        next = file.next_piece()?;
    }
    Ok(array)
}

/// Writes an array from a device, in F order if it is contiguous in F order only, else in C order.
/// Does not flush. Blocks until the elements are on the host.
///
/// Elements pass through host memory, a few MiB at a time. An array that is not contiguous is first
/// copied on the device.
///
/// # Errors
///
/// - [`NpyError::Io`]: the writer failed; the bytes written until then are useless.
/// - [`NpyError::Device`]: out of memory, another context's stream, and any other device error.
#[doc(alias = "save")]
#[track_caller]
pub fn write_array<T: NpyElement, D: Device>(
    stream: &StreamHandle<D>,
    writer: &mut (impl Write + ?Sized),
    array: &impl AsArrayView<T, D>,
) -> Result<(), NpyError> {
    let array = &*array.as_array_view();
    let layout = array.layout();
    let order = if layout.is_f_contiguous() && !layout.is_c_contiguous() { Order::F } else { Order::C };
    let header = header_of::<T>(order, array.shape())?;
    let dense;
    let dense_view;
    let view = if layout.is_c_contiguous() || order == Order::F {
        array
    } else {
        dense = array.to_contiguous(stream, Order::C)?;
        dense_view = dense.view();
        &dense_view
    };
    header.write(writer)?;
    let flat = view.ravel(Order::K)?;
    let mut bytes = vec![0; header.len_bytes()?.min(PIECE_BYTES.max(T::BYTES))];
    for part in flat.axis_chunks(0, piece_len(T::BYTES))? {
        let bytes = &mut bytes[..part.len() * T::BYTES];
        part.as_erased().copy_to_bytes(stream, bytes)?;
        writer.write_all(bytes)?;
    }
    Ok(())
}

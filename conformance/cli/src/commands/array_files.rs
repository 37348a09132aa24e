//! Moves array files to a device and back, in pieces and by stages.

mod sink;
mod stage;
mod upload;

use anyhow::Result;
use devarray::{
    Device, ErasedArray, ErasedView, Layout, LayoutError, NdLayout, Order, Reshaped, StreamHandle,
    npy::{Header, NpyError},
};

pub(super) use self::{
    sink::{Destination, Sink},
    stage::Stage,
    upload::{open, upload},
};
use crate::output::Progress;

/// The number of bytes in a piece, unless one element is larger: starting a transfer and a write of
/// that size costs almost nothing.
const PIECE_BYTES: usize = 8 << 20;

/// The elements, dense in `order`: as they are, or copied on the device.
pub(super) fn dense<'a, D: Device>(
    stream: &StreamHandle<D>,
    view: &ErasedView<'a, D>,
    order: Order,
) -> devarray::Result<Reshaped<ErasedView<'a, D>, ErasedArray<D>>> {
    let is_dense = match order {
        Order::F => view.is_f_contiguous(),
        _ => view.is_c_contiguous(),
    };
    Ok(if is_dense {
        Reshaped::View(view.clone())
    } else {
        Reshaped::Copied(view.to_contiguous(stream, order)?)
    })
}

/// Downloads the elements of a view, dense in `order`, to the output in pieces.
pub(super) fn download<D: Device>(
    stream: &StreamHandle<D>,
    view: &ErasedView<'_, D>,
    header: &Header,
    order: Order,
    sink: &mut Sink<'_, '_>,
) -> Result<(Stage, Stage)> {
    let (mut download, mut write) = (Stage::new("download"), Stage::new("write"));
    let (item_bytes, len_bytes) = (view.item_bytes(), header.len_bytes()?);
    let progress = Progress::new("write", len_bytes as u64, sink.is_quiet());
    let mut buffer = piece_buffer(len_bytes.min(PIECE_BYTES.max(item_bytes)))?;
    write.time(0, || sink.header(header))?;
    let mut done_bytes = 0;
    for piece in view.ravel(order)?.axis_chunks(0, (PIECE_BYTES / item_bytes).max(1))? {
        let bytes = &mut buffer[..piece.len() * item_bytes];
        download.time(bytes.len(), || piece.copy_to_bytes(stream, bytes))?;
        write.time(bytes.len(), || sink.bytes(bytes))?;
        done_bytes += bytes.len();
        progress.at(done_bytes);
    }
    write.time(0, || sink.commit())?;
    Ok((download, write))
}

fn piece_buffer(len_bytes: usize) -> Result<Vec<u8>, NpyError> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(len_bytes).map_err(|_| NpyError::NoMemory { len_bytes })?;
    buffer.resize(len_bytes, 0);
    Ok(buffer)
}

/// The order that a file names: C if both would be right, as in NumPy.
pub(super) fn file_order(shape: &[usize], order: Order) -> Result<Order, LayoutError> {
    let is_c = Layout::contiguous(shape, order)?.is_c_contiguous();
    Ok(if is_c { Order::C } else { order })
}

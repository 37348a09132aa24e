//! Array files on their way to a device and back, in pieces and by stages.

mod input;
mod sink;
mod stage;

use anyhow::Result;
use devarray::{
    Device, ErasedArray, ErasedView, Layout, LayoutError, NdLayout, Order, Reshaped, StreamHandle,
};

use self::input::{piece_buffer, pieces};
pub(super) use self::{input::Input, sink::Sink, stage::Stage};
use crate::{npy::Header, output::Progress};

/// The elements dense in `order`: as they are, or copied on the device.
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

/// Brings the elements of a view, dense in `order`, to the output in pieces.
pub(super) fn download<D: Device>(
    stream: &StreamHandle<D>,
    view: &ErasedView<'_, D>,
    header: &Header,
    order: Order,
    sink: &mut Sink<'_, '_>,
) -> Result<(Stage, Stage)> {
    let (mut download, mut write) = (Stage::new("download"), Stage::new("write"));
    let elements = view.ravel(order)?;
    // Cannot overflow: the device holds as many.
    let len_bytes = elements.len() * view.item_bytes();
    let progress = Progress::new("write", len_bytes as u64, sink.is_quiet());
    let mut buffer = piece_buffer(len_bytes, view.item_bytes())?;
    write.time(0, || sink.header(header))?;
    for piece in pieces(elements.len(), view.item_bytes()) {
        let bytes = &mut buffer[..piece.len() * view.item_bytes()];
        let end_bytes = piece.end * view.item_bytes();
        download.time(bytes.len(), || elements.slice_axis(0, piece)?.copy_to_bytes(stream, bytes))?;
        write.time(bytes.len(), || sink.bytes(bytes))?;
        progress.at(end_bytes);
    }
    write.time(0, || sink.commit())?;
    Ok((download, write))
}

/// The order a file names: C if both are right, as NumPy has it.
pub(super) fn file_order(shape: &[usize], order: Order) -> Result<Order, LayoutError> {
    let is_c = Layout::contiguous(shape, order)?.is_c_contiguous();
    Ok(if is_c { Order::C } else { order })
}

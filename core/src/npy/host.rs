//! Reads and writes arrays on the host.

use std::io::{Read, Write};

use super::{Header, NpyElement, NpyError, NpyReader, element::words_of};
use crate::{
    HostArray,
    backend::Capabilities,
    copy::{Plan, copy_bytes},
    layout::{Element, Layout, NdLayout, Order},
};

/// Reads an array: header and elements, of either byte order, in C or F order. The reader is left
/// after the last element.
///
/// Memory grows with the bytes read, not with the claims of the header.
///
/// # Errors
///
/// The errors of [`NpyError`] lists them: above all [`NpyError::OtherDtype`] if the file does not hold
/// elements of `T`.
#[doc(alias = "load")]
#[track_caller]
pub fn read<T: NpyElement>(reader: &mut (impl Read + ?Sized)) -> Result<HostArray<T>, NpyError> {
    read_from(&mut NpyReader::new(reader)?)
}

#[track_caller]
pub(super) fn read_from<T: NpyElement>(file: &mut NpyReader<impl Read>) -> Result<HostArray<T>, NpyError> {
    let words = words_of::<T>(file.header())?;
    let (layout, len_bytes) = (file.header().layout()?, file.len_bytes());
    let mut data = Vec::new();
    while let Some(piece) = file.next_piece()? {
        words.settle(piece);
        let elements = piece.chunks_exact(T::BYTES).map(bytemuck::pod_read_unaligned::<T>);
        data.try_reserve(elements.len()).map_err(|_| NpyError::NoMemory { len_bytes })?;
        data.extend(elements);
    }
    if !layout.is_c_contiguous() {
        data = in_c_order(&data, &layout)?;
    }
    Ok(HostArray::new(layout.shape(), data)?)
}

#[track_caller]
fn in_c_order<T: Element>(data: &[T], layout: &Layout) -> Result<Vec<T>, NpyError> {
    let dense = Layout::contiguous(layout.shape(), Order::C)?;
    let plan = Plan::new(&dense, layout, T::BYTES, &Capabilities::default())?;
    let turned = bytemuck::allocation::try_zeroed_vec(data.len());
    let mut turned = turned.map_err(|()| NpyError::NoMemory { len_bytes: plan.len_bytes() })?;
    copy_bytes(&plan, bytemuck::cast_slice(data), bytemuck::cast_slice_mut(&mut turned))?;
    Ok(turned)
}

/// Writes an array, header and elements, as `numpy.save` does. Does not flush.
///
/// # Errors
///
/// - [`NpyError::Io`]: the writer failed; the bytes written until then are useless.
/// - [`NpyError::Dtype`] and its like: NumPy has no type with the name that `T` gives.
#[doc(alias = "save")]
#[track_caller]
pub fn write<T: NpyElement>(
    writer: &mut (impl Write + ?Sized),
    array: &HostArray<T>,
) -> Result<(), NpyError> {
    header_of::<T>(Order::C, array.shape())?.write(writer)?;
    Ok(writer.write_all(bytemuck::cast_slice(array.as_slice()))?)
}

/// The header for elements of `T`.
#[track_caller]
pub(super) fn header_of<T: NpyElement>(order: Order, shape: &[usize]) -> Result<Header, NpyError> {
    let header = Header::new(&T::descr(), order, shape)?;
    if header.item_bytes != T::BYTES {
        return Err(NpyError::Dtype(header.descr));
    }
    Ok(header)
}

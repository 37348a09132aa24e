//! Elements that identify themselves, so that a result of any size can be checked piece by piece.

use std::{num::NonZero, thread};

use anyhow::{Result, bail};
use devarray::{
    Device, ErasedArray, ErasedViewMut, Order, StreamHandle,
    layout::{IndexItem, Slice},
};

use super::Oracle;

/// The number of bytes that are on the host at a time.
const BLOCK_BYTES: usize = 64 << 20;

/// Every byte of a result before it is written; no `bool` has this value.
const POISON: u8 = 0xa5;

/// 64 bits that differ between neighbours, and between elements far apart.
pub(super) fn mix(number: u64) -> u64 {
    let bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (bits ^ (bits >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// The elements of a base array: the bytes of element number `n` depend only on `n`.
#[derive(Debug, Clone, Copy)]
pub struct Pattern {
    item_bytes: usize,
    /// Whether elements are only 0 or 1.
    is_bool: bool,
}

impl Pattern {
    /// The pattern of an element type.
    #[must_use]
    pub fn new(dtype: &str, item_bytes: usize) -> Self {
        Self { item_bytes, is_bool: dtype == "bool" }
    }

    /// The first 16 bytes of an element; the bytes beyond its size mean nothing.
    fn element(self, number: u64) -> [u8; 16] {
        let high = mix(number);
        if self.is_bool {
            return u128::from(high >> 63).to_le_bytes();
        }
        // The high bits are mixed best: an element of one byte gets the highest ones.
        (u128::from(high.swap_bytes()) | u128::from(mix(!number)) << 64).to_le_bytes()
    }

    /// The bytes of an element with number -1, which no array has.
    #[must_use]
    pub fn other(self) -> Vec<u8> {
        self.element(u64::MAX)[..self.item_bytes].to_vec()
    }

    /// Fills `base` with its elements. Blocks.
    ///
    /// # Errors
    ///
    /// The errors of the device.
    pub fn write<D: Device>(self, stream: &StreamHandle<D>, base: &mut ErasedArray<D>) -> Result<()> {
        let item_bytes = self.item_bytes;
        let mut block = Vec::new();
        for (start, end) in blocks(base.layout().len(), item_bytes) {
            block.resize((end - start) * item_bytes, 0);
            in_parts(&mut block, item_bytes, start, |part, first| {
                for (item, number) in part.chunks_exact_mut(item_bytes).zip(first..) {
                    item.copy_from_slice(&self.element(number as u64)[..item_bytes]);
                }
                None::<()>
            });
            flat(base.view_mut(), start, end)?.copy_from_bytes(stream, &block)?;
        }
        stream.synchronize()?;
        Ok(())
    }

    /// Compares every element of `result`, index by index. Blocks.
    ///
    /// # Errors
    ///
    /// The first element that differs from the `oracle`'s, and the errors of the device.
    pub fn check<D: Device>(
        self,
        stream: &StreamHandle<D>,
        result: &mut ErasedArray<D>,
        oracle: &Oracle,
    ) -> Result<()> {
        self.check_numbers(stream, result, &oracle.shape(), |start, end, each| {
            oracle.numbers(start, end, each)
        })
    }

    /// Like [`check`](Self::check); `numbers` calls back with the number of each element
    /// `start..end` of the result.
    ///
    /// # Errors
    ///
    /// The errors of [`check`](Self::check).
    pub fn check_numbers<D: Device>(
        self,
        stream: &StreamHandle<D>,
        result: &mut ErasedArray<D>,
        shape: &[usize],
        numbers: impl Fn(usize, usize, &mut dyn FnMut(isize)) + Sync,
    ) -> Result<()> {
        if result.shape() != shape {
            bail!("the result has shape {:?}, not {shape:?}", result.shape());
        }
        let item_bytes = self.item_bytes;
        let mut block = Vec::new();
        for (start, end) in blocks(result.layout().len(), item_bytes) {
            block.resize((end - start) * item_bytes, 0);
            flat(result.view_mut(), start, end)?.as_view().copy_to_bytes(stream, &mut block)?;
            let wrong = in_parts(&mut block, item_bytes, start, |part, first| {
                let (mut items, mut at, mut wrong) = (part.chunks_exact(item_bytes), first, None);
                numbers(first, first + part.len() / item_bytes, &mut |number| {
                    let item = items.next().unwrap_or_default();
                    if item != &self.element(number.cast_unsigned() as u64)[..item_bytes] {
                        wrong = wrong.or(Some((at, number)));
                    }
                    at += 1;
                });
                wrong
            });
            if let Some((at, number)) = wrong {
                bail!("element {at} of the result is not element {number} of the array");
            }
        }
        Ok(())
    }

    /// Fills `result` with bytes that no element has, so that an unwritten element shows.
    ///
    /// # Errors
    ///
    /// The errors of the device.
    pub fn poison<D: Device>(self, stream: &StreamHandle<D>, result: &mut ErasedArray<D>) -> Result<()> {
        Ok(result.view_mut().fill_bytes(stream, &[POISON; 16][..self.item_bytes])?)
    }
}

/// Element ranges of at most [`BLOCK_BYTES`].
pub(super) fn blocks(len: usize, item_bytes: usize) -> impl Iterator<Item = (usize, usize)> {
    let step = BLOCK_BYTES / item_bytes;
    (0..len).step_by(step).map(move |start| (start, len.min(start + step)))
}

/// Elements `start..end` of a C-contiguous array.
pub(super) fn flat<D: Device>(
    array: ErasedViewMut<'_, D>,
    start: usize,
    end: usize,
) -> Result<ErasedViewMut<'_, D>> {
    let range = Slice { start: Some(start.cast_signed()), stop: Some(end.cast_signed()), step: 1 };
    Ok(array.reshape(&[-1_isize][..], Order::C)?.index(&[IndexItem::Slice(range)])?)
}

/// Runs `work` on parts of a block, each with the number of its first element, on all cores.
/// Returns the first finding.
pub(super) fn in_parts<R: Send>(
    block: &mut [u8],
    item_bytes: usize,
    start: usize,
    work: impl Fn(&mut [u8], usize) -> Option<R> + Sync,
) -> Option<R> {
    let items = (block.len() / item_bytes).div_ceil(thread::available_parallelism().map_or(1, NonZero::get));
    let work = &work;
    thread::scope(|scope| {
        let parts = block.chunks_mut(items.max(1 << 12) * item_bytes);
        let threads: Vec<_> = parts
            .enumerate()
            .map(|(k, part)| scope.spawn(move || work(part, start + k * items.max(1 << 12))))
            .collect();
        // A panic in a part is resumed in the caller.
        let found =
            threads.into_iter().map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        found.fold(None, Option::or)
    })
}

#[cfg(test)]
mod tests {
    use devarray::Context;
    use devarray_mock::MockDevice;

    use super::*;

    #[test]
    fn a_wrong_element_anywhere_is_found() {
        let stream = Context::new(MockDevice::new()).unwrap().stream().unwrap();
        for (dtype, item_bytes) in [("bool", 1), ("u8", 1), ("f16", 2), ("f32", 4), ("c64", 8), ("c128", 16)]
        {
            let pattern = Pattern::new(dtype, item_bytes);
            let mut base = ErasedArray::uninit(&stream, &[30, 70], item_bytes).unwrap();
            pattern.write(&stream, &mut base).unwrap();
            let same = Oracle::new(&[30, 70], &[]).unwrap();
            pattern.check(&stream, &mut base, &same).unwrap();
            for at in [0, 1234, 2099] {
                let mut broken = base.view().to_contiguous(&stream, Order::C).unwrap();
                let one = flat(broken.view_mut(), at, at + 1).unwrap();
                let other: Vec<u8> =
                    one.as_view().to_bytes(&stream).unwrap().iter().map(|byte| !byte).collect();
                flat(broken.view_mut(), at, at + 1).unwrap().copy_from_bytes(&stream, &other).unwrap();
                let error = pattern.check(&stream, &mut broken, &same).unwrap_err().to_string();
                assert!(error.contains(&format!("element {at} ")), "{error}");
            }
            pattern.poison(&stream, &mut base).unwrap();
            assert!(pattern.check(&stream, &mut base, &same).is_err(), "{dtype}: poison is no element");
        }
    }
}

//! The elements with which functions are measured and checked.

use anyhow::Result;
use devarray::{ErasedArray, StreamHandle, backend::Compute, function::ElementType};

use super::pattern::{blocks, flat, in_parts, mix};

/// The elements of an input: element number `n` depends only on `n` and the number of the input.
///
/// Floats are in `0.1..1.1`, halves in `0.5..1`; integers have any value.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Numbers {
    /// Their type.
    pub element_type: ElementType,
    /// The number of the input.
    pub input: usize,
    /// Whether bools have both values, as a check needs, or are all true, so that no search among
    /// them can end early.
    pub is_mixed: bool,
}

impl Numbers {
    fn bits(self, number: usize) -> u64 {
        let hash = mix(number as u64 ^ (self.input as u64) << 56);
        let len_bits = self.element_type.len_bytes() * 8;
        match self.element_type {
            ElementType::Bool => u64::from(!self.is_mixed || hash >> 63 == 1),
            // 24 and 53 bits are represented exactly.
            ElementType::F32 => u64::from(((hash >> 40) as f32 / 16_777_216.0 + 0.1).to_bits()),
            ElementType::F64 => ((hash >> 11) as f64 / 9_007_199_254_740_992.0 + 0.1).to_bits(),
            ElementType::F16 => 0x3800 | hash >> 54,
            ElementType::BF16 => 0x3f00 | hash >> 57,
            _ => hash >> (64 - len_bits),
        }
    }

    /// Fills `array` with them. Blocks.
    ///
    /// # Errors
    ///
    /// The errors of the device.
    pub fn write<D: Compute>(self, stream: &StreamHandle<D>, array: &mut ErasedArray<D>) -> Result<()> {
        let item_bytes = self.element_type.len_bytes();
        let mut block = Vec::new();
        for (start, end) in blocks(array.layout().len(), item_bytes) {
            block.resize((end - start) * item_bytes, 0);
            in_parts(&mut block, item_bytes, start, |part, first| {
                for (item, number) in part.chunks_exact_mut(item_bytes).zip(first..) {
                    item.copy_from_slice(&self.bits(number).to_le_bytes()[..item_bytes]);
                }
                None::<()>
            });
            flat(array.view_mut(), start, end)?.copy_from_bytes(stream, &block)?;
        }
        stream.synchronize()?;
        Ok(())
    }
}

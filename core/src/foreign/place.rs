//! Finds a buffer around memory at any address. A buffer starts at a multiple of 256.

use std::ops::Range;

use crate::layout::{Layout, LayoutError};

/// Every buffer's address is a multiple of this.
const ALIGN: u64 = 256;

/// A buffer that holds some elements, and their place in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The buffer's address.
    pub(crate) start: u64,
    /// The bytes of the buffer from the first element to the end of the last one.
    pub(crate) bytes: Range<usize>,
}

impl Place {
    /// Finds the place of elements whose layout counts from `address` on. There is at least one.
    /// Afterwards the layout counts from the buffer's start.
    ///
    /// The buffer begins at or before `address`, a whole number of elements before it. Such a start
    /// exists if the address is aligned to the elements' own power of two.
    pub(crate) fn of(address: u64, layout: &mut Layout, item_bytes: usize) -> Result<Self, LayoutError> {
        let power = 1_u64.checked_shl(item_bytes.trailing_zeros()).map_or(ALIGN, |power| power.min(ALIGN));
        if !address.is_multiple_of(power) {
            let reason = "the address is not a multiple of the power of two in the element size";
            return Err(LayoutError::ElementSize { item_bytes, reason });
        }
        let item = item_bytes as u64;
        let mut lead = address % ALIGN;
        while !lead.is_multiple_of(item) {
            lead = lead.checked_add(ALIGN).ok_or(LayoutError::Overflow)?;
        }
        let start = address.checked_sub(lead).ok_or(LayoutError::Overflow)?;
        let items = usize::try_from(lead / item).map_err(|_| LayoutError::Overflow)?;
        layout.move_up(items)?;
        let span = layout.span();
        let end = span.end.checked_mul(item_bytes).filter(|&end| isize::try_from(end).is_ok());
        let end = end.filter(|&end| start.checked_add(end as u64).is_some()).ok_or(LayoutError::Overflow)?;
        Ok(Self { start, bytes: span.start * item_bytes..end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Order;

    /// The first element keeps its address, the start is aligned, and positions count from it.
    #[test]
    fn every_element_keeps_its_address() {
        for item_bytes in [1, 2, 3, 4, 6, 8, 12, 16, 24, 48, 96, 256, 512, 768, 1000] {
            for address in (4096..4096 + 1024_u64).map(|k| k * 8) {
                let layout = Layout::new(&[3, 2], &[-4, 2], 9).unwrap();
                let mut moved = layout.clone();
                let Ok(place) = Place::of(address, &mut moved, item_bytes) else {
                    let power = (1 << item_bytes.trailing_zeros()).min(256);
                    assert!(!address.is_multiple_of(power), "{address} for {item_bytes}");
                    continue;
                };
                assert!(place.start.is_multiple_of(256) && place.start <= address);
                let first = |layout: &Layout| (layout.offset() * item_bytes) as u64;
                assert_eq!(place.start + first(&moved), address + first(&layout));
                let span = layout.span();
                assert_eq!(
                    place.start + place.bytes.start as u64,
                    address + (span.start * item_bytes) as u64
                );
                assert_eq!(place.bytes.len(), span.len() * item_bytes);
            }
        }
    }

    #[test]
    fn what_does_not_fit_the_addresses_is_refused() {
        let place = |address, item_bytes| {
            Place::of(address, &mut Layout::contiguous(&[4], Order::C).unwrap(), item_bytes)
        };
        assert!(matches!(place(258, 4), Err(LayoutError::ElementSize { .. })));
        assert_eq!(place(4, 12), Err(LayoutError::Overflow), "it would begin before address 0");
        assert_eq!(place(u64::MAX - 15, 16), Err(LayoutError::Overflow));
        assert_eq!(place(0, 4).unwrap().bytes, 0..16);
    }
}

//! Size classes of small blocks: four steps to each doubling.

/// The alignment of blocks.
pub(crate) const ALIGN_BYTES: usize = 256;

/// Larger blocks have pages of their own.
pub(crate) const MOST_BYTES: usize = 64 << 10;

/// The number of classes.
pub(crate) const COUNT: usize = class_of(MOST_BYTES) + 1;

/// The class of blocks of at least `len_bytes` bytes, from 1 to [`MOST_BYTES`].
pub(crate) const fn class_of(len_bytes: usize) -> usize {
    let units = len_bytes.div_ceil(ALIGN_BYTES);
    if units <= 4 {
        return units.saturating_sub(1);
    }
    // The power of two below, and how many quarters of it come on top, rounded up.
    let power = (units - 1).ilog2() as usize;
    let quarter = 1 << (power - 2);
    let steps = (units - (1 << power)).div_ceil(quarter);
    4 + 4 * (power - 2) + steps - 1
}

/// The number of bytes in a block of a class.
pub(crate) const fn len_of(class: usize) -> usize {
    if class < 4 {
        return (class + 1) * ALIGN_BYTES;
    }
    let (power, steps) = ((class - 4) / 4 + 2, (class - 4) % 4 + 1);
    ((1 << power) + steps * (1 << (power - 2))) * ALIGN_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_the_smallest_that_holds_a_length() {
        for len_bytes in 1..=MOST_BYTES {
            let class = class_of(len_bytes);
            assert!(len_of(class) >= len_bytes, "{len_bytes}");
            assert!(class == 0 || len_of(class - 1) < len_bytes, "{len_bytes}");
            assert!(
                len_bytes <= 1024 || len_of(class) * 4 <= len_bytes.next_multiple_of(256) * 5,
                "{len_bytes}"
            );
        }
        assert!((0..COUNT).all(|class| len_of(class).is_multiple_of(ALIGN_BYTES)));
        assert_eq!(len_of(COUNT - 1), MOST_BYTES);
    }
}

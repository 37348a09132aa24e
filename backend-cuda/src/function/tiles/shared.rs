//! Shared memory of the inputs that go through it.

use devarray::function::ElementType;

use crate::function::operands::Kind;

/// Elements that a thread loads, or computes, side by side.
pub(super) const VECTOR: usize = 4;

/// Bytes of shared memory for an element.
pub(super) fn slot_bytes(kind: Kind) -> usize {
    if kind.len_bytes() == 8 { 8 } else { 4 }
}

/// Words of shared memory for one transposed input. Rows are one element longer than the tile, so that
/// the elements of a column are in different banks.
pub(super) fn shared_words(kind: Kind, wide: usize, high: usize) -> usize {
    wide * (high + 1) * slot_bytes(kind) / 4
}

/// The type that elements are loaded as: a truth value is a byte until it is used.
pub(super) fn stored(kind: Kind) -> ElementType {
    match kind.element_type() {
        Some(ElementType::Bool) | None => ElementType::U8,
        Some(element_type) => element_type,
    }
}

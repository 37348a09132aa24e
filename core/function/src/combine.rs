//! Combines many elements to one, in a defined order.

use super::ElementType;

/// The combination of the elements of a reduction or of a scan.
///
/// # The order of additions
///
/// The order in which `Sum` and `Product` combine floats follows from the number of elements alone:
/// not from the layout, the device, or how the work is divided. So a sum has one value.
///
/// A **reduction** of n elements, numbered k = 0, 1, … in row-major order of the reduced axes:
///
/// 1. Elements are cut into segments of 16,384, the last one perhaps shorter.
/// 2. In a segment, lane j of 1,024 adds the elements with k mod 1,024 = j, in rising k.
/// 3. Lanes are added in pairs, (0, 1), (2, 3), …; the results in pairs again, until one is left.
///    An element without a partner goes to the next round alone.
/// 4. The results of more than one segment are reduced by the same rule.
/// 5. The sum is +0 plus this result; the product is 1 times this result.
///
/// A **scan** is made from totals of aligned blocks of 2^j elements, which are the total of their
/// left half plus the total of their right half. The value before element k is +0 (1 in a product)
/// combined with the totals of the blocks that the binary digits of k name, largest first. The
/// inclusive form combines this value with element k.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a backend knows them all")]
pub enum Combine {
    /// Adds: `i64` and `u64` wrapping, `f32`, `f64`.
    Sum,
    /// Multiplies: `i64` and `u64` wrapping, `f32`, `f64`.
    Product,
    /// The least, of any type. It is NaN if an element is NaN; −0 is less than +0, and false is
    /// less than true.
    Minimum,
    /// The greatest, by the same rules.
    Maximum,
    /// The position of the first NaN, else of the first least element, as `i64`. Zeros of either
    /// sign are equal.
    ArgMinimum,
    /// The position of the first NaN, else of the first greatest element, as `i64`. Zeros of either
    /// sign are equal.
    ArgMaximum,
}

impl Combine {
    /// The number of elements in a segment.
    pub const SEGMENT: usize = 16_384;
    /// The number of lanes in a segment.
    pub const LANES: usize = 1024;

    /// Whether elements of this type can be combined in this way.
    #[must_use]
    pub const fn takes(self, element_type: ElementType) -> bool {
        use ElementType::{F32, F64, I64, U64};
        match self {
            Self::Sum | Self::Product => matches!(element_type, I64 | U64 | F32 | F64),
            _ => true,
        }
    }

    /// The type of the result.
    #[must_use]
    pub const fn result_type(self, element_type: ElementType) -> ElementType {
        match self {
            Self::ArgMinimum | Self::ArgMaximum => ElementType::I64,
            _ => element_type,
        }
    }

    /// The bits of the outcome if there are no elements; `None` if it has no value then.
    #[must_use]
    pub const fn identity(self, element_type: ElementType) -> Option<u64> {
        match (self, element_type) {
            (Self::Sum, _) => Some(0),
            (Self::Product, ElementType::F32) => Some(1.0_f32.to_bits() as u64),
            (Self::Product, ElementType::F64) => Some(1.0_f64.to_bits()),
            (Self::Product, _) => Some(1),
            (Self::Minimum, ElementType::Bool) => Some(1),
            (Self::Maximum, ElementType::Bool) => Some(0),
            _ => None,
        }
    }
}

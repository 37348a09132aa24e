//! The precision of a product, which the caller chooses.

use crate::function::ElementType;

/// The relative error of one addition on tensor cores, which may cut bits that do not fit an `f32`:
/// two units in its last place, of 24 bits.
const CUT: f64 = 1.0 / (1_u32 << 22) as f64;
/// The relative error of an operand of 11 bits, however it was rounded from an `f32`.
const ELEVEN_BITS: f64 = 1.0 / (1_u32 << 10) as f64;

/// The precision of a [product](crate::product): the caller's choice, for each call.
///
/// [`Exact`](Self::Exact) has one value, the same bits everywhere. [`Fast`](Self::Fast) permits a device
/// to use its fastest units, and promises a bound in place of bits:
///
/// | elements | permitted | `gamma` |
/// |---|---|---|
/// | `f16`, `bf16` | add in `f32`, in any order, cutting bits that do not fit; the sum is rounded once to the type | (k + 1) 2⁻²², and 2⁻¹¹ (`f16`) or 2⁻⁸ (`bf16`) for the rounding |
/// | `f32` | first make the operands numbers of 11 bits (TF32), then likewise | 2⁻⁹ + 2⁻²⁰ + (k + 1) 2⁻²² |
/// | `f64`, integers | nothing else: the exact product | the bound of the exact product |
///
/// An element differs from the sum of its products by at most `gamma` times the sum of their
/// magnitudes; [`gamma`](Self::gamma) computes it. The bound holds for numbers that neither
/// overflow nor underflow on the way: an operand or a product below 2⁻¹²⁶ may count as 0, an `f32`
/// above 2¹²⁷ as infinite, and a NaN may have any bits.
///
/// Nothing else is promised: not the same bits in a batch, on another card, or with another version of
/// a library. `Fast` is a permission, not a demand: the CPU and the simulator compute the exact
/// product, and so does any device without a faster form. On CUDA it needs cuBLASLt, which is looked
/// for when it is first asked for; without it, types that have a fast form are refused with
/// [`Error::Library`](crate::Error::Library).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Precision {
    /// The one value that [`product`](crate::product) defines.
    #[default]
    Exact,
    /// Within the bound, as fast as the device can.
    Fast,
}

impl Precision {
    /// Whether `Fast` products of these elements may differ from the exact ones.
    ///
    /// ```
    /// use devarray::{function::ElementType, product::Precision};
    ///
    /// assert!(Precision::Fast.differs(ElementType::F32));
    /// assert!(!Precision::Fast.differs(ElementType::F64));
    /// assert!(!Precision::Exact.differs(ElementType::F32));
    /// ```
    #[must_use]
    pub fn differs(self, element_type: ElementType) -> bool {
        let has_fast_form = matches!(element_type, ElementType::F16 | ElementType::BF16 | ElementType::F32);
        self == Self::Fast && has_fast_form
    }

    /// The most that an element may differ from the sum of its `depth` products, relative to the sum
    /// of their magnitudes. It is 0 for integers, which wrap.
    ///
    /// ```
    /// use devarray::{function::ElementType, product::Precision};
    ///
    /// let [exact, fast] = [Precision::Exact, Precision::Fast].map(|of| of.gamma(ElementType::F32, 1024));
    /// assert!(exact < 1e-4 && 2e-3 < fast && fast < 3e-3);
    /// ```
    #[must_use]
    pub fn gamma(self, element_type: ElementType, depth: usize) -> f64 {
        let depth = depth as f64;
        let half_unit = |bits: i32| 2_f64.powi(-bits);
        let of_result = match element_type {
            ElementType::F16 => half_unit(11),
            ElementType::BF16 => half_unit(8),
            _ => 0.0,
        };
        let of_sum = match element_type {
            ElementType::F64 => depth * half_unit(53),
            ElementType::F16 | ElementType::BF16 | ElementType::F32 if self == Self::Exact => {
                depth * half_unit(24)
            }
            ElementType::F16 | ElementType::BF16 => (depth + 1.0) * CUT,
            ElementType::F32 => 2.0 * ELEVEN_BITS + ELEVEN_BITS * ELEVEN_BITS + (depth + 1.0) * CUT,
            _ => 0.0,
        };
        of_sum + of_result * (1.0 + of_sum)
    }
}

//! The lesser or greater of two elements, by the rules of the functions `minimum` and `maximum`.

use crate::{kind::Kind, word::Word};

/// NaN if either is NaN, and −0 is below +0. The result counts as computed, so a NaN is the
/// canonical one.
#[inline(always)]
pub(crate) fn extreme<K: Kind>(greater: bool, a: K::Bits, b: K::Bits) -> K::Bits {
    let turn = if greater { K::Bits::ZERO } else { K::Bits::MAX };
    // NaN is above all others in either direction.
    let score = |bits| if K::is_nan(bits) { K::Bits::MAX } else { K::rank(bits) ^ turn };
    let best = score(a).max(score(b));
    if K::HAS_NAN && best == K::Bits::MAX { K::of_key(K::Bits::MAX) } else { K::of_rank(best ^ turn) }
}

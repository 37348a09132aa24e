//! Names for bits of an `f32`.

/// The sign bit.
pub(super) const SIGN: u32 = 0x8000_0000;

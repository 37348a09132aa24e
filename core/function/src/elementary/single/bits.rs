//! The meaning of the bits of an `f32`.

/// The sign.
pub(super) const SIGN: u32 = 0x8000_0000;

//! What the bits of an `f32` mean.

/// The sign.
pub(super) const SIGN: u32 = 0x8000_0000;

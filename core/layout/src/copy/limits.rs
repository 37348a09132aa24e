//! Limits of a device on pitched copies.

/// The limits of pitched copies, which the planner keeps: a copy beyond them has another
/// [`Class`](super::Class).
///
/// The capabilities of a device have them: wherever limits are asked for,
/// `&device.info().capabilities` will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Longest row of a pitched copy, in bytes.
    pub max_width_bytes: usize,
    /// Most rows of a pitched copy.
    pub max_height: usize,
    /// Largest distance between two rows of a pitched copy, in bytes.
    pub max_pitch_bytes: usize,
}

impl Default for Limits {
    /// None.
    fn default() -> Self {
        Self { max_width_bytes: usize::MAX, max_height: usize::MAX, max_pitch_bytes: usize::MAX }
    }
}

//! Limits of a device on pitched copies.

/// The limits of pitched copies. The planner keeps them: a copy that exceeds them has another
/// [`Class`](super::Class).
///
/// A device's capabilities convert to limits: wherever limits are asked for, pass
/// `&device.info().capabilities`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The longest row of a pitched copy, in bytes.
    pub max_width_bytes: usize,
    /// The most rows of a pitched copy.
    pub max_height: usize,
    /// The largest distance between two rows of a pitched copy, in bytes.
    pub max_pitch_bytes: usize,
}

impl Default for Limits {
    /// No limits.
    fn default() -> Self {
        Self { max_width_bytes: usize::MAX, max_height: usize::MAX, max_pitch_bytes: usize::MAX }
    }
}

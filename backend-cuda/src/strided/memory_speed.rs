//! The time that a kernel may spend on each byte.

use devarray::backend::DeviceProperties;

/// The speed of a device's memory compared with its multiprocessors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MemorySpeed {
    /// Multiprocessors have time for more than moving bytes, such as cache instructions. Also used
    /// if the speed is unknown.
    #[default]
    Even,
    /// Multiprocessors have no time to spare, and need more bytes in flight.
    Fast,
}

impl MemorySpeed {
    /// The speed of a device: fast from 16 bytes for each cycle of a multiprocessor.
    ///
    /// The limit lies between an H100 (12.8), on which holding lines in the cache gains up to 2.5
    /// %, and an H200 (18.8), on which it costs up to 5 %.
    #[must_use]
    pub fn of(device: &DeviceProperties) -> Self {
        const FAST_BYTES: u64 = 16;
        let cycles = device.clock_khz as u64 * device.multiprocessors as u64;
        // Memory makes two transfers in a cycle.
        let bytes = 2 * device.memory_clock_khz as u64 * (device.memory_bus_bits / 8) as u64;
        if cycles > 0 && bytes >= FAST_BYTES * cycles { Self::Fast } else { Self::Even }
    }
}

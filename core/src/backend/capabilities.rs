//! The kind of a device, and its capabilities.

use std::fmt;

use super::{CapabilitySet, DeviceProperties};
use crate::copy::Limits;

/// The limits of a device, which the copy planner keeps, and its extras.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Longest row of a pitched copy, in bytes.
    pub max_width_bytes: usize,
    /// Most rows of a pitched copy.
    pub max_height: usize,
    /// Largest distance between two rows of a pitched copy, in bytes.
    pub max_pitch_bytes: usize,
    /// The extras of the device: its abilities beyond the abilities of every device.
    pub extras: CapabilitySet,
}

impl Default for Capabilities {
    /// No limits, and nothing extra.
    fn default() -> Self {
        Self {
            max_width_bytes: usize::MAX,
            max_height: usize::MAX,
            max_pitch_bytes: usize::MAX,
            extras: CapabilitySet::default(),
        }
    }
}

impl From<&Capabilities> for Limits {
    fn from(device: &Capabilities) -> Self {
        let mut limits = Self::default();
        limits.max_width_bytes = device.max_width_bytes;
        limits.max_height = device.max_height;
        limits.max_pitch_bytes = device.max_pitch_bytes;
        limits
    }
}

/// Basic facts about a device.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The backend, in one word: `"cuda"`, `"mock"`. Errors carry it.
    pub backend: &'static str,
    /// The device's own name.
    pub name: String,
    /// Its number among the devices of the backend, from 0.
    pub ordinal: usize,
    /// Its generation as the vendor writes it, such as `"9.0"`; empty if the backend has none.
    pub generation: String,
    /// Version of the driver; empty if the backend has none.
    pub driver: String,
    /// Its limits and extras.
    pub capabilities: Capabilities,
    /// Its hardware properties.
    pub properties: DeviceProperties,
}

impl DeviceInfo {
    /// A device of `backend` called `name`, ordinal 0, without limits.
    #[must_use]
    pub fn new(backend: &'static str, name: impl Into<String>) -> Self {
        Self {
            backend,
            name: name.into(),
            ordinal: 0,
            generation: String::new(),
            driver: String::new(),
            capabilities: Capabilities::default(),
            properties: DeviceProperties::default(),
        }
    }
}

/// Memory of a device at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryInfo {
    /// Bytes nobody holds.
    pub free_bytes: usize,
    /// Bytes of the device.
    pub total_bytes: usize,
}

impl MemoryInfo {
    /// `free_bytes` of `total_bytes`.
    #[must_use]
    pub const fn new(free_bytes: usize, total_bytes: usize) -> Self {
        Self { free_bytes, total_bytes }
    }
}

impl fmt::Debug for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { backend, ordinal, name, driver, .. } = self;
        write!(f, "DeviceInfo({backend}:{ordinal}, {name:?}, driver {driver:?})")
    }
}

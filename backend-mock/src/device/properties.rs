//! The properties that a simulated device reports.

use devarray::backend::{DeviceProperties, DeviceUuid, PciAddress};

/// The properties of a device with this number and this much memory: small, invented, and equal in
/// every run.
pub(crate) fn properties(ordinal: usize, memory_bytes: usize) -> DeviceProperties {
    let mut properties = DeviceProperties::default();
    let number = ordinal as u64;
    let mut uuid = *b"devarray\0\0\0\0\0\0\0\0";
    uuid[8..].copy_from_slice(&number.to_be_bytes());
    properties.uuid = Some(DeviceUuid(uuid));
    properties.pci = Some(PciAddress::new(0, u32::try_from(ordinal).unwrap_or(u32::MAX), 0));
    properties.total_memory_bytes = memory_bytes;
    properties.constant_memory_bytes = 64 << 10;
    properties.multiprocessors = 1;
    properties.warp_threads = 1;
    properties.max_block_threads = 1;
    properties.copy_engines = 1;
    properties
}

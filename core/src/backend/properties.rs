//! Properties of a device.

use std::fmt;

/// The hardware of a device, in numbers; 0 or `None` where its backend does not know.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceProperties {
    /// A name of the device that no other has, and that stays over restarts and in other processes.
    pub uuid: Option<DeviceUuid>,
    /// Its place in the machine.
    pub pci: Option<PciAddress>,
    /// Its generation as numbers: major, minor.
    pub compute_capability: Option<(u32, u32)>,
    /// Bytes of its memory.
    pub total_memory_bytes: usize,
    /// Bytes of its second-level cache.
    pub l2_cache_bytes: usize,
    /// Bytes of constant memory that a module can have.
    pub constant_memory_bytes: usize,
    /// Multiprocessors.
    pub multiprocessors: usize,
    /// Threads that step together.
    pub warp_threads: usize,
    /// Most threads of a block.
    pub max_block_threads: usize,
    /// Most threads on a multiprocessor.
    pub max_multiprocessor_threads: usize,
    /// Bytes of shared memory that a block has without asking.
    pub block_shared_memory_bytes: usize,
    /// Most bytes of shared memory that a block can ask for.
    pub max_block_shared_memory_bytes: usize,
    /// 32-bit registers of a block.
    pub block_registers: usize,
    /// Highest clock of the multiprocessors, in kHz.
    pub clock_khz: usize,
    /// Highest clock of the memory, in kHz.
    pub memory_clock_khz: usize,
    /// Width of the way to memory, in bits.
    pub memory_bus_bits: usize,
    /// Copies that can go on beside kernels.
    pub copy_engines: usize,
    /// Whether it shares its memory with the host.
    pub is_integrated: bool,
    /// Whether its memory corrects errors.
    pub has_ecc: bool,
}

/// A name of a device that no other has. Written as the vendor's tools do: `GPU-0123…`.
///
/// ```
/// use devarray::backend::DeviceUuid;
///
/// let uuid = DeviceUuid([0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 1, 2, 3, 4, 5, 6, 7, 8]);
/// assert_eq!(uuid.to_string(), "GPU-12345678-9abc-def0-0102-030405060708");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "sixteen bytes by definition")]
pub struct DeviceUuid(pub [u8; 16]);

impl fmt::Display for DeviceUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GPU")?;
        for (at, byte) in self.0.iter().enumerate() {
            let dash = if matches!(at, 0 | 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}

/// The place of a device on the bus. Written `0000:3b:00.0`.
///
/// ```
/// assert_eq!(devarray::backend::PciAddress::new(0, 0x3b, 0).to_string(), "0000:3b:00.0");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct PciAddress {
    /// The domain.
    pub domain: u32,
    /// The bus.
    pub bus: u32,
    /// The device on the bus.
    pub device: u32,
}

impl PciAddress {
    /// A place.
    #[must_use]
    pub const fn new(domain: u32, bus: u32, device: u32) -> Self {
        Self { domain, bus, device }
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { domain, bus, device } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.0")
    }
}

impl fmt::Debug for DeviceUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceUuid({self})")
    }
}

impl fmt::Debug for DeviceProperties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Only the fields that tell devices apart; the others are read by name.
        f.debug_struct("DeviceProperties")
            .field("compute_capability", &self.compute_capability)
            .field("multiprocessors", &self.multiprocessors)
            .field("total_memory_bytes", &self.total_memory_bytes)
            .finish_non_exhaustive()
    }
}

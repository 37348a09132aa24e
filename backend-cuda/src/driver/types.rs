//! Types of the driver that its bindings describe differently from version to version.

use std::ffi::{c_int, c_uint};

use super::sys::{CUdevice, CUstream};

/// Access rights to memory: `CUmemAccessDesc` of `cuda.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
#[non_exhaustive]
pub struct MemAccess {
    /// The kind of place that uses it: 1 is a device (`CU_MEM_LOCATION_TYPE_DEVICE`).
    pub location_type: c_int,
    /// The number of the device.
    pub location: c_int,
    /// 3 is reading and writing (`CU_MEM_ACCESS_FLAGS_PROT_READWRITE`).
    pub flags: c_uint,
}

/// The other calls that a capture allows: `CUstreamCaptureMode` of `cuda.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CaptureMode {
    /// All calls.
    Relaxed = 2,
}

/// The change of the nodes that the next one of a capture comes behind: `CUstreamUpdateCaptureDependencies_flags` of
/// `cuda.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CaptureEdges {
    /// More are added.
    Add = 0,
    /// They are replaced.
    Set = 1,
}

impl MemAccess {
    pub(crate) const fn read_write(device: CUdevice) -> Self {
        Self { location_type: 1, location: device, flags: 3 }
    }
}

/// Dynamic shared memory that a function may use:
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES` of `cuda.h`.
pub(crate) const DYNAMIC_SHARED: u32 = 8;

/// The launch of a kernel: `CUlaunchConfig` of `cuda.h`.
#[derive(Debug)]
#[repr(C)]
#[non_exhaustive]
pub struct LaunchConfig {
    /// Blocks along x, y and z.
    pub grid: [c_uint; 3],
    /// Threads of a block along x, y and z.
    pub block: [c_uint; 3],
    /// Dynamic shared memory of a block.
    pub shared_bytes: c_uint,
    /// The stream in which it runs.
    pub stream: CUstream,
    /// Further attributes of the launch.
    pub attributes: *const LaunchAttribute,
    /// The number of attributes.
    pub attribute_count: c_uint,
}

/// One attribute of a launch: `CUlaunchAttribute` of `cuda.h`.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(8))]
#[non_exhaustive]
pub struct LaunchAttribute {
    /// The attribute: 6 lets the launch begin before the previous one is done.
    pub id: c_uint,
    unused: c_uint,
    /// The value, a union of 64 bytes that for most attributes begins with a number.
    pub value: [c_uint; 16],
}

impl LaunchAttribute {
    /// The kernel may begin before the previous kernel in the stream is done; it waits for that
    /// kernel itself (`CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`).
    pub(crate) const OVERLAPPING: Self = Self::new(6, [1, 0, 0]);

    /// All blocks run at once (`CU_LAUNCH_ATTRIBUTE_COOPERATIVE`).
    pub(crate) const COOPERATIVE: Self = Self::new(2, [1, 0, 0]);

    /// Blocks come in clusters of this size along x, y and z
    /// (`CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`).
    pub(crate) const fn cluster(blocks: [c_uint; 3]) -> Self {
        Self::new(4, blocks)
    }

    const fn new(id: c_uint, [first, second, third]: [c_uint; 3]) -> Self {
        let mut value = [0; 16];
        (value[0], value[1], value[2]) = (first, second, third);
        Self { id, unused: 0, value }
    }
}

const _: () = assert!(size_of::<LaunchAttribute>() == 72, "as cuda.h has it");

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::{LaunchAttribute, LaunchConfig, MemAccess};

    #[test]
    fn all_are_shown_in_a_short_line() {
        let attributes = ptr::from_ref(&LaunchAttribute::OVERLAPPING);
        let stream = ptr::without_provenance_mut(usize::MAX);
        let (grid, block) = ([u32::MAX, 65_535, 65_535], [1024, 1, 1]);
        let config =
            LaunchConfig { grid, block, shared_bytes: 232_448, stream, attributes, attribute_count: 1 };
        let texts = [
            format!("{config:?}"),
            format!("{:?}", LaunchAttribute::OVERLAPPING),
            format!("{:?}", MemAccess::read_write(7)),
        ];
        assert!(texts.iter().all(|text| text.len() <= 200), "{texts:?}");
    }
}

//! Reports of live objects and findings.

use std::{fmt, panic::Location};

use crate::{
    allocation::BufferId,
    finding::{Code, Finding},
};

/// The live objects of a device, and the mistakes made on it. `Display` is for people.
///
/// ```
/// use devarray::backend::Device;
/// use devarray_mock::MockDevice;
///
/// let device = MockDevice::new();
/// let pinned = device.alloc_host(64.try_into()?)?;
/// assert!(!device.report().is_clean());
/// assert!(device.report().to_string().contains("leaked pinned host memory: 64 bytes, allocated at "));
/// drop(pinned);
/// assert!(device.report().is_clean());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Device memory that was not freed, by buffer number.
    pub buffers: Vec<LiveBuffer>,
    /// Pinned host memory that was not dropped, in order of allocation.
    pub host_buffers: Vec<LiveHostBuffer>,
    /// Ranges of the program's own memory that are still pinned, in order of registration.
    pub registrations: Vec<LiveRegistration>,
    /// Streams that were not dropped.
    pub streams: usize,
    /// Events that were not dropped.
    pub events: usize,
    /// The number of adoptions of memory that were not given back.
    pub adopted: usize,
    /// The number of memories of other processes that were opened and not closed.
    pub opened: usize,
    /// The mistakes that were found, in order.
    pub findings: Vec<Finding>,
    /// Uses that are right but slow or needless, in order; empty unless [asked for](crate::Builder::lints).
    pub lints: Vec<Finding>,
}

impl Report {
    /// Whether nothing is alive and no mistake was found. Lints do not count.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.buffers.is_empty()
            && self.host_buffers.is_empty()
            && self.registrations.is_empty()
            && self.streams == 0
            && self.events == 0
            && self.adopted == 0
            && self.opened == 0
            && self.findings.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() && self.lints.is_empty() {
            return f.write_str("clean: nothing is alive, no findings");
        }
        let mut lines = Vec::new();
        for LiveBuffer { id, len_bytes, address, location } in &self.buffers {
            let what = format!("{len_bytes} bytes at {address:#x}, allocated at {location}");
            lines.push(format!("{}: leaked buffer {id}: {what}", Code::Leak));
        }
        for LiveHostBuffer { len_bytes, location } in &self.host_buffers {
            let what = format!("{len_bytes} bytes, allocated at {location}");
            lines.push(format!("{}: leaked pinned host memory: {what}", Code::Leak));
        }
        for LiveRegistration { len_bytes, location } in &self.registrations {
            let what = format!("{len_bytes} bytes, registered at {location}");
            lines.push(format!("{}: leaked registration of host memory: {what}", Code::Leak));
        }
        let counts = [
            (self.streams, "open streams"),
            (self.events, "live events"),
            (self.adopted, "adoptions of memory"),
            (self.opened, "open memory of other processes"),
        ];
        for (count, what) in counts {
            if count > 0 {
                lines.push(format!("{}: {what}: {count}", Code::Leak));
            }
        }
        lines.extend(self.findings.iter().chain(&self.lints).map(Finding::to_string));
        f.write_str(&lines.join("\n"))
    }
}

/// Device memory that was allocated and not freed.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveBuffer {
    /// The identity of the allocation.
    pub id: BufferId,
    /// Its size.
    pub len_bytes: usize,
    /// Its device address.
    pub address: u64,
    /// The place where it was allocated: the nearest caller that is not `#[track_caller]`.
    pub location: &'static Location<'static>,
}

/// Pinned host memory that was allocated and not dropped.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveHostBuffer {
    /// Its size.
    pub len_bytes: usize,
    /// The place where it was allocated: the nearest caller that is not `#[track_caller]`.
    pub location: &'static Location<'static>,
}

/// The program's own memory that was pinned and not released.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveRegistration {
    /// Its size.
    pub len_bytes: usize,
    /// The place where it was registered: the nearest caller that is not `#[track_caller]`.
    pub location: &'static Location<'static>,
}

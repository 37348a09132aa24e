//! Counts of work submitted to a device.

use std::fmt;

/// Counts of operations submitted to a device, by kind. Failed submissions count too.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Copies from device memory to device memory.
    pub copies: u64,
    /// Bytes they write.
    pub copied_bytes: u64,
    /// Fills of device memory.
    pub fills: u64,
    /// Bytes they write.
    pub filled_bytes: u64,
    /// Copies from host memory to device memory; a large one is submitted in several pieces.
    pub uploads: u64,
    /// Bytes they write.
    pub uploaded_bytes: u64,
    /// Copies from device memory to host memory; a large one is submitted in several pieces.
    pub downloads: u64,
    /// Bytes they write.
    pub downloaded_bytes: u64,
    /// Functions computed for the elements of an array.
    pub maps: u64,
    /// Bytes they write.
    pub mapped_bytes: u64,
    /// Reductions and scans.
    pub reductions: u64,
    /// Bytes they write.
    pub reduced_bytes: u64,
    /// Elements picked, and elements put, by index.
    pub gathers: u64,
    /// Bytes they write, at most.
    pub gathered_bytes: u64,
    /// Elements ordered, searched, counted, and combined by index.
    pub orders: u64,
    /// Bytes they write, at most.
    pub ordered_bytes: u64,
    /// Matrix products.
    pub products: u64,
    /// Bytes they write.
    pub product_bytes: u64,
    /// Launches of kernels of the program's own.
    pub launches: u64,
    /// Bytes they may write.
    pub launched_bytes: u64,
}

/// Lists the kinds that were submitted: how many, and the bytes they write.
impl fmt::Debug for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [
            ("copies", self.copies, self.copied_bytes),
            ("fills", self.fills, self.filled_bytes),
            ("uploads", self.uploads, self.uploaded_bytes),
            ("downloads", self.downloads, self.downloaded_bytes),
            ("maps", self.maps, self.mapped_bytes),
            ("reductions", self.reductions, self.reduced_bytes),
            ("gathers", self.gathers, self.gathered_bytes),
            ("orders", self.orders, self.ordered_bytes),
            ("products", self.products, self.product_bytes),
            ("launches", self.launches, self.launched_bytes),
        ];
        let mut shown = f.debug_struct("Statistics");
        for (kind, count, bytes) in kinds.into_iter().filter(|&(_, count, _)| count > 0) {
            shown.field(kind, &format_args!("{count} ({bytes} B)"));
        }
        shown.finish()
    }
}

/// One submission: its name in errors, and the counter that it adds to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Work {
    Copy {
        len_bytes: usize,
    },
    CopyFromPeer {
        len_bytes: usize,
    },
    Fill {
        len_bytes: usize,
    },
    Upload {
        len_bytes: usize,
    },
    Download {
        len_bytes: usize,
    },
    Map {
        len_bytes: usize,
    },
    Reduce {
        len_bytes: usize,
    },
    Gather {
        name: &'static str,
        len_bytes: usize,
    },
    Order {
        name: &'static str,
        len_bytes: usize,
    },
    Product {
        len_bytes: usize,
    },
    Launch {
        name: &'static str,
        len_bytes: usize,
    },
    /// An operation that is not counted.
    Other {
        name: &'static str,
    },
}

impl Work {
    pub(crate) fn operation(self) -> &'static str {
        match self {
            Self::Copy { .. } => "copy",
            Self::CopyFromPeer { .. } => "copy_from_peer",
            Self::Fill { .. } => "fill",
            Self::Upload { .. } => "upload",
            Self::Download { .. } => "download",
            Self::Map { .. } => "map",
            Self::Reduce { .. } => "reduce",
            Self::Product { .. } => "matmul",
            Self::Gather { name, .. }
            | Self::Order { name, .. }
            | Self::Launch { name, .. }
            | Self::Other { name } => name,
        }
    }
}

impl Statistics {
    pub(crate) fn count(&mut self, work: Work) {
        let (count, bytes, len_bytes) = match work {
            Work::Copy { len_bytes } | Work::CopyFromPeer { len_bytes } => {
                (&mut self.copies, &mut self.copied_bytes, len_bytes)
            }
            Work::Fill { len_bytes } => (&mut self.fills, &mut self.filled_bytes, len_bytes),
            Work::Upload { len_bytes } => (&mut self.uploads, &mut self.uploaded_bytes, len_bytes),
            Work::Download { len_bytes } => (&mut self.downloads, &mut self.downloaded_bytes, len_bytes),
            Work::Map { len_bytes } => (&mut self.maps, &mut self.mapped_bytes, len_bytes),
            Work::Reduce { len_bytes } => (&mut self.reductions, &mut self.reduced_bytes, len_bytes),
            Work::Gather { len_bytes, .. } => (&mut self.gathers, &mut self.gathered_bytes, len_bytes),
            Work::Order { len_bytes, .. } => (&mut self.orders, &mut self.ordered_bytes, len_bytes),
            Work::Product { len_bytes } => (&mut self.products, &mut self.product_bytes, len_bytes),
            Work::Launch { len_bytes, .. } => (&mut self.launches, &mut self.launched_bytes, len_bytes),
            Work::Other { .. } => return,
        };
        *count += 1;
        *bytes += len_bytes as u64;
    }
}

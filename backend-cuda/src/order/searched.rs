//! Places in ascending lists, and counts by them.

use super::{
    kernels::Module,
    kinds::{by_type, by_width, names, of_type},
    params::{Params, RIGHT},
    plan::Plan,
};

/// Counts that a block keeps in shared memory, as in `index.cu`.
const SHARED_COUNTS: u64 = 8192;

impl Plan<'_, '_> {
    pub(super) fn search_sorted(&mut self, right: bool) -> Option<()> {
        let Some(y) = self.result(0, None, false)? else { return Some(()) };
        let of = self.element_type(0);
        let (a, b) = (self.input(0, None)?, self.input(1, None)?);
        let len = self.op.inputs()[1].layout().len() as u64;
        let kind = of_type(of, false);
        let flags = kind.flags | if right { RIGHT } else { 0 };
        let params = Params { a, b, y, len, extent: self.shape(0)[0] as u64, flags, ..kind };
        self.each(Module::Index, by_type(names!("_search"), of), len, params);
        Some(())
    }

    pub(super) fn histogram(&mut self) -> Option<()> {
        let Some(y) = self.result(0, None, false)? else { return Some(()) };
        let of = self.element_type(0);
        let edges = self.shape(1)[0] as u64;
        self.fill(y, 0, 8 * (edges - 1));
        let (b, a) = (self.input(0, None)?, self.input(1, None)?);
        let len = self.op.inputs()[0].layout().len() as u64;
        let params = Params { a, b, y, len, extent: edges, ..of_type(of, false) };
        if of.len_bytes() == 1 {
            let z = self.count_bytes(b, len);
            self.launch((Module::Index, c"histogram_of_bytes"), 1, 0, Params { z, ..params });
            return Some(());
        }
        let shared_bytes = if edges - 1 <= SHARED_COUNTS { u32::try_from(4 * (edges - 1)).ok()? } else { 0 };
        let blocks = self.blocks_of_counts(len, shared_bytes);
        let kernel = by_type(names!("_histogram"), of);
        self.launch((Module::Index, kernel), blocks, shared_bytes, params);
        Some(())
    }

    /// The number of blocks that count, each in its own shared memory.
    fn blocks_of_counts(&self, len: u64, shared_bytes: u32) -> u64 {
        let each = if shared_bytes > 16 * 1024 { 4 } else { 8 };
        len.div_ceil(256 * 8).min(u64::from(self.given.multiprocessors) * each)
    }

    /// Counts how many bytes have each value. Returns the address of the 256 counts.
    pub(super) fn count_bytes(&mut self, from: u64, len: u64) -> u64 {
        let z = self.cleared(256 * 8);
        let blocks = len.div_ceil(256 * 64).min(u64::from(self.given.multiprocessors) * 8);
        self.launch((Module::Index, c"bytes"), blocks, 0, Params { b: from, z, len, ..Params::default() });
        z
    }

    pub(super) fn bincount(&mut self) -> Option<()> {
        if self.op.inputs().len() > 1 {
            return self.weighted();
        }
        let of = self.element_type(0);
        let extent = self.op.results().first().map_or(0, |side| side.layout().len() as u64);
        let y = self.result(0, None, false)?.unwrap_or(0);
        self.fill(y, 0, 8 * extent);
        let b = self.input(0, None)?;
        let len = self.op.inputs()[0].layout().len() as u64;
        let first = self.nothing_wrong();
        let params = Params { a: b, b, y, len, extent, first, ..of_type(of, false) };
        if of.len_bytes() == 1 {
            let z = self.count_bytes(b, len);
            let next = self.cleared(4);
            let params = Params { z, next, ..params };
            self.launch((Module::Index, c"bincount_of_bytes"), 1, 0, params);
            self.each(Module::Index, c"first_byte", len, params);
        } else {
            let is_shared = extent <= SHARED_COUNTS + SHARED_COUNTS / 2;
            let shared_bytes = if is_shared { u32::try_from(4 * extent).ok()? } else { 0 };
            let blocks = if is_shared {
                self.blocks_of_counts(len, shared_bytes)
            } else {
                len.div_ceil(256).min(u64::from(self.given.multiprocessors) * 32)
            };
            let kernel = by_width(names!("_bincount"), of);
            self.launch((Module::Index, kernel), blocks, shared_bytes, params);
        }
        let told = self.told(params);
        self.one((Module::Index, by_width(names!("_report"), of)), told);
        Some(())
    }
}

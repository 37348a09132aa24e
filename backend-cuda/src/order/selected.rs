//! The first of long lines, and their quantiles, without a sort.

use devarray::function::ElementType;

use super::{
    kernels::Module,
    kinds::{by_type, by_width, names, of_type},
    lines::{Lines, Sorted},
    params::Params,
    plan::Plan,
};

/// Bits of a digit, and counts of a line, as in `select.cu`.
const DIGIT_BITS: u32 = 11;
const COUNTS_BYTES: u64 = 4 << DIGIT_BITS;
/// Bytes of the state that the device keeps for a line.
const STATE_BYTES: u64 = 48;
/// Elements of a block at a time.
const BLOCK_ELEMENTS: u64 = 256 * 8;

impl Plan<'_, '_> {
    /// Finds the key at a place of each line: the parameter of what follows.
    fn select(&mut self, lines: Lines, place: u64) -> Option<Params> {
        let Lines { of, from, len, count, turned } = lines;
        u32::try_from(count).ok()?;
        let list = self.own(count * STATE_BYTES);
        let offsets = self.cleared(count * COUNTS_BYTES);
        let blocks = u64::from(self.given.multiprocessors) * 8;
        // Each has a count of its own beside the others of the line.
        let each = blocks.div_ceil(count).min(len.div_ceil(BLOCK_ELEMENTS)).min(COUNTS_BYTES / 4);
        let kind = of_type(of, turned);
        let params = Params { a: from, list, offsets, line_len: len, lines: count, each, ..kind };
        let begin = Params { extent: place, ..params };
        self.launch((Module::Select, c"begin"), count.div_ceil(256), 0, begin);
        let mut left = u32::try_from(8 * of.len_bytes()).ok()?;
        while left > 0 {
            let bits = left.min(DIGIT_BITS);
            left -= bits;
            let params = Params { pass: left, extent: bits.into(), ..params };
            self.launch((Module::Select, by_type(names!("_count"), of)), count * each, 0, params);
            self.launch((Module::Select, c"digit"), count, 0, params);
        }
        Some(params)
    }

    /// The first `k` of each line: elements and positions, where they are wanted.
    pub(super) fn take_first(
        &mut self,
        lines: Lines,
        k: u64,
        (values, positions): (Option<u64>, Option<u64>),
    ) -> Option<()> {
        let (of, count) = (lines.of, lines.count);
        let params = Params { extent: k, ..self.select(lines, k - 1)? };
        let len_bytes = count.checked_mul(k)?.checked_mul(8)?;
        let (taken, sorted) = (self.own(len_bytes), self.own(len_bytes));
        let ties = by_type(names!("_count_ties"), of);
        self.launch((Module::Select, ties), count * params.each, 0, params);
        self.launch((Module::Select, by_type(names!("_ties"), of)), count, 0, params);
        let take = Params { y: taken, ..params };
        self.launch((Module::Select, by_type(names!("_take"), of)), count * params.each, 0, take);
        let words = Lines { of: ElementType::U64, from: taken, len: k, count, turned: false };
        self.sort_lines(words, Sorted { elements: Some(sorted), ..Sorted::default() })?;
        let (y, z) = (values.unwrap_or(0), positions.unwrap_or(0));
        let kernel = by_width(names!("_taken"), of);
        let blocks = (count * k).div_ceil(256);
        u32::try_from(blocks).ok()?;
        self.launch((Module::Select, kernel), blocks, 0, Params { b: sorted, y, z, ..params });
        Some(())
    }

    /// Between two neighbours of the order of each line: `part` is how far from the place below.
    pub(super) fn between(&mut self, lines: Lines, (place, part): (u64, f64), y: u64) -> Option<()> {
        let params = Params { part, y, ..self.select(lines, place)? };
        if part > 0.0 {
            let kernel = by_type(names!("_above"), lines.of);
            self.launch((Module::Select, kernel), lines.count * params.each, 0, params);
        }
        let kernel = by_type(names!("_quantile"), lines.of);
        self.launch((Module::Select, kernel), lines.count.div_ceil(256), 0, params);
        Some(())
    }
}

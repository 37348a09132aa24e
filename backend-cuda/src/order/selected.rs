//! Finds the first elements of long lines, and their quantiles, without sorting.

use devarray::function::ElementType;

use super::{
    kernels::Module,
    kinds::{by_type, by_width, names, of_type},
    lines::{Lines, Sorted},
    params::{FROM_LEAST, Params},
    plan::Plan,
};

/// Bits of a digit, and counts of a line, as in `select.cu`.
const DIGIT_BITS: u32 = 11;
const COUNTS_BYTES: u64 = 4 << DIGIT_BITS;
/// Bytes of the state that the device keeps for a line.
const STATE_BYTES: u64 = 88;
/// Elements of a block at a time.
const BLOCK_ELEMENTS: u64 = 256 * 8;

/// The number of elements of a line that are sampled. Short lines are not sampled: a list would cost
/// more than it saves.
fn sample_len(len: u64) -> u64 {
    match len {
        0x10_0000.. => 4096,
        0x1_0000.. => 1024,
        _ => 0,
    }
}

/// Entries of the list of a line: one and a half times what `begin` in `select.cu` expects between its bounds.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate"
)]
fn list_len(len: u64, place: u64, takes: bool) -> u64 {
    let sample = sample_len(len) as f64;
    if sample == 0.0 {
        return 0;
    }
    let part = place as f64 / len as f64;
    let middle = part * sample;
    let margin = 4.0 * (middle * (1.0 - part)).sqrt() + 4.0;
    let expected = if takes { middle + margin } else { 2.0 * margin };
    (1.5 * expected / sample * len as f64) as u64
}

impl Plan<'_, '_> {
    /// Finds the key at a rank of each line. Returns the parameter for the next kernels. If `takes`, the
    /// elements before that rank are wanted too, so the list begins with the least.
    fn select(&mut self, lines: Lines, place: u64, takes: bool) -> Option<Params> {
        let Lines { of, from, len, count, turned } = lines;
        u32::try_from(count).ok()?;
        let list = self.own(count * STATE_BYTES);
        let offsets = self.cleared(count * COUNTS_BYTES);
        let blocks = u64::from(self.given.multiprocessors) * 8;
        // Each has a count of its own beside the others of the line.
        let each = blocks.div_ceil(count).min(len.div_ceil(BLOCK_ELEMENTS)).min(COUNTS_BYTES / 4);
        let kind = of_type(of, turned);
        let inner = sample_len(len);
        let outer = list_len(len, place, takes);
        let words = self.own(count.checked_mul(8 * outer)?);
        let params =
            Params { a: from, list, offsets, words, line_len: len, lines: count, each, outer, ..kind };
        let flags = kind.flags | if takes { FROM_LEAST } else { 0 };
        let begin = Params { extent: place, inner, flags, ..params };
        self.launch((Module::Select, by_type(names!("_begin"), of)), count, 0, begin);
        if inner > 0 {
            self.launch((Module::Select, by_type(names!("_collect"), of)), count * each, 0, params);
        }
        let mut left = u32::try_from(8 * of.len_bytes()).ok()?;
        while left > 0 {
            let bits = left.min(DIGIT_BITS);
            left -= bits;
            let params = Params { pass: left, extent: bits.into(), ..params };
            self.launch((Module::Select, by_type(names!("_count"), of)), count * each, 0, params);
        }
        Some(params)
    }

    /// Finds the first `k` of each line: elements and positions, as far as they are wanted.
    pub(super) fn take_first(
        &mut self,
        lines: Lines,
        k: u64,
        (values, positions): (Option<u64>, Option<u64>),
    ) -> Option<()> {
        let (of, count) = (lines.of, lines.count);
        let params = Params { extent: k, ..self.select(lines, k - 1, true)? };
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

    /// Interpolates between two neighbours of the order of each line: `part` is the fraction from
    /// the lower place.
    pub(super) fn between(&mut self, lines: Lines, (place, part): (u64, f64), y: u64) -> Option<()> {
        let params = Params { part, y, ..self.select(lines, place, false)? };
        if part > 0.0 {
            let kernel = by_type(names!("_above"), lines.of);
            self.launch((Module::Select, kernel), lines.count * params.each, 0, params);
        }
        let kernel = by_type(names!("_quantile"), lines.of);
        self.launch((Module::Select, kernel), lines.count.div_ceil(256), 0, params);
        Some(())
    }
}

//! Sorts lines, and computes results from sorted lines.

use devarray::function::ElementType;

use super::{
    kernels::Module,
    kinds::{by_type, by_width, names, of_type},
    lines::{Lines, ROW_TILES, ROWS_LEN, Sorted},
    params::{DROPS, NARROW, Params, WIDE},
    plan::Plan,
};

/// Elements of a tile of a pass, as `kernels/orders/sort.cu` has them.
fn tile_len(of: ElementType, moves: bool) -> u64 {
    let items = match (of.len_bytes(), moves) {
        (8, _) => 12,
        (1, _) | (_, true) => 16,
        (2, false) => 24,
        (_, false) => 23,
    };
    256 * items
}

impl Plan<'_, '_> {
    /// Sorts lines.
    pub(super) fn sort_lines(&mut self, lines: Lines, to: Sorted) -> Option<()> {
        let Lines { of, from, len, count, turned } = lines;
        if len == 0 || count == 0 {
            return Some(());
        }
        let (width, passes) = (of.len_bytes() as u64, of.len_bytes() as u64);
        let moves = to.positions.is_some();
        let flags = if to.narrow { NARROW } else { 0 } | if to.elements.is_none() { DROPS } else { 0 };
        let of_kind = of_type(of, turned);
        let total = count.checked_mul(len)?;
        let params = Params {
            a: from,
            len: total,
            line_len: len,
            lines: count,
            flags: of_kind.flags | flags,
            y: to.elements.unwrap_or(0),
            z: to.positions.unwrap_or(0),
            list: to.payload.unwrap_or(0),
            extent: to.taken.unwrap_or(len),
            ..of_kind
        };
        if count == 1 && len > ROWS_LEN && matches!(of, ElementType::U8 | ElementType::I8) && !moves {
            // Elements with one key are equal to the bit, so their counts say everything.
            let z = self.count_bytes(from, len);
            self.each(Module::Index, c"bytes_in_order", len.div_ceil(64), Params { z, ..params });
            return Some(());
        }
        if len <= ROWS_LEN {
            return self.sort_rows(of, params);
        }
        if moves && len > u64::from(u32::MAX) {
            return None;
        }
        let tile = tile_len(of, moves);
        let tiles = u64::from(u32::try_from(len.div_ceil(tile).checked_mul(count)?).ok()?);
        u32::try_from(count.checked_mul(passes)?).ok()?;
        let counts_bytes = count * passes * 2048;
        let offsets = self.cleared(counts_bytes + 4 * passes);
        let is_wide = len >= 1 << 30;
        let words_bytes = tiles * 256 * if is_wide { 8 } else { 4 };
        let next = self.cleared(4 * passes);
        let words = self.own(words_bytes);
        let own_bytes = total.checked_mul(width)?;
        let y = to.elements.unwrap_or_else(|| self.own(own_bytes));
        let b = self.own(own_bytes);
        let c = if moves { self.own(total * 4) } else { 0 };
        let flags = params.flags | if is_wide { WIDE } else { 0 };
        let params = Params { y, b, c, offsets, words, next, flags, ..params };
        let blocks_a_line =
            len.div_ceil(256 * 16).min((u64::from(self.given.multiprocessors) * 8).div_ceil(count));
        let count_params = Params { pass: u32::try_from(blocks_a_line).ok()?, ..params };
        self.launch((Module::Sort, by_type(names!("_count"), of)), blocks_a_line * count, 0, count_params);
        let offsets_params = Params { pass: u32::try_from(passes).ok()?, ..params };
        self.launch((Module::Sort, c"offsets"), count * passes, 0, offsets_params);
        let kernel = by_type(if moves { names!("_pass_moves") } else { names!("_pass") }, of);
        for pass in 0..u32::try_from(passes).ok()? {
            self.fill(words, 0, words_bytes);
            self.launch((Module::Sort, kernel), tiles, 0, Params { pass, ..params });
        }
        let settle = u64::from(self.given.multiprocessors) * 8;
        self.launch((Module::Sort, by_type(names!("_settle"), of)), settle, 0, params);
        Some(())
    }

    /// Sorts short lines, several a block.
    fn sort_rows(&mut self, of: ElementType, params: Params) -> Option<()> {
        let len = params.line_len;
        let passes = of.len_bytes() as u64;
        let rows = |tile: u64| (tile / len).min(256);
        // A block has a cost of its own, and another pass for the lines if it has several.
        let cost = |tile: u64| {
            let rows = rows(tile);
            (tile + 600) * (passes + u64::from(rows > 1)) * 64 / (rows * len)
        };
        let place = (0..3).filter(|&at| ROW_TILES[at] >= len).min_by_key(|&at| cost(ROW_TILES[at]))?;
        let kernel = by_type(
            match place {
                0 => names!("_rows_1"),
                1 => names!("_rows_4"),
                _ => names!("_rows_12"),
            },
            of,
        );
        let rows = rows(ROW_TILES[place]).min(params.lines);
        let blocks = params.lines.div_ceil(rows);
        i32::try_from(blocks).ok()?;
        self.launch((Module::Sort, kernel), blocks, 0, Params { pass: u32::try_from(rows).ok()?, ..params });
        Some(())
    }

    /// The lines of the first input along an axis.
    fn lines_of(&mut self, axis: usize, turned: bool) -> Option<Lines> {
        let layout = self.op.inputs()[0].layout();
        let len = layout.shape()[axis] as u64;
        let count = (layout.len() as u64).checked_div(len).unwrap_or(0);
        Some(Lines { of: self.element_type(0), from: self.input(0, Some(axis))?, len, count, turned })
    }

    pub(super) fn sort(&mut self, axis: isize, descending: bool) -> Option<()> {
        let axis = self.axis(axis)?;
        let Some(elements) = self.result(0, Some(axis), false)? else { return Some(()) };
        let lines = self.lines_of(axis, descending)?;
        self.sort_lines(lines, Sorted { elements: Some(elements), ..Sorted::default() })
    }

    pub(super) fn argsort(&mut self, axis: isize, descending: bool) -> Option<()> {
        let axis = self.axis(axis)?;
        let Some(positions) = self.result(0, Some(axis), false)? else { return Some(()) };
        let lines = self.lines_of(axis, descending)?;
        self.sort_lines(lines, Sorted { positions: Some(positions), ..Sorted::default() })
    }

    pub(super) fn top(&mut self, k: usize, axis: isize, largest: bool) -> Option<()> {
        let axis = self.axis(axis)?;
        let values = self.result(0, Some(axis), false)?;
        let positions = self.result(1, Some(axis), false)?;
        if values.is_none() && positions.is_none() {
            return Some(());
        }
        let lines = self.lines_of(axis, largest)?;
        if lines.takes(k as u64) {
            return self.take_first(lines, k as u64, (values, positions));
        }
        if lines.len <= ROWS_LEN {
            let to = Sorted { elements: values, positions, taken: Some(k as u64), ..Sorted::default() };
            return self.sort_lines(lines, to);
        }
        let total = lines.len.checked_mul(lines.count)?;
        let elements = values.map(|_| self.own(total * lines.of.len_bytes() as u64));
        let sorted = positions.map(|_| self.own(total * 8));
        self.sort_lines(lines, Sorted { elements, positions: sorted, ..Sorted::default() })?;
        let params =
            Params { lines: lines.count, line_len: lines.len, extent: k as u64, ..Params::default() };
        let first = names!("_first_of_lines");
        for (of, from, to) in [(lines.of, elements, values), (ElementType::I64, sorted, positions)] {
            if let (Some(a), Some(y)) = (from, to) {
                self.each(
                    Module::Found,
                    by_width(first, of),
                    lines.count * k as u64,
                    Params { a, y, ..params },
                );
            }
        }
        Some(())
    }

    #[allow(clippy::cast_precision_loss, reason = "as the definition says")]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in the line")]
    pub(super) fn quantile(&mut self, q: f64, axis: isize) -> Option<()> {
        let axis = self.axis(axis)?;
        let Some(y) = self.result(0, None, false)? else { return Some(()) };
        let lines = self.lines_of(axis, false)?;
        if lines.len == 0 || lines.count == 0 {
            return Some(());
        }
        let place = q * (lines.len - 1) as f64;
        let (below, part) = ((place.floor() as u64).min(lines.len - 1), place - place.floor());
        if lines.are_long() {
            return self.between(lines, (below, part), y);
        }
        let sorted = self.own(lines.len.checked_mul(lines.count)? * lines.of.len_bytes() as u64);
        self.sort_lines(lines, Sorted { elements: Some(sorted), ..Sorted::default() })?;
        let (count, line_len) = (lines.count, lines.len);
        let kind = of_type(lines.of, false);
        let params = Params { a: sorted, y, lines: count, line_len, extent: below, part, ..kind };
        self.each(Module::Found, by_type(names!("_quantile"), lines.of), lines.count, params);
        Some(())
    }
}

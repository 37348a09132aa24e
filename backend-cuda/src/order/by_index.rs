//! Elements combined by the places that indices name, or between offsets.

use std::ffi::CStr;

use devarray::{Axes, Order, function::ElementType, order::Combining};

use super::{
    kernels::Module,
    kinds::{by_type, by_width, names, of_type},
    lines::{Lines, Sorted},
    params::{ADDS, EXTREME, FROM_END, Params},
    plan::Plan,
};

/// The most elements of a group that one warp sums, as in `groups.cuh`.
const SHORT: u64 = 1024;

/// Counts of the lists of long groups, as in `groups.cuh`.
pub(super) const LISTS_BYTES: u64 = 24;

/// The kernels that combine groups.
pub(super) struct Kernels {
    pub(super) module: Module,
    /// Kernels of slices of one element, of segments, of results of segments, and of longer slices.
    pub(super) names: [&'static CStr; 4],
    /// Elements of a group that one warp sums.
    pub(super) short: u64,
    /// Groups of a warp at most, and blocks of the first kernel on a multiprocessor.
    pub(super) most: u64,
    pub(super) blocks: u64,
}

const fn groups(names: [&'static CStr; 4]) -> Kernels {
    Kernels { module: Module::Groups, names, short: SHORT, most: 32, blocks: 16 }
}

const fn sums(of: ElementType) -> Kernels {
    groups(match of {
        ElementType::F16 | ElementType::BF16 => {
            [c"sum_f16_lines", c"sum_f16_segments", c"sum_f16_finish", c"sum_f16_columns"]
        }
        ElementType::F32 => [c"sum_f32_lines", c"sum_f32_segments", c"sum_f32_finish", c"sum_f32_columns"],
        ElementType::F64 => [c"sum_f64_lines", c"sum_f64_segments", c"sum_f64_finish", c"sum_f64_columns"],
        _ => [c"total_lines", c"total_segments", c"total_finish", c"total_columns"],
    })
}

const EXTREMES: Kernels =
    groups([c"extreme_lines", c"extreme_segments", c"extreme_finish", c"extreme_columns"]);

impl Plan<'_, '_> {
    /// Combines groups. The parameter has a, b, y, offsets, lines, `line_len`, inner, outer and the type.
    pub(super) fn combine(&mut self, of: ElementType, kernels: Kernels, params: Params) -> Option<()> {
        let Kernels { module, names: [lines, segments, finish, columns], short, most, blocks } = kernels;
        let params = Params { pass: u32::try_from(of.len_bytes()).ok()?, ..params };
        let items = params.outer.checked_mul(params.lines)?;
        if params.inner > 1 {
            self.each(module, columns, items.checked_mul(params.inner)?, params);
            return Some(());
        }
        let multiprocessors = u64::from(self.given.multiprocessors);
        // Every warp that the device holds gets work before a warp gets more.
        let each = (items / (multiprocessors * 64)).clamp(1, most);
        let blocks = items.div_ceil(8 * each).min(multiprocessors * blocks);
        let params = Params { each, ..params };
        if params.line_len <= short {
            self.launch((module, lines), blocks, 0, params);
            return Some(());
        }
        // A longer group has at most this part of its elements in segments.
        let entries = (params.outer.checked_mul(params.line_len)? / short + 1).min(1 << 31);
        let next = if params.next == 0 { self.cleared(LISTS_BYTES) } else { params.next };
        let list = self.own(2 * 16 * entries);
        let words = self.own(8 * entries);
        let params = Params { next, list, words, extent: entries, ..params };
        self.launch((module, lines), blocks, 0, params);
        self.launch((module, segments), entries.min(multiprocessors * 8), 0, params);
        self.launch((module, finish), entries.min(multiprocessors * 2), 0, params);
        Some(())
    }

    /// The place of each index. Indices without a place get `extent`, and are reported.
    fn places(&mut self, input: usize, extent: u64, from_end: bool) -> Option<u64> {
        let of = self.element_type(input);
        u32::try_from(extent).ok()?;
        let b = self.input(input, None)?;
        let len = self.op.inputs()[input].layout().len() as u64;
        let first = self.nothing_wrong();
        let z = self.own(len * 4);
        let kind = of_type(of, false);
        let flags = kind.flags | if from_end { FROM_END } else { 0 };
        let params = Params { a: b, b, z, len, extent, first, flags, ..kind };
        self.each(Module::Index, by_width(names!("_places"), of), len, params);
        let told = self.told(params);
        self.one((Module::Index, by_width(names!("_report"), of)), told);
        Some(z)
    }

    /// Groups the elements by place, in rising position: gives their positions, or words of `payload`
    /// instead, and where each place begins among them.
    fn grouped(&mut self, places: u64, len: u64, extent: u64, payload: Option<u64>) -> Option<(u64, u64)> {
        let (sorted, positions) = (self.own(len * 4), self.own(len * 4));
        let lines = Lines { of: ElementType::U32, from: places, len, count: 1, turned: false };
        let to =
            Sorted { elements: Some(sorted), positions: Some(positions), narrow: true, payload, taken: None };
        self.sort_lines(lines, to)?;
        let offsets = self.own((extent + 1) * 8);
        let params = Params { a: sorted, offsets, len, extent, ..Params::default() };
        self.each(Module::Index, c"place_offsets", extent + 1, params);
        Some((positions, offsets))
    }

    /// Sums floats by their places. The parameter has a, y, `line_len`, inner, outer and the type.
    fn sum_grouped(&mut self, of: ElementType, (places, extent): (u64, u64), params: Params) -> Option<()> {
        // Elements of 4 bytes move with their places, so that they need not be picked one by one.
        let moves = of.len_bytes() == 4 && params.inner == 1 && params.outer == 1;
        let payload = moves.then_some(params.a);
        let (moved, offsets) = self.grouped(places, params.line_len, extent, payload)?;
        let (a, b) = if moves { (moved, 0) } else { (params.a, moved) };
        self.combine(of, sums(of), Params { a, b, offsets, lines: extent, ..params })
    }

    /// Sums of weights by value.
    pub(super) fn weighted(&mut self) -> Option<()> {
        let of = self.element_type(1);
        let len = self.op.inputs()[0].layout().len() as u64;
        let extent = self.op.results().first().map_or(0, |side| side.layout().len() as u64);
        let y = self.result(0, None, false)?;
        let places = if len > 0 { self.places(0, extent, false)? } else { 0 };
        let Some(y) = y else { return Some(()) };
        let a = self.input(1, None)?;
        if !of.is_float() {
            self.fill(y, 0, 8 * extent);
            let params = Params { a, b: places, y, len, extent, ..of_type(of, false) };
            self.each(Module::Index, by_width(names!("_weights"), of), len, params);
            return Some(());
        }
        let kind = of_type(of, false);
        self.sum_grouped(of, (places, extent), Params { a, y, line_len: len, inner: 1, outer: 1, ..kind })
    }

    pub(super) fn put(&mut self, operation: Combining, axis: isize) -> Option<()> {
        let (of, shape, axis) = (self.element_type(0), self.shape(0), self.axis(axis)?);
        let mut put_shape: Axes<usize> = shape.iter().copied().collect();
        put_shape[axis] = self.op.inputs()[1].layout().len();
        if put_shape.contains(&0) {
            return Some(());
        }
        let count = |extents: &[usize]| extents.iter().product::<usize>() as u64;
        let (outer, inner) = (count(&shape[..axis]), count(&shape[axis + 1..]));
        let (extent, len) = (shape[axis] as u64, put_shape[axis] as u64);
        let places = self.places(1, extent, true)?;
        let Some(y) = self.result(0, None, true)? else { return Some(()) };
        let v = &self.op.inputs()[2];
        let layout = v.layout().broadcast_to(&put_shape).ok()?;
        let a = self.dense(v, &layout)?;
        let turned = operation == Combining::Minimum;
        if operation == Combining::Sum && of.is_float() {
            let kind = of_type(of, false);
            let params = Params { a, y, line_len: len, inner, outer, flags: kind.flags | ADDS, ..kind };
            return self.sum_grouped(of, (places, extent), params);
        }
        let in_place = self.op.results()[0].layout().is_contiguous(Order::C);
        let y = if of.len_bytes() == 1 && in_place { self.in_words(y, outer * extent * inner)? } else { y };
        let params = Params { a, b: places, y, len, extent, inner, outer, ..of_type(of, turned) };
        let kernel = match operation {
            Combining::Sum => by_width(names!("_put_add"), of),
            _ => by_type(names!("_put_extreme"), of),
        };
        self.each(Module::Index, kernel, outer.checked_mul(len)?.checked_mul(inner)?, params);
        Some(())
    }

    pub(super) fn segments(&mut self, operation: Combining) -> Option<()> {
        let Some(y) = self.result(0, None, false)? else { return Some(()) };
        let (of, offsets_type) = (self.element_type(0), self.element_type(1));
        let (extent, inner) = (self.shape(0)[0] as u64, self.shape(0)[1..].iter().product::<usize>() as u64);
        let len = self.shape(1)[0] as u64;
        let is_extreme = operation != Combining::Sum;
        let (x, a) = (self.input(0, None)?, self.input(1, None)?);
        let first = self.nothing_wrong();
        let offsets = self.own(len * 8);
        let kind = of_type(offsets_type, false);
        let flags = kind.flags | if is_extreme { EXTREME } else { 0 };
        let params = Params { a, offsets, len, extent, first, flags, ..kind };
        self.each(Module::Index, by_width(names!("_offsets"), offsets_type), len, params);
        let told = self.told(params);
        self.one((Module::Index, by_width(names!("_report"), offsets_type)), told);
        let (lines, outer) = (len - 1, 1);
        let kind = of_type(of, operation == Combining::Minimum);
        let params = Params { a: x, y, offsets, lines, line_len: extent, inner, outer, ..kind };
        let kernels = if is_extreme { EXTREMES } else { sums(of) };
        self.combine(of, kernels, params)
    }
}

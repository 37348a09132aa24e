//! Calls whose results have as many rows as the device finds: `unique` and `nonzero`.

use devarray::function::ElementType;

use super::{
    kernels::Module,
    kinds::{by_type, by_width, names, of_type},
    lines::{Lines, Sorted},
    params::Params,
    plan::{Plan, room},
};

/// Elements of a tile, as in `found.cu`.
const TILE: u64 = 256 * 8;

impl Plan<'_, '_> {
    /// Reports the number of rows to the host, and to the program.
    fn counted(&mut self, c: u64) -> Option<()> {
        if let Some(rows) = room(self.op) {
            let told = self.told(Params { c, extent: rows as u64, ..Params::default() });
            self.one((Module::Index, c"report_room"), told);
        }
        self.count_to(c)
    }

    pub(super) fn unique(&mut self) -> Option<()> {
        let of = self.element_type(0);
        let len = self.op.inputs()[0].layout().len() as u64;
        let c = self.cleared(8);
        if len == 0 {
            return self.counted(c);
        }
        let from = self.input(0, None)?;
        let sorted = self.own(len * of.len_bytes() as u64);
        let positions = self.own(len * 8);
        let inverse = self.result(2, None, false)?.unwrap_or(0);
        let lines = Lines { of, from, len, count: 1, turned: false };
        let to = Sorted { elements: Some(sorted), positions: Some(positions), ..Sorted::default() };
        self.sort_lines(lines, to)?;
        let b = self.own((len + 1) * 8);
        let tiles = len.div_ceil(TILE);
        let (words, next) = (self.cleared(tiles * 8), self.cleared(4));
        let params =
            Params { a: sorted, z: positions, b, c, y: inverse, len, words, next, ..of_type(of, false) };
        self.launch((Module::Found, by_type(names!("_heads"), of)), tiles, 0, params);
        let values = by_width(names!("_of_groups"), of);
        let places = by_width(names!("_of_groups"), ElementType::I64);
        for (number, kernel, a) in [(0, values, sorted), (1, places, positions), (3, c"counts_of_groups", 0)]
        {
            let rows = self.rows(number) as u64;
            if let Some(y) = self.result(number, None, true)? {
                let params = Params { a, b, c, y, extent: rows, ..Params::default() };
                self.each(Module::Found, kernel, rows.min(len), params);
            }
        }
        self.counted(c)
    }

    pub(super) fn nonzero(&mut self) -> Option<()> {
        let of = self.element_type(0);
        let len = self.op.inputs()[0].layout().len() as u64;
        let shape = self.shape(0);
        let c = self.cleared(8);
        if len == 0 {
            return self.counted(c);
        }
        let a = self.input(0, None)?;
        // Rows without coordinates have no memory.
        let rows = (self.rows(0) as u64).min(len);
        let to = self.result(0, None, true)?;
        let is_line = shape.len() == 1;
        let y = match to {
            Some(to) if is_line => to,
            _ => self.own(rows * 8),
        };
        let tiles = len.div_ceil(TILE);
        let (words, next) = (self.cleared(tiles * 8), self.cleared(4));
        let params = Params { a, c, y, len, words, next, extent: rows, ..of_type(of, false) };
        self.launch((Module::Found, by_type(names!("_nonzero"), of)), tiles, 0, params);
        if let Some(to) = to.filter(|_| !is_line) {
            let mut inner = 1;
            for (axis, &extent) in shape.iter().enumerate().rev() {
                let params = Params {
                    a: y,
                    c,
                    y: to,
                    extent: rows,
                    lines: shape.len() as u64,
                    line_len: extent as u64,
                    inner,
                    pass: u32::try_from(axis).ok()?,
                    ..Params::default()
                };
                self.each(Module::Found, c"coordinate", rows, params);
                inner *= extent as u64;
            }
        }
        self.counted(c)
    }
}

//! Multiplies rows of a sparse matrix with a vector, or with the columns of a matrix.

use devarray::function::ElementType;

use super::{
    by_index::{Kernels, LISTS_BYTES},
    kernels::Module,
    kinds::{name, of_type},
    params::{COLUMNS_SIGNED, COLUMNS_WIDE, OFFSETS_SIGNED, OFFSETS_WIDE, Params, SHORT_ROWS},
    plan::Plan,
};

/// Products that a warp keeps, and those that a thread makes of a short row, as in `sparse.cu`.
const ROOM: u64 = 512;
const LANE_MOST: u64 = 32;

/// Up to this mean length, rows are short: one thread per row is faster than one warp for several
/// rows.
const SHORT_MEAN: u64 = 16;

/// The names of a family of kernels.
macro_rules! names {
    ($of:literal, $is_short:expr) => {
        [
            if $is_short {
                name(concat!("csr_", $of, "_short\0"))
            } else {
                name(concat!("csr_", $of, "_rows\0"))
            },
            name(concat!("csr_", $of, "_segments\0")),
            name(concat!("csr_", $of, "_finish\0")),
            name(concat!("csr_", $of, "_columns\0")),
        ]
    };
}

/// The kernels of rows of a mean length.
fn kernels(of: ElementType, columns: ElementType, mean: u64) -> Kernels {
    let (is_far, is_short) = (columns.len_bytes() == 8, mean <= SHORT_MEAN);
    let names = match of {
        ElementType::F16 | ElementType::BF16 => names!("f16", is_short),
        ElementType::F32 if is_far => names!("f32_far", is_short),
        ElementType::F32 => names!("f32_near", is_short),
        ElementType::F64 if is_far => names!("f64_far", is_short),
        ElementType::F64 => names!("f64_near", is_short),
        _ => names!("total", is_short),
    };
    if is_short {
        return Kernels { module: Module::Sparse, names, short: LANE_MOST, most: 32, blocks: 100 };
    }
    // Rows that most often fit, with a quarter to spare.
    let most = (ROOM * 3 / 4 / mean.max(1)).clamp(1, 32);
    Kernels { module: Module::Sparse, names, short: ROOM, most: 1 << most.ilog2(), blocks: 20 }
}

impl Plan<'_, '_> {
    pub(super) fn csr_dot(&mut self) -> Option<()> {
        let y = self.result(0, None, false)?.unwrap_or(0);
        let (of, columns, offsets) = (self.element_type(0), self.element_type(1), self.element_type(2));
        let (line_len, lines) = (self.shape(0)[0] as u64, self.shape(2)[0] as u64 - 1);
        let (len, inner) = (self.shape(3)[0] as u64, self.shape(3)[1..].iter().product::<usize>() as u64);
        let sides = [self.input(0, None)?, self.input(1, None)?, self.input(2, None)?, self.input(3, None)?];
        let kind = of_type(of, false);
        let flag = |is: bool, flag| if is { flag } else { 0 };
        let flags = kind.flags
            | flag(offsets.is_signed(), OFFSETS_SIGNED)
            | flag(offsets.len_bytes() == 8, OFFSETS_WIDE)
            | flag(columns.is_signed(), COLUMNS_SIGNED)
            | flag(columns.len_bytes() == 8, COLUMNS_WIDE);
        let [a, b, offsets, c] = sides;
        let kernels = kernels(of, columns, line_len / lines.max(1));
        let flags = flags | flag(kernels.short == LANE_MOST, SHORT_ROWS);
        // One fill for both.
        let (next, outer) = (self.cleared(LISTS_BYTES + 8), 1);
        let first = next + LISTS_BYTES;
        let params =
            Params { a, b, c, y, offsets, next, first, len, line_len, lines, inner, outer, flags, ..kind };
        if lines == 0 {
            // Columns alone are looked at.
            self.each(kernels.module, kernels.names[0], line_len, params);
        } else {
            self.combine(of, kernels, params)?;
        }
        let told = self.told(params);
        self.one((Module::Sparse, c"csr_report"), told);
        Some(())
    }
}

//! Shapes of kernels, and the choice of one.

use std::ffi::CStr;

use devarray::function::ElementType;

/// The placement of an operand in memory, and the most that may be loaded of it at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lies {
    /// Elements of k are side by side, not elements of lines: rows of the left, columns of the right.
    pub(super) by_k: bool,
    /// Elements that are side by side wherever a pack of them begins: a power of two.
    pub(super) pack: u32,
}

/// A kernel: its tile, its threads, and its needs.
#[derive(Debug)]
pub(super) struct Kernel {
    pub(super) down: u32,
    pub(super) across: u32,
    pub(super) threads: u32,
    /// Bytes of dynamic shared memory, from generation 8 on.
    pub(super) shared_bytes: u32,
    /// Elements that it loads at once of the left operand and the right one.
    packs: [u32; 2],
    /// Whether it loads packs of the right operand along columns, however the left one lies.
    columns: bool,
    /// 10^9 operations a second of a multiprocessor of an H200 that has many tiles, and one tile.
    rates: [u32; 2],
    /// Kernels for operands that lie so: a by k and b by column; both by k; a by row and b by
    /// column.
    names: [Option<&'static CStr>; 3],
}

const fn name(of: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(of.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("ended by a zero"),
    }
}

/// A kernel by its tile, threads, dynamic shared memory, packs and rates; `nn` if it is for that order alone.
macro_rules! tile {
    ($base:literal $any:literal, $down:literal x $across:literal, $threads:literal, $shared:literal, $packs:expr, $rates:expr) => {
        Kernel {
            names: [
                Some(name(concat!($base, "_nn", $any, "\0"))),
                Some(name(concat!($base, "_nt", $any, "\0"))),
                Some(name(concat!($base, "_tn", $any, "\0"))),
            ],
            ..tile!(nn $base, $down x $across, $threads, $shared, $packs, $rates)
        }
    };
    (nn $base:literal, $down:literal x $across:literal, $threads:literal, $shared:literal, $packs:expr, $rates:expr) => {
        Kernel {
            down: $down,
            across: $across,
            threads: $threads,
            shared_bytes: $shared,
            packs: $packs,
            columns: false,
            rates: $rates,
            names: [Some(name(concat!($base, "_nn\0"))), None, None],
        }
    };
}

/// A kernel for few columns, to which it is one how the right operand lies.
macro_rules! strip {
    ($base:literal $any:literal, $down:literal x $across:literal, $threads:literal, $packs:expr, $rates:expr) => {
        Kernel {
            columns: true,
            names: [
                Some(name(concat!($base, "_nn", $any, "\0"))),
                Some(name(concat!($base, "_nn", $any, "\0"))),
                Some(name(concat!($base, "_tn", $any, "\0"))),
            ],
            ..tile!(nn $base, $down x $across, $threads, 0, $packs, $rates)
        }
    };
}

const F32: &[Kernel] = &[
    tile!(nn "f32_huge", 256 x 128, 256, 0, [4, 4], [367, 360]),
    tile!("f32_large" "", 128 x 128, 256, 0, [4, 4], [352, 290]),
    tile!("f32_large" "_any", 128 x 128, 256, 0, [1, 1], [310, 250]),
    tile!(nn "f32_tall", 128 x 64, 128, 0, [4, 4], [310, 220]),
    tile!("f32_medium" "", 64 x 64, 128, 0, [4, 4], [300, 205]),
    tile!(nn "f32_small", 32 x 64, 128, 0, [4, 4], [235, 165]),
    tile!("f32_small" "_any", 32 x 64, 128, 0, [1, 1], [175, 115]),
    tile!("f32_tiny" "_any", 32 x 32, 64, 0, [1, 1], [124, 80]),
    tile!("f32_least" "_any", 16 x 16, 32, 0, [1, 1], [62, 30]),
    strip!("f32_column" "", 32 x 1, 32, [4, 1], [14, 4]),
    strip!("f32_column" "_any", 32 x 1, 32, [1, 1], [12, 4]),
    strip!("f32_columns" "", 64 x 16, 64, [4, 4], [150, 70]),
];
const F64: &[Kernel] = &[
    tile!("f64_large" "", 128 x 128, 256, 98304, [2, 2], [424, 420]),
    tile!("f64_medium" "", 64 x 64, 128, 49152, [2, 2], [389, 240]),
    tile!("f64_medium" "_any", 64 x 64, 128, 49152, [1, 1], [350, 220]),
    tile!("f64_small" "_any", 32 x 32, 64, 16384, [1, 1], [100, 75]),
    strip!("f64_column" "", 32 x 1, 32, [2, 1], [7, 2]),
    strip!("f64_column" "_any", 32 x 1, 32, [1, 1], [6, 2]),
];
const F16: &[Kernel] = &[
    tile!("f16_large" "", 128 x 128, 256, 0, [4, 4], [350, 290]),
    tile!("f16_small" "_any", 32 x 64, 128, 0, [1, 1], [165, 115]),
];
const BF16: &[Kernel] = &[
    tile!("bf16_large" "", 128 x 128, 256, 0, [4, 4], [350, 290]),
    tile!("bf16_small" "_any", 32 x 64, 128, 0, [1, 1], [165, 115]),
];
const U8: &[Kernel] = &[
    tile!("u8_large" "", 128 x 128, 256, 0, [4, 4], [2800, 1400]),
    tile!("u8_medium" "_any", 64 x 64, 128, 0, [1, 1], [365, 150]),
];
const U16: &[Kernel] = &[tile!("u16_large" "_any", 64 x 64, 256, 0, [1, 1], [1, 1])];
const U32: &[Kernel] = &[tile!("u32_large" "_any", 64 x 64, 256, 0, [1, 1], [1, 1])];
const U64: &[Kernel] = &[tile!("u64_large" "_any", 64 x 64, 256, 0, [1, 1], [1, 1])];

/// The kernels of a type, and the one that sums chains, if its products have more than one.
pub(super) fn kernels(of: ElementType) -> Option<(&'static [Kernel], Option<&'static CStr>)> {
    use ElementType as E;
    Some(match of {
        E::F32 => (F32, Some(c"f32_chains")),
        E::F64 => (F64, Some(c"f64_chains")),
        E::F16 => (F16, Some(c"f16_chains")),
        E::BF16 => (BF16, Some(c"bf16_chains")),
        E::I8 | E::U8 => (U8, None),
        E::I16 | E::U16 => (U16, None),
        E::I32 | E::U32 => (U32, None),
        E::I64 | E::U64 => (U64, None),
        _ => return None,
    })
}

impl Kernel {
    /// The kernel that needs the least time for matrices of a shape, and its name.
    ///
    /// Multiprocessors share tiles evenly. One that has few works slower, and a tile takes its time
    /// however little of it is inside the matrix.
    pub(super) fn choose(
        of: &'static [Self],
        lie: [Lies; 2],
        [m, n, matrices]: [u32; 3],
        multiprocessors: u32,
    ) -> Option<(&'static Self, &'static CStr)> {
        let order = match (lie[0].by_k, lie[1].by_k) {
            (true, false) => 0,
            (true, true) => 1,
            (false, _) => 2,
        };
        let fits = |kernel: &&Self| {
            let packs = [0, 1].iter().all(|&side| lie[side].pack >= kernel.packs[side]);
            // Packs of the right operand are along k in one kernel only.
            let along_columns = kernel.columns || !lie[0].by_k;
            packs && !(along_columns && lie[1].by_k && kernel.packs[1] > 1)
        };
        let time = |kernel: &Self| {
            let [many, one] = kernel.rates.map(u64::from);
            let area = (u64::from(kernel.down) * u64::from(kernel.across)) << 16;
            let tiles = kernel.tiles(m, n).saturating_mul(matrices.into());
            (area / one).max((area / many).saturating_mul(tiles.div_ceil(multiprocessors.max(1).into())))
        };
        let named = of.iter().filter(fits).filter_map(|kernel| Some((kernel, kernel.names[order]?)));
        named.min_by_key(|(kernel, _)| time(kernel))
    }

    /// Tiles of a matrix.
    pub(super) fn tiles(&self, m: u32, n: u32) -> u64 {
        u64::from(m.div_ceil(self.down)) * u64::from(n.div_ceil(self.across))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BY_K: Lies = Lies { by_k: true, pack: 4 };
    const BY_LINE: Lies = Lies { by_k: false, pack: 4 };

    fn chosen(of: ElementType, lie: [Lies; 2], shape: [u32; 3]) -> &'static str {
        let kernels = kernels(of).expect("a type of products").0;
        Kernel::choose(kernels, lie, shape, 132).expect("a kernel for all").1.to_str().unwrap()
    }

    #[test]
    fn a_product_has_the_kernel_of_its_shape() {
        for (shape, name) in [
            ([4096, 4096, 1], "f32_huge_nn"),
            ([1024, 1024, 1], "f32_medium_nn"),
            ([512, 512, 1], "f32_small_nn"),
            ([128, 128, 1000], "f32_large_nn"),
            ([1 << 20, 64, 1], "f32_tall_nn"),
            ([32, 32, 10_000], "f32_tiny_nn_any"),
            ([16, 16, 10_000], "f32_least_nn_any"),
            ([8192, 16, 2], "f32_columns_nn"),
        ] {
            assert_eq!(chosen(ElementType::F32, [BY_K, BY_LINE], shape), name, "{shape:?}");
        }
        assert_eq!(chosen(ElementType::F32, [BY_K, BY_K], [8192, 1, 2]), "f32_column_nn");
        assert_eq!(chosen(ElementType::F64, [BY_K, BY_LINE], [4096, 4096, 1]), "f64_large_nn");
        assert_eq!(chosen(ElementType::F64, [BY_K, BY_LINE], [1024, 1024, 1]), "f64_medium_nn");
    }

    #[test]
    fn kernels_are_in_the_images_with_their_threads() {
        use ElementType as E;
        for major in [7, 10] {
            let image = crate::product::kernels::image(major).expect("an image");
            let text = std::str::from_utf8(image.strip_suffix(b"\0").expect("a zero")).expect("text");
            let threads = |name: &CStr| {
                let entry = format!(".entry {}(", name.to_str().unwrap());
                let (_, behind) = text.split_once(&entry).unwrap_or_else(|| panic!("{entry} is missing"));
                let (_, threads) = behind.split_once(".maxntid ").expect("bounds of a launch");
                threads.split(',').next().unwrap().parse::<u32>().unwrap()
            };
            for of in [E::F32, E::F64, E::F16, E::BF16, E::I8, E::U16, E::I32, E::U64] {
                let (kernels, sum) = kernels(of).expect("a type of products");
                assert!(sum.is_none_or(|sum| text.contains(&format!(".entry {}(", sum.to_str().unwrap()))));
                for kernel in kernels {
                    for name in kernel.names.into_iter().flatten() {
                        assert_eq!(threads(name), kernel.threads, "{name:?} of generation {major}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_has_no_packs_has_a_kernel_that_loads_none() {
        let odd = |lies: Lies| Lies { pack: 1, ..lies };
        for of in [ElementType::F32, ElementType::F64, ElementType::F16, ElementType::BF16] {
            for shape in [[4096, 4096, 1], [100, 100, 1], [8192, 1, 2], [8192, 9, 2], [3, 5, 9]] {
                for lie in [[odd(BY_K), BY_LINE], [BY_LINE, odd(BY_LINE)], [odd(BY_K), odd(BY_K)]] {
                    let name = chosen(of, lie, shape);
                    // One column has no packs anyway.
                    assert!(name.ends_with("_any") || name.contains("_column_"), "{of:?} {shape:?}: {name}");
                }
                // Packs of the right operand are along k in one kernel only.
                let crossed = chosen(of, [BY_LINE, BY_K], shape);
                assert!(
                    crossed.ends_with("_any") || crossed.contains("_column_"),
                    "{of:?} {shape:?}: {crossed}"
                );
            }
        }
    }
}

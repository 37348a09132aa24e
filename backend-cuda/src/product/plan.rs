//! What is launched for a product. Pure; no driver.

use std::ffi::CStr;

use devarray::{
    backend::{Buffer, Operand, ProductOp},
    function::ElementType,
};

use super::{
    kernels::Launch,
    params::{BatchAxis, CHAIN, MAX_BATCH_AXES, MAX_CHAINS, Params},
};
use crate::{memory::CudaBuffer, strided::params::FastDiv};

/// A kernel: its tile, its threads, and its names for operands whose k or columns lie side by side: a by k
/// and b by column; both by k; a by row and b by column.
struct Kernel {
    down: u32,
    across: u32,
    threads: u32,
    names: [&'static CStr; 3],
}

macro_rules! kernel {
    ($down:literal, $across:literal, $threads:literal, $($name:literal)+) => {
        Kernel { down: $down, across: $across, threads: $threads, names: [$($name),+] }
    };
}

/// The kernel of large products, that of small ones, and the one that sums chains.
type Kernels = (Kernel, Option<Kernel>, Option<&'static CStr>);

fn kernels(of: ElementType) -> Option<Kernels> {
    use ElementType as E;
    Some(match of {
        E::F32 => (
            kernel!(128, 128, 256, c"f32_large_nn" c"f32_large_nt" c"f32_large_tn"),
            Some(kernel!(32, 32, 64, c"f32_small_nn" c"f32_small_nt" c"f32_small_tn")),
            Some(c"f32_chains"),
        ),
        E::F64 => (
            kernel!(64, 64, 256, c"f64_large_nn" c"f64_large_nt" c"f64_large_tn"),
            Some(kernel!(32, 32, 256, c"f64_small_nn" c"f64_small_nt" c"f64_small_tn")),
            Some(c"f64_chains"),
        ),
        E::F16 => (
            kernel!(128, 128, 256, c"f16_large_nn" c"f16_large_nt" c"f16_large_tn"),
            None,
            Some(c"f16_chains"),
        ),
        E::BF16 => (
            kernel!(128, 128, 256, c"bf16_large_nn" c"bf16_large_nt" c"bf16_large_tn"),
            None,
            Some(c"bf16_chains"),
        ),
        E::I8 | E::U8 => (kernel!(64, 64, 256, c"u8_large_nn" c"u8_large_nt" c"u8_large_tn"), None, None),
        E::I16 | E::U16 => {
            (kernel!(64, 64, 256, c"u16_large_nn" c"u16_large_nt" c"u16_large_tn"), None, None)
        }
        E::I32 | E::U32 => {
            (kernel!(64, 64, 256, c"u32_large_nn" c"u32_large_nt" c"u32_large_tn"), None, None)
        }
        E::I64 | E::U64 => {
            (kernel!(64, 64, 256, c"u64_large_nn" c"u64_large_nt" c"u64_large_tn"), None, None)
        }
        _ => return None,
    })
}

/// Tiles below which a device is not full, so that smaller ones are better.
const FEW_TILES: u32 = 264;

/// The launches of a product.
#[derive(Debug)]
pub(super) struct Plan {
    tiles: Launch,
    sum: Option<(&'static CStr, u32)>,
    /// Bytes of memory for chains.
    pub(super) sums_len_bytes: usize,
}

impl Plan {
    /// None if it has too many axes, elements or chains for a launch.
    pub(super) fn new(op: &ProductOp<'_, CudaBuffer>) -> Option<Self> {
        let of = op.element_type();
        let (large, small, sum) = kernels(of)?;
        let rank = op.result().layout().rank();
        let item = of.len_bytes() as u64;
        let start =
            |side: &Operand<'_, CudaBuffer>| side.buffer().address() + side.layout().offset() as u64 * item;
        let stride = |side: &Operand<'_, CudaBuffer>, axis: usize| side.layout().strides()[axis] as i64;
        let shape = op.result().layout().shape();
        let [m, n] = [shape[rank - 2], shape[rank - 1]];
        let k = op.depth();
        let is_float = sum.is_some();
        let chains = if is_float { k.div_ceil(CHAIN) } else { 1 };
        if chains > MAX_CHAINS {
            return None;
        }
        let mut params = Params {
            a: start(op.a()),
            b: start(op.b()),
            y: start(op.result()),
            a_row: stride(op.a(), rank - 2),
            a_k: stride(op.a(), rank - 1),
            b_k: stride(op.b(), rank - 2),
            b_column: stride(op.b(), rank - 1),
            y_row: stride(op.result(), rank - 2),
            y_column: stride(op.result(), rank - 1),
            m: u32::try_from(m).ok()?,
            n: u32::try_from(n).ok()?,
            k: u32::try_from(k).ok()?,
            chain: u32::try_from(CHAIN).ok()?,
            chains: u32::try_from(chains).ok()?,
            ..Params::default()
        };
        let mut add = |extent: usize, a: i64, b: i64, y: i64| -> Option<()> {
            let at = params.at.get_mut(params.batch_axes as usize)?;
            *at = BatchAxis { by: FastDiv::checked(extent as u64)?, unused: 0, a, b, y };
            params.batch_axes += 1;
            Some(())
        };
        if chains > 1 {
            let step = i64::try_from(CHAIN).ok()?;
            add(chains, step * stride(op.a(), rank - 1), step * stride(op.b(), rank - 2), 0)?;
        }
        for axis in (0..rank - 2).rev().filter(|&axis| shape[axis] > 1) {
            add(shape[axis], stride(op.a(), axis), stride(op.b(), axis), stride(op.result(), axis))?;
        }
        let _ = MAX_BATCH_AXES;
        let batch: usize = shape[..rank - 2].iter().product();
        let matrices = u32::try_from(batch.checked_mul(chains)?).ok()?;
        let tiles =
            |kernel: &Kernel| params.m.div_ceil(kernel.down).checked_mul(params.n.div_ceil(kernel.across));
        let kernel = match small {
            Some(small) if tiles(&large)?.saturating_mul(matrices) < FEW_TILES => small,
            _ => large,
        };
        let each = tiles(&kernel)?;
        let name = match (params.a_k == 1, params.b_k == 1) {
            (_, true) => kernel.names[1],
            (true, false) => kernel.names[0],
            (false, false) => kernel.names[2],
        };
        params.tiles = FastDiv::checked(each.into())?;
        params.tiles_down = FastDiv::checked(params.m.div_ceil(kernel.down).into())?;
        let blocks = each.checked_mul(matrices).filter(|&blocks| blocks < 1 << 31)?;
        let number_bytes = if of == ElementType::F64 { 8 } else { 4 };
        let elements = batch.checked_mul(m)?.checked_mul(n)?;
        let (sum, sums_len_bytes) = match sum {
            Some(sum) if chains > 1 => {
                let blocks = u32::try_from(elements.div_ceil(256)).ok()?;
                (Some((sum, blocks)), elements.checked_mul(chains)?.checked_mul(number_bytes)?)
            }
            _ => (None, 0),
        };
        let tiles = Launch { kernel: name, blocks, threads: kernel.threads, params };
        Some(Self { tiles, sum, sums_len_bytes })
    }

    /// The launch of a product of one chain.
    pub(super) fn tiles(&self) -> Launch {
        self.tiles
    }

    /// The launches of a longer one, with its chains in memory at an address.
    pub(super) fn with_sums(&self, address: u64) -> (Launch, Launch) {
        let params = Params { sums: address, ..self.tiles.params };
        let (kernel, blocks) = self.sum.unwrap_or((self.tiles.kernel, self.tiles.blocks));
        (Launch { params, ..self.tiles }, Launch { kernel, blocks, threads: 256, params })
    }
}

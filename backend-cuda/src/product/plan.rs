//! The launches of a product. Pure; no driver.

use std::ffi::CStr;

use devarray::{
    backend::{Buffer, Operand, ProductOp},
    function::ElementType,
};

use super::{
    kernels::Launch,
    params::{BatchAxis, CHAIN, MAX_CHAINS, Params},
    shapes::{Kernel, Lies, kernels},
};
use crate::{memory::CudaBuffer, strided::params::FastDiv};

/// Bytes that are loaded at once.
const PACK_BYTES: u64 = 16;
/// Columns that kernels for few of them have.
const FEW_COLUMNS: u32 = 16;

/// An operand: where it begins, and its steps in elements along lines (rows of the left one, columns of the
/// right one), k, and the axes of the batch.
struct Side<'a> {
    start: u64,
    line: i64,
    k: i64,
    lines: u32,
    strides: &'a [isize],
}

impl<'a> Side<'a> {
    fn new(of: &'a Operand<'_, CudaBuffer>, item: u64, [line, k]: [usize; 2], lines: u32) -> Self {
        let strides = of.layout().strides();
        Self {
            start: of.buffer().address() + of.layout().offset() as u64 * item,
            line: strides[line] as i64,
            k: strides[k] as i64,
            lines,
            strides,
        }
    }

    /// Its placement in memory; packs have at most `most` elements. `batch`: axes of the batch.
    fn lies(&self, item: u64, most: u32, depth: u32, batch: &[usize]) -> Lies {
        let by_k = self.lines == 1 || self.k.unsigned_abs() <= self.line.unsigned_abs();
        let (along, other, others) =
            if by_k { (self.k, self.line, self.lines) } else { (self.line, self.k, depth) };
        let mut pack = if along == 1 { most } else { 1 };
        let steps = batch.iter().map(|&axis| self.strides[axis] as i64);
        for step in steps.chain((others > 1).then_some(other)) {
            while step % i64::from(pack) != 0 {
                pack /= 2;
            }
        }
        while !self.start.is_multiple_of(u64::from(pack) * item) {
            pack /= 2;
        }
        Lies { by_k, pack }
    }
}

/// The launches of a product.
#[derive(Debug)]
pub(super) struct Plan {
    tiles: Launch,
    sum: Option<(&'static CStr, u32)>,
    /// Bytes of memory for chains.
    pub(super) sums_len_bytes: usize,
    /// Whether it computes the transposed product.
    pub(super) is_turned: bool,
}

impl Plan {
    /// The launch on a device with this many multiprocessors. `None` if it has too many axes,
    /// elements or chains for a launch.
    pub(super) fn new(op: &ProductOp<'_, CudaBuffer>, multiprocessors: u32) -> Option<Self> {
        let of = op.element_type();
        let (kernels, sum) = kernels(of)?;
        let shape = op.result().layout().shape();
        let rank = shape.len();
        let (item, result_item) = (of.len_bytes() as u64, op.result_type().len_bytes() as u64);
        let k = op.depth();
        let chains = if sum.is_some() { k.div_ceil(CHAIN).max(1) } else { 1 };
        if chains > MAX_CHAINS {
            return None;
        }
        let [m, n, k, chain, chains] =
            [shape[rank - 2], shape[rank - 1], k, CHAIN, chains].map(|extent| u32::try_from(extent).ok());
        let [m, n, k, chain, chains] = [m?, n?, k?, chain?, chains?];
        let batch: Vec<usize> = (0..rank - 2).rev().filter(|&axis| shape[axis] > 1).collect();
        let mut a = Side::new(op.a(), item, [rank - 2, rank - 1], m);
        let mut b = Side::new(op.b(), item, [rank - 1, rank - 2], n);
        let mut y = Side::new(op.result(), result_item, [rank - 2, rank - 1], m);
        let most = (PACK_BYTES / item).clamp(1, 4) as u32;
        let mut lie = [a.lies(item, most, k, &batch), b.lies(item, most, k, &batch)];
        // The transposed product, if its kernel is there and this one's is not.
        let is_turned = (m < n && m <= FEW_COLUMNS) || (n > FEW_COLUMNS && !lie[0].by_k && lie[1].by_k);
        if is_turned {
            std::mem::swap(&mut a, &mut b);
            std::mem::swap(&mut y.line, &mut y.k);
            lie.swap(0, 1);
        }
        let mut params = Params {
            a: a.start,
            b: b.start,
            y: y.start,
            a_row: a.line,
            a_k: a.k,
            b_k: b.k,
            b_column: b.line,
            y_row: y.line,
            y_column: y.k,
            m: a.lines,
            n: b.lines,
            k,
            chain,
            chains,
            ..Params::default()
        };
        let mut add = |extent: usize, a: i64, b: i64, y: i64| -> Option<()> {
            let at = params.at.get_mut(params.batch_axes as usize)?;
            *at = BatchAxis { by: FastDiv::checked(extent as u64)?, unused: 0, a, b, y };
            params.batch_axes += 1;
            Some(())
        };
        if chains > 1 {
            add(chains as usize, i64::from(chain) * a.k, i64::from(chain) * b.k, 0)?;
        }
        for axis in batch {
            let [a, b, y] = [&a, &b, &y].map(|side| side.strides[axis] as i64);
            add(shape[axis], a, b, y)?;
        }
        let batch: usize = shape[..rank - 2].iter().product();
        let matrices = u32::try_from(batch.checked_mul(chains as usize)?).ok()?;
        let (kernel, name) = Kernel::choose(kernels, lie, [params.m, params.n, matrices], multiprocessors)?;
        let each = kernel.tiles(params.m, params.n);
        params.tiles = FastDiv::checked(each)?;
        params.tiles_down = FastDiv::checked(params.m.div_ceil(kernel.down).into())?;
        let blocks =
            u32::try_from(each.checked_mul(matrices.into())?).ok().filter(|&blocks| blocks < 1 << 31)?;
        let number_bytes = if of == ElementType::F64 { 8 } else { 4 };
        let elements = batch.checked_mul(m as usize)?.checked_mul(n as usize)?;
        let (sum, sums_len_bytes) = match sum {
            Some(sum) if chains > 1 => {
                let blocks = u32::try_from(elements.div_ceil(256)).ok()?;
                (Some((sum, blocks)), elements.checked_mul(chains as usize)?.checked_mul(number_bytes)?)
            }
            _ => (None, 0),
        };
        let Kernel { threads, shared_bytes, .. } = *kernel;
        let tiles = Launch { kernel: name, blocks, threads, shared_bytes, params };
        Some(Self { tiles, sum, sums_len_bytes, is_turned })
    }

    /// The launch of a product of one chain.
    pub(super) fn tiles(&self) -> Launch {
        self.tiles
    }

    /// The launches of a longer one, with its chains in memory at an address.
    pub(super) fn with_sums(&self, address: u64) -> (Launch, Launch) {
        let params = Params { sums: address, ..self.tiles.params };
        let (kernel, blocks) = self.sum.unwrap_or((self.tiles.kernel, self.tiles.blocks));
        (Launch { params, ..self.tiles }, Launch { kernel, blocks, threads: 256, shared_bytes: 0, params })
    }
}

//! What the kernels do, thread by thread, from the same parameter.
#![allow(unsafe_code)] // moves the bytes that a kernel would

use super::state::{INVALID, State};

/// The PTX that the library embeds.
const PTX: &str = include_str!("../../kernels/gather.ptx");

/// `Axis` of kernels/gather.cu.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Axis {
    extent: u64,
    dst_stride_bytes: i64,
    src_stride_bytes: i64,
    magic: u32,
    shift: u32,
}

/// `Params` of kernels/gather.cu.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Parameter {
    dst: u64,
    src: u64,
    count: u64,
    rank: u32,
    reserved: u32,
    pattern: [u8; 16],
    axes: [Axis; 62],
}

/// One of the kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kernel {
    pub(crate) fill: bool,
    pub(crate) width_bytes: usize,
    pub(crate) wide: bool,
}

impl Kernel {
    /// The kernel of that name, if the PTX has it and declares the parameter at the size used here.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let size = size_of::<Parameter>();
        let declared = PTX.contains(&format!(".entry {name}("))
            && PTX.contains(&format!(".param .align 8 .b8 {name}_param_0[{size}]"));
        let (kind, rest) = name.split_once("_w")?;
        let (width, bits) = rest.split_once("_n")?;
        let kernel = Self { fill: kind == "fill", width_bytes: width.parse().ok()?, wide: bits == "64" };
        declared.then_some(kernel)
    }

    /// Runs every thread of the grid.
    pub(crate) fn run(self, state: &mut State, parameter: &Parameter, blocks: u32, threads: u32) -> i32 {
        let launched = u64::from(blocks) * 256;
        if threads != 256 || parameter.reserved != 0 || parameter.rank > 62 {
            return INVALID;
        }
        if !self.wide && parameter.count > launched {
            state.misuse.push("too few threads for a kernel that does not loop".to_owned());
        }
        let loops = &parameter.axes[..parameter.rank as usize];
        let near = |pair: &[Axis]| pair[0].dst_stride_bytes.abs() < pair[1].dst_stride_bytes.abs();
        if !loops.windows(2).all(near) {
            state.misuse.push("neighbouring threads write far apart".to_owned());
        }
        (0..parameter.count).map(|n| self.element(state, parameter, n)).max().unwrap_or(INVALID)
    }

    fn element(self, state: &mut State, parameter: &Parameter, mut n: u64) -> i32 {
        let (mut dst, mut src) = (parameter.dst, parameter.src);
        for (a, axis) in parameter.axes[..parameter.rank as usize].iter().enumerate() {
            let last = a + 1 == parameter.rank as usize;
            let rest = if last { 0 } else { self.quotient(n, axis) };
            let i = (n - rest * axis.extent).cast_signed();
            dst = dst.wrapping_add_signed(i * axis.dst_stride_bytes);
            src = src.wrapping_add_signed(i * axis.src_stride_bytes);
            n = rest;
        }
        let width = self.width_bytes;
        let Some(to) = state.device(dst, width, width) else { return 700 };
        let from = if self.fill {
            parameter.pattern.as_ptr()
        } else {
            let Some(from) = state.device(src, width, width) else { return 700 };
            from.cast_const()
        };
        // SAFETY: the destination is allocated; so is the source, or it is the pattern of 16 bytes.
        unsafe { to.copy_from(from, width) };
        0
    }

    /// As the kernel divides: by multiplying 32 bits, or plainly.
    fn quotient(self, n: u64, axis: &Axis) -> u64 {
        if self.wide {
            return n / axis.extent;
        }
        let n = u32::try_from(n).unwrap();
        let high = u32::try_from((u64::from(n) * u64::from(axis.magic)) >> 32).unwrap();
        u64::from(high.wrapping_add(n) >> axis.shift)
    }
}

//! What a kernel needs to know of a copy, in the layout that `kernels/gather.cu` declares.

use devarray::copy::Plan;

use super::divide::{Divider, MAX};

/// Most loops of a copy, the one along the run included.
///
/// Each repeats at least twice, and the elements, of at least one byte, are at most `isize::MAX` in number, so the loops
/// are at most 62.
const MAX_AXES: usize = 62;

/// One loop.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Axis {
    extent: u64,
    dst_stride_bytes: i64,
    src_stride_bytes: i64,
    magic: u32,
    shift: u32,
}

/// The kernel's parameter, passed by value: one launch needs no memory on the device.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByValue {
    dst: u64,
    src: u64,
    count: u64,
    rank: u32,
    reserved: u32,
    pattern: [u8; 16],
    /// Fastest first: neighbouring threads take neighbouring steps of the first.
    axes: [Axis; MAX_AXES],
}

// What the kernel asserts of its own declaration; and the limit on parameters of devices before generation 7.0 and of
// drivers before CUDA 12.1.
const _: () = assert!(size_of::<Axis>() == 32);
const _: () = assert!(size_of::<ByValue>() == 2032);
const _: () = assert!(size_of::<ByValue>() <= 4096);

/// The parameter, and what chooses the kernel.
#[derive(Debug, Clone)]
pub(crate) struct Params {
    value: ByValue,
    width_bytes: usize,
    wide: bool,
}

impl Params {
    /// The copy of `plan` from the memory at `src` to the memory at `dst`, in elements of the plan's width.
    ///
    /// `None` if a plan had more loops than memory has bytes for, which none has.
    pub(crate) fn gather(plan: &Plan, dst: u64, src: u64) -> Option<Self> {
        Self::new(plan, dst, src, [0; 16], |src_stride_bytes| src_stride_bytes)
    }

    /// `pattern`, repeated over the destination of `plan`, whose width is a multiple of it.
    pub(crate) fn fill(plan: &Plan, dst: u64, pattern: &[u8]) -> Option<Self> {
        let mut repeated = [0; 16];
        for (to, &from) in repeated.iter_mut().zip(pattern.iter().cycle()) {
            *to = from;
        }
        Self::new(plan, dst, dst, repeated, |_| 0)
    }

    fn new(
        plan: &Plan,
        dst: u64,
        src: u64,
        pattern: [u8; 16],
        src_stride: impl Fn(isize) -> isize,
    ) -> Option<Self> {
        let width_bytes = plan.width_bytes();
        let count = (plan.len_bytes() / width_bytes) as u64;
        let wide = count > MAX;
        let step = isize::try_from(width_bytes).ok()?;
        let run = (plan.run_bytes() / width_bytes, step, step);
        let loops = std::iter::once(run).chain(
            plan.axes().iter().rev().map(|axis| (axis.extent, axis.dst_stride_bytes, axis.src_stride_bytes)),
        );
        let none = Axis { extent: 1, dst_stride_bytes: 0, src_stride_bytes: 0, magic: 0, shift: 0 };
        let mut axes = [none; MAX_AXES];
        let mut rank = 0;
        for (extent, dst_stride, stride) in loops.filter(|&(extent, ..)| extent > 1) {
            let extent = extent as u64;
            // The 64-bit kernels divide by the extent itself.
            let Divider { magic, shift } =
                if wide { Divider { magic: 0, shift: 0 } } else { Divider::new(extent)? };
            *axes.get_mut(rank)? = Axis {
                extent,
                dst_stride_bytes: dst_stride as i64,
                src_stride_bytes: src_stride(stride) as i64,
                magic,
                shift,
            };
            rank += 1;
        }
        let value = ByValue {
            dst: dst + plan.dst_offset_bytes() as u64,
            src: src + plan.src_offset_bytes() as u64,
            count,
            rank: u32::try_from(rank).ok()?,
            reserved: 0,
            pattern,
            axes,
        };
        Some(Self { value, width_bytes, wide })
    }

    pub(crate) fn by_value(&self) -> &ByValue {
        &self.value
    }

    /// Number of elements.
    pub(crate) fn count(&self) -> u64 {
        self.value.count
    }

    /// Bytes of an element: 1, 2, 4, 8 or 16.
    pub(crate) fn width_bytes(&self) -> usize {
        self.width_bytes
    }

    /// Whether there are more elements than the 32-bit kernels count.
    pub(crate) fn needs_64_bits(&self) -> bool {
        self.wide
    }
}

#[cfg(test)]
mod tests {
    use devarray::{Layout, Order, backend::Capabilities};

    use super::*;

    fn params(dst: &Layout, src: &Layout) -> Params {
        let plan = Plan::new(dst, src, 1, &Capabilities::default()).unwrap();
        Params::gather(&plan, 0, 0).unwrap()
    }

    #[test]
    fn any_plan_fits() {
        // The most loops there can be: none of them merge, and one more would overflow.
        let shape = [2; MAX_AXES];
        let c = Layout::contiguous(&shape, Order::C).unwrap();
        let f = Layout::contiguous(&shape, Order::F).unwrap();
        let params = params(&c, &f);
        assert_eq!((params.value.rank, params.count()), (62, 1 << 62));
        assert!(Layout::contiguous(&[2; MAX_AXES + 1], Order::C).is_err());
    }

    #[test]
    fn wide_indices_start_beyond_two_to_the_31() {
        for (count, wide) in [(1 << 31, false), ((1 << 31) + 1, true)] {
            let line = Layout::new(&[count], &[1], 0).unwrap();
            let reversed = Layout::new(&[count], &[-1], count - 1).unwrap();
            let params = params(&line, &reversed);
            assert_eq!((params.count(), params.needs_64_bits()), (count as u64, wide));
        }
    }
}

//! Elements without alignment, and the three forms of loops over them.
#![allow(unsafe_code)] // slices of the elements that the caller of a kernel vouches for

use bytemuck::{Pod, Zeroable};

use super::machine::Call;

/// An element at any address.
#[derive(Debug, Clone, Copy)]
#[repr(C, packed)]
pub(super) struct Raw<T: Copy>(pub(super) T);

// SAFETY: the same bits without padding
unsafe impl<T: Zeroable + Copy> Zeroable for Raw<T> {}
// SAFETY: as above
unsafe impl<T: Pod> Pod for Raw<T> {}

impl<T: Copy> Raw<T> {
    #[inline(always)]
    pub(super) fn get(self) -> T {
        self.0
    }
}

impl Call {
    /// # Safety
    ///
    /// The requested elements of the operand may be read.
    #[inline(always)]
    pub(super) unsafe fn operand<'a, T: Pod>(&self, at: usize) -> &'a [Raw<T>] {
        // SAFETY: as the caller promises; no alignment is needed
        unsafe { std::slice::from_raw_parts(self.operands[at].cast(), self.len) }
    }

    /// # Safety
    ///
    /// The requested elements may be written, and nothing else refers to them.
    #[inline(always)]
    pub(super) unsafe fn out<'a, T: Pod>(&self) -> &'a mut [Raw<T>] {
        // SAFETY: as the caller promises; any bits are elements, no alignment is needed
        unsafe { std::slice::from_raw_parts_mut(self.out.cast(), self.len) }
    }
}

#[inline(always)]
pub(super) fn map1<A: Pod, R: Pod>(a: &[Raw<A>], out: &mut [Raw<R>], f: impl Fn(A) -> R) {
    for (out, a) in out.iter_mut().zip(a) {
        *out = Raw(f(a.get()));
    }
}

#[inline(always)]
pub(super) fn map2<A: Pod, B: Pod, R: Pod>(
    a: &[Raw<A>],
    b: &[Raw<B>],
    out: &mut [Raw<R>],
    f: impl Fn(A, B) -> R,
) {
    for (out, (a, b)) in out.iter_mut().zip(a.iter().zip(b)) {
        *out = Raw(f(a.get(), b.get()));
    }
}

#[inline(always)]
pub(super) fn map3<A: Pod, B: Pod, R: Pod>(
    a: &[Raw<A>],
    [b, c]: [&[Raw<B>]; 2],
    out: &mut [Raw<R>],
    f: impl Fn(A, B, B) -> R,
) {
    for (out, ((a, b), c)) in out.iter_mut().zip(a.iter().zip(b).zip(c)) {
        *out = Raw(f(a.get(), b.get(), c.get()));
    }
}

//! Kernels in programs, and their results by Rust's own operators.

use devarray::{
    ArrayView, ArrayViewMut, Device, ErasedView, ErasedViewMut, Result, StreamHandle,
    backend::{Capability, Launch},
};

use super::{
    elements::Elements,
    machine::{Done, Machine},
    op::Part,
    part::{Place, Step},
};
use crate::checks::kernels::declared::{AddTo, Reverse, Scale};

/// A kernel that the laws also launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    /// Reverses lines of `u8`, in C order, through shared memory.
    Reverse,
    /// Adds `u16` elements to others, with any strides along two axes.
    AddTo,
    /// `k · from[i] + i` for `u32`, in C order.
    Scale,
}

type Submit<D> = fn(Kernel, &StreamHandle<D>, ErasedView<'_, D>, ErasedViewMut<'_, D>, u64) -> Result<()>;

/// Launches kernels on a device that can, so that programs also run on devices that cannot.
pub(super) struct Launching<D: Device>(Submit<D>);

impl<D: Device> Clone for Launching<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Launching<D> {}

impl<D: Launch> Launching<D> {
    pub(super) fn new() -> Self {
        Self(|kernel, stream, from, to, scalar| match kernel {
            Kernel::Reverse => {
                Reverse::launch(stream, &ArrayView::from_erased(from)?, &mut ArrayViewMut::from_erased(to)?)
            }
            Kernel::AddTo => {
                AddTo::launch(stream, &ArrayView::from_erased(from)?, &mut ArrayViewMut::from_erased(to)?)
            }
            Kernel::Scale => {
                let (from, mut to) = (ArrayView::from_erased(from)?, ArrayViewMut::from_erased(to)?);
                Scale::launch(stream, &from, &mut to, u32::from_ne_bytes(first_of(scalar)))
            }
        })
    }
}

impl Kernel {
    /// The destination's elements afterwards. The caller reduces them modulo the size of the type.
    fn of(self, from: &[u64], to: &[u64], scalar: u64, line_len: usize) -> Vec<u64> {
        match self {
            Self::Reverse => {
                let lines = from.chunks(line_len.max(1));
                lines.flat_map(|line| line.iter().rev().copied()).collect()
            }
            Self::AddTo => from.iter().zip(to).map(|(from, to)| from.wrapping_add(*to)).collect(),
            Self::Scale => {
                (0..).zip(from).map(|(at, from)| scalar.wrapping_mul(*from).wrapping_add(at)).collect()
            }
        }
    }
}

impl<T: Elements, D: Device> Machine<'_, T, D> {
    pub(super) fn kernel(&mut self, stream: usize, to: &Part, from: &Part, value: usize) -> Done {
        let (stream, strict) = self.stream(stream);
        let launching = self.shared.extras.launching.filter(|_| self.declares(Capability::Kernels));
        let (Some(Launching(submit)), Some(kernel)) = (launching, T::KERNEL) else { return Ok(()) };
        let Some((at, mut place)) = self.place(to) else { return Ok(()) };
        let Some((other, mut source)) = self.place_beside(from, at) else { return Ok(()) };
        let mut line_len = 0;
        if kernel == Kernel::AddTo {
            if !place.make_two_axes() || !source.make_two_axes() || !Place::meet(&mut source, &mut place) {
                return Ok(());
            }
        } else {
            let lines = if kernel == Kernel::Reverse { 1 + value % 3 } else { 1 };
            let spans = [(&mut place, at), (&mut source, other)].map(|(side, at)| {
                *side = self.arrays[at].span(side);
                side
            });
            line_len = spans.iter().map(|side| side.len() / lines).min().unwrap_or(0);
            for side in spans {
                side.push(Step::Cut(0, 0, 1, lines * line_len));
                side.push(Step::Reshape(vec![lines, line_len]));
            }
        }
        let scalar = T::values(value, 1)[0].bits();
        let [old, read] = [(at, &place), (other, &source)]
            .map(|(at, place)| self.due(at, place).iter().map(T::bits).collect::<Vec<_>>());
        let values: Vec<T> = kernel.of(&read, &old, scalar, line_len).into_iter().map(T::of_bits).collect();
        let Ok([to, from]) = self.arrays.get_disjoint_mut([at, other]) else { return Ok(()) };
        let launched = source.view(from.array.view()).and_then(|from| {
            let to = place.view_mut(to.array.view_mut())?;
            submit(kernel, &stream, from.into_erased(), to.into_erased(), scalar)
        });
        if self.done(launched, strict)?.is_some() {
            self.write(at, &place, &values);
        }
        Ok(())
    }
}

/// The first bytes of a number.
fn first_of(bits: u64) -> [u8; 4] {
    let [a, b, c, d, ..] = bits.to_ne_bytes();
    [a, b, c, d]
}

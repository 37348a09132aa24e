//! One launch: the class of its kernel, its grid, and its parameter.

use super::{
    axes::Axes,
    class::{Class, Words},
    text::MAX_WORDS,
};
use crate::strided::params::FastDiv;

/// The kernel of one launch, and its operands.
#[derive(Debug, Clone)]
pub(super) struct MapLaunch {
    pub(super) class: Class,
    /// The number of blocks, along x.
    pub(super) grid: u32,
    pub(super) parameter: Parameter,
}

/// The parameter of a kernel, passed by value: a launch needs no memory on the device.
#[derive(Debug, Clone)]
pub(super) struct Parameter(Vec<u64>);

impl Parameter {
    /// The words that every family has: addresses, strides, scalars, and the outer axes. `None` if
    /// they do not fit.
    pub(super) fn new(axes: &Axes, scalars: &[u64]) -> Option<(Self, Words)> {
        let outer = &axes.outer;
        let (operands, rank) = (outer.count(), outer.rank());
        let words = Words::new(operands, scalars.len(), rank);
        if words.count > MAX_WORDS {
            return None;
        }
        let mut all = vec![0; words.count];
        all[..operands].copy_from_slice(&outer.bases);
        for (at, (&inner, &other)) in axes.inner.iter().zip(&axes.other).enumerate() {
            all[words.inner(at)] = (inner as i64).cast_unsigned();
            all[words.other(at)] = (other as i64).cast_unsigned();
        }
        all[words.scalars..][..scalars.len()].copy_from_slice(scalars);
        let mut parameter = Self(all);
        for at in 0..rank {
            let axis = rank - 1 - at;
            let extent = outer.extent(axis);
            parameter.divider(words.axis(at), extent)?;
            parameter.0[words.axis(at) + 1] = extent;
            for (operand, &stride) in outer.axes[axis].strides.iter().enumerate() {
                parameter.0[words.axis(at) + 2 + operand] = (stride as i64).cast_unsigned();
            }
        }
        Some((parameter, words))
    }

    /// Makes a parameter of the given words, for a kernel with its own layout.
    pub(super) fn from_words(words: Vec<u64>) -> Self {
        Self(words)
    }

    /// Sets both halves of a word.
    pub(super) fn halves(&mut self, word: usize, low: u64, high: u64) {
        self.0[word] = low & 0xffff_ffff | high << 32;
    }

    /// Sets a word to the divider of a number.
    pub(super) fn divider(&mut self, word: usize, by: u64) -> Option<()> {
        self.0[word] = divider(by)?;
        Some(())
    }

    /// Moves the address of an operand by some bytes, modulo 2^64.
    pub(super) fn move_base(&mut self, operand: usize, by: u64) {
        self.0[operand] = self.0[operand].wrapping_add(by);
    }

    /// Sets the scalars of a launch with `operands` operands.
    pub(super) fn set_scalars(&mut self, operands: usize, scalars: &[u64]) {
        let first = Words::new(operands, scalars.len(), 0).scalars;
        self.0[first..][..scalars.len()].copy_from_slice(scalars);
    }

    /// The words.
    pub(super) fn words(&self) -> &[u64] {
        &self.0
    }

    pub(super) fn as_ptr(&self) -> *const u64 {
        self.0.as_ptr()
    }
}

/// The divider of a number, as one word.
pub(super) fn divider(by: u64) -> Option<u64> {
    let FastDiv { multiplier, shift, .. } = FastDiv::checked(by)?;
    Some(u64::from(multiplier) | u64::from(shift) << 32)
}

//! The operation that reduces elements.
#![allow(unsafe_code)] // declares an unsafe constructor; performs no unsafe operation

use std::{fmt, ops::Range};

use super::Operand;
use crate::function::{Combine, ReduceForm, interpreter::Reducing, primitive::Program};

/// A function of elements, combined along axes.
#[repr(C)]
pub struct ReduceOp<'a, B> {
    pub(crate) work: Reducing<'a>,
    pub(crate) form: ReduceForm,
    pub(crate) shape: &'a [usize],
    pub(crate) inputs: &'a [Operand<'a, B>],
    pub(crate) result: Operand<'a, B>,
    pub(crate) checked: bool,
}

impl<'a, B> ReduceOp<'a, B> {
    /// The operation, unchecked.
    ///
    /// # Safety
    ///
    /// There is one operand for each input of the program and one scalar for each of its scalars,
    /// likewise of the finish, which has one input of the type that `combine` gives. All inputs
    /// have the shape `shape`, in which no extent is 0. The result has the first axes of it for
    /// a total, with at least one less or the rest 1 element each, and all of it otherwise; its
    /// layout is injective. All layouts lie inside their buffers in elements of the
    /// program's types; no input shares a byte with the result. Nothing that conflicts with it is
    /// in flight, or an event or the stream orders it after that.
    #[must_use]
    pub unsafe fn new_unchecked(
        work: Reducing<'a>,
        form: ReduceForm,
        shape: &'a [usize],
        inputs: &'a [Operand<'a, B>],
        result: Operand<'a, B>,
    ) -> Self {
        Self { work, form, shape, inputs, result, checked: false }
    }

    /// The computation for each element, and how its values are combined.
    #[must_use]
    pub fn work(&self) -> &Reducing<'a> {
        &self.work
    }

    /// The combination of elements.
    #[must_use]
    pub fn combine(&self) -> Combine {
        self.work.combine
    }

    /// The computation for each element.
    #[must_use]
    pub fn program(&self) -> &'a Program {
        self.work.program
    }

    /// One element for all, or one for each.
    #[must_use]
    pub fn form(&self) -> ReduceForm {
        self.form
    }

    /// The extents of the elements. A total has the first axes of them, and the others are reduced;
    /// a scan goes along the last. No extent is 0.
    #[must_use]
    pub fn shape(&self) -> &'a [usize] {
        self.shape
    }

    /// The number of elements that are combined to one: of a scan, the extent of the last axis.
    #[must_use]
    pub fn row_len(&self) -> usize {
        match self.form {
            ReduceForm::Total => self.shape[self.result.layout.shape().len()..].iter().product(),
            ReduceForm::Inclusive | ReduceForm::Exclusive => self.shape.last().copied().unwrap_or(1),
        }
    }

    /// All rows, as [`interpret_reduction`](crate::function::interpreter::interpret_reduction)
    /// counts them: the elements of a total, or the lines that a scan goes along.
    #[must_use]
    pub fn rows(&self) -> Range<usize> {
        let each = if self.form == ReduceForm::Total { 1 } else { self.row_len() };
        0..self.result.layout.len() / each
    }

    /// The inputs, in order, at most 16, each of the shape of the elements.
    #[must_use]
    pub fn inputs(&self) -> &'a [Operand<'a, B>] {
        self.inputs
    }

    /// The elements that are written. Never empty; no two indices share an element, and none is
    /// shared with an input.
    #[must_use]
    pub fn result(&self) -> &Operand<'a, B> {
        &self.result
    }

    /// Bytes that are written.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.result.layout.len() * self.work.finish.result_type().len_bytes()
    }
}

/// The combination of elements, and the shape of the result.
impl<B> fmt::Debug for ReduceOp<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReduceOp({:?} to {:?})", self.combine(), self.result().layout())
    }
}

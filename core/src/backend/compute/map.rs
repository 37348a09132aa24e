//! The operation that computes a function.
#![allow(unsafe_code)] // declares an unsafe constructor; performs no unsafe operation

use std::fmt;

use crate::{function::primitive::Program, layout::Layout};

/// Elements of one buffer that a function reads or writes.
#[repr(C)]
pub struct Operand<'a, B> {
    pub(crate) buffer: &'a B,
    pub(crate) layout: &'a Layout,
}

impl<'a, B> Operand<'a, B> {
    /// The elements of a layout of a buffer.
    #[must_use]
    pub fn new(buffer: &'a B, layout: &'a Layout) -> Self {
        Self { buffer, layout }
    }

    /// The memory.
    #[must_use]
    pub fn buffer(&self) -> &'a B {
        self.buffer
    }

    /// The layout of the elements, counted in elements from the start of the buffer. It has the
    /// shape of the result; an input that is broadcast has strides of 0.
    #[must_use]
    pub fn layout(&self) -> &'a Layout {
        self.layout
    }
}

/// A function of one element of each input, for every element of a result.
#[repr(C)]
pub struct MapOp<'a, B> {
    pub(crate) program: &'a Program,
    pub(crate) inputs: &'a [Operand<'a, B>],
    pub(crate) scalars: &'a [u64],
    pub(crate) result: Operand<'a, B>,
    pub(crate) checked: bool,
}

impl<'a, B> MapOp<'a, B> {
    /// The operation, unchecked.
    ///
    /// # Safety
    ///
    /// There is one operand for each input of the program and one scalar for each of its scalars.
    /// All layouts have one shape, which is not empty, lie inside their buffers in elements of
    /// the program's types, and the result's is injective. An input that shares a byte with the
    /// result has its element size, and each index leads to the same bytes in both; strides that no
    /// step takes may differ, as may the buffers. Nothing that conflicts with it is in flight, or
    /// an event or the stream orders it after that.
    #[must_use]
    pub unsafe fn new_unchecked(
        program: &'a Program,
        inputs: &'a [Operand<'a, B>],
        scalars: &'a [u64],
        result: Operand<'a, B>,
    ) -> Self {
        Self { program, inputs, scalars, result, checked: false }
    }

    /// The computation for each element.
    #[must_use]
    pub fn program(&self) -> &'a Program {
        self.program
    }

    /// The inputs, in order, at most 16. One of them may be the result's own elements: the function
    /// is computed in place.
    #[must_use]
    pub fn inputs(&self) -> &'a [Operand<'a, B>] {
        self.inputs
    }

    /// The scalar arguments, in order: the bits of each, in its type's width, zeros above.
    #[must_use]
    pub fn scalars(&self) -> &'a [u64] {
        self.scalars
    }

    /// The elements that are written. Never empty; no two indices share an element.
    #[must_use]
    pub fn result(&self) -> &Operand<'a, B> {
        &self.result
    }

    /// Bytes that are written.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.result.layout.len() * self.program.result_type().len_bytes()
    }
}

/// The shape of the elements.
impl<B> fmt::Debug for Operand<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operand({:?})", self.layout())
    }
}

/// The program, and the shape of the result.
impl<B> fmt::Debug for MapOp<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MapOp({} inputs to {:?})", self.inputs().len(), self.result().layout())
    }
}

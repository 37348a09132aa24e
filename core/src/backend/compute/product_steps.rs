//! A product and then its function, on devices that have no kernel for both.
#![allow(unsafe_code)] // makes operations of parts of one, and computes in memory that its callers vouch for

use std::num::NonZeroUsize;

use smallvec::SmallVec;

use super::{MapOp, Maps, Operand, ProductOp, Products};
use crate::{
    Result,
    backend::Buffer,
    function::{
        interpreter::{InputElements, ResultElements},
        primitive::Program,
    },
    layout::{Layout, Order},
    order::Workers,
    product::{accumulate_on_host, interpret_on_host, product_on_host},
};

impl<'a, B> ProductOp<'a, B> {
    /// The operation without what follows or what chains start from, to another place.
    ///
    /// # Safety
    ///
    /// The conditions of [`new_unchecked`](Self::new_unchecked) hold for that place.
    unsafe fn alone<'s>(&'s self, result: Operand<'s, B>) -> ProductOp<'s, B> {
        let (element_type, a, b) = (self.element_type, same(&self.a), same(&self.b));
        ProductOp {
            element_type,
            a,
            b,
            result,
            function: None,
            is_onto: false,
            precision: self.precision,
            checked: self.checked,
        }
    }

    /// Whether the product fits into the result until the function follows: its elements are as long,
    /// and the function reads nothing that is there. `start`: the address of a buffer.
    fn fits_into_result(&self, start: impl Fn(&'a B) -> u64) -> bool {
        let item_bytes = self.result_type().len_bytes();
        let first = |of: &Operand<'a, B>| start(of.buffer) + (of.layout.offset() * item_bytes) as u64;
        self.function.as_ref().is_none_or(|function| {
            let reads = |input| first(input) == first(&self.result);
            item_bytes == self.element_type.len_bytes() && !function.inputs.iter().any(reads)
        })
    }

    /// Multiplies, and computes the function, where the host reaches the buffers:
    /// [`product_on_host`], and then the [interpreter](crate::function::interpreter). `start` gives the
    /// address of a buffer.
    ///
    /// # Safety
    ///
    /// The elements of the operands may be read, the elements of the result written from there on, and
    /// nobody else writes the former or touches the latter meanwhile. The former are initialized.
    pub unsafe fn run_on_host(&self, start: impl Fn(&'a B) -> *mut u8, workers: &dyn Workers) {
        let map =
            |program: &Program, inputs: &[InputElements<'_>], scalars: &[u64], result: ResultElements<'_>| {
                // SAFETY: the elements are the operation's, or the product's
                unsafe { interpret_on_host(program, inputs, scalars, result, workers) };
            };
        // SAFETY: passed on to the caller
        unsafe { self.run_on_host_with(start, workers, map) };
    }

    /// Like [`run_on_host`](Self::run_on_host), with what computes a function of elements, as
    /// [`interpret`](crate::function::interpreter::interpret) does.
    ///
    /// # Safety
    ///
    /// Like [`run_on_host`](Self::run_on_host). `map` touches what `interpret` would.
    pub unsafe fn run_on_host_with(
        &self,
        start: impl Fn(&'a B) -> *mut u8,
        workers: &dyn Workers,
        map: impl FnOnce(&Program, &[InputElements<'_>], &[u64], ResultElements<'_>),
    ) {
        let input =
            |of: &Operand<'a, B>| InputElements { start: start(of.buffer).cast_const(), layout: of.layout };
        let operands = [input(&self.a), input(&self.b)];
        let result = ResultElements { start: start(self.result.buffer), layout: self.result.layout };
        let element_type = self.element_type;
        if self.is_onto {
            // SAFETY: as the caller promises; the operation proves the rest
            return unsafe { accumulate_on_host(element_type, operands, result, workers) };
        }
        let Some(function) = &self.function else {
            // SAFETY: as above
            return unsafe { product_on_host(element_type, operands, result, workers) };
        };
        let last = ResultElements { layout: function.layout, ..result };
        let mut own: Vec<u8> = Vec::new();
        let dense = self.dense().filter(|_| !self.fits_into_result(|buffer| start(buffer).addr() as u64));
        let between = match &dense {
            Some([dense, _]) => {
                own.reserve_exact(dense.len() * element_type.len_bytes());
                ResultElements { start: own.as_mut_ptr(), layout: dense }
            }
            None => result,
        };
        let layout = dense.as_ref().map_or(function.layout, |[_, dense]| dense);
        let mut inputs: SmallVec<[_; 4]> = SmallVec::new();
        inputs.push(InputElements { start: between.start.cast_const(), layout });
        inputs.extend(function.inputs.iter().map(input));
        // SAFETY: as above, to the result or to memory that is as long
        unsafe { product_on_host(element_type, operands, between, workers) };
        // All that the function reads is written now.
        map(function.program, &inputs, function.scalars, last);
    }

    /// The product's elements side by side: in the shape of the result, and in the function's.
    fn dense(&self) -> Option<[Layout; 2]> {
        let of = |layout: &Layout| Layout::contiguous(layout.shape(), Order::C).ok();
        Some([of(self.result.layout)?, of(self.function.as_ref()?.layout)?])
    }
}

impl<B: Buffer> ProductOp<'_, B> {
    /// Bytes of memory that [`one_by_one`](Self::one_by_one) needs for the product; none if the result
    /// has room for it.
    #[must_use]
    pub fn between_len_bytes(&self) -> Option<NonZeroUsize> {
        if self.fits_into_result(Buffer::address) {
            return None;
        }
        NonZeroUsize::new(self.result.layout.len() * self.element_type.len_bytes())
    }

    /// Enqueues the product and then the function, with the product in memory `between`, as any
    /// device can. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`Products::product`] and [`Maps::map`]; the result may have changed.
    ///
    /// # Safety
    ///
    /// `between` is as long as [`between_len_bytes`](Self::between_len_bytes) says, `None` if that is
    /// `None`; nothing else uses it before the function has run.
    #[track_caller]
    pub unsafe fn one_by_one<D: Products<Buffer = B> + Maps>(
        &self,
        device: &D,
        stream: &D::Stream,
        between: Option<&B>,
    ) -> Result<()> {
        let (Some(function), Some([dense, turned])) = (&self.function, self.dense()) else {
            return device.product(stream, self);
        };
        let (buffer, to, from) = match between {
            Some(buffer) => (buffer, &dense, &turned),
            None => (self.result.buffer, self.result.layout, function.layout),
        };
        // SAFETY: the memory is the caller's, or the result that is written by the function as well
        let product = unsafe { self.alone(Operand { buffer, layout: to }) };
        device.product(stream, &product)?;
        let mut inputs: SmallVec<[Operand<'_, B>; 4]> = SmallVec::new();
        inputs.push(Operand { buffer, layout: from });
        inputs.extend(function.inputs.iter().map(same));
        let result = Operand { buffer: self.result.buffer, layout: function.layout };
        let (program, scalars, checked) = (function.program, function.scalars, self.checked);
        device.map(stream, &MapOp { program, inputs: &inputs, scalars, result, checked })
    }
}

fn same<'a, B>(of: &Operand<'a, B>) -> Operand<'a, B> {
    Operand { buffer: of.buffer, layout: of.layout }
}

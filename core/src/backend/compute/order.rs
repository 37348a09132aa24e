//! The operation that orders, searches and counts elements, and combines them by index.
#![allow(unsafe_code)] // declares an unsafe constructor, and makes calls on memory that its callers vouch for

use std::{fmt, ptr};

use smallvec::SmallVec;

use crate::{
    function::{
        ElementType,
        interpreter::{InputElements, ResultElements},
    },
    gather::IndexError,
    layout::{Layout, Order, axis_index},
    order::{Call, OrderMemory, Workers, order_on_host},
};

/// Elements that a call reads or writes.
#[repr(C)]
pub struct OrderSide<'a, B> {
    pub(crate) number: usize,
    pub(crate) element_type: ElementType,
    pub(crate) buffer: Option<&'a B>,
    pub(crate) layout: &'a Layout,
}

impl<'a, B> OrderSide<'a, B> {
    /// The elements of a layout of a buffer; without a buffer there are none.
    #[must_use]
    pub fn new(number: usize, element_type: ElementType, buffer: Option<&'a B>, layout: &'a Layout) -> Self {
        Self { number, element_type, buffer, layout }
    }

    /// Its number among the inputs, or among the results.
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    /// The type of its elements.
    #[must_use]
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// The memory; none if there is no element.
    #[must_use]
    pub fn buffer(&self) -> Option<&'a B> {
        self.buffer
    }

    /// The layout of the elements, counted in elements from the start of the buffer.
    #[must_use]
    pub fn layout(&self) -> &'a Layout {
        self.layout
    }

    /// Its bytes.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.layout.len() * self.element_type.len_bytes()
    }
}

/// A call of [`order`](crate::order), with its memory.
#[repr(C)]
pub struct OrderOp<'a, B> {
    pub(crate) number: u64,
    pub(crate) call: Call,
    pub(crate) inputs: &'a [OrderSide<'a, B>],
    pub(crate) results: &'a [OrderSide<'a, B>],
    pub(crate) count: Option<&'a OrderSide<'a, B>>,
    pub(crate) checked: bool,
}

impl<'a, B> OrderOp<'a, B> {
    /// The operation, unchecked. `number` tells this launch from every other, also of gathers.
    ///
    /// # Safety
    ///
    /// The call takes the inputs, and the results are some of its [`outputs`](Call::outputs), each
    /// once, in their order; the rows of counted ones may be any number. The layouts lie inside their
    /// buffers, in elements of their types; those without elements alone have no buffer. The count,
    /// if there is one, is an `i64` without axes. The write is injective, and shares no byte
    /// with anything else; but of [`Call::Put`] the first input is the result, at the same place.
    /// Nothing that conflicts with it is in flight, or an event or the stream orders it after that.
    #[must_use]
    pub unsafe fn new_unchecked(
        number: u64,
        call: Call,
        inputs: &'a [OrderSide<'a, B>],
        results: &'a [OrderSide<'a, B>],
        count: Option<&'a OrderSide<'a, B>>,
    ) -> Self {
        Self { number, call, inputs, results, count, checked: false }
    }

    /// Tells this launch from every other one of the process, also from launches of gathers: its
    /// findings are [asked for](super::Gathers::take_index_error) by this number. Not 0. A
    /// [captured](crate::backend::Captures::launch_captured) operation has other numbers, one for each launch.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The call.
    #[must_use]
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// The inputs, in order, all of them.
    #[must_use]
    pub fn inputs(&self) -> &'a [OrderSide<'a, B>] {
        self.inputs
    }

    /// The results that are wanted, in order of their numbers. No two indices share an element.
    #[must_use]
    pub fn results(&self) -> &'a [OrderSide<'a, B>] {
        self.results
    }

    /// The destination of the number of counted rows, if it is wanted: one `i64`.
    #[must_use]
    pub fn count(&self) -> Option<&'a OrderSide<'a, B>> {
        self.count
    }

    /// The results by their numbers, and the number of results that the call has.
    pub fn results_by_number(&self) -> impl Iterator<Item = Option<&'a OrderSide<'a, B>>> {
        let (results, most) = (self.results, self.call.count_of_outputs());
        (0..most).map(move |number| results.iter().find(|result| result.number == number))
    }

    /// The number of bytes that a backend may have to copy: all elements of the inputs that are not C-contiguous. For
    /// [`Call::Put`], v counts with its repeated elements. A view that repeats elements may exceed any memory.
    #[must_use]
    pub fn scattered_bytes(&self) -> usize {
        let repeated_len = |x: &Layout, axis: isize, indices: &Layout| {
            let axis = axis_index(axis, x.rank()).unwrap_or(0);
            let others = x.shape().iter().enumerate().filter(|&(other, _)| other != axis);
            let len = others.fold(indices.len(), |len, (_, &extent)| len.saturating_mul(extent));
            if x.is_empty() { 0 } else { len }
        };
        if let (Call::Put { axis, .. }, [x, indices, v, ..]) = (&self.call, self.inputs) {
            let len = repeated_len(x.layout, *axis, indices.layout);
            if len > v.layout.len() {
                return len.saturating_mul(v.element_type.len_bytes());
            }
        }
        let scattered = self.inputs.iter().filter(|side| !side.layout().is_contiguous(Order::C));
        let len_bytes =
            |side: &OrderSide<'a, B>| side.layout().len().saturating_mul(side.element_type().len_bytes());
        scattered.fold(0, |all, side| all.saturating_add(len_bytes(side)))
    }

    /// Bytes that are written, at most.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.results.iter().chain(self.count).map(OrderSide::len_bytes).sum()
    }
}

impl<'a, B> OrderOp<'a, B> {
    /// Makes the call where the host reaches the buffers:
    /// [`order_on_host`]. `start` gives the address
    /// of a buffer.
    ///
    /// # Safety
    ///
    /// The elements of the sides may be read and written from there on; nobody else writes the former
    /// or touches the latter meanwhile, and they are initialized.
    pub unsafe fn run_on_host(
        &self,
        start: impl Fn(&'a B) -> *mut u8,
        workers: &dyn Workers,
    ) -> Option<IndexError> {
        let at = |side: &OrderSide<'a, B>| side.buffer().map_or(ptr::null_mut(), &start);
        let input = |side: &OrderSide<'a, B>| {
            let elements = InputElements { start: at(side).cast_const(), layout: side.layout() };
            (side.element_type(), elements)
        };
        let result = |side: &OrderSide<'a, B>| ResultElements { start: at(side), layout: side.layout() };
        let inputs: SmallVec<[_; 4]> = self.inputs().iter().map(input).collect();
        let results: SmallVec<[_; 4]> = self.results_by_number().map(|side| side.map(result)).collect();
        let place =
            |side: &OrderSide<'a, B>| at(side).wrapping_add(side.layout().offset() * size_of::<i64>());
        let count = self.count().map(place);
        let memory = OrderMemory { inputs: &inputs, results: &results, count };
        // SAFETY: as the caller promises; the operation proves the rest
        unsafe { order_on_host(self.call(), memory, workers) }
    }
}

/// The type and the shape.
impl<B> fmt::Debug for OrderSide<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OrderSide({} {:?})", self.element_type, self.layout)
    }
}

/// The call, and its operands.
impl<B> fmt::Debug for OrderOp<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OrderOp({:?} of {:?})", self.call, self.inputs)
    }
}

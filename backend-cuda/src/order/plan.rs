//! The steps of a call, which also determine how much memory it needs. It is pure, and needs no
//! driver.

use std::ffi::CStr;

use devarray::{
    Axes, Layout, Order,
    backend::{Buffer, Capabilities, OrderOp, OrderSide},
    copy,
    function::ElementType,
    gather::{GatherOperation, IndexError},
    order::{Call, IndexFault},
};

use super::{
    kernels::{Launch, Module},
    params::Params,
};
use crate::{gather::Report, memory::CudaBuffer, strided::Addresses};

/// One thing that the stream does.
#[derive(Debug)]
pub(super) enum Step {
    Launch(Launch),
    /// Repeats a word.
    Fill {
        address: u64,
        word: u32,
        len_bytes: usize,
    },
    Copy(copy::Plan, Addresses),
}

/// The values that are known before the steps are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given {
    /// Where the call's own memory begins; 0 if only its length is asked for.
    pub(super) base: u64,
    pub(super) report: Option<Report>,
    pub(super) multiprocessors: u32,
}

/// The steps, as they are written.
pub(super) struct Plan<'a, 'op> {
    pub(super) op: &'a OrderOp<'op, CudaBuffer>,
    pub(super) given: Given,
    pub(super) steps: Vec<Step>,
    /// Copies of results to their destination, after everything else.
    last: Vec<Step>,
    len_bytes: u64,
}

/// The errors that the host may get for an index, without the position: an index without a place, or
/// another mistake that the call finds. Kernels say which one it is.
pub(super) fn errors_of(op: &OrderOp<'_, CudaBuffer>) -> Option<[IndexError; 2]> {
    let call = op.call();
    let operation = GatherOperation::ALL.into_iter().find(|operation| operation.name() == call.name())?;
    let layout = |input: usize| op.inputs()[input].layout();
    let (axis, bound) = match *call {
        Call::BinCount { n } => (None, n),
        Call::Put { axis, .. } => {
            let axis = axis_of(axis, layout(0).rank())?;
            (Some(axis), layout(0).shape()[axis])
        }
        Call::Segments { .. } | Call::CsrDot => (Some(0), layout(0).shape()[0]),
        // Without a result there is room for all.
        Call::Unique | Call::NonZero => (Some(0), room(op).unwrap_or(usize::MAX)),
        _ => return None,
    };
    let error = |fault, bound: usize| {
        let bound = bound as u64;
        IndexError { operation, fault, axis, position: 0, value: 0, bound }
    };
    Some(match call {
        Call::CsrDot => [error(IndexFault::Offset, bound), error(IndexFault::Outside, layout(3).shape()[0])],
        _ => [error(IndexFault::Outside, bound), error(IndexFault::EmptyGroup, bound)],
    })
}

/// The number of rows for which counted results have room; `None` if no such result is wanted.
pub(super) fn room(op: &OrderOp<'_, CudaBuffer>) -> Option<usize> {
    let counted =
        |side: &&OrderSide<'_, CudaBuffer>| !matches!((op.call(), side.number()), (Call::Unique, 2));
    op.results().iter().filter(counted).map(|side| side.layout().shape()[0]).min()
}

/// An axis by its number, from the end if it is negative.
fn axis_of(axis: isize, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis.checked_add_unsigned(rank)? } else { axis };
    usize::try_from(axis).ok().filter(|&axis| axis < rank)
}

/// The layout with an axis moved to the end.
fn last_axis(layout: &Layout, axis: usize) -> Option<Layout> {
    let axes: Axes<usize> = (0..layout.rank()).filter(|&other| other != axis).chain([axis]).collect();
    layout.permute(&axes[..]).ok()
}

impl<'a, 'op> Plan<'a, 'op> {
    /// The steps of a call; `None` if it is larger than the kernels can count.
    pub(super) fn new(op: &'a OrderOp<'op, CudaBuffer>, given: Given) -> Option<Self> {
        let mut plan = Self { op, given, steps: Vec::new(), last: Vec::new(), len_bytes: 0 };
        match *op.call() {
            Call::Sort { axis, descending } => plan.sort(axis, descending)?,
            Call::ArgSort { axis, descending } => plan.argsort(axis, descending)?,
            Call::TopK { k, axis, largest } => plan.top(k, axis, largest)?,
            Call::Quantile { q, axis } => plan.quantile(q, axis)?,
            Call::Unique => plan.unique()?,
            Call::NonZero => plan.nonzero()?,
            Call::SearchSorted { right } => plan.search_sorted(right)?,
            Call::Histogram => plan.histogram()?,
            Call::BinCount { .. } => plan.bincount()?,
            Call::Put { operation, axis } => plan.put(operation, axis)?,
            Call::Segments { operation } => plan.segments(operation)?,
            Call::CsrDot => plan.csr_dot()?,
            _ => return None,
        }
        let last = std::mem::take(&mut plan.last);
        plan.steps.extend(last);
        Some(plan)
    }

    /// Bytes of the call's own memory.
    pub(super) fn len_bytes(&self) -> usize {
        usize::try_from(self.len_bytes).unwrap_or(usize::MAX)
    }

    /// Takes memory for the call itself, aligned for any element.
    pub(super) fn own(&mut self, len_bytes: u64) -> u64 {
        let at = self.len_bytes;
        self.len_bytes = at.saturating_add(len_bytes).next_multiple_of(256);
        self.given.base + at
    }

    /// Takes memory for the call itself that is 0, in whole words.
    pub(super) fn cleared(&mut self, len_bytes: u64) -> u64 {
        let address = self.own(len_bytes);
        self.fill(address, 0, len_bytes.next_multiple_of(4));
        address
    }

    pub(super) fn fill(&mut self, address: u64, word: u32, len_bytes: u64) {
        if len_bytes > 0 {
            let len_bytes = usize::try_from(len_bytes).unwrap_or(usize::MAX);
            self.steps.push(Step::Fill { address, word, len_bytes });
        }
    }

    /// A word of 8 bytes that says that nothing is wrong.
    pub(super) fn nothing_wrong(&mut self) -> u64 {
        let address = self.own(8);
        self.fill(address, u32::MAX, 8);
        address
    }

    /// Launches one thread per element, or fewer: several times as many as the device holds.
    pub(super) fn each(&mut self, module: Module, kernel: &'static CStr, len: u64, params: Params) {
        let most = u64::from(self.given.multiprocessors) * 32;
        self.launch((module, kernel), len.div_ceil(256).min(most), 0, params);
    }

    /// Launches blocks of 256 threads.
    #[allow(clippy::cast_possible_truncation, reason = "callers count blocks in 31 bits")]
    pub(super) fn launch(
        &mut self,
        (module, kernel): (Module, &'static CStr),
        blocks: u64,
        shared_bytes: u32,
        params: Params,
    ) {
        if blocks > 0 {
            let blocks = blocks as u32;
            self.steps.push(Step::Launch(Launch {
                module,
                kernel,
                blocks,
                threads: 256,
                shared_bytes,
                params,
            }));
        }
    }

    /// Launches one thread.
    pub(super) fn one(&mut self, (module, kernel): (Module, &'static CStr), params: Params) {
        let (blocks, threads, shared_bytes) = (1, 1, 0);
        self.steps.push(Step::Launch(Launch { module, kernel, blocks, threads, shared_bytes, params }));
    }

    pub(super) fn element_type(&self, input: usize) -> ElementType {
        self.op.inputs()[input].element_type()
    }

    pub(super) fn shape(&self, input: usize) -> &'a [usize] {
        self.op.inputs()[input].layout().shape()
    }

    /// An axis of the first input.
    pub(super) fn axis(&self, axis: isize) -> Option<usize> {
        axis_of(axis, self.shape(0).len())
    }

    /// The address of an input's dense elements, in row-major order with `last` as the last axis.
    pub(super) fn input(&mut self, number: usize, last: Option<usize>) -> Option<u64> {
        let side = &self.op.inputs()[number];
        match last {
            Some(axis) => self.dense(side, &last_axis(side.layout(), axis)?),
            None => self.dense(side, side.layout()),
        }
    }

    /// The address of a side's dense elements in the order of a layout: in place, or copied.
    pub(super) fn dense(&mut self, side: &OrderSide<'_, CudaBuffer>, layout: &Layout) -> Option<u64> {
        let Some(buffer) = side.buffer().filter(|_| !layout.is_empty()) else { return Some(0) };
        let item = side.element_type().len_bytes();
        if layout.is_contiguous(Order::C) {
            return Some(buffer.address() + (layout.offset() * item) as u64);
        }
        let to = self.own((layout.len() * item) as u64);
        let dense = Layout::contiguous(layout.shape(), Order::C).ok()?;
        let plan = copy::Plan::new(&dense, layout, item, &Capabilities::default()).ok()?;
        self.steps.push(Step::Copy(plan, Addresses { dst: to, src: buffer.address() }));
        Some(to)
    }

    /// The address to write a result to, densely, with `last` as the last axis; `None` if it is not wanted
    /// or has no elements. With `keeps`, the old elements are there.
    pub(super) fn result(&mut self, number: usize, last: Option<usize>, keeps: bool) -> Option<Option<u64>> {
        let Some(side) = self.op.results().iter().find(|side| side.number() == number) else {
            return Some(None);
        };
        let Some(buffer) = side.buffer() else { return Some(None) };
        let layout = match last {
            Some(axis) => &last_axis(side.layout(), axis)?,
            None => side.layout(),
        };
        let address = if keeps {
            self.dense(side, layout)?
        } else if layout.is_contiguous(Order::C) {
            buffer.address() + (layout.offset() * side.element_type().len_bytes()) as u64
        } else {
            self.own(side.len_bytes() as u64)
        };
        if !layout.is_contiguous(Order::C) {
            let dense = Layout::contiguous(layout.shape(), Order::C).ok()?;
            let item = side.element_type().len_bytes();
            let plan = copy::Plan::new(layout, &dense, item, &Capabilities::default()).ok()?;
            self.last.push(Step::Copy(plan, Addresses { dst: buffer.address(), src: address }));
        }
        Some(Some(address))
    }

    /// Makes a copy of bytes of a result, in whole words, which is copied back later: bytes are changed
    /// through their words, and the last word of a result may contain bytes of others.
    pub(super) fn in_words(&mut self, address: u64, len_bytes: u64) -> Option<u64> {
        let own = self.own(len_bytes);
        let bytes = Layout::contiguous(&[usize::try_from(len_bytes).ok()?], Order::C).ok()?;
        let plan = copy::Plan::new(&bytes, &bytes, 1, &Capabilities::default()).ok()?;
        self.steps.push(Step::Copy(plan.clone(), Addresses { dst: own, src: address }));
        self.last.push(Step::Copy(plan, Addresses { dst: address, src: own }));
        Some(own)
    }

    /// Rows of a counted result; none if it is not wanted.
    pub(super) fn rows(&self, number: usize) -> usize {
        let side = self.op.results().iter().find(|side| side.number() == number);
        side.map_or(0, |side| side.layout().shape()[0])
    }

    /// Copies a count of 8 bytes to where it is wanted.
    pub(super) fn count_to(&mut self, from: u64) -> Option<()> {
        let Some(side) = self.op.count() else { return Some(()) };
        let layout = side.layout();
        let dense = Layout::contiguous(layout.shape(), Order::C).ok()?;
        let plan = copy::Plan::new(layout, &dense, 8, &Capabilities::default()).ok()?;
        self.last.push(Step::Copy(plan, Addresses { dst: side.buffer()?.address(), src: from }));
        Some(())
    }

    /// The slot of the report in a parameter.
    pub(super) fn told(&self, params: Params) -> Params {
        self.given.report.map_or(params, |report| Params { slot: report.slot, key: report.key, ..params })
    }
}

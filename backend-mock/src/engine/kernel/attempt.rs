//! One run of a host function, on guarded copies.
#![allow(unsafe_code)] // calls host functions, which take pointers

use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
};

use devarray::{
    Layout, Order,
    backend::Capabilities,
    copy::Plan,
    kernel::{HostArgument, Running},
};

use super::{super::compute::Elements, Argument, LaunchedKernel};
use crate::panics;

/// The number of bytes on each side of a copy that nobody may write.
const GUARD_BYTES: usize = 256;

/// The byte that stands wherever a host function must not read: a NaN in any float type, and no useful index.
pub(super) const PATTERN: u8 = 0xFF;
/// The byte for the second run: a float of ordinary size, so that a sum that includes it changes.
pub(super) const OTHER_PATTERN: u8 = 0x3F;

/// The result of a run.
pub(super) struct Attempt<'k> {
    copies: Vec<Copied<'k>>,
    /// The message of its panic, if it panicked.
    pub(super) panic: Option<String>,
}

/// A copy of one argument: its bytes before the run and after it.
struct Copied<'k> {
    argument: &'k Argument,
    before: Vec<u8>,
    after: Vec<u8>,
    /// The position of the lowest element's first byte.
    start: usize,
    /// Runs of elements: offset from there, offset among all elements, bytes. Written elements are in C
    /// order. Elements that are only read may be reached by several indices, and are listed once.
    runs: Vec<(usize, usize, usize)>,
    /// The byte that stands wherever nobody may read.
    pattern: u8,
}

impl<'k> Attempt<'k> {
    /// Runs the host function. `held`: the bytes of its arguments. `pattern`: for each argument, the byte
    /// that stands wherever it must not read.
    pub(super) fn new(kernel: &'k LaunchedKernel, held: &[Vec<u8>], pattern: impl Fn(usize) -> u8) -> Self {
        let arguments = kernel.arguments.iter().zip(held).enumerate();
        let copied = arguments.map(|(at, (argument, held))| Copied::new(argument, held, pattern(at)));
        let mut copies: Vec<Copied<'k>> = copied.collect();
        let given: Vec<HostArgument<'_>> = copies.iter_mut().map(Copied::given).collect();
        let host = kernel.declaration.host();
        // SAFETY: there is one argument for each that is declared, of the declared kind, as the operation
        // proves; each has its own copy, which is initialized and aligned, and which nothing else uses until
        // the call has ended.
        let ended = catch_unwind(AssertUnwindSafe(|| unsafe { host(&given) }));
        // The panic payload may hold a handle of this device, whose drop must panic and not wait.
        // SAFETY: the message drops what the host function panicked with, and nothing else; the guard
        // goes before anything else runs on this thread.
        let running = unsafe { Running::new(kernel.declaration.name()) };
        let panic = ended.err().map(panics::message);
        drop(running);
        Self { copies, panic }
    }

    /// The elements of an argument in C order, as they are now.
    pub(super) fn elements(&self, at: usize) -> Vec<u8> {
        let copied = &self.copies[at];
        let mut dense = vec![0; copied.runs.iter().map(|run| run.2).sum()];
        for (offset, to, len) in &copied.runs {
            let from = copied.start + offset;
            dense[*to..to + len].copy_from_slice(&copied.after[from..from + len]);
        }
        dense
    }

    /// The byte that an argument's copy holds wherever nothing was written.
    pub(super) fn pattern(&self, at: usize) -> u8 {
        self.copies[at].pattern
    }

    /// Calls `put` with each run of elements: its offset from the lowest element's first byte, and its bytes.
    pub(super) fn put(&self, at: usize, mut put: impl FnMut(usize, &[u8])) {
        let Copied { after, start, runs, .. } = &self.copies[at];
        for (offset, _, len) in runs {
            put(*offset, &after[start + offset..start + offset + len]);
        }
    }

    /// The position in memory of an element's first byte, given its position in C order: an offset from the
    /// lowest element.
    pub(super) fn place(&self, at: usize, dense: usize) -> usize {
        let runs = self.copies[at].runs.iter();
        let mut holding = runs.filter(|(_, to, len)| (*to..to + len).contains(&dense));
        holding.next().map_or(0, |(offset, to, _)| offset + dense - to)
    }

    /// The first bytes that were written but must not be, as offsets from the argument's lowest element. They
    /// may lie before it.
    pub(super) fn outside(&self, at: usize) -> Option<Range<isize>> {
        let Copied { argument, before, after, start, runs, .. } = &self.copies[at];
        let mut allowed = before.clone();
        if let Argument::Elements { permission, .. } = argument
            && permission.writes()
        {
            for (offset, _, len) in runs {
                let place = start + offset..start + offset + len;
                allowed[place.clone()].copy_from_slice(&after[place]);
            }
        }
        let first = allowed.iter().zip(after).position(|(allowed, after)| allowed != after)?;
        let len = allowed[first..].iter().zip(&after[first..]).take_while(|(a, b)| a != b).count();
        let from = first.cast_signed() - start.cast_signed();
        Some(from..from + len.cast_signed())
    }
}

impl<'k> Copied<'k> {
    fn new(argument: &'k Argument, held: &[u8], pattern: u8) -> Self {
        let Argument::Elements { elements, permission, align_bytes } = argument else {
            let (before, after, runs) = (held.to_vec(), held.to_vec(), Vec::new());
            return Self { argument, before, after, start: 0, runs, pattern };
        };
        let runs = if permission.writes() { runs_in_c_order(elements) } else { runs_once(elements) };
        let mut before = vec![pattern; 2 * GUARD_BYTES + align_bytes + held.len()];
        // The copy that is used must be aligned, so it is made first; the other one may lie anywhere.
        let mut after = before.clone();
        let start = GUARD_BYTES + after[GUARD_BYTES..].as_ptr().align_offset(*align_bytes).min(*align_bytes);
        if permission.reads() {
            for (offset, _, len) in &runs {
                before[start + offset..start + offset + len].copy_from_slice(&held[*offset..offset + len]);
            }
        }
        after.copy_from_slice(&before);
        Self { argument, before, after, start, runs, pattern }
    }

    /// The argument in the form that the host function takes.
    fn given(&mut self) -> HostArgument<'_> {
        match self.argument {
            Argument::Elements { elements, .. } => {
                let first = elements.layout.offset() - elements.layout.span().start;
                // The element of the first index, inside the copy; the other elements lie around it as the
                // layout says.
                let start = self.after.as_mut_ptr().wrapping_add(self.start + first * elements.item_bytes);
                HostArgument::elements(start, &elements.layout)
            }
            Argument::Nothing { layout, align_bytes } => {
                // An aligned address that is never read.
                HostArgument::elements(std::ptr::without_provenance_mut(*align_bytes), layout)
            }
            Argument::Value(bytes) => HostArgument::Value(bytes),
        }
    }
}

/// Runs of elements that no two indices reach: offset from the lowest element, offset in C order, bytes.
fn runs_in_c_order(elements: &Elements) -> Vec<(usize, usize, usize)> {
    let Elements { layout, item_bytes, .. } = elements;
    let lowest = layout.span().start * item_bytes;
    let plan = Layout::contiguous(layout.shape(), Order::C)
        .and_then(|dense| Plan::new(&dense, layout, *item_bytes, &Capabilities::default()));
    let runs = plan.iter().flat_map(|plan| plan.runs().collect::<Vec<_>>());
    runs.map(|(from, to, len)| (from - lowest, to, len)).collect()
}

/// Runs of elements, each once: offset from the lowest element, bytes before it, bytes.
fn runs_once(elements: &Elements) -> Vec<(usize, usize, usize)> {
    let (lowest, mut before) = (elements.span_bytes().start, 0);
    let run = |range: Range<usize>| {
        let run = (range.start - lowest, before, range.len());
        before += range.len();
        run
    };
    elements.bytes().ranges().into_iter().map(run).collect()
}

//! Mistakes of host functions.

use std::ops::Range;

use super::{
    Argument, LaunchedKernel,
    attempt::{Attempt, OTHER_PATTERN, PATTERN},
};
use crate::{
    allocation::BufferId,
    finding::{Access, Code, Finding, Memory, Operation},
};

/// One mistake of a host function.
pub(in crate::engine) struct Mistake {
    code: Code,
    access: Access,
    /// The memory, and the bytes in it.
    place: Option<(BufferId, Range<usize>)>,
    notes: Vec<String>,
}

impl Mistake {
    /// The finding, and whether it is a lint.
    pub(in crate::engine) fn finding(
        self,
        operation: Operation,
        len_bytes: impl Fn(BufferId) -> Option<usize>,
    ) -> (bool, Finding) {
        let (memory, bytes) = match self.place {
            Some((id, bytes)) => {
                (Memory::Device { id, len_bytes: len_bytes(id).unwrap_or(bytes.end) }, bytes)
            }
            None => (Memory::Nothing, 0..0),
        };
        let finding = Finding::new(self.code, operation, self.access, memory, bytes);
        (self.code == Code::UnusedInput, self.notes.into_iter().fold(finding, Finding::note))
    }

    /// A mistake in an argument, at offsets from its lowest element.
    fn at(kernel: &LaunchedKernel, at: usize, code: Code, access: Access, bytes: Range<isize>) -> Self {
        let Argument::Elements { elements, .. } = &kernel.arguments[at] else {
            return Self { code, access, place: None, notes: vec![kernel.named(at)] };
        };
        let lowest = elements.span_bytes().start;
        let place = |offset: isize| lowest.saturating_add_signed(offset);
        let place = Some((elements.buffer, place(bytes.start)..place(bytes.end)));
        Self { code, access, place, notes: vec![kernel.named(at)] }
    }

    fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

/// Mistakes for writes outside the elements that may be written.
fn outside<'k>(
    kernel: &'k LaunchedKernel,
    run: &'k Attempt<'_>,
) -> impl Iterator<Item = (usize, Mistake)> + 'k {
    kernel.elements().filter_map(|(at, elements, permission)| {
        let bytes = run.outside(at)?;
        let span = elements.span_bytes().len().cast_signed();
        let where_to = match (permission.writes(), bytes.start) {
            (_, start) if start < 0 => format!("{} bytes before its first element", -start),
            (_, start) if start >= span => format!("{} bytes behind its last element", start - span),
            (true, _) => "between its elements".to_owned(),
            (false, _) => "inside it, and it is declared `In`".to_owned(),
        };
        let mistake = Mistake::at(kernel, at, Code::OutsideArgument, Access::Write, bytes);
        Some((at, mistake.note(format!("the first byte written lies {where_to}"))))
    })
}

/// The mistakes that one run shows: a panic, and writes outside the elements that may be written.
pub(super) fn of_one(kernel: &LaunchedKernel, run: &Attempt<'_>) -> Vec<Mistake> {
    let outside = outside(kernel, run).map(|(_, mistake)| mistake);
    let panicked = run.panic.as_ref().map(|message| Mistake {
        code: Code::HostPanicked,
        access: Access::Write,
        place: None,
        notes: vec![format!("it said: {message}"), shapes(kernel)],
    });
    outside.chain(panicked).collect()
}

/// The arguments with their shapes, in one line.
fn shapes(kernel: &LaunchedKernel) -> String {
    let shape = |(argument, declared): (&Argument, &devarray::kernel::ArgumentDeclaration)| match argument {
        Argument::Elements { elements, .. } => format!("{} {:?}", declared.name, elements.layout.shape()),
        Argument::Nothing { layout, .. } => format!("{} {:?}", declared.name, layout.shape()),
        Argument::Value(bytes) => format!("{} of {} bytes", declared.name, bytes.len()),
    };
    let all: Vec<String> = kernel.arguments.iter().zip(kernel.declaration.arguments()).map(shape).collect();
    format!("it was given: {}", all.join(", "))
}

/// The mistakes that a second run shows, in which all bytes that must not matter are different.
pub(super) fn of_two(kernel: &LaunchedKernel, held: &[Vec<u8>], first: &Attempt<'_>) -> Vec<Mistake> {
    let second = Attempt::new(kernel, held, |_| OTHER_PATTERN);
    // Arguments for which only the second run overwrote bytes outside.
    let unseen = outside(kernel, &second).filter(|(at, _)| first.outside(*at).is_none());
    let mut mistakes: Vec<Mistake> = unseen.map(|(_, mistake)| mistake).collect();
    let mut differs = None;
    for (at, elements, permission) in kernel.elements().filter(|(_, _, permission)| permission.writes()) {
        let (one, two) = (first.elements(at), second.elements(at));
        let item = elements.item_bytes;
        let is_whole = !permission.reads();
        let unwritten = |place: usize| {
            let all = |bytes: &[u8], pattern| bytes[place..place + item].iter().all(|byte| *byte == pattern);
            is_whole && all(&one, first.pattern(at)) && all(&two, second.pattern(at))
        };
        let places = || (0..one.len()).step_by(item);
        if let Some(place) = places().find(|&place| unwritten(place)) {
            let count = places().filter(|&place| unwritten(place)).count();
            let start = first.place(at, place).cast_signed();
            let mistake =
                Mistake::at(kernel, at, Code::Unwritten, Access::Write, start..start + item.cast_signed());
            let len = one.len() / item;
            let told = format!(
                "{count} of {len} elements were left as they were, the first of them in C order here"
            );
            mistakes.push(mistake.note(told).note("help: write every element, or declare it `InOut`"));
        }
        let different = |place: usize| one[place..place + item] != two[place..place + item];
        if let Some(place) = places().find(|&place| different(place) && !unwritten(place)) {
            differs = differs.or(Some((at, first.place(at, place))));
        }
    }
    if let Some((at, offset)) = differs {
        mistakes.push(undeclared_read(kernel, held, first, at, offset));
    } else if let Some(panic) = second.panic {
        // It panicked only with other bytes where it must not read.
        let culprit = culprit(kernel, held, first).unwrap_or(0);
        let mistake = Mistake::at(kernel, culprit, Code::UndeclaredRead, Access::Read, 0..0);
        mistakes.push(mistake.note(format!("with other bytes there it panicked: {panic}")));
    }
    mistakes
}

/// The argument whose undeclared bytes matter: the bytes around and between its elements, and its
/// elements if they are only written.
fn culprit(kernel: &LaunchedKernel, held: &[Vec<u8>], first: &Attempt<'_>) -> Option<usize> {
    kernel.elements().map(|(at, ..)| at).find(|&changed| {
        let pattern = |at| if at == changed { OTHER_PATTERN } else { PATTERN };
        let run = Attempt::new(kernel, held, pattern);
        differ(kernel, first, &run, |at, byte| at == changed && byte == OTHER_PATTERN) || run.panic.is_some()
    })
}

/// Whether two runs wrote different elements; `excused` bytes, which are unwritten, do not count.
fn differ(
    kernel: &LaunchedKernel,
    one: &Attempt<'_>,
    two: &Attempt<'_>,
    excused: impl Fn(usize, u8) -> bool,
) -> bool {
    let written = kernel.elements().filter(|(_, _, permission)| permission.writes());
    written.map(|(at, ..)| at).any(|at| {
        let (one, two) = (one.elements(at), two.elements(at));
        one.iter().zip(&two).any(|(a, b)| a != b && !excused(at, *b))
    })
}

/// The mistake if an output depends on bytes that must not be read.
fn undeclared_read(
    kernel: &LaunchedKernel,
    held: &[Vec<u8>],
    first: &Attempt<'_>,
    written: usize,
    offset: usize,
) -> Mistake {
    let name = |at: usize| kernel.declaration.arguments()[at].name;
    let again = Attempt::new(kernel, held, |_| PATTERN);
    let place = |at, offset: usize| {
        let offset = offset.cast_signed();
        Mistake::at(kernel, at, Code::UndeclaredRead, Access::Read, offset..offset + 1)
    };
    if differ(kernel, first, &again, |_, _| false) {
        return place(written, offset).note("it writes something else each time, from the same arguments");
    }
    let told = format!("an element of `{}` comes out differently with other bytes there", name(written));
    match culprit(kernel, held, first) {
        Some(at) => {
            let only_written = kernel.elements().any(|(of, _, permission)| of == at && !permission.reads());
            let what = if only_written {
                "its old elements were read, and it is declared `Out`"
            } else {
                "bytes around or between its elements were read"
            };
            let offset = if at == written { offset } else { 0 };
            place(at, offset).note(what).note(told)
        }
        None => place(written, offset).note(told),
    }
}

/// Inputs on which nothing depends: if all elements are set to the first one, or to the last one,
/// the results are the same.
pub(super) fn unused(kernel: &LaunchedKernel, held: &[Vec<u8>], first: &Attempt<'_>) -> Vec<Mistake> {
    let inputs = kernel.elements().filter(|(_, _, permission)| !permission.writes());
    let unused = inputs.filter_map(|(at, elements, _)| {
        let dense = first.elements(at);
        let items = || dense.chunks_exact(elements.item_bytes);
        let (head, tail) = (items().next()?, items().next_back()?);
        if head == tail && items().all(|item| item == head) {
            return None;
        }
        let same = [head, tail].iter().all(|item| {
            let mut other = held.to_vec();
            first.put(at, |offset, bytes| {
                let places = other[at][offset..offset + bytes.len()].chunks_exact_mut(elements.item_bytes);
                places.for_each(|place| place.copy_from_slice(item));
            });
            let run = Attempt::new(kernel, &other, |_| PATTERN);
            run.panic.is_none() && !differ(kernel, first, &run, |_, _| false)
        });
        let len = elements.span_bytes().len().cast_signed();
        let mistake = Mistake::at(kernel, at, Code::UnusedInput, Access::Read, 0..len);
        let told = "with all its elements as the first of them, or as the last, the same comes out";
        same.then(|| mistake.note(told).note("help: read it in the host function, or do not declare it"))
    });
    unused.collect()
}

//! Functions and reductions that are computed together, on one piece of memory.

use std::fmt;

use devarray::{Layout, backend::Operand};
use devarray_cuda::{CudaBuffer, CudaDevice, CudaStream};

use super::{
    super::{
        cases::{download, free, upload},
        maps::Case,
        reductions_of::Reduced,
    },
    batch,
};

/// A function or a reduction, with its operands.
#[derive(Clone)]
pub(crate) enum Work {
    Map(Case),
    Reduce(Reduced),
}

/// Bytes between operands, and what these are before.
const ALIGNMENT: usize = 256;
const GAP: u8 = 0xa5;

/// An element that is wrong, of the result: its number in memory, and the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) element: usize,
    pub(crate) found: Vec<u8>,
    pub(crate) expected: Vec<u8>,
    /// Whether it is not of the result, but of memory near it that nothing writes.
    pub(crate) elsewhere: bool,
}

impl Work {
    /// The bytes of the result's memory afterwards.
    pub(crate) fn expected(&self) -> Vec<u8> {
        match self {
            Self::Map(case) => case.interpreted(),
            Self::Reduce(case) => case.expected(),
        }
    }

    /// Computes it alone.
    pub(crate) fn run(&self, device: &CudaDevice, stream: &CudaStream) -> Vec<u8> {
        match self {
            Self::Map(case) => case.run(device, stream),
            Self::Reduce(case) => case.run(device, stream),
        }
    }

    fn result(&self) -> &(Layout, Vec<u8>) {
        match self {
            Self::Map(case) => &case.result,
            Self::Reduce(case) => &case.result,
        }
    }

    fn inputs(&self) -> &[(Layout, Vec<u8>)] {
        match self {
            Self::Map(case) => &case.inputs,
            Self::Reduce(case) => &case.inputs,
        }
    }

    fn in_place(&self) -> Option<usize> {
        match self {
            Self::Map(case) => case.in_place,
            Self::Reduce(_) => None,
        }
    }

    /// Bytes of an element of an operand, the result for `None`.
    fn size(&self, input: Option<usize>) -> usize {
        let (result_type, inputs) = match self {
            Self::Map(case) => (case.program.result_type(), case.program.inputs()),
            Self::Reduce(case) => (case.finish.result_type(), case.program.inputs()),
        };
        input.map_or(result_type, |at| inputs[at]).len_bytes()
    }

    /// The first wrong element of the result's memory.
    pub(crate) fn wrong(&self, found: &[u8], expected: &[u8]) -> Option<Wrong> {
        let byte = found.iter().zip(expected).position(|(found, expected)| found != expected)?;
        let (size, at) = (self.size(None), byte / self.size(None));
        let of = |bytes: &[u8]| bytes[at * size..(at + 1) * size].to_vec();
        Some(Wrong { element: at, found: of(found), expected: of(expected), elsewhere: false })
    }
}

/// The layout of an operand: the same one, `start` bytes further.
fn placed(layout: &Layout, start: usize, size: usize) -> Layout {
    Layout::new(layout.shape(), layout.strides(), layout.offset() + start / size).unwrap()
}

/// Computes all of them with the functions compiled together, on a device that does so. Answers for
/// each the first wrong element of its result.
///
/// # Panics
///
/// The driver refuses something.
pub(crate) fn together(device: &CudaDevice, stream: &CudaStream, all: &[Work]) -> Vec<Option<Wrong>> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut place = |own: &[u8]| {
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), GAP);
        let start = bytes.len();
        bytes.extend_from_slice(own);
        bytes.extend_from_slice(&[GAP; 16]);
        start
    };
    // The result's place, then the inputs'.
    let places: Vec<Vec<usize>> = all
        .iter()
        .map(|work| {
            let result = place(&work.result().1);
            let input = |(at, (_, own)): (usize, &(Layout, Vec<u8>))| {
                if work.in_place() == Some(at) { result } else { place(own) }
            };
            let inputs: Vec<usize> = work.inputs().iter().enumerate().map(input).collect();
            [vec![result], inputs].concat()
        })
        .collect();
    let memory = upload(stream, &bytes);
    for (number, (work, places)) in all.iter().zip(&places).enumerate() {
        batch::label(number, matches!(work, Work::Map(_)));
        let to = placed(&work.result().0, places[0], work.size(None));
        let layouts: Vec<Layout> = work
            .inputs()
            .iter()
            .enumerate()
            .map(|(at, (layout, _))| placed(layout, places[1 + at], work.size(Some(at))))
            .collect();
        let inputs: Vec<Operand<'_, CudaBuffer>> =
            layouts.iter().map(|layout| Operand::new(&memory, layout)).collect();
        let to = Operand::new(&memory, &to);
        match work {
            Work::Map(case) => case.enqueue((device, stream), &inputs, to),
            Work::Reduce(case) => case.enqueue((device, stream), &inputs, to),
        }
    }
    let found = download(stream, &memory);
    free(stream, memory);
    let mut wrong = Vec::new();
    for (work, places) in all.iter().zip(&places) {
        let expected = work.expected();
        let result = places[0]..places[0] + expected.len();
        wrong.push(work.wrong(&found[result.clone()], &expected));
        bytes[result.clone()].copy_from_slice(&found[result]);
    }
    // A byte written elsewhere is laid to the one whose memory begins before.
    if let Some(byte) = bytes.iter().zip(&found).position(|(before, after)| before != after) {
        let owner = places.iter().rposition(|places| places.iter().any(|&start| start <= byte));
        let of = |bytes: &[u8]| bytes[byte..=byte].to_vec();
        let (found, expected) = (of(&found), of(&bytes));
        wrong[owner.unwrap_or(0)] = Some(Wrong { element: byte, found, expected, elsewhere: true });
    }
    wrong
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Map(case) => {
                super::shown::program(f, &case.program, &case.scalars)?;
                write!(f, "{case}")
            }
            Self::Reduce(case) => {
                super::shown::program(f, &case.program, &case.scalars)?;
                writeln!(f, "then")?;
                super::shown::program(f, &case.finish, &case.finish_scalars)?;
                write!(f, "{case}")
            }
        }
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
